"""Allocations of servers that have none."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from placementclient.client import errors
from placementclient.client.microversion import GUARDS_CONSUMERS
from placementclient.commands.framework import base, changing, compute
from placementclient.commands.framework.changing import Changing
from placementclient.commands.framework.compute import NOVA
from placementclient.commands.framework.option import Option
from placementclient.model.providers import normalized
from placementclient.model.servers import Flavor, Server
from placementclient.model.services import COMPUTE_SERVICE, Port


class HealAllocation(Changing):
    """Create the missing allocations of servers on their hosts.

    Allocations of a server under another project or user get the right owner, too. The amounts are
    those that Nova computes from the flavor. The command does not guess: it names virtual GPUs, PCI
    devices, and resources that several providers of the host have, and allocates nothing for such a
    server. It skips servers that Nova is changing.

    Without files the command asks Nova, as an administrator, and once more just before the write: a
    server that was deleted since gets nothing. With --plan it cannot ask again: apply the plan
    soon. The files have the answers of GET /servers/detail, /flavors/detail and /os-migrations,
    made at about the same time.
    """

    examples = ('--dry-run',)
    first_version = GUARDS_CONSUMERS
    options = (
        Option('--server <uuid>...', type=normalized, help='Only this server'),
        Option('--servers <file>|nova', help='All servers, with details; default: nova, ask Nova'),
        Option('--flavors <file>', help='All flavors, for servers of compute API 2.46 or below'),
        Option('--migrations <file>|nova', help='All migrations; default: nova, without --servers'),
        Option(
            '--ports <file>|neutron',
            help='Also allocate the rates of ports: the answer of GET /v2.0/ports, or neutron',
        ),
        *changing.OPTIONS,
    )
    nothing = 'No server has to be healed'

    def execute(self) -> base.Output:
        from placementclient.nova import records, service
        from placementclient.producers.heal import Healing

        flavors = self._flavors()
        parse = partial(records.server_details, flavors=flavors)
        source = compute.Source(NOVA, service.servers, parse)
        moving = self.args.migrations or (None if self.args.servers else NOVA)
        with compute.instead_of_nova('--servers'):
            servers = source.read(self, self.args.servers or NOVA)
            migrations = compute.records(self, 'migrations', moving) or ()
        is_from_nova = self.args.servers in (None, NOVA)
        healing = Healing(
            self.client,
            _chosen(servers, self.args.server),
            {migration.server_uuid for migration in migrations if not migration.is_over},
            is_chosen=bool(self.args.server),
            is_current=partial(self._is_current, flavors) if is_from_nova else None,
            ports=self._ports(),
        )
        if is_from_nova and not self.args.server:
            healing.notes += compute.notes_on_cells_down(self)
        return self.change(healing)

    def _ports(self) -> list[Port]:
        """Return the ports that ask for something; none without --ports."""
        ports: list[Port] = compute.records(self, 'ports', self.args.ports) or []
        for port in ports:
            if {group.id for group in port.groups} - port.providers.keys():
                self.log.warning(
                    f'port {port.uuid}: Neutron has not noted who serves it. Where it is healed, '
                    'note that with openstack port set --binding-profile, or migrate the server'
                )
        return ports

    def _flavors(self) -> dict[str, Flavor]:
        from placementclient.files import disk
        from placementclient.nova import records

        path = self.args.flavors
        return records.flavors_by_id(disk.read_document(path), path) if path else {}

    def _is_current(self, flavors: dict[str, Flavor], server: Server) -> bool:
        """Return whether Nova still has a server, and as it was listed."""
        from placementclient.nova import records, service

        document = service.server(self.client, server.uuid)
        live = records.server_details(document, COMPUTE_SERVICE, flavors)
        facts = {'name': server.name, 'updated': server.updated}
        return [replace(state, **facts) for state in live] == [server]


def _chosen(servers: list[Server], chosen: list[str]) -> list[Server]:
    by_uuid = {server.uuid: server for server in servers}
    for uuid in chosen:
        if uuid not in by_uuid:
            raise errors.BadArgument(f'There is no server {uuid} in the list')
    return [by_uuid[uuid] for uuid in dict.fromkeys(chosen)] if chosen else servers
