# SPDX-License-Identifier: Apache-2.0
"""The reasons why there are few candidates, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from placementclient import api
from placementclient.basis import wording
from placementclient.basis.errors import BadArgument, ExitStatus, UsageError
from placementclient.client import errors, microversion
from placementclient.client.microversion import Microversion
from placementclient.commands.allocations import server_group
from placementclient.commands.allocations.allocation_candidate import FILTERS, LIMIT, parse_request
from placementclient.commands.framework import cloud_options, server_options
from placementclient.commands.framework.document_command import DocumentCommand, Text
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.catalog import COMPUTE_SERVICE, NOVA
from placementclient.model.requests import CandidateRequest, Filter

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.candidates.explanation import Explanation, Offer
    from placementclient.insight.candidates.group_hosts import GroupHosts
    from placementclient.model.servers import HostAggregate
    from placementclient.nova.server_request import NovaRequest

    #: An explanation, Nova's request, and what Placement grants by its second one.
    _Explained = tuple[Explanation, NovaRequest | None, Offer | None]

#: From here on the service looks for candidates in nested providers.
_NESTED = Microversion(1, 29)


_PRINT_REQUEST = Flag(
    '--print-request',
    help='With --flavor or --server: print the request of Nova, and ask Placement nothing',
)


class ExplainCandidate(DocumentCommand):
    """Explain why a request for candidates cannot be met.

    The filters are those of allocation candidate list. The command prints:

      * how many trees satisfy each requirement alone,
      * minimal sets of requirements that cannot be met together,
      * changes of the request that would make it possible, tried on the service unless marked as
        calculated,
      * the resources and traits that the nearest trees lack.

    With --flavor or --server it explains "No valid host" of a server. The command names parts of
    the request that need a list which you did not give. It also names what
    filters of Nova's scheduler decide without Placement.
    """

    examples = (
        '--flavor gpu.large',
        '--flavor gpu.large --print-request',
        '--resource VCPU=2 --group 1 --resource VGPU=4 --required CUSTOM_NVIDIA_A40',
    )
    # With --snapshot there is no service to authenticate with.
    auth_required = False
    statuses = ((ExitStatus.INFEASIBLE, 'there are no candidates'),)
    options = (
        *FILTERS,
        LIMIT,
        Option('--hosts <number>', type=int, default=5, help='Show this many of the nearest trees'),
        *cloud_options.OPTIONS,
        Option(
            '--flavor <name>',
            help="Send the request of Nova's scheduler for a server of this flavor; --required, "
            '--member-of and the like are added',
        ),
        Option(
            '--flavors <file>',
            default=NOVA,
            help='Find the flavor in this file with the answer of GET /flavors/detail; nova: ask '
            'Nova',
        ),
        Option(
            '--server <uuid>',
            help='Send the request for this server of Nova, as if it were to be booted. Its image, '
            'ports, device profiles and the aggregates are read from their services, unless an '
            'option names a file',
        ),
        _PRINT_REQUEST,
        *server_options.CLOUD,
        *server_options.SERVER,
        *server_options.ONE,
        server_group.OPTION,
    )

    def text(self) -> Text:
        from placementclient.render import explanations

        self._check_combination()
        if self.args.print_request:
            return self._print_request()
        is_calculated = self.args.snapshot or self.args.assume
        explained = self._explain_snapshot if is_calculated else self._explain_live
        try:
            explanation, nova_request, fallback = explained()
        except BadArgument as wrong:
            # "candidate list" ends with 1 for these, as osc-placement does.
            raise UsageError(str(wrong)) from None
        if not explanation.is_met:
            self.exit_status = ExitStatus.INFEASIBLE
        names = self.used_client.names if self.used_client else {}
        filters = nova_request.filters if nova_request else ()
        limit = self._group_hosts() if nova_request else None
        shown = explanations.lines(explanation, self.args.hosts, fallback, filters, limit)
        lines = [wording.with_names(self._name_places(line), names) for line in shown]
        data = explanations.data(explanation, fallback)
        if nova_request is not None:
            data |= {'unknown': list(nova_request.unknown), 'filters': list(nova_request.filters)}
        if limit is not None:
            data['server_group'] = limit._asdict()
        return Text(data, lines)

    #: Those of Nova or of a file, which name zones.
    aggregates: Sequence[HostAggregate] = ()

    def _name_places(self, text: str) -> str:
        return server_options.replace_aggregate_uuids(text, self.aggregates)

    #: The server group that the server of Nova is in.
    _group: str | None = None

    def _group_hosts(self) -> GroupHosts | None:
        """Return the condition of the server group, where there is one to ask for."""
        from placementclient.nova import service

        hints = dict(hint.split('=', 1) for hint in self.args.hint or () if '=' in hint)
        group = hints.get('group', self._group)
        if group is None or (self.args.snapshot and not self.args.servers):
            return None
        try:
            return server_group.read_group_hosts(self, group.lower(), self.args.server)
        except service.NoCompute as failure:
            if self.args.servers:
                raise
            self.log.warning(f'Not known which hosts the server group leaves: {failure}')
            return None

    @property
    def _is_server(self) -> bool:
        return bool(self.args.flavor or self.args.server)

    def _check_combination(self) -> None:
        if self.args.flavor and self.args.server:
            raise UsageError('--server has a flavor: leave out --flavor')
        servers = (
            *server_options.CLOUD,
            *server_options.SERVER,
            *server_options.ONE,
            server_group.OPTION,
        )
        for option in (_PRINT_REQUEST, *servers):
            if option.is_set(self.args) and not self._is_server:
                raise UsageError(f'{option.flags[-1]} is for --flavor and --server')

    def _explain_live(self) -> _Explained:
        from placementclient.insight.candidates.explanation import explain
        from placementclient.producers import inquiry
        from placementclient.render import explanations

        self.client.require('allocation candidate explain', _NESTED)
        self.check_options()

        def is_owned() -> bool:
            from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA

            try:
                owned = Filter(required=(COMPUTE_NODE, OWNER_NOVA))
                return bool(api.resource_provider.list(self.client, matching=owned))
            except errors.BadRequest:  # a service that does not know the trait
                return False

        requests, nova_request = self._make_requests(self.client, is_owned)
        first, *others = requests

        def explained(unknown: inquiry.Unknown) -> Explanation:
            index = inquiry.service_index(self.client, [first], unknown)
            ask = inquiry.asker(self.client, first.limit, unknown)
            return explain(first, index, ask, self.args.hosts)

        unknown = inquiry.NOTHING
        try:
            explanation = explained(unknown)
        except errors.BadRequest:
            unknown = inquiry.unknown(self.client, first)
            if unknown == inquiry.NOTHING:
                raise
            self.warn(explanations.unknown(*unknown, is_nova=self._is_server))
            explanation = explained(unknown)
        fallback = None
        if others and not explanation.is_met and unknown == inquiry.NOTHING:
            fallback = inquiry.without_pcpu(self.client, others[0])
        return explanation, nova_request, fallback

    def _explain_snapshot(self) -> _Explained:
        from placementclient.client.http import Client
        from placementclient.insight import owners, unknown_names
        from placementclient.insight.candidates import explanation, matching, service_faults
        from placementclient.placing import candidate_count

        snapshot = cloud_options.read_cloud(self).snapshot
        # Nothing is sent: it only knows what each option needs.
        nobody = Client(None, microversion.HIGHEST)
        requests, nova_request = self._make_requests(
            nobody,
            lambda: owners.is_owner_required(snapshot),
            lambda name: snapshot.existing(name).uuid,
        )
        names = unknown_names.Names.from_snapshot(snapshot)
        first, *others = requests
        absent = map(unknown_names.sentence, unknown_names.absent(names, first))
        self.warn(map(self._name_places, absent))
        self.warn(service_faults.service_faults(snapshot, first))
        index = matching.snapshot_index(snapshot)
        result = explanation.explain(first, index, hosts=self.args.hosts)
        if nova_request is not None and result.is_met:
            limited = first._replace(limit=nova_request.first.limit)
            result = replace(result, count=candidate_count.counted(index.topology, limited))
        offers = (explanation.without_pcpu(second, index) for second in others)
        return result, nova_request, None if result.is_met else next(offers, None)

    def _make_requests(
        self,
        client: Client,
        is_owned: Callable[[], bool],
        find: Callable[[str], str] | None = None,
    ) -> tuple[Sequence[CandidateRequest], NovaRequest | None]:
        """Return the requests of the options, and Nova's request."""
        request = parse_request(client, self.args, find, is_whole=not self._is_server)
        if not self._is_server:
            return [request], None
        if request.groups or request.common.resources:
            raise UsageError('--flavor says what is asked for: leave out --resource, --group')
        nova_request = self._make_nova_request(is_owned())
        if nova_request.impossible:
            raise BadArgument(f'Placement refuses the request: {nova_request.impossible}')
        return [part.restricted(request) for part in nova_request.requests], nova_request

    def _make_nova_request(self, is_owned: bool | None) -> NovaRequest:
        """Return Nova's request for a server of the flavor, or for the server; log the rest."""
        from placementclient.nova import records, service

        name = self.args.flavor
        if self.args.server:
            uuid = self.args.server.lower()
            document = service.server(self.client, uuid, is_whole=True)
            if not document:
                raise BadArgument(f'Nova has no server {uuid}')
            server = records.scheduled(
                document,
                COMPUTE_SERVICE,
                lambda server: server_options.read_images(self, self.args.images, [server]),
            )
            self._group = next(iter(document[0].get('server_groups') or ()), None)
            how = server_options.read_scheduling_options(self, server)
            nova_request = how.build_server_request(server, is_owned=is_owned)
        else:
            how = server_options.read_scheduling_options(self)
            flavors = server_options.read_flavors(self, self.args.flavors)
            by_name = {flavor.name: flavor for flavor in flavors}
            if name not in by_name:
                raise BadArgument(
                    f'No flavor is called {name!r}: see openstack flavor list --all'
                    f'{wording.suggestion(name, by_name)}'
                )
            nova_request = how.build_request(by_name[name], is_owned=is_owned)
        self.aggregates = how.sources.aggregates or ()
        # The answer itself has the filters.
        uncounted = nova_request._replace(filters=()).uncounted
        if self.args.print_request:
            uncounted = nova_request.uncounted
        if uncounted and (self.args.print_request or not nova_request.impossible):
            subject = f'flavor {name}' if name else 'the server'
            self.log.warning(f'{subject}: not counted: {", ".join(uncounted)}')
        return nova_request

    def _print_request(self) -> Text:
        from placementclient.api import query
        from placementclient.nova.server_request import MICROVERSION

        is_owned = None
        if self.args.snapshot:
            from placementclient.insight import owners

            is_owned = owners.is_owner_required(cloud_options.read_cloud(self).snapshot)
        nova_request = self._make_nova_request(is_owned)
        if nova_request.impossible:
            self.log.warning(f'Placement refuses the request: {nova_request.impossible}')
        paths = [query.of_scheduler(request) for request in nova_request.requests]
        data = {
            'path': paths[0],
            'second': paths[1] if len(paths) > 1 else None,
            'microversion': MICROVERSION,
            'unknown': list(nova_request.unknown),
            'filters': list(nova_request.filters),
        }
        return Text(data, paths)
