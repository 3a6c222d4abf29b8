# SPDX-License-Identifier: Apache-2.0
"""Capacity, usage, and the free amounts."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.topology import Topology

#: The name of a line for all providers, each counted once.
ALL = '(all)'


class TotalsLine(msgspec.Struct, frozen=True, gc=False):
    """The amounts of one class in a tree, an aggregate or the whole cloud.

    :param name: the name of the tree's root, or the UUID of the aggregate; :data:`ALL` for all
    :param free: the free amount; a provider over its capacity counts as 0
    :param largest_fit: the largest amount that a single provider still grants to one consumer
    :param shared_by: of a tree, the name of the sharing provider of another tree that has the room;
        ``None`` for what the tree has itself
    :param providers: the number of providers that have the class
    """

    name: str
    resource_class: str
    capacity: int
    used: int
    free: int
    largest_fit: int
    shared_by: str | None = None
    providers: int = 1

    def is_used_above(self, percentage: float) -> bool:
        """Return True if the usage exceeds a percentage of the capacity, which may be 0."""
        return self.used * 100 > percentage * self.capacity


def sum_by_class(snapshot: Snapshot) -> list[TotalsLine]:
    """Return the amounts of all providers together, a line for each class."""
    return list(_make_totals_lines(ALL, snapshot.providers.values()))


def sum_by_tree(snapshot: Snapshot) -> list[TotalsLine]:
    """Return the amounts of each tree, of each sharing provider that serves it, then of all."""
    topology = Topology(snapshot)
    lines: list[TotalsLine] = []
    for root_uuid, states in topology.trees.items():
        name = snapshot.providers[root_uuid].name
        lines += _make_totals_lines(name, states)
        for sharing in topology.list_sharing_providers(root_uuid):
            lines += _make_totals_lines(name, [sharing], sharing.name)
    return lines + sum_by_class(snapshot)


def sum_by_aggregate(snapshot: Snapshot) -> list[TotalsLine]:
    """Return the amounts of each aggregate, with the trees of its root members, then of all."""
    topology = Topology(snapshot)
    lines: list[TotalsLine] = []
    for aggregate in sorted(topology.members):
        lines += _make_totals_lines(aggregate, _find_providers_of_aggregate(topology, aggregate))
    return lines + sum_by_class(snapshot)


def _find_providers_of_aggregate(topology: Topology, aggregate: str) -> list[ProviderState]:
    """Return the members of an aggregate, and all providers below roots among them."""
    within = {state.uuid: state for state in topology.members[aggregate]}
    for member in topology.members[aggregate]:
        # A root that is a member takes its whole tree along.
        within |= {state.uuid: state for state in topology.trees.get(member.uuid, ())}
    return list(within.values())


def _make_totals_lines(
    name: str, states: Iterable[ProviderState], shared_by: str | None = None
) -> Iterator[TotalsLine]:
    """Yield the amounts of some providers together, a line for each class.

    :param name: of what the lines are: the name of a tree, the UUID of an aggregate, or ``ALL``
    :param shared_by: the name of the sharing provider, if the amounts are of one
    """
    amounts: dict[str, list[tuple[int, ...]]] = {}
    for state in states:
        for resource_class, inventory in state.inventories.items():
            capacity, usage = inventory.capacity, state.used(resource_class)
            room = max(0, capacity - usage)
            figures = capacity, usage, room, inventory.units.largest_amount(room)
            amounts.setdefault(resource_class, []).append(figures)
    for resource_class, members in sorted(amounts.items()):
        capacities, used, free, largest = map(list, zip(*members, strict=True))
        sums = sum(capacities), sum(used), sum(free)
        yield TotalsLine(name, resource_class, *sums, max(largest), shared_by, len(members))


#: How the lines are made, by what they are grouped by.
GROUPED: dict[str, Callable[[Snapshot], list[TotalsLine]]] = {
    'tree': sum_by_tree,
    'aggregate': sum_by_aggregate,
    'class': sum_by_class,
}
