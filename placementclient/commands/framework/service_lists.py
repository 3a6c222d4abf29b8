# SPDX-License-Identifier: Apache-2.0
"""Lists of other services, from the service itself or from a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import errors
from placementclient.commands.framework.option import Option
from placementclient.model.catalog import (
    CYBORG,
    IRONIC,
    KEYSTONE,
    NEUTRON,
    NOVA,
    SOURCES,
)

#: Why nothing is known of a host.
_CELL_DOWN = 'its cell does not answer Nova: its servers are in no list'

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.model.findings import Finding


def migrations_option(purpose: str) -> Option:
    """Return the option for the list of migrations; the purpose is a clause."""
    return Option(
        '--migrations <file>|nova',
        help=f'The migrations of servers, {purpose}: a list as JSON, or nova: ask Nova',
    )


SERVERS = Option(
    '--servers <file>|nova...',
    help='A list of servers, as JSON, or nova: ask Nova; several lists are joined, such as that of '
    'openstack server list --deleted',
)


PROJECTS = Option(
    '--projects <file>|keystone',
    help='Add the names of projects: a file with the output of openstack project list -f json, or '
    'keystone: ask Keystone',
)


class ListSource(NamedTuple):
    """The source of a list: the word for its service, a request for it, and a parser.

    :param join: joins several lists, where a command takes several
    """

    service: str
    ask: Callable[[Client], list[Any]]
    parse: Callable[[Any, str], Any]
    join: Callable[[list[Any]], Any] | None = None

    def read(self, command: PlacementCommand, *places: str, client: Client | None = None) -> Any:
        """Return the records of files, or of the service where its word is given.

        :param client: asks the service; by default that of the command
        """
        lists = [self._read(command, place, client) for place in places]
        return self.join(lists) if self.join else lists[0]

    def _read(self, command: PlacementCommand, place: str, client: Client | None) -> Any:
        from placementclient.files import disk

        if place == self.service:
            return self.parse(self.ask(client or command.client), SOURCES[place])
        return self.parse(disk.read_document(place), place)


def make_sources() -> dict[str, ListSource]:
    """Return the source of each list, by the name of the option."""
    from placementclient.model.servers import join_servers
    from placementclient.nova import host_records, records, service

    return {
        'servers': ListSource(NOVA, service.servers, records.servers, join_servers),
        'servers_with_zones': ListSource(
            NOVA, service.servers_with_zones, records.servers, join_servers
        ),
        'migrations': ListSource(NOVA, service.migrations, records.migrations),
        'services': ListSource(NOVA, service.compute_services, host_records.compute_services),
        'hypervisors': ListSource(NOVA, service.hypervisors, host_records.hypervisors),
        'flavors': ListSource(NOVA, service.flavors, records.flavors),
        'limits': ListSource(KEYSTONE, service.registered_limits, host_records.registered_limits),
        'nodes': ListSource(IRONIC, service.nodes, host_records.nodes),
        'ports': ListSource(NEUTRON, service.ports, host_records.ports),
        'agents': ListSource(NEUTRON, service.agents, host_records.agents),
        'subnets': ListSource(NEUTRON, service.subnets, host_records.segment_addresses),
        'aggregates': ListSource(NOVA, service.aggregates, records.aggregates),
        'device_profiles': ListSource(
            CYBORG, service.device_profiles, host_records.device_profiles
        ),
        'segments': ListSource('', service.aggregates, host_records.segments),
        'projects': ListSource(KEYSTONE, service.projects, records.projects),
        'users': ListSource(KEYSTONE, service.users, records.users),
    }


def list_places(option: str | list[str] | None) -> list[str]:
    """Return the files and services that the option for a list names."""
    return [option] if isinstance(option, str) else option or []


def read_records(command: PlacementCommand, name: str, option: str | list[str] | None) -> Any:
    """Return the records of a list of a file or a service, or ``None`` without its option."""
    return make_sources()[name].read(command, *list_places(option)) if option else None


@contextlib.contextmanager
def suggest_option_without_nova(option: str) -> Iterator[None]:
    """Name the option that does without Nova, if Nova cannot be asked."""
    from placementclient.nova import service

    try:
        yield
    except service.NoCompute as reason:
        raise errors.BadArgument(f'{reason}: give {option}') from None


def note_cells_down(command: PlacementCommand) -> list[Finding]:
    """Return a note on each host whose cell does not answer Nova, and warn of these hosts.

    If Nova does not say which cells answer, the only note says that.
    """
    from placementclient.model.findings import Finding
    from placementclient.model.services import hosts_of_cells_down
    from placementclient.nova import service
    from placementclient.render import findings

    try:
        hosts = hosts_of_cells_down(service.computes(command.client))
    except service.NoCompute as failure:
        command.log.warning(f'Not known if all cells of Nova answer: {failure}')
        return [Finding('not known', 'the cells of Nova', reason=str(failure))]
    command.warn(findings.cells_down(hosts))
    return [Finding('not known', host, reason=_CELL_DOWN) for host in hosts]
