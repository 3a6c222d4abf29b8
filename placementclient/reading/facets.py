"""The facets of a provider: its inventories, usages, traits and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from placementclient.api import aggregate, inventory, trait, usage
from placementclient.client.http import Client
from placementclient.model.freshness import Read
from placementclient.model.snapshots import ProviderState


class Facets(NamedTuple):
    """A provider with some facets read, and the generation of each."""

    state: ProviderState
    generations: Mapping[str, int | None]


#: All that a provider has of its own beside what its list says.
CONTENT = ('inventories', 'traits', 'aggregates')
#: The same, and what is used of it.
FACETS = (*CONTENT, 'usages')


def with_facets(client: Client, state: ProviderState, facets: Collection[str] = FACETS) -> Facets:
    """Read some facets of a provider: its inventories, usages, traits, aggregates."""
    readers: tuple[tuple[str, Callable[[Client, str], Read[Any]], Callable[[Any], Any]], ...] = (
        ('inventories', inventory.list, dict),
        ('traits', trait.list_of_provider, frozenset),
        ('aggregates', aggregate.list, frozenset),
        ('usages', usage.of_provider, dict),
    )
    generations = {}
    for facet, read, made in readers:
        if facet in facets:
            found = read(client, state.uuid)
            state = replace(state, **{facet: made(found.value)})
            generations[facet] = found.generation
    return Facets(state, generations)
