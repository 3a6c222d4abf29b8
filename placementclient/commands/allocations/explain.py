# SPDX-License-Identifier: Apache-2.0
"""The reasons why there are few candidates, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from placementclient import api
from placementclient.basis import wording
from placementclient.basis.errors import BadArgument, ExitStatus, UsageError
from placementclient.client import errors, microversion
from placementclient.client.microversion import Microversion
from placementclient.commands.allocations import server_group
from placementclient.commands.allocations.allocation_candidate import FILTERS, LIMIT, parse_request
from placementclient.commands.framework import cloud_options, server_options, service_lists
from placementclient.commands.framework.aggregate_names import AggregateNames
from placementclient.commands.framework.document_command import DocumentCommand, TextOutput
from placementclient.commands.framework.option import Flag, Option
from placementclient.model.catalog import COMPUTE_SERVICE, NOVA
from placementclient.model.requests import CandidateRequest, Filter

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.insight.candidates.explanation import Explanation
    from placementclient.insight.candidates.group_hosts import GroupRestriction
    from placementclient.insight.candidates.relaxations import TreeCount
    from placementclient.nova.server_parts import ServerRequest
    from placementclient.nova.server_request import NovaRequest, RequestBuilder
    from placementclient.producers.inquiry import UnknownNames

#: The lowest microversion at which Placement looks for candidates in nested providers.
_NESTED = Microversion(1, 29)


_SERVER_OPTIONS = (
    *server_options.CLOUD_OPTIONS,
    *server_options.SERVER_OPTIONS,
    *server_options.SINGLE_SERVER_OPTIONS,
    service_lists.PROJECTS,
    server_group.OPTION,
)
_PRINT_REQUEST = Flag(
    '--print-request',
    help='With --flavor or --server: print the request of Nova, and ask Placement nothing',
)


class _ServerRequest(NamedTuple):
    """Nova's request for a server.

    :ivar aggregate_names: names for the IDs of aggregates and of the project in the output
    :ivar group_uuid: the server group of the server; None without one
    """

    nova_request: NovaRequest
    aggregate_names: AggregateNames
    group_uuid: str | None = None


class _Question(NamedTuple):
    """The request to explain: that of the operator, or that of Nova for a server.

    :ivar aggregate_names: names for the IDs of aggregates in the output
    :ivar second: the request that Nova sends if the first has no candidates; None: there is none
    :ivar server: the request for a server; None if the operator has given the resources
    """

    first: CandidateRequest
    aggregate_names: AggregateNames
    second: CandidateRequest | None = None
    server: _ServerRequest | None = None


class _Answer(NamedTuple):
    """The explanation of a question.

    :ivar fallback: the number of trees for the second request; None: they were not counted
    """

    question: _Question
    explanation: Explanation
    fallback: TreeCount | None


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
        *_SERVER_OPTIONS,
    )

    def make_text(self) -> TextOutput:
        self._refuse_wrong_option_combinations()
        if self.args.print_request:
            return self._format_requests()
        is_calculated = self.args.snapshot or self.args.assume
        try:
            answer = self._explain_by_snapshot() if is_calculated else self._explain_by_placement()
        except BadArgument as wrong:
            # "candidate list" ends with 1 for these, as osc-placement does.
            raise UsageError(str(wrong)) from None
        if not answer.explanation.has_candidates:
            self.exit_status = ExitStatus.INFEASIBLE
        return self._format_answer(answer)

    @property
    def _is_for_server(self) -> bool:
        """Return whether the command explains Nova's request for a server."""
        return bool(self.args.flavor or self.args.server)

    def _refuse_wrong_option_combinations(self) -> None:
        if self.args.flavor and self.args.server:
            raise UsageError('--server has a flavor: leave out --flavor')
        if self._is_for_server:
            return
        for option in (_PRINT_REQUEST, *_SERVER_OPTIONS):
            if option.is_set(self.args):
                raise UsageError(f'{option.flags[-1]} is for --flavor and --server')

    def _explain_by_placement(self) -> _Answer:
        from placementclient.producers import inquiry, names
        from placementclient.render import explanations

        self.client.require_feature('allocation candidate explain', _NESTED)
        self.check_options()
        question = self._make_question(self.client, self._has_host_with_owner_trait)
        unknown = inquiry.NOTHING
        try:
            explanation = self._explain_without_unknown_names(question.first, unknown)
        except errors.BadRequest as refusal:
            unknown = inquiry.find_unknown_names(self.client, question.first)
            if unknown == inquiry.NOTHING:
                raise
            self.warn(explanations.describe_unknown_names(*unknown, is_nova=self._is_for_server))
            if not self._is_for_server and (hint := names.suggest_name(self.client, refusal)):
                self.log.warning(hint.removeprefix('. '))
            explanation = self._explain_without_unknown_names(question.first, unknown)
        fallback = None
        is_complete = explanation.has_candidates or unknown != inquiry.NOTHING
        if question.second is not None and not is_complete:
            fallback = inquiry.count_trees_without_pcpu(self.client, question.second)
        return _Answer(question, explanation, fallback)

    def _explain_without_unknown_names(
        self, request: CandidateRequest, unknown: UnknownNames
    ) -> Explanation:
        """Explain a request by asking Placement, without the names that Placement does not know."""
        from placementclient.insight.candidates.explanation import explain_request
        from placementclient.producers import inquiry

        index = inquiry.read_provider_index(self.client, [request], unknown)
        ask = inquiry.make_live_tree_counter(self.client, request.limit, unknown)
        return explain_request(request, index, ask, self.args.hosts)

    def _has_host_with_owner_trait(self) -> bool:
        """Return whether Placement has a compute node with the trait OWNER_NOVA."""
        from placementclient.model.nova import COMPUTE_NODE, OWNER_NOVA

        owned = Filter(required=(COMPUTE_NODE, OWNER_NOVA))
        try:
            return bool(api.resource_provider.list(self.client, matching=owned))
        except errors.BadRequest:  # a service that does not know the trait
            return False

    def _explain_by_snapshot(self) -> _Answer:
        from placementclient.client.http import Client
        from placementclient.insight import owners, unknown_names
        from placementclient.insight.candidates import explanation, matching, service_faults
        from placementclient.placing import candidate_count

        snapshot = cloud_options.read_cloud(self).snapshot
        # This client sends nothing: it only knows the microversions of options.
        offline = Client(None, microversion.HIGHEST)
        question = self._make_question(
            offline,
            lambda: owners.is_owner_trait_needed(snapshot),
            lambda name: snapshot.find_existing(name).uuid,
        )
        first, aggregate_names, second, server = question
        names = unknown_names.ReportedNames.from_snapshot(snapshot)
        for absent in unknown_names.find_absent_names(names, first):
            self.log.warning(
                aggregate_names.insert_names(unknown_names.describe_absent_name(absent))
            )
        self.warn(service_faults.list_service_faults(snapshot, first))
        index = matching.index_snapshot(snapshot)
        result = explanation.explain_request(first, index, most_trees=self.args.hosts)
        if server is not None and result.has_candidates:
            limited = first._replace(limit=server.nova_request.first.limit)
            result = replace(
                result, count=candidate_count.count_candidates(index.topology, limited)
            )
        fallback = None
        if second is not None and not result.has_candidates:
            fallback = explanation.count_trees_without_pcpu(second, index)
        return _Answer(question, result, fallback)

    def _make_question(
        self,
        client: Client,
        has_owner_trait: Callable[[], bool],
        find: Callable[[str], str] | None = None,
    ) -> _Question:
        """Return the requests that the options describe.

        :param client: refuses options that the microversion does not have
        :param has_owner_trait: returns whether Nova's request has the trait OWNER_NOVA
        :param find: returns the UUID of a provider by its name or UUID; default: Placement is asked
        """
        request = parse_request(client, self.args, find, needs_resources=not self._is_for_server)
        if not self._is_for_server:
            return _Question(request, AggregateNames(self))
        if request.groups or request.common.resources:
            raise UsageError('--flavor says what is asked for: leave out --resource, --group')
        server = self._make_request_and_warn(has_owner_trait())
        nova_request = server.nova_request
        if nova_request.placement_refusal:
            raise BadArgument(f'Placement refuses the request: {nova_request.placement_refusal}')
        requests = [part.restrict(request) for part in nova_request.requests]
        second = requests[1] if len(requests) > 1 else None
        return _Question(requests[0], server.aggregate_names, second, server)

    def _make_request_and_warn(self, has_owner_trait: bool | None) -> _ServerRequest:
        """Return Nova's request for ``--server`` or ``--flavor``; warn of what it leaves out.

        :param has_owner_trait: whether the request has the trait OWNER_NOVA; None: unknown
        """
        request = (
            self._make_request_for_server_option(has_owner_trait)
            if self.args.server
            else self._make_request_for_flavor_option(has_owner_trait)
        )
        nova_request = request.nova_request
        if self.args.print_request:
            uncounted = nova_request.undecided_parts
        elif nova_request.placement_refusal:
            uncounted = ()
        else:
            # The explanation itself has the filters.
            uncounted = nova_request._replace(filters=()).undecided_parts
        if uncounted:
            subject = f'flavor {self.args.flavor}' if self.args.flavor else 'the server'
            self.log.warning(f'{subject}: not counted: {", ".join(uncounted)}')
        return request

    def _make_request_for_server_option(self, has_owner_trait: bool | None) -> _ServerRequest:
        from placementclient.nova import records, service

        uuid = self.args.server.lower()
        document = service.read_server(self.client, uuid, is_whole=True)
        if not document:
            raise BadArgument(f'Nova has no server {uuid}')
        server = records.decode_server_request(
            document,
            COMPUTE_SERVICE,
            lambda server: server_options.read_images(self, self.args.images, [server]),
        )
        scheduling = server_options.read_scheduling_options(self, server)
        groups = document[0].get('server_groups') or ()
        return self._build_server_request(
            scheduling, server, has_owner_trait, next(iter(groups), None)
        )

    def _make_request_for_flavor_option(self, has_owner_trait: bool | None) -> _ServerRequest:
        from placementclient.nova.server_parts import ServerRequest

        scheduling = server_options.read_scheduling_options(self)
        flavor = server_options.read_flavor(self, self.args.flavors, self.args.flavor)
        return self._build_server_request(scheduling, ServerRequest(flavor), has_owner_trait)

    def _build_server_request(
        self,
        scheduling: RequestBuilder,
        server: ServerRequest,
        has_owner_trait: bool | None,
        group_uuid: str | None = None,
    ) -> _ServerRequest:
        """Return Nova's request for a server, with the names for its output.

        :param has_owner_trait: whether the request has the trait OWNER_NOVA; None: unknown
        :param group_uuid: the UUID of the server's group, if it has one
        :raises Refusal: if Nova refuses the request; the error names aggregates and the project
        """
        from placementclient.nova.server_parts import Refusal

        project = scheduling.parts['project'] or server.project
        aggregate_names = AggregateNames(self, scheduling.sources.aggregates, project)
        try:
            nova_request = scheduling.build_server_request(server, has_owner_trait=has_owner_trait)
        except Refusal as reason:
            raise Refusal(aggregate_names.insert_names(str(reason))) from None
        return _ServerRequest(nova_request, aggregate_names, group_uuid)

    def _format_answer(self, answer: _Answer) -> TextOutput:
        from placementclient.render import explanations

        question, explanation, fallback = answer
        data = explanations.make_explanation_record(explanation, fallback)
        filters: Sequence[str] = ()
        group_hosts = None
        if question.server is not None:
            nova_request = question.server.nova_request
            filters = nova_request.filters
            data |= {'unknown': list(nova_request.unknown), 'filters': list(filters)}
            group_hosts = self._read_group_hosts(question.server.group_uuid)
        if group_hosts is not None:
            data['server_group'] = group_hosts._asdict()
        lines = explanations.format_explanation(
            explanation, self.args.hosts, fallback, filters, group_hosts
        )
        names = self.client_if_used.names if self.client_if_used else {}
        named = (question.aggregate_names.insert_names(line) for line in lines)
        return TextOutput(data, [wording.add_names_to_uuids(line, names) for line in named])

    def _read_group_hosts(self, group_uuid: str | None) -> GroupRestriction | None:
        """Return the hosts that a group requires or excludes; None without a group or an answer."""
        from placementclient.nova import service

        hints = dict(hint.split('=', 1) for hint in self.args.hint or () if '=' in hint)
        group = hints.get('group', group_uuid)
        if group is None or (self.args.snapshot and not self.args.servers):
            return None
        try:
            return server_group.read_group_hosts(self, group.lower(), self.args.server)
        except service.ServiceError as failure:
            if self.args.servers:
                raise
            self.log.warning(f'It is unknown which hosts the server group allows: {failure}')
            return None

    def _format_requests(self) -> TextOutput:
        """Return the paths and queries of Nova's requests to Placement."""
        from placementclient.api import query
        from placementclient.nova.server_request import MICROVERSION

        has_owner_trait = None
        if self.args.snapshot:
            from placementclient.insight import owners

            has_owner_trait = owners.is_owner_trait_needed(cloud_options.read_cloud(self).snapshot)
        nova_request = self._make_request_and_warn(has_owner_trait).nova_request
        if nova_request.placement_refusal:
            self.log.warning(f'Placement refuses the request: {nova_request.placement_refusal}')
        paths = [query.format_scheduler_request(request) for request in nova_request.requests]
        data = {
            'path': paths[0],
            'second': paths[1] if len(paths) > 1 else None,
            'microversion': MICROVERSION,
            'unknown': list(nova_request.unknown),
            'filters': list(nova_request.filters),
        }
        return TextOutput(data, paths)
