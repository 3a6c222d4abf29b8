# SPDX-License-Identifier: Apache-2.0
"""Allocations of servers that have none."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.client.microversion import GUARDS_CONSUMERS
from placementclient.commands.framework import base, change_command, nova_outages, service_lists
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.catalog import COMPUTE_SERVICE, NOVA
from placementclient.model.providers import normalize_uuid

if TYPE_CHECKING:
    from placementclient.model.findings import Finding
    from placementclient.model.network import Port
    from placementclient.model.servers import Flavor, Server

#: The age of a file, in seconds, from which on it may have servers that no longer exist.
_MOST_AGE = 600
_RESTORE = (
    'If a snapshot has the missing allocations: placement resource provider snapshot restore FILE '
    '--missing --dry-run'
)


class _NovaHosts(NamedTuple):
    """The result of a request for the hosts of Nova.

    :ivar is_nova_asked: whether Nova is asked for each server just before a write; not if the
        servers are from files and Nova does not answer
    :ivar shared_names: the names that several hosts share
    :ivar notes: a finding if the hosts are unknown
    """

    is_nova_asked: bool
    shared_names: Collection[str] = ()
    notes: Sequence[Finding] = ()


class HealAllocation(ChangeCommand):
    """Create the missing allocations of servers on their hosts.

    Allocations of a server under another project or user get the right owner, too. The amounts are
    those that Nova computes from the flavor. The command does not guess: it names virtual GPUs, PCI
    devices, and resources that several providers of the host have, and allocates nothing for such a
    server. It skips servers that Nova is changing.

    With --amounts, a server that holds something on its host gets the amounts of its flavor there,
    more or less than today. The classes of ports, devices and images stay.

    Without files the command asks Nova, as an administrator. The files have the answers of GET
    /servers/detail, /flavors/detail and /os-migrations, made at about the same time. Just before
    each write the command asks Nova for the server, also with files, if the catalog has it: a
    server that was deleted since gets nothing. With --plan it cannot ask again: apply the plan
    soon.
    """

    examples = ('--dry-run',)
    first_version = GUARDS_CONSUMERS
    options = (
        Option('--server <uuid>...', type=normalize_uuid, help='Only this server'),
        Option(
            '--servers <file>|nova...', help='All servers, with details; default: nova, ask Nova'
        ),
        Option('--flavors <file>', help='All flavors, for servers of compute API 2.46 or below'),
        Option('--migrations <file>|nova', help='All migrations; default: nova, without --servers'),
        Option(
            '--ports <file>|neutron',
            help='Also allocate the rates of ports: the answer of GET /v2.0/ports, or neutron',
        ),
        Flag('--amounts', help='Also set amounts that differ from those of the flavor'),
        *change_command.OPTIONS,
    )
    empty_message = 'No server has to be healed'

    def execute(self) -> base.Output:
        from placementclient.insight.healing import UNKNOWN
        from placementclient.model.servers import Server
        from placementclient.nova import records, service
        from placementclient.producers.heal import HealProducer

        flavors = service_lists.read_flavors_by_id(self.args.flavors)
        sources = service_lists.get_sources()
        parse = partial(records.decode_server_details, flavors=flavors)
        source = service_lists.ListSource(NOVA, service.servers, parse, Server, _join_servers)
        moving = self.args.migrations or (None if self.args.servers else NOVA)
        servers = source.read(self, *(self.args.servers or [NOVA]))
        migrations = sources.migrations.read_option(self, moving) or ()
        chosen = _select_servers(servers, self.args.server)
        if self.args.amounts:
            _refuse_servers_without_flavors(chosen)
        hosts = self._read_nova_hosts()
        notes = hosts.notes
        if hosts.is_nova_asked and not self.args.server:
            notes = [*notes, *nova_outages.report_cells_down(self)]
        healing = HealProducer(
            self.client,
            chosen,
            {migration.server_uuid for migration in migrations if not migration.is_over},
            is_chosen=bool(self.args.server),
            is_current=partial(self._is_unchanged_in_nova, flavors)
            if hosts.is_nova_asked
            else None,
            ports=self._read_ports(),
            amounts=self.args.amounts,
            shared_names=hosts.shared_names,
            notes=notes,
        )
        output = self.plan_and_apply(healing)
        servers_left = (note for note in healing.notes if note.subject.startswith('consumer '))
        if any(note.kind == UNKNOWN for note in servers_left):
            self.next_steps = (*self.next_steps, _RESTORE)
        return output

    def _read_nova_hosts(self) -> _NovaHosts:
        """Ask Nova for its hosts; warn if it does not answer and the servers are from old files."""
        from placementclient.model.findings import Finding
        from placementclient.model.services import find_names_of_several_hosts
        from placementclient.nova import compute_hosts, service

        try:
            nodes = compute_hosts.read_compute_nodes(self.client)
            return _NovaHosts(True, find_names_of_several_hosts(nodes))
        except service.ServiceError as reason:
            if set(self.args.servers) <= {NOVA} or isinstance(reason, service.ServiceRefusal):
                unknown = Finding('not known', 'the hosts of Nova', reason=str(reason))
                return _NovaHosts(True, notes=[unknown])
            paths = [*self.args.servers, *filter(None, [self.args.flavors])]
            if any(map(_is_old_file, paths)):
                self.log.warning(
                    f'{reason}. The list is older than 10 minutes: a server that was deleted since '
                    'gets allocations too. Audit afterwards with a new list'
                )
            return _NovaHosts(False)

    def _read_ports(self) -> Sequence[Port]:
        """Return the ports of ``--ports`` that request resources; none without the option."""
        ports = service_lists.get_sources().ports.read_option(self, self.args.ports) or ()
        for port in ports:
            if {group.id for group in port.groups_with_amounts} - port.providers.keys():
                self.log.warning(
                    f'port {port.uuid}: Neutron does not record which provider serves it. After '
                    'the heal, record that with openstack port set --binding-profile, or migrate '
                    'the server'
                )
        return ports

    def _is_unchanged_in_nova(self, flavors: dict[str, Flavor], server: Server) -> bool:
        """Return whether Nova still has a server with the same flavor, host, state and owner.

        :param flavors: by ID
        """
        from placementclient.nova import records, service

        document = service.read_server(self.client, server.uuid)
        live = records.decode_server_details(document, COMPUTE_SERVICE, flavors)
        return list(map(_list_compared_facts, live)) == [_list_compared_facts(server)]


def _refuse_servers_without_flavors(servers: list[Server]) -> None:
    if servers and not any(server.flavor for server in servers):
        raise errors.BadArgument(
            '--amounts needs the flavors of the servers: list the servers at compute API 2.47 '
            'or above, or give --flavors'
        )


def _list_compared_facts(server: Server) -> tuple[object, ...]:
    """Return the facts on which the allocations of a server depend, to compare two records."""
    flavor = server.flavor and replace(server.flavor, name='', id=None, is_public=True)
    owner = server.project_id, server.user_id
    return owner, server.node, server.task, server.state, flavor, server.boots_from_volume


def _is_old_file(path: str) -> bool:
    """Return whether a file is so old that its servers may have been deleted since."""
    return os.path.isfile(path) and time.time() - os.path.getmtime(path) > _MOST_AGE


def _join_servers(lists: list[list[Server]]) -> list[Server]:
    """Return the servers of several lists, each by its latest record."""
    from placementclient.model.servers import join_servers

    return list(join_servers({s.uuid: s for s in servers} for servers in lists).values())


def _select_servers(servers: list[Server], uuids: list[str]) -> list[Server]:
    """Return the servers with some UUIDs, or all if none is given; refuse an unknown UUID."""
    by_uuid = {server.uuid: server for server in servers}
    for uuid in uuids:
        if uuid not in by_uuid:
            raise errors.BadArgument(f'There is no server {uuid} in the list')
    return [by_uuid[uuid] for uuid in dict.fromkeys(uuids)] if uuids else servers
