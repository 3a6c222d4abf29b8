"""The number of candidates of a request, calculated without the service.

A tree with eight devices and eight groups has 8! of them, and the service makes them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState
from placementclient.placing.options import StateSearch
from placementclient.placing.providers import HostProvider, slots
from placementclient.placing.requests import Request, RequestPart, parsed
from placementclient.placing.shapes import serving
from placementclient.placing.topology import Topology

#: A provider as the rest of the groups sees it: the groups that it may serve, by number, and what
#: is left of each class for one server.
Slot = tuple[frozenset[int], tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class TreeCandidates:
    """The candidates in a tree.

    :param is_exact: False where there are at least so many
    """

    name: str
    count: int
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class CandidateCount:
    """The candidates of a request.

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
    def lost(self) -> int:
        """The least number of trees that have no candidate that Nova takes.

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


class CandidateCounter:
    """Counts the candidates of a request by tree; equal trees are counted once.

    What sharing providers alone give to the common group counts once for each tree.
    """

    def __init__(self, topology: Topology, request: CandidateRequest) -> None:
        self._topology, self._request = topology, parsed(request)
        self._counts: dict[object, tuple[int, bool]] = {}

    def tree(self, root: str) -> TreeCandidates:
        """Return the number of candidates in a tree, by the UUID of its root."""
        topology, trees = self._topology, self._request.trees
        kind = topology.kind(root, trees)
        if kind not in self._counts:
            states, bins = topology.serving(root), topology.host(root, trees)
            self._counts[kind] = _in_tree(self._request, states, bins)
        return TreeCandidates(topology.trees[root][0].name, *self._counts[kind])


def counted(topology: Topology, request: CandidateRequest) -> CandidateCount:
    """Return the number of candidates of a request, by tree."""
    counter = CandidateCounter(topology, request)
    numbers = map(counter.tree, topology.trees)
    trees = [tree for tree in numbers if tree.count or not tree.is_exact]
    return CandidateCount(sorted(trees, key=lambda tree: -tree.count), request.limit)


def _in_tree(
    request: Request, states: Sequence[ProviderState], bins: Sequence[HostProvider]
) -> tuple[int, bool]:
    def is_able(number: int, part: RequestPart) -> bool:
        return all(slots(states[number], name, amount) for name, amount in part.resources)

    options = serving(request, bins, is_able)
    if options is None or not all(options):
        return 0, True
    if request.subtrees:
        search = StateSearch(request, bins, options, states)
        count = sum(1 for _ in search.places())
        return count, search.left >= 0
    return _multiplied(request, bins, options, states)


def _multiplied(
    request: Request,
    bins: Sequence[HostProvider],
    options: Sequence[Sequence[int]],
    states: Sequence[ProviderState],
) -> tuple[int, bool]:
    """Return the number of ways: of the common group one by one, each with those of the groups."""
    common = [number for number, part in enumerate(request.parts) if not part.group]
    groups = [number for number, part in enumerate(request.parts) if part.group]
    whole = request._replace(parts=tuple(request.parts[number] for number in common))
    search = StateSearch(whole, bins, [options[number] for number in common], states)
    counts = _GroupCounts(request, groups)
    total = 0
    for _ in search.places():
        left = Counter(_slots(request, groups, options, states, search.taken))
        total += counts.count(0, frozenset(left.items()))
    return total, search.left >= 0


def _slots(
    request: Request,
    groups: Sequence[int],
    options: Sequence[Sequence[int]],
    states: Sequence[ProviderState],
    taken: dict[tuple[int, str], int],
) -> Iterator[Slot]:
    names = {name for number in groups for name, _ in request.parts[number].resources}
    for place, state in enumerate(states):
        serving = frozenset(number for number in groups if place in options[number])
        if serving:
            left = {
                name: min(state.free(name), inventory.max_unit) - taken.get((place, name), 0)
                for name, inventory in state.inventories.items()
                if name in names
            }
            yield serving, tuple(sorted(left.items()))


class _GroupCounts:
    """Counts the ways to serve groups by providers, of which those that are alike count as one."""

    def __init__(self, request: Request, groups: Sequence[int]) -> None:
        self._request, self._groups = request, groups
        self._known: dict[tuple[int, frozenset[tuple[Slot, int]]], int] = {}

    def count(self, first: int, slots: frozenset[tuple[Slot, int]]) -> int:
        """Return the number of ways to serve the groups from one on.

        :param slots: the providers, each kind with its number
        """
        if first == len(self._groups):
            return 1
        if (first, slots) not in self._known:
            number = self._groups[first]
            self._known[first, slots] = sum(
                many * self.count(first + 1, self._without(slots, slot, number))
                for slot, many in slots
                if number in slot[0] and self._fits(slot, number)
            )
        return self._known[first, slots]

    def _fits(self, slot: Slot, number: int) -> bool:
        left = dict(slot[1])
        return all(amount <= left[name] for name, amount in self._request.parts[number].resources)

    def _without(
        self, slots: frozenset[tuple[Slot, int]], slot: Slot, number: int
    ) -> frozenset[tuple[Slot, int]]:
        """Return the providers after one of a kind serves a group."""
        amounts = dict(self._request.parts[number].resources)
        left = tuple((name, most - amounts.get(name, 0)) for name, most in slot[1])
        serving = frozenset[int]() if self._request.is_isolated else slot[0]
        kinds = Counter(dict(slots))
        kinds[slot] -= 1
        kinds[serving, left] += 1
        return frozenset((kind, many) for kind, many in kinds.items() if many)
