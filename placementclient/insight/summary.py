# SPDX-License-Identifier: Apache-2.0
"""The size of a snapshot in numbers. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypedDict

from placementclient.insight.capacity import totals
from placementclient.model.nova import is_spent_device
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing


class SnapshotSummary(TypedDict):
    """The size of a snapshot: the numbers of its objects.

    :param resource_classes: usage and capacity, by class
    :param unsteady: the names of the trees that changed while they were read
    """

    trees: int
    providers: int
    sharing_providers: int
    aggregates: int
    traits: int
    consumers: int
    consumer_types: dict[str, int]
    resource_classes: dict[str, dict[str, int]]
    unsteady: list[str]


def summarize(snapshot: Snapshot) -> SnapshotSummary:
    """Return the numbers of objects of a snapshot; capacity and usage by class."""
    states = snapshot.providers.values()
    types = Counter(consumer.type or 'unknown' for consumer in snapshot.consumers.values())
    return {
        'trees': len(snapshot.roots()),
        'providers': len(states),
        'sharing_providers': sum(map(is_sharing, states)),
        'aggregates': len({aggregate for state in states for aggregate in state.aggregates}),
        'traits': len({trait for state in states for trait in state.traits}),
        'consumers': len(snapshot.consumers),
        'consumer_types': dict(sorted(types.items())),
        'resource_classes': {
            line.resource_class: {'used': line.used, 'capacity': line.capacity}
            for line in totals.sum_by_class(snapshot)
        },
        'unsteady': snapshot.unsteady_names(),
    }


class Presence(NamedTuple):
    """The providers with a trait, or with inventory of a class.

    :param hosts: the number of the trees that they are in
    :param only_on: the name of the tree, where it is the only one; empty otherwise
    """

    providers: int
    hosts: int
    only_on: str


def count_burned_devices(snapshot: Snapshot) -> Counter[str]:
    """Return the number of one-time-use devices that wait to be cleaned, by class."""
    return Counter(
        name
        for state in snapshot.providers.values()
        for name in state.inventories
        if is_spent_device(state, name)
    )


def list_presences(
    snapshot: Snapshot,
    names_of: Callable[[ProviderState], Iterable[str]],
    names: Iterable[str] | None = None,
) -> list[tuple[str, Presence]]:
    """Return traits or classes with their presences: first those on the most hosts, then by name.

    :param names_of: returns the traits or the classes of a provider
    :param names: the names to list; default: all that a provider has
    """
    roots: dict[str, list[str]] = {}
    for state in snapshot.providers.values():
        for name in names_of(state):
            roots.setdefault(name, []).append(state.provider.root_uuid)

    def find_presence(name: str) -> Presence:
        uuids = roots.get(name, [])
        hosts = set(uuids)
        only_on = snapshot.providers[uuids[0]].name if len(hosts) == 1 else ''
        return Presence(len(uuids), len(hosts), only_on)

    pairs = [(name, find_presence(name)) for name in (roots if names is None else names)]
    return sorted(pairs, key=lambda pair: (-pair[1].hosts, -pair[1].providers, pair[0]))
