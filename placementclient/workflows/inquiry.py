"""Ask the service why a request has no candidates, with few requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from placementclient.api import aggregate, allocation_candidate, resource_provider
from placementclient.http import Client
from placementclient.insight.candidates.provider_index import Offer, ProviderIndex
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState
from placementclient.snapshot import survey

#: So many candidates are asked for at most, if the operator does not say how many.
LIMIT = 1000
#: So many requests for candidates are sent at most: each costs the service a search.
ASKED = 16


class Inquiry:
    """Asks, and keeps count.

    :param limit: at most so many candidates of each request
    """

    def __init__(self, client: Client, limit: int | None = None) -> None:
        self._client = client
        self._limit = limit or LIMIT
        self._left = ASKED

    def index(self) -> ProviderIndex:
        """The providers; who has what is asked as soon as it is needed."""
        providers = {provider.uuid: provider for provider in resource_provider.list(self._client)}
        return ProviderIndex(providers, self._reach(), self._matching)

    def offer(self, request: CandidateRequest) -> Offer | None:
        """What there is for a request; None, if it has been asked for often enough."""
        if not self._left:
            return None
        self._left -= 1
        candidates, summaries = allocation_candidate.list(
            self._client, replace(request, limit=self._limit)
        )
        trees = {root for candidate in candidates for root in candidate.roots(summaries)}
        return Offer(len(trees), len(candidates) >= self._limit)

    def read_trees(self, wanted: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """The providers that can serve each of some trees, with all that they have."""
        if not wanted:
            return {}
        found = survey.survey(self._client, wanted, aggregates=True)
        return {tree.root.uuid: [*tree.providers(), *tree.sharing] for tree in found}

    def _matching(self, asked: Filter) -> Collection[str]:
        return [provider.uuid for provider in resource_provider.list(self._client, matching=asked)]

    def _reach(self) -> dict[str, list[str]]:
        """Which sharing providers serve each tree from another one."""
        reach: dict[str, list[str]] = {}
        sharers = resource_provider.list(self._client, matching=Filter(required=(SHARING_TRAIT,)))
        for sharer in sharers:
            joined = aggregate.list(self._client, sharer.uuid).value
            if not joined:
                continue
            members = resource_provider.list(
                self._client, matching=Filter(member_of=(','.join(joined),))
            )
            for root in {str(member.root_provider_uuid) for member in members}:
                if root != sharer.root_provider_uuid:
                    reach.setdefault(root, []).append(sharer.uuid)
        return reach
