# SPDX-License-Identifier: Apache-2.0
"""The properties of providers that decide on a request."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from placementclient.model.inventories import Units
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import ProviderState

#: Returns whether a provider, by number, can grant an amount of a class to one server.
Grants = Callable[[int, str, int], bool]


def is_sharing(state: ProviderState) -> bool:
    """Return True if a provider shares its inventory through aggregates."""
    return SHARING_TRAIT in state.traits


def count_grants(state: ProviderState, resource_class: str, amount: int) -> int:
    """Return how many allocations of an amount a provider can still grant."""
    inventory = state.inventories.get(resource_class)
    if inventory is None or not inventory.admits(amount):
        return 0
    return max(0, state.free(resource_class)) // amount


def make_grant_check(states: Sequence[ProviderState]) -> Grants:
    """Return the function that tells whether a provider can grant an amount of a class.

    :param states: the providers; the function takes the index of one
    """
    return lambda number, name, amount: count_grants(states[number], name, amount) > 0


class HostProvider(NamedTuple):
    """A provider of a host's tree, or a sharing provider that serves the host.

    :param parent: the number of the nearest one above; ``None`` if there is none
    :param units: pairs of class and units, in the order of the classes
    :param pool: the UUID of a sharing provider; its room is not of this host alone
    :param is_inside: whether it is of the host's own tree, and not of another that shares it
    :param trees: the UUIDs by which requests name its tree
    """

    parent: int | None
    traits: frozenset[str]
    aggregates: frozenset[str]
    units: tuple[tuple[str, Units], ...] = ()
    pool: str | None = None
    is_inside: bool = True
    trees: frozenset[str] = frozenset()


def list_lineage(providers: Sequence[HostProvider], number: int) -> Iterator[int]:
    """Yield the numbers of a provider of a host and of all providers above it."""
    above: int | None = number
    while above is not None:
        yield above
        above = providers[above].parent
