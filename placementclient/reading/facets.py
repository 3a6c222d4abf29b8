# SPDX-License-Identifier: Apache-2.0
"""The only reader of providers: some facets, consistent or fast."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from placementclient.api import aggregate, allocation, inventory, trait, usage
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer, Holding, sum_resources
from placementclient.model.freshness import Read
from placementclient.model.snapshots import ProviderState, Snapshot

#: The content of a provider, beside the fields of the list of providers.
CONTENT = ('inventories', 'traits', 'aggregates')
#: The same with the usages.
FACETS = (*CONTENT, 'usages')
#: The facet that is no part of the provider's state: the allocations on it.
ALLOCATIONS = 'allocations'

#: For each facet: the request, and the type of its value in a snapshot.
_READERS: Mapping[str, tuple[Callable[[Client, str], Read[Any]], Callable[[Any], Any]]] = {
    'inventories': (inventory.list, dict),
    'traits': (trait.list_of_provider, frozenset),
    'aggregates': (aggregate.list, frozenset),
    'usages': (usage.show_provider, dict),
}


class Facets(NamedTuple):
    """The answers about some facets of a provider.

    :param state: the provider with them
    :param generations: the generation of the provider in the answer about each facet
    :param holdings: the allocations on the provider, if they were read
    """

    state: ProviderState
    generations: Mapping[str, int | None]
    holdings: Sequence[Holding] = ()

    def require_one_generation(self) -> Facets:
        """Return the facets with the one generation of all answers, or raise ConcurrentUpdate."""
        generations = {number for number in self.generations.values() if number is not None}
        if len(generations) > 1:
            raise errors.ConcurrentUpdate(409, f'{self.state.name} changed while it was read')
        provider = self.state.provider
        for generation in generations:
            provider = replace(provider, generation=generation)
        return self._replace(state=replace(self.state, provider=provider))


def read_facets(client: Client, state: ProviderState, facets: Collection[str] = FACETS) -> Facets:
    """Read some facets of a provider; the others stay as ``state`` has them.

    :param facets: some of :data:`FACETS`, and :data:`ALLOCATIONS`
    """
    generations = {}
    for facet, (read, convert) in _READERS.items():
        if facet in facets:
            answer = read(client, state.uuid)
            state = replace(state, **{facet: convert(answer.value)})
            generations[facet] = answer.generation
    if ALLOCATIONS not in facets:
        return Facets(state, generations)
    holdings = allocation.list_of_provider(client, state.uuid)
    if 'usages' not in facets:
        used = sum_resources(holding.resources for holding in holdings.value)
        state = replace(state, usages=dict(used))
    return Facets(state, {**generations, ALLOCATIONS: holdings.generation}, holdings.value)


def read_provider_states(
    client: Client,
    states: Iterable[ProviderState],
    facets_of: Callable[[ProviderState], Collection[str]],
    *,
    is_consistent: bool,
) -> Snapshot:
    """Read some facets of providers; return the providers that exist, and their consumers.

    A consumer has only its allocations on these providers.

    :param facets_of: returns the facets to read of a provider; its others stay as they are
    :param is_consistent: whether all facets of a provider have to be of one generation
    """
    current, holdings = list[ProviderState](), dict[str, Sequence[Holding]]()
    for state in states:
        try:
            facets = read_facets(client, state, facets_of(state))
        except errors.NotFound:
            continue
        if is_consistent:
            facets = facets.require_one_generation()
        current.append(facets.state)
        holdings[state.uuid] = facets.holdings
    return Snapshot(current, join_consumers(holdings))


def join_consumers(holdings: Mapping[str, Iterable[Holding]]) -> Iterator[Consumer]:
    """Yield the consumers of some providers, with their allocations there.

    If the providers have different generations of a consumer, it changed meanwhile: it gets none.

    :param holdings: the allocations on each provider, by its UUID
    """
    allocations: dict[str, dict[str, Mapping[str, int]]] = {}
    generations: dict[str, set[int | None]] = {}
    for provider_uuid, listed in holdings.items():
        for holding in listed:
            allocations.setdefault(holding.consumer_uuid, {})[provider_uuid] = holding.resources
            generations.setdefault(holding.consumer_uuid, set()).add(holding.consumer_generation)
    for uuid, resources in allocations.items():
        generation = generations[uuid].pop() if len(generations[uuid]) == 1 else None
        yield Consumer(uuid, resources, generation=generation)
