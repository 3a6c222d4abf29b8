"""Claim the first candidate that the service grants, as a scheduler does."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from placementclient import api, endpoints, errors
from placementclient.api.conflict import retried
from placementclient.commands import base
from placementclient.commands.allocation import OWNER
from placementclient.commands.allocation_candidate import FILTERS, LIMIT, requested
from placementclient.commands.base import Option
from placementclient.microversion import Microversion
from placementclient.render import columns

if TYPE_CHECKING:
    from placementclient.model.consumers import Candidate, Summary
    from placementclient.render.columns import Output

#: From here on a consumer that exists by now is told from one that does not.
_GUARDED = Microversion(1, 28)


class Unclaimed(errors.PlacementError):
    """No candidate was granted.

    :param refusals: what the service said to each
    """

    def __init__(self, refusals: Iterable[errors.Conflict]) -> None:
        self.refusals = tuple(refusals)
        super().__init__(
            f'None of the {len(self.refusals)} candidates was granted; to the last one: '
            f'{self.refusals[-1]}'
            if self.refusals
            else 'There are no candidates: allocation candidate explain says why'
        )


class ClaimAllocation(base.Lister):
    """Allocate the first candidate that the service grants; after a conflict, try the next.

    The filters are those of allocation candidate list. A consumer that holds something already is
    refused. The row 0 and those with the same number are what was claimed; further numbers are the
    alternates, each on another tree.

    Example:

      openstack resource provider allocation claim 1c6c1a1c-23e4-44d7-b7ab-15cbc5b5e5a8 \\
        --resource VCPU=2 --resource MEMORY_MB=2048 --alternates 2 \\
        --project-id 2ee2a1b5ad0c4ae8a1fe14ae25f4b0d5 --user-id a30a1b5f2ee24ac8b1fe14ae25f4b0d5
    """

    options = (
        base.CONSUMER,
        *FILTERS,
        LIMIT,
        Option(
            '--alternates',
            metavar='<number>',
            type=int,
            default=0,
            help='Print so many of the candidates that come next, each on another tree',
        ),
        *OWNER,
    )

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        return max(_GUARDED, endpoints.LIST_CANDIDATES.since)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        candidates, summaries = api.allocation_candidate.list(
            self.client, requested(self.client, parsed_args)
        )
        pending = iter(candidates)
        claimed = self._claim(pending, parsed_args)
        # Of the same host, it would be no alternative to a host that fails.
        alternates = _of_other_trees(claimed, pending, summaries, parsed_args.alternates)
        shown = [claimed, *alternates]
        uuids = dict.fromkeys(uuid for candidate in shown for uuid in candidate.allocations)
        names = api.resource_provider.names(self.client, uuids)
        return columns.claimed(shown, summaries, names, self.client.microversion)

    def _claim(self, candidates: Iterator[Candidate], parsed_args: argparse.Namespace) -> Candidate:
        refusals: list[errors.Conflict] = []
        for candidate in candidates:
            try:
                retried(lambda candidate=candidate: self._write(candidate, parsed_args))  # type: ignore[misc]
            except errors.Conflict as refusal:
                names = api.resource_provider.names(self.client, candidate.allocations)
                refusals.append(refusal.with_names(names))
                self.log.info(f'Next candidate: {refusals[-1]}')
            else:
                return candidate
        raise Unclaimed(refusals)

    def _write(self, candidate: Candidate, parsed_args: argparse.Namespace) -> None:
        """Allocate a candidate, unless the consumer holds something meanwhile."""
        there = api.allocation.show(self.client, parsed_args.consumer).value
        if there.allocations:
            raise errors.PlacementError(f'Consumer {there.uuid} holds something already')

        from placementclient.model.consumers import Consumer

        consumer = Consumer(
            parsed_args.consumer,
            candidate.allocations,
            parsed_args.project_id,
            parsed_args.user_id,
            there.generation,
            parsed_args.consumer_type,
        )
        api.allocation.set(self.client, consumer, mappings=candidate.mappings)


def _of_other_trees(
    claimed: Candidate,
    candidates: Iterable[Candidate],
    summaries: Mapping[str, Summary],
    number: int,
) -> list[Candidate]:
    """The first so many candidates, each on a tree that none before it is on."""
    taken = claimed.roots(summaries)
    chosen: list[Candidate] = []
    for candidate in candidates:
        trees = candidate.roots(summaries)
        if len(chosen) < number and not trees & taken:
            chosen.append(candidate)
            taken |= trees
    return chosen
