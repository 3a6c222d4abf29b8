# SPDX-License-Identifier: Apache-2.0
"""Claim the first candidate that the service accepts, as a scheduler does."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from placementclient import api
from placementclient.api import attempts
from placementclient.basis.errors import ExitStatus, PlacementError
from placementclient.basis.wording import format_count
from placementclient.client import errors
from placementclient.client.microversion import GUARDS_CONSUMERS
from placementclient.commands.allocations.allocation import OWNER
from placementclient.commands.allocations.allocation_candidate import FILTERS, LIMIT, parse_request
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.model.consumers import Candidate, Consumer, ProviderSummary, sum_resources
from placementclient.model.requests import CandidateRequest
from placementclient.render import columns


class ClaimRefused(PlacementError):
    """Placement granted no candidate, or the consumer has allocations already."""


class ClaimAllocation(base.Lister):
    """Allocate the first candidate that the service grants; after a conflict, try the next.

    A consumer with other allocations is refused. The rows with the number 0 are the claim. Higher
    numbers are alternates, each on another tree.
    """

    examples = (
        '1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 --resource VCPU=2,MEMORY_MB=2048 --alternates 2 '
        '--project-id 2ee2a1b5ad0c4ae8a1fe14ae25f4b0d5 --user-id a30a1b5f2ee24ac8b1fe14ae25f4b0d5',
    )
    first_version = GUARDS_CONSUMERS
    writes = True
    column_names = columns.CLAIMED.names
    statuses = ((ExitStatus.INFEASIBLE, 'there are no candidates'),)
    options = (
        option.CONSUMER,
        *FILTERS,
        LIMIT,
        Option(
            '--alternates <number>',
            type=int,
            default=0,
            help='Print so many more candidates, each on another tree',
        ),
        *OWNER,
    )

    def execute(self) -> columns.Output:
        request = parse_request(self.client, self.args)
        candidates, summaries = api.allocation_candidate.list(self.client, request)
        try:
            claimed, others = self._claim_candidate(candidates)
        except ClaimRefused:
            held = self._find_earlier_claim(request)
            if held is None:
                raise
            claimed, others = held, candidates
            summaries |= self._summarize_missing_providers(claimed, summaries)
        else:
            # The summaries were read before the claim.
            for uuid, resources in claimed.allocations.items():
                summaries[uuid] = summaries[uuid].with_added_usage(resources)
        # An alternate on the same host is of no use if the host fails.
        alternates = _find_alternates(claimed, others, summaries)
        shown = [claimed, *itertools.islice(alternates, max(self.args.alternates, 0))]
        uuids = dict.fromkeys(uuid for candidate in shown for uuid in candidate.allocations)
        names = api.resource_provider.read_names(self.client, uuids)
        return columns.list_claim_and_alternates(shown, summaries, names, self.client.microversion)

    def _find_earlier_claim(self, request: CandidateRequest) -> Candidate | None:
        """Return the allocations of the consumer if an earlier run has claimed the request."""
        consumer = api.allocation.show(self.client, self.args.consumer).value
        if not self._is_claimed(consumer, request):
            return None
        self.log.warning(f'Consumer {consumer.uuid} holds that already: nothing was done')
        return Candidate(consumer.allocations)

    def _summarize_missing_providers(
        self, claimed: Candidate, summaries: Mapping[str, ProviderSummary]
    ) -> dict[str, ProviderSummary]:
        """Return a summary, by UUID, of each claimed provider that the summaries lack.

        Such a summary has only the parent and the root: the provider is too full for a candidate.
        """
        full = {}
        for uuid in claimed.allocations.keys() - summaries.keys():
            provider = api.resource_provider.show(self.client, uuid).value
            place = provider.parent_provider_uuid, provider.root_provider_uuid
            full[uuid] = ProviderSummary({}, (), *place)
        return full

    def _claim_candidate(
        self, candidates: Sequence[Candidate]
    ) -> tuple[Candidate, Sequence[Candidate]]:
        """Allocate the first candidate that is granted; return it and those after it.

        :raises ClaimRefused: if none is granted, or the consumer has allocations
        """
        refusals: list[errors.Conflict] = []
        for number, candidate in enumerate(candidates, 1):
            try:
                self._write_candidate(candidate)
            except errors.Conflict as refusal:
                names = api.resource_provider.read_names(self.client, candidate.allocations)
                refusals.append(refusal.with_names(names))
                self.log.info(f'Next candidate: {refusals[-1]}')
            else:
                return candidate, candidates[number:]
        if refusals:
            tried = f'None of the {format_count(len(refusals), "candidate")} was granted'
            raise ClaimRefused(f'{tried}; to the last one: {refusals[-1]}')
        unclaimed = ClaimRefused(
            'There are no candidates: placement allocation candidate explain says why'
        )
        unclaimed.exit_status = ExitStatus.INFEASIBLE
        raise unclaimed

    def _write_candidate(self, candidate: Candidate) -> None:
        """Allocate a candidate; after a lost answer, accept the claim if the consumer has it."""

        def read_consumer() -> Consumer:
            return api.allocation.show(self.client, self.args.consumer).value

        def write_claim() -> None:
            current = read_consumer()
            if current.allocations:
                raise ClaimRefused(f'Consumer {current.uuid} holds something already')
            claimed = replace(
                current,
                allocations=candidate.allocations,
                project_id=self.args.project_id,
                user_id=self.args.user_id,
                type=self.args.consumer_type,
            )
            # Without allocations, the consumer has no owner that could differ.
            api.allocation.set(
                self.client, claimed, mappings=candidate.mappings, replaces_owner=True
            )

        attempts.confirm_write(
            self.client, write_claim, lambda: read_consumer().allocations == candidate.allocations
        )

    def _is_claimed(self, consumer: Consumer, request: CandidateRequest) -> bool:
        """Return whether a consumer holds the requested amounts, under the given project and user.

        The providers do not count: an earlier run has chosen them among candidates of that time.
        """
        parts = (request.common, *request.groups.values())
        requested = sum_resources(part.resources for part in parts)
        owner = (self.args.project_id, self.args.user_id)
        return (
            sum_resources(consumer.allocations.values()) == requested
            and (consumer.project_id, consumer.user_id) == owner
        )


def _find_alternates(
    claimed: Candidate, candidates: Iterable[Candidate], summaries: Mapping[str, ProviderSummary]
) -> Iterator[Candidate]:
    """Yield each candidate whose trees neither the claim nor an alternate before it uses."""
    taken = claimed.find_roots(summaries)
    for candidate in candidates:
        trees = candidate.find_roots(summaries)
        if not trees & taken:
            taken |= trees
            yield candidate
