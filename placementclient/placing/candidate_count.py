# SPDX-License-Identifier: Apache-2.0
"""The number of candidates of a request, calculated without the service.

A tree with eight devices and eight groups has 8! of them, and the service makes them all.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider, make_grants
from placementclient.placing.requests import Request, parse_request
from placementclient.placing.shapes import find_serving_providers
from placementclient.placing.topology import Topology

#: A provider as the rest of the groups sees it: the groups that it may serve, by number, and what
#: is left of each class for one server.
Slot = tuple[frozenset[int], tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class TreeCandidates:
    """The number of candidates in a tree."""

    name: str
    count: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class CandidateCount:
    """The number of candidates of a request, by tree.

    :param trees: those that have any, the most candidates first
    :param limit: the most that Nova takes; ``None``: all
    """

    trees: Sequence[TreeCandidates]
    limit: int | None

    @property
    def total(self) -> int:
        """The number of all candidates."""
        return sum(tree.count for tree in self.trees)

    @property
    def is_exact(self) -> bool:
        """Return whether the total is exact; otherwise it is a lower bound."""
        return all(tree.is_exact for tree in self.trees)

    @property
    def lost_trees(self) -> int:
        """The least number of trees all of whose candidates are beyond the limit of Nova.

        Without breadth first, the service has all candidates of one tree before those of the next
        one, in an order of the trees that is not known.
        """
        if self.limit is None or self.total <= self.limit:
            return 0
        left, chosen = self.limit, 0
        for tree in reversed(self.trees):
            if left > 0:
                chosen += 1
            left -= tree.count
        return len(self.trees) - chosen


def make_counter(topology: Topology, request: CandidateRequest) -> Callable[[str], TreeCandidates]:
    """Return the function that counts the candidates in a tree, by the UUID of its root.

    It counts equal trees once. Candidates with allocations only on sharing providers count once for
    each tree.
    """
    parts = parse_request(request)
    counts: dict[object, tuple[int, bool]] = {}

    def in_tree(root: str) -> TreeCandidates:
        kind = topology.tree_kind(root, parts.trees)
        if kind not in counts:
            states, bins = (
                topology.serving_providers(root),
                topology.host_providers(root, parts.trees),
            )
            counts[kind] = _count_in_tree(parts, states, bins)
        return TreeCandidates(topology.trees[root][0].name, *counts[kind])

    return in_tree


def count_candidates(topology: Topology, request: CandidateRequest) -> CandidateCount:
    """Return the number of candidates of a request, by tree."""
    numbers = map(make_counter(topology, request), topology.trees)
    trees = [tree for tree in numbers if tree.count or not tree.is_exact]
    return CandidateCount(sorted(trees, key=lambda tree: -tree.count), request.limit)


def _count_in_tree(
    request: Request, states: Sequence[ProviderState], bins: Sequence[HostProvider]
) -> tuple[int, bool]:
    """Return the number of candidates in a tree, and whether the number is exact."""
    grants = make_grants(states)
    options = find_serving_providers(request, bins, grants)
    if options is None or not all(options):
        return 0, True
    if request.subtrees:
        search = PartSearch(request, bins, options, grants)
        return sum(1 for _ in search.find_places()), search.left >= 0
    # The ways to serve the common group one by one, each with those of the groups.
    common = [number for number, part in enumerate(request.parts) if not part.group]
    whole = request._replace(
        parts=tuple(request.parts[number] for number in common), apart=frozenset()
    )
    search = PartSearch(whole, bins, [options[number] for number in common], grants)
    count, total = _make_group_counter(request), 0
    for _ in search.find_places():
        left = Counter(_find_slots(request, options, states, search.taken))
        total += count(0, frozenset(left.items()))
    return total, search.left >= 0


def _find_slots(
    request: Request,
    options: Sequence[Sequence[int]],
    states: Sequence[ProviderState],
    taken: dict[tuple[int, str], int],
) -> Iterator[Slot]:
    """Return the slots of a tree: which groups a provider can serve, and its free amounts."""
    groups = [number for number, part in enumerate(request.parts) if part.group]
    names = {name for number in groups for name, _ in request.parts[number].resources}
    for place, state in enumerate(states):
        serving = frozenset(number for number in groups if place in options[number])
        if serving:
            left = {
                name: inventory.units.largest_amount(state.free(name)) - taken.get((place, name), 0)
                for name, inventory in state.inventories.items()
                if name in names
            }
            yield serving, tuple(sorted(left.items()))


def _make_group_counter(request: Request) -> Callable[[int, frozenset[tuple[Slot, int]]], int]:
    """Return the function that counts the ways to serve the groups from a number on."""
    # Its argument has each kind of providers once, with their number.
    groups = [number for number, part in enumerate(request.parts) if part.group]

    @functools.cache
    def count(first: int, slots: frozenset[tuple[Slot, int]]) -> int:
        if first == len(groups):
            return 1
        number, total = groups[first], 0
        amounts = dict(request.parts[number].resources)
        for slot, many in slots:
            able, most = slot
            left = tuple((name, free - amounts.get(name, 0)) for name, free in most)
            if number in able and all(free >= 0 for name, free in left if name in amounts):
                others = Counter(dict(slots))
                others[slot] -= 1
                others[able - request.excluded_parts(number), left] += 1
                rest = frozenset((kind, n) for kind, n in others.items() if n)
                total += many * count(first + 1, rest)
        return total

    return count
