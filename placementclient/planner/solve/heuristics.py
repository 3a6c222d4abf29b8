"""The quick pass of the search: finds most solutions, and proves most choices, without a solver.

Everything that it says is checked against the rooms; what it does not say is still open.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from placementclient.planner.solve.problem import Decision, Demand, Item, Placement, Problem

#: How many exchanges of two items are tried for each way before it is left to the solver.
EXCHANGES = 8


def place(problem: Problem) -> list[list[Placement]] | None:
    """A solution with the fewest divisions; ``None``: none was found, there may be one."""
    if any(kind.item.owner >= 0 for kind in problem.kinds):
        return None
    by_size = sorted(range(len(problem.kinds)), key=lambda kind: -_weight(problem, kind))
    by_ways = sorted(by_size, key=lambda kind: len(problem.kinds[kind].item.ways))
    for order in (by_size, by_ways):
        placements = _first_fit(problem, order)
        if placements is not None:
            return placements
    return _balanced(problem)


def exchange(problem: Problem, decision: Decision) -> None:
    """Learn what is possible from small changes of a solution.

    An item may go where there is room for it, or change places with another.
    """
    if any(kind.item.owner >= 0 for kind in problem.kinds):
        return
    _exchange(problem, decision, decision.placements)
    if decision.is_open(problem) and (balanced := _balanced(problem)) is not None:
        decision.note(balanced)
        _exchange(problem, decision, balanced)


def _exchange(
    problem: Problem, decision: Decision, placements: Sequence[Sequence[Placement]]
) -> None:
    state = _State(problem, placements)
    for index, kind in enumerate(problem.kinds):
        for way in range(len(kind.item.ways)):
            if way not in decision.possible[index] and state.can_change(index, way):
                decision.possible[index].add(way)
                decision.fixed[index] = False


def _weight(problem: Problem, kind: int) -> float:
    """How much of the place that suits it best an item takes."""
    return min(
        max(amount / max(problem.bins[where].room, 1) for where, amount, _ in demands)
        for demands in problem.kinds[kind].item.ways
    )


def _first_fit(problem: Problem, order: Sequence[int]) -> list[list[Placement]] | None:
    rooms = [room.room for room in problem.bins]
    placements: list[list[Placement]] = [[] for _ in problem.kinds]
    for index in order:
        kind = problem.kinds[index]
        placed = placements[index]
        for way, demands in enumerate(kind.item.ways):
            if len(placed) < kind.count and _admits(problem, demands):
                fitting = min(rooms[where] // amount for where, amount, _ in demands)
                number = min(fitting, kind.count - len(placed))
                placed += [((way, sum(amount for _, amount, _ in demands)),)] * number
                for where, amount, _ in demands:
                    rooms[where] -= amount * number
        while len(placed) < kind.count:
            parts = _divide(problem, kind.item, rooms)
            if parts is None:
                return None
            placed.append(parts)
    return placements


def _balanced(problem: Problem) -> list[list[Placement]] | None:
    """A solution that leaves some room everywhere and divides nothing; ``None``: none was found."""
    rooms = [room.room for room in problem.bins]
    sizes = [max(room.room, 1) for room in problem.bins]
    placements: list[list[Placement]] = [[] for _ in problem.kinds]
    for index in sorted(range(len(problem.kinds)), key=lambda kind: -_weight(problem, kind)):
        kind = problem.kinds[index]
        ways = [
            (way, demands)
            for way, demands in enumerate(kind.item.ways)
            if _admits(problem, demands)
        ]
        for _ in range(kind.count if ways else 0):
            left, way, demands = max(
                (
                    min((rooms[where] - amount) / sizes[where] for where, amount, _ in demands),
                    -way,
                    demands,
                )
                for way, demands in ways
            )
            if left < 0:
                return None
            for where, amount, _ in demands:
                rooms[where] -= amount
            placements[index].append(((-way, sum(amount for _, amount, _ in demands)),))
        if len(placements[index]) < kind.count:
            return None
    return placements


def _divide(problem: Problem, item: Item, rooms: list[int]) -> Placement | None:
    """Divide an item into as few parts as it can have; ``None`` where that fails.

    It can have no fewer parts than what the largest empty bins would need.
    """
    if not item.divisible:
        return None
    left, parts = item.size, []
    empty = sorted((problem.bins[where].room for ((where, _, _),) in item.ways), reverse=True)
    for way, ((where, _, held),) in enumerate(item.ways):
        part = problem.bins[where].largest_part(min(left, rooms[where]), held)
        if part:
            parts.append((way, part))
            rooms[where] -= part
            left -= part
    if left or sum(empty[: len(parts) - 1]) >= item.size:
        return None
    return tuple(parts)


def _admits(problem: Problem, demands: Sequence[Demand]) -> bool:
    return all(problem.bins[where].admits(amount + held) for where, amount, held in demands)


class _State:
    """A solution, and the changes that it leaves room for."""

    def __init__(self, problem: Problem, placements: Sequence[Sequence[Placement]]) -> None:
        self._problem = problem
        self._rooms = [room.room for room in problem.bins]
        #: of each kind the ways that whole items of it go; divided ones stay where they are
        self._used: list[list[int]] = []
        #: of each bin, who of those uses it, the smallest first: (amount, kind, way)
        self._users: list[list[tuple[int, int, int]]] = [[] for _ in problem.bins]
        for index, placed in enumerate(placements):
            self._used.append(sorted({item[0][0] for item in placed if len(item) == 1}))
            for way in self._used[index]:
                for where, amount, _ in self._ways(index)[way]:
                    self._users[where].append((amount, index, way))
            for item in placed:
                self._occupy(index, item)
        for users in self._users:
            users.sort()

    def can_change(self, index: int, way: int) -> bool:
        """Whether some item of a kind that goes elsewhere could go this way."""
        return any(self._fits_after(index, way, used) for used in self._used[index])

    def _occupy(self, index: int, item: Placement) -> None:
        if len(item) == 1:
            self._add(self._ways(index)[item[0][0]], -1)
            return
        for way, amount in item:
            ((where, _, _),) = self._ways(index)[way]
            self._rooms[where] -= amount

    def _fits_after(self, index: int, way: int, used: int) -> bool:
        demands = self._ways(index)[way]
        if not _admits(self._problem, demands):
            return False
        self._add(self._ways(index)[used], 1)
        self._add(demands, -1)
        fits = self._holds(demands) or any(
            self._moves_away(*other, demands) for other in self._others(index, demands)
        )
        self._add(demands, 1)
        self._add(self._ways(index)[used], -1)
        return fits

    def _others(self, index: int, demands: Sequence[Demand]) -> Iterator[tuple[int, int]]:
        """Whoever could make room where it is missing, the smallest that is large enough first."""
        for where, _, _ in demands:
            missing = -self._rooms[where]
            if missing <= 0:
                continue
            users = self._users[where]
            first = bisect.bisect_left(users, (missing, -1, -1))
            for _, other, used in users[first : first + EXCHANGES]:
                if other != index:
                    yield other, used

    def _moves_away(self, index: int, used: int, wanted: Sequence[Demand]) -> bool:
        """Whether a whole item can leave its way for another, and what is wanted then has room."""
        ways = self._ways(index)
        self._add(ways[used], 1)
        moves = False
        for way, demands in enumerate(ways):
            if not moves and way != used and _admits(self._problem, demands):
                self._add(demands, -1)
                moves = self._holds(wanted) and self._holds(demands) and self._holds(ways[used])
                self._add(demands, 1)
        self._add(ways[used], -1)
        return moves

    def _ways(self, index: int) -> Sequence[Sequence[Demand]]:
        return self._problem.kinds[index].item.ways

    def _add(self, demands: Sequence[Demand], sign: int) -> None:
        for where, amount, _ in demands:
            self._rooms[where] += sign * amount

    def _holds(self, demands: Sequence[Demand]) -> bool:
        return all(self._rooms[where] >= 0 for where, _, _ in demands)
