# SPDX-License-Identifier: Apache-2.0
"""The number of candidates of a request, calculated without the service.

A tree with eight devices and eight groups has 8! of them, and the service makes them all.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import ProviderSearch
from placementclient.placing.providers import HostProvider, make_grant_check
from placementclient.placing.requests import Request, parse_request
from placementclient.placing.shapes import find_serving_providers
from placementclient.placing.topology import Topology


class Slot(NamedTuple):
    """A provider that can serve groups of a request; equal ones are counted together.

    :param groups: the numbers of the groups that it can still serve
    :param free: the amount that one server can still have of each class, by class
    """

    groups: frozenset[int]
    free: tuple[tuple[str, int], ...]


#: Each slot once, with the number of providers that are equal to it.
SlotCounts = frozenset[tuple[Slot, int]]


@dataclass(frozen=True, slots=True)
class TreeCandidateCount:
    """A tree with its number of candidates.

    :param name: of its root
    :param is_exact: whether the count is exact; else there may be more
    """

    name: str
    count: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class CandidateCount:
    """The number of candidates of a request, by tree.

    :param trees: those that have any, the most candidates first
    :param limit: the most that Nova takes; ``None``: all
    """

    trees: Sequence[TreeCandidateCount]
    limit: int | None

    @property
    def total(self) -> int:
        return sum(tree.count for tree in self.trees)

    @property
    def is_exact(self) -> bool:
        """True if the total is exact; otherwise it is a lower bound."""
        return all(tree.is_exact for tree in self.trees)

    @property
    def least_lost_tree_count(self) -> int:
        """The least number of trees all of whose candidates are beyond the limit of Nova.

        Without breadth first, the service has all candidates of one tree before those of the next
        one, in an order of the trees that is not known.
        """
        if self.limit is None:
            return 0
        left, chosen = self.limit, 0
        for tree in reversed(self.trees):
            if left > 0:
                chosen += 1
            left -= tree.count
        return len(self.trees) - chosen


def make_tree_counter(
    topology: Topology, request: CandidateRequest
) -> Callable[[str], TreeCandidateCount]:
    """Return the function that counts the candidates in a tree, by the UUID of its root.

    It counts equal trees once. Candidates with allocations only on sharing providers count once for
    each tree.
    """
    parts = parse_request(request)
    counts: dict[object, tuple[int, bool]] = {}

    def count_in_tree(root: str) -> TreeCandidateCount:
        kind = topology.make_tree_key(root, parts.trees)
        if kind not in counts:
            states = topology.list_serving_providers(root)
            providers = topology.list_host_providers(root, parts.trees)
            counts[kind] = _count_in_tree(parts, states, providers)
        return TreeCandidateCount(topology.trees[root][0].name, *counts[kind])

    return count_in_tree


def count_candidates(topology: Topology, request: CandidateRequest) -> CandidateCount:
    """Return the number of candidates of a request, by tree."""
    numbers = map(make_tree_counter(topology, request), topology.trees)
    trees = [tree for tree in numbers if tree.count or not tree.is_exact]
    return CandidateCount(sorted(trees, key=lambda tree: -tree.count), request.limit)


def _count_in_tree(
    request: Request, states: Sequence[ProviderState], providers: Sequence[HostProvider]
) -> tuple[int, bool]:
    """Return the number of candidates in a tree, and whether the number is exact.

    :param states: the providers that can serve the tree
    :param providers: the same as a request sees them, in the same order
    """
    grants = make_grant_check(states)
    suitable = find_serving_providers(request, providers, grants)
    if suitable is None or not all(suitable):
        return 0, True
    if request.subtrees:
        search = ProviderSearch(request, providers, suitable, grants)
        return sum(1 for _ in search.find_ways()), not search.is_cut
    # The ways to serve the common group one by one, each with those of the groups.
    common = [number for number, part in enumerate(request.parts) if not part.group]
    ungrouped = request._replace(
        parts=tuple(request.parts[number] for number in common), apart=frozenset()
    )
    search = ProviderSearch(ungrouped, providers, [suitable[number] for number in common], grants)
    count, total = _make_group_counter(request), 0
    for _ in search.find_ways():
        slots = Counter(_find_slots(request, suitable, states, search.taken))
        total += count(0, frozenset(slots.items()))
    return total, not search.is_cut


def _find_slots(
    request: Request,
    suitable: Sequence[Sequence[int]],
    states: Sequence[ProviderState],
    taken: dict[tuple[int, str], int],
) -> Iterator[Slot]:
    """Yield a slot for each provider of a tree that can serve a group.

    :param suitable: by part of the request, the indexes into ``states`` of those that can serve it
    :param taken: by index and class, the amount that the parts without a group take
    :param states: the providers that can serve the tree
    """
    groups = [number for number, part in enumerate(request.parts) if part.group]
    names = {name for number in groups for name, _ in request.parts[number].resources}
    for place, state in enumerate(states):
        serving = frozenset(number for number in groups if place in suitable[number])
        if serving:
            free = {
                name: inventory.units.largest_amount(state.free(name)) - taken.get((place, name), 0)
                for name, inventory in state.inventories.items()
                if name in names
            }
            yield Slot(serving, tuple(sorted(free.items())))


def _make_group_counter(request: Request) -> Callable[[int, SlotCounts], int]:
    """Return the function that counts the ways to serve the groups from a number on.

    It serves one group after the other, and remembers the number for equal slots. Two groups of one
    VF each and two devices of two VFs: the first group has 2 equal devices to choose from. Then one
    device has 2 free VFs and one has 1, and the second group has 1 + 1 ways: 2 * (1 + 1) = 4. With
    groups that have to be apart, the first device cannot serve the second group: 2 * 1 = 2.
    """
    groups = [number for number, part in enumerate(request.parts) if part.group]

    @functools.cache
    def count_ways(first: int, slots: SlotCounts) -> int:
        """Return the number of ways to serve ``groups[first:]`` from some slots."""
        if first == len(groups):
            return 1
        number, total = groups[first], 0
        amounts = dict(request.parts[number].resources)
        for slot, multiplicity in slots:
            free = tuple((name, amount - amounts.get(name, 0)) for name, amount in slot.free)
            has_room = all(amount >= 0 for name, amount in free if name in amounts)
            if number in slot.groups and has_room:
                later = Counter(dict(slots))
                later[slot] -= 1
                later[Slot(slot.groups - request.find_excluded_parts(number), free)] += 1
                remaining = frozenset((kind, n) for kind, n in later.items() if n)
                total += multiplicity * count_ways(first + 1, remaining)
        return total

    return count_ways
