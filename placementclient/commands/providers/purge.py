# SPDX-License-Identifier: Apache-2.0
"""Delete a provider with everything below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from placementclient.client.microversion import GUARDS_CONSUMERS
from placementclient.commands.framework import (
    base,
    change_command,
    consumer_options,
    option,
    service_lists,
)
from placementclient.commands.framework.change_command import ChangeCommand
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.model.servers import Server
    from placementclient.placing.topology import Topology
    from placementclient.producers.proof import FreeingProof

T = TypeVar('T')


class PurgeProvider(ChangeCommand):
    """Delete a resource provider, its children, and all allocations on them.

    The command asks Nova for each consumer, if the catalog has Nova; otherwise the files say what
    Nova says. It frees the allocations of servers that are deleted, or settled on another host with
    all that their flavors ask for, and those of consumers that --gone names. If another consumer
    has allocations here, it refuses, and names the classes that would be lost. --force overrules
    that, but not for a migration under way. If the command is killed, run it again: it continues.
    """

    examples = ('compute1 --dry-run',)
    first_version = GUARDS_CONSUMERS
    options = (
        option.PROVIDER,
        Flag('--force', help='Purge although consumers lose what they may need'),
        service_lists.SERVERS,
        service_lists.make_migrations_option(
            'as their allocations are freed only when they are over'
        ),
        Option('--hypervisors <file>|nova', help='All hypervisors, which have the UUIDs of hosts'),
        Option('--flavors <file>', help='All flavors, for servers of compute API 2.46 or below'),
        Option('--nodes <file>|ironic', help='All bare metal nodes, which name their servers'),
        consumer_options.GONE,
        *change_command.OPTIONS,
    )

    def execute(self) -> base.Output:
        from placementclient.producers.purge import PurgeProducer, PurgeRefused
        from placementclient.render import changes

        purging = PurgeProducer(
            self.client,
            self.args.provider,
            self._prepare_evidence(),
            force=self.args.force,
        )
        try:
            return self.plan_and_apply(purging)
        except PurgeRefused as refusal:
            # The rows have each refusal.
            self.ending = f'Refused: {refusal}. Nothing is deleted'
            self.next_steps = refusal.next_steps
            self.exit_status = refusal.exit_status
            return changes.make_results_table((), purging.notes)

    def format_lines(
        self, names: Sequence[str], rows: Iterable[Sequence[object]], width: int
    ) -> Iterable[str]:
        """Return the lines of a table of changes for ``-f text``, with the names of servers."""
        from placementclient.render.facts import add_server_name

        servers = self._servers or {}
        named = [(add_server_name(str(row[0]), servers), *row[1:]) for row in rows]
        return super().format_lines(names, named, width)

    def _prepare_evidence(self) -> Callable[[Topology], FreeingProof]:
        """Return a function that makes the evidence by which allocations of a tree may be freed.

        The lists of the options are read at once; Nova is asked for each consumer later.
        """
        from placementclient.insight.evidence import NovaRecords
        from placementclient.nova import service
        from placementclient.producers.proof import FreeingProof

        is_nova_asked = service.has_nova(self.client)
        self._servers = servers = self._read_servers()
        gone = consumer_options.read_consumer_uuids(consumer_options.GONE, self.args.gone)
        sources = service_lists.get_sources()
        migrations = self._read_list('migrations', sources.migrations, is_nova_asked)
        hypervisors = self._read_list('hypervisors', sources.hypervisors, is_nova_asked)
        nodes = self._read_list('nodes', sources.nodes, is_nova_asked)
        if self.args.force and migrations is None:
            self.log.warning(
                'The migrations are not known: --force also frees what a migration under way '
                'needs. Give --migrations FILE'
            )
        records = NovaRecords(migrations, hypervisors, gone, nodes=nodes)

        def make_proof(topology: Topology) -> FreeingProof:
            proof = FreeingProof(
                self.client, topology, servers, records, is_nova_asked=is_nova_asked
            )
            proof.refuse_existing_consumers(sorted(gone))
            return proof

        return make_proof

    def _read_servers(self) -> Mapping[str, Server] | None:
        """Return the servers of ``--servers`` by UUID; None without the option."""
        from placementclient.nova import records

        if not self.args.servers:
            return None
        flavors = service_lists.read_flavors_by_id(self.args.flavors)
        parse = partial(records.decode_servers, flavors=flavors)
        source = service_lists.get_sources().servers._replace(parse=parse)
        return source.read(self, *self.args.servers)

    def _read_list(
        self, name: str, source: service_lists.ListSource[T], may_ask_service: bool
    ) -> T | None:
        """Return the records of the list of an option; ``None`` without a file and an answer.

        :param name: of the option
        :param may_ask_service: whether to ask the service if the option is not given
        """
        from placementclient.nova import service

        option = getattr(self.args, name)
        if not (option or may_ask_service):
            return None
        try:
            return source.read(self, option or source.service)
        except service.ServiceError as reason:
            if option:
                raise
            if not isinstance(reason, service.NoService):
                self.log.warning(f'{reason}. Give the list as a file: --{name} FILE')
            return None
