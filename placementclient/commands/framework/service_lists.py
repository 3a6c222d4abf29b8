# SPDX-License-Identifier: Apache-2.0
"""The lists of Nova and of other services, from the service itself or from files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

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

#: The reason in the finding of a host.
_CELL_DOWN = 'its cell does not answer Nova: its servers are in no list'

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.model.findings import Finding

T = TypeVar('T')


def make_migrations_option(purpose: str) -> Option:
    """Return the option ``--migrations``.

    :param purpose: a clause for the help
    """
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


class ListSource(NamedTuple, Generic[T]):
    """The source of a list: a service, or files with its answer.

    :param service: the word for the service in place of a file, such as ``nova``
    :param ask: requests the list from the service
    :param parse: returns the records of an answer; its second argument is the path for errors
    :param join: joins the records of several files; None if only one may be given
    """

    service: str
    ask: Callable[[Client], list[object]]
    parse: Callable[[object, str], T]
    join: Callable[[list[T]], T] | None = None

    def read(self, command: PlacementCommand, *places: str, client: Client | None = None) -> T:
        """Return the records of the service, or of files.

        :param places: the word for the service, or paths
        :param client: asks the service; by default that of the command
        """
        lists = [self._read_place(command, place, client) for place in places]
        return self.join(lists) if self.join else lists[0]

    def _read_place(self, command: PlacementCommand, place: str, client: Client | None) -> T:
        """Return the records of the service or of one file."""
        from placementclient.files import disk

        if place == self.service:
            return self.parse(self.ask(client or command.client), SOURCES[place])
        return self.parse(disk.read_document(place), place)


def make_sources() -> dict[str, ListSource[Any]]:
    """Return the source of each list, by the name of its option."""
    from placementclient.model.servers import join_servers
    from placementclient.nova import host_records, records, service

    return {
        'servers': ListSource(NOVA, service.servers, records.decode_servers, join_servers),
        'servers_with_zones': ListSource(
            NOVA, service.servers_with_zones, records.decode_servers, join_servers
        ),
        'migrations': ListSource(NOVA, service.migrations, records.decode_migrations),
        'services': ListSource(
            NOVA, service.compute_services, host_records.decode_compute_services
        ),
        'hypervisors': ListSource(NOVA, service.hypervisors, host_records.decode_hypervisors),
        'flavors': ListSource(NOVA, service.flavors, records.decode_flavors),
        'limits': ListSource(
            KEYSTONE, service.registered_limits, host_records.decode_registered_limits
        ),
        'nodes': ListSource(IRONIC, service.nodes, host_records.decode_baremetal_nodes),
        'ports': ListSource(NEUTRON, service.ports, host_records.decode_bound_ports),
        'agents': ListSource(NEUTRON, service.agents, host_records.decode_network_agents),
        'subnets': ListSource(NEUTRON, service.subnets, host_records.count_segment_addresses),
        'aggregates': ListSource(NOVA, service.aggregates, records.decode_aggregates),
        'device_profiles': ListSource(
            CYBORG, service.device_profiles, host_records.decode_device_profiles
        ),
        'segments': ListSource('', service.aggregates, host_records.decode_segments),
        'projects': ListSource(KEYSTONE, service.projects, records.decode_projects),
        'users': ListSource(KEYSTONE, service.users, records.decode_users),
    }


def list_named_sources(option: str | list[str] | None) -> list[str]:
    """Return the files and services that the option of a list names; none without the option."""
    return [option] if isinstance(option, str) else option or []


def read_records(command: PlacementCommand, name: str, option: str | list[str] | None) -> Any:
    """Return the records of a list, or ``None`` without its option.

    :param name: the name of the list in :func:`make_sources`
    :param option: the files or the service that the operator has named
    """
    return make_sources()[name].read(command, *list_named_sources(option)) if option else None


def read_names(command: PlacementCommand, option: str, source: ListSource[T]) -> T | None:
    """Return the records of the option, else of the service of a live cloud, if it has them soon.

    Names are not worth an error: ``None`` if no file and no service gives them.
    """
    from placementclient.nova import service

    if place := vars(command.args).get(option):
        return source.read(command, place)
    if vars(command.args).get('snapshot'):
        return None
    with contextlib.suppress(errors.PlacementError):
        return source.read(command, source.service, client=service.make_impatient(command.client))
    return None


@contextlib.contextmanager
def suggest_option_without_nova(option: str) -> Iterator[None]:
    """Raise an error that suggests an option with a file if Nova cannot be asked."""
    from placementclient.nova import service

    try:
        yield
    except service.ServiceError as reason:
        raise errors.BadArgument(f'{reason}: give {option}') from None


def note_cells_down(command: PlacementCommand) -> list[Finding]:
    """Return a finding for each host whose cell does not answer Nova, and warn of these hosts.

    If Nova cannot be asked which cells answer, the only finding says so.
    """
    from placementclient.model.findings import Finding
    from placementclient.model.services import find_hosts_of_cells_down
    from placementclient.nova import compute_hosts, service
    from placementclient.render import findings

    try:
        hosts = find_hosts_of_cells_down(compute_hosts.read_compute_services(command.client))
    except service.ServiceError as failure:
        command.log.warning(f'It is unknown if all cells of Nova answer: {failure}')
        return [Finding('not known', 'the cells of Nova', reason=str(failure))]
    command.warn(findings.describe_cells_down(hosts))
    return [Finding('not known', host, reason=_CELL_DOWN) for host in hosts]
