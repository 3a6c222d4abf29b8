# SPDX-License-Identifier: Apache-2.0
"""The lists of Nova and of other services, from the service itself or from files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

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

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.commands.framework.base import PlacementCommand
    from placementclient.model.listed import ListRecord
    from placementclient.model.network import NetworkAgent, Port
    from placementclient.model.servers import Flavor, HostAggregate, Server, ServerMigration
    from placementclient.model.services import BaremetalNode, ComputeService, Hypervisor

T = TypeVar('T')


def make_migrations_option(purpose: str) -> Option:
    """Return the option ``--migrations``, whose help has a clause with the purpose of the list."""
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
    :param record: the type of the records
    :param join: joins the records of several files; None if only one may be given
    """

    service: str
    ask: Callable[[Client], list[object]]
    parse: Callable[[object, str], T]
    record: type[ListRecord]
    join: Callable[[list[T]], T] | None = None

    def read(self, command: PlacementCommand, *places: str, client: Client | None = None) -> T:
        """Return the records of the service, or of files.

        :param places: the word for the service, or paths
        :param client: asks the service; default: that of the command
        """
        lists = [self._read_service_or_file(command, place, client) for place in places]
        return self.join(lists) if self.join else lists[0]

    def read_option(self, command: PlacementCommand, value: str | list[str] | None) -> T | None:
        """Return the records that the value of an option names; None without a value."""
        return self.read(command, *list_named_sources(value)) if value else None

    def _read_service_or_file(
        self, command: PlacementCommand, place: str, client: Client | None
    ) -> T:
        """Return the records of the service or of one file.

        :param place: the name of the service, or the path of a file
        :param client: asks the service; ``None``: that of the command
        """
        from placementclient.files import disk, kinds

        if place == self.service:
            try:
                return self.parse(self.ask(client or command.client), SOURCES[place])
            except errors.PlacementError as failure:
                failure.next_steps = failure.next_steps or self._list_next_steps()
                raise
        records = self.parse(disk.read_document(place, kinds.get_list_kind(self.record)), place)
        if self.record.is_never_empty and not records:
            key, source = self.record.key, self.record.source
            command.log.warning(
                f'{place}: the list of {key} is empty. "{source}" makes a whole one'
            )
        return records

    def _list_next_steps(self) -> Sequence[str]:
        """Return the steps after a failure: make a file with the list, and give it."""
        key, source = self.record.key, self.record.source
        if not source.startswith('openstack '):
            return (f'Give a file with the list of {key}',)
        return (
            f'Make the list where {self.service} answers: {source} > {key}.json',
            f'Give the list: --{key.rpartition("_")[2]} {key}.json',
        )


class ListSources(NamedTuple):
    """The sources of all lists, each under the name of its option.

    :ivar servers: all servers by UUID
    :ivar servers_with_zones: the same with their availability zones
    :ivar limits: the names of the resources with a registered limit
    :ivar subnets: the number of IPv4 addresses of each segment of a routed network
    :ivar device_profiles: the groups of each device profile, by its name
    :ivar projects: the names of projects by ID; ``users``: those of users
    """

    servers: ListSource[Mapping[str, Server]]
    servers_with_zones: ListSource[Mapping[str, Server]]
    migrations: ListSource[Sequence[ServerMigration]]
    services: ListSource[Sequence[ComputeService]]
    hypervisors: ListSource[Sequence[Hypervisor]]
    flavors: ListSource[Sequence[Flavor]]
    aggregates: ListSource[Sequence[HostAggregate]]
    limits: ListSource[Sequence[str]]
    nodes: ListSource[Sequence[BaremetalNode]]
    ports: ListSource[Sequence[Port]]
    agents: ListSource[Sequence[NetworkAgent]]
    subnets: ListSource[Mapping[str, int]]
    device_profiles: ListSource[Mapping[str, Sequence[Mapping[str, str]]]]
    projects: ListSource[Mapping[str, str]]
    users: ListSource[Mapping[str, str]]


def get_sources() -> ListSources:
    """Return the source of each list."""
    from placementclient.model import network, servers
    from placementclient.model.services import (
        BaremetalNode,
        ComputeService,
        Hypervisor,
        Project,
        RegisteredLimit,
        User,
    )
    from placementclient.nova import host_records as hosts
    from placementclient.nova import records, service

    return ListSources(
        servers=ListSource(
            NOVA, service.servers, records.decode_servers, servers.Server, servers.join_servers
        ),
        servers_with_zones=ListSource(
            NOVA,
            service.servers_with_zones,
            records.decode_servers,
            servers.Server,
            servers.join_servers,
        ),
        migrations=ListSource(
            NOVA, service.migrations, records.decode_migrations, servers.ServerMigration
        ),
        services=ListSource(
            NOVA, service.compute_services, hosts.decode_compute_services, ComputeService
        ),
        hypervisors=ListSource(NOVA, service.hypervisors, hosts.decode_hypervisors, Hypervisor),
        flavors=ListSource(NOVA, service.flavors, records.decode_flavors, servers.Flavor),
        aggregates=ListSource(
            NOVA, service.aggregates, records.decode_aggregates, servers.HostAggregate
        ),
        limits=ListSource(
            KEYSTONE, service.registered_limits, hosts.decode_registered_limits, RegisteredLimit
        ),
        nodes=ListSource(IRONIC, service.nodes, hosts.decode_baremetal_nodes, BaremetalNode),
        ports=ListSource(NEUTRON, service.ports, hosts.decode_bound_ports, network.Port),
        agents=ListSource(
            NEUTRON, service.agents, hosts.decode_network_agents, network.NetworkAgent
        ),
        subnets=ListSource(NEUTRON, service.subnets, hosts.count_segment_addresses, network.Subnet),
        device_profiles=ListSource(
            CYBORG, service.device_profiles, hosts.decode_device_profiles, hosts.DeviceProfileRecord
        ),
        projects=ListSource(KEYSTONE, service.projects, records.decode_projects, Project),
        users=ListSource(KEYSTONE, service.users, records.decode_users, User),
    )


def make_quota_source(project_ids: Sequence[str]) -> ListSource[Mapping[str, Mapping[str, int]]]:
    """Return the source of the quotas of projects in Nova, by project and resource."""
    from placementclient.model.services import Quota
    from placementclient.nova import records, service

    return ListSource(
        NOVA, lambda client: service.read_quotas(client, project_ids), records.decode_quotas, Quota
    )


def read_flavors_by_id(path: str | None) -> dict[str, Flavor]:
    """Return the flavors of a file by ID; none without a file."""
    from placementclient.files import disk, kinds
    from placementclient.nova import records

    flavors = kinds.LISTS['flavors']
    return records.decode_flavors_by_id(disk.read_document(path, flavors), path) if path else {}


def list_named_sources(option: str | list[str] | None) -> list[str]:
    """Return the files and services in the value of the option of a list; none without a value."""
    return [option] if isinstance(option, str) else option or []


def read_list_if_available(
    command: PlacementCommand, option: str, source: ListSource[T]
) -> T | None:
    """Return the records of a list from its option, or from its service with a short timeout.

    :return: the records; ``None`` if neither has them, or if the cloud is a snapshot
    """
    from placementclient.nova import service

    if place := vars(command.args).get(option):
        return source.read(command, place)
    if vars(command.args).get('snapshot'):
        return None
    with contextlib.suppress(errors.PlacementError):
        return source.read(command, source.service, client=service.copy_for_one_try(command.client))
    return None
