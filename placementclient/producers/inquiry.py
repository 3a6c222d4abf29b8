"""The reasons why a request has no candidates, from the service with few requests."""

from collections.abc import Collection, Mapping, Sequence

from placementclient.api import allocation_candidate, resource_provider
from placementclient.client.http import Client
from placementclient.insight.candidates.provider_index import Offer
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState
from placementclient.reading import tree_reader

#: So many candidates are asked for at most, if the operator does not say how many.
LIMIT = 1000
#: So many requests for candidates are sent at most: each costs the service a search.
ASKED = 16


class Inquiry:
    """Sends requests for candidates, and counts them.

    :param limit: at most so many candidates of each request
    """

    def __init__(self, client: Client, limit: int | None = None) -> None:
        self._client = client
        self._limit = limit or LIMIT
        self._left = ASKED

    def offer(self, request: CandidateRequest) -> Offer | None:
        """Return the answer to a request; ``None`` after the limit of requests."""
        if not self._left:
            return None
        self._left -= 1
        candidates, summaries = allocation_candidate.list(
            self._client, request._replace(limit=self._limit)
        )
        trees = {root for candidate in candidates for root in candidate.roots(summaries)}
        return Offer(len(trees), len(candidates) >= self._limit)


class ServiceIndex:
    """Queries for the providers of the service, sent on demand."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.providers = {provider.uuid: provider for provider in resource_provider.list(client)}
        sharing = tree_reader.sharing(client)
        self.sharing, self.reach = sharing.providers, sharing.reach

    def matching(self, conditions: Filter) -> Collection[str]:
        """Return the UUIDs of the providers that match a filter."""
        return [
            provider.uuid for provider in resource_provider.list(self._client, matching=conditions)
        ]

    def read_trees(self, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """Read all providers that can serve each of some trees."""
        if not roots:
            return {}
        trees = tree_reader.read_trees(self._client, roots, aggregates=True)
        return {tree.root.uuid: [*tree.providers(), *tree.sharing] for tree in trees}
