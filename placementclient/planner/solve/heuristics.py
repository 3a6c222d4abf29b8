"""The quick pass of the search: finds most solutions, and proves most choices, without a solver.

Everything that it says is checked against the rooms; what it does not say is still open.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from placementclient.planner.solve.problem import (
    Decision,
    Demand,
    Item,
    ItemPlacement,
    Part,
    Problem,
)

#: How many exchanges of two items are tried for each option before it is left to the solver.
EXCHANGES = 8


def place(problem: Problem) -> list[list[ItemPlacement]] | None:
    """A solution with the fewest divisions; ``None``: none was found, there may be one."""
    if any(group.item.owner >= 0 for group in problem.groups):
        return None
    return _first_fit(problem) or _balanced(problem)


def exchange(problem: Problem, decision: Decision) -> None:
    """Learn what is possible from small changes of a solution.

    An item may go where there is room for it, or change places with another.
    """
    if any(group.item.owner >= 0 for group in problem.groups):
        return
    _exchange(problem, decision, decision.placements)
    if decision.is_open(problem) and (balanced := _balanced(problem)) is not None:
        decision.note(balanced)
        _exchange(problem, decision, balanced)


def _exchange(
    problem: Problem, decision: Decision, placements: Sequence[Sequence[ItemPlacement]]
) -> None:
    state = _PartialSolution(problem, placements)
    for index, group in enumerate(problem.groups):
        for option in range(len(group.item.options)):
            if option not in decision.possible[index] and state.can_change(index, option):
                decision.possible[index].add(option)
                decision.fixed[index] = False


def _by_weight(problem: Problem) -> list[int]:
    """The groups, the largest items first."""
    return sorted(range(len(problem.groups)), key=lambda group: -_weight(problem, group))


def _weight(problem: Problem, group: int) -> float:
    """Return how much of the place that suits it best an item takes."""
    return min(
        max(amount / max(problem.bins[where].free, 1) for where, amount, _, _ in demands)
        for demands in problem.groups[group].item.options
    )


def _first_fit(problem: Problem) -> list[list[ItemPlacement]] | None:
    free = [bin_.free for bin_ in problem.bins]
    placements: list[list[ItemPlacement]] = [[] for _ in problem.groups]
    for index in _by_weight(problem):
        group = problem.groups[index]
        placed = placements[index]
        for option, demands in enumerate(group.item.options):
            if len(placed) < group.count and _admits(problem, demands):
                fitting = min(free[where] // amount for where, amount, _, _ in demands)
                number = min(fitting, group.count - len(placed))
                placed += [(Part(option, _size(demands)),)] * number
                for where, amount, _, _ in demands:
                    free[where] -= amount * number
        while len(placed) < group.count:
            parts = _divide(problem, group.item, free)
            if parts is None:
                return None
            placed.append(parts)
    return placements


def _balanced(problem: Problem) -> list[list[ItemPlacement]] | None:
    """A solution that leaves some room everywhere and divides nothing; ``None``: none was found."""
    free = [bin_.free for bin_ in problem.bins]
    sizes = [max(bin_.free, 1) for bin_ in problem.bins]
    placements: list[list[ItemPlacement]] = [[] for _ in problem.groups]
    for index in _by_weight(problem):
        group = problem.groups[index]
        options = [
            (option, demands)
            for option, demands in enumerate(group.item.options)
            if _admits(problem, demands)
        ]
        for _ in range(group.count if options else 0):
            left, option, demands = max(
                (
                    min((free[where] - amount) / sizes[where] for where, amount, _, _ in demands),
                    -option,
                    demands,
                )
                for option, demands in options
            )
            if left < 0:
                return None
            for where, amount, _, _ in demands:
                free[where] -= amount
            placements[index].append((Part(-option, _size(demands)),))
        if len(placements[index]) < group.count:
            return None
    return placements


def _divide(problem: Problem, item: Item, free: list[int]) -> ItemPlacement | None:
    """Divide an item into as few parts as it can have; ``None`` where that fails.

    It can have no fewer parts than what the largest empty bins would need.
    """
    if not item.divisible:
        return None
    left, parts = item.size, []
    empty = sorted((problem.bins[where].free for ((where, _, _, _),) in item.options), reverse=True)
    for option, ((where, _, held, _),) in enumerate(item.options):
        part = problem.bins[where].largest_part(min(left, free[where]), held)
        if part:
            parts.append(Part(option, part))
            free[where] -= part
            left -= part
    if left or sum(empty[: len(parts) - 1]) >= item.size:
        return None
    return tuple(parts)


def _admits(problem: Problem, demands: Sequence[Demand]) -> bool:
    return all(problem.bins[demand.bin].takes(demand) for demand in demands)


def _size(demands: Sequence[Demand]) -> int:
    return sum(demand.amount for demand in demands)


class _PartialSolution:
    """A solution, and the changes that it leaves room for."""

    def __init__(self, problem: Problem, placements: Sequence[Sequence[ItemPlacement]]) -> None:
        self._problem = problem
        self._free = [bin_.free for bin_ in problem.bins]
        #: of each group the options that whole items of it go; divided ones stay where they are
        self._used: list[list[int]] = []
        #: of each bin, who of those uses it, the smallest first: (amount, group, option)
        self._users: list[list[tuple[int, int, int]]] = [[] for _ in problem.bins]
        for index, placed in enumerate(placements):
            self._used.append(sorted({item[0][0] for item in placed if len(item) == 1}))
            for option in self._used[index]:
                for where, amount, _, _ in self._options(index)[option]:
                    self._users[where].append((amount, index, option))
            for item in placed:
                self._occupy(index, item)
        for users in self._users:
            users.sort()

    def can_change(self, index: int, option: int) -> bool:
        """Return whether some item of a group that goes elsewhere could take this option."""
        return any(self._fits_after(index, option, used) for used in self._used[index])

    def _occupy(self, index: int, item: ItemPlacement) -> None:
        if len(item) == 1:
            self._add(self._options(index)[item[0][0]], -1)
            return
        for option, amount in item:
            ((where, _, _, _),) = self._options(index)[option]
            self._free[where] -= amount

    def _fits_after(self, index: int, option: int, used: int) -> bool:
        demands = self._options(index)[option]
        if not _admits(self._problem, demands):
            return False
        self._add(self._options(index)[used], 1)
        self._add(demands, -1)
        fits = self._holds(demands) or any(
            self._moves_away(*other, demands) for other in self._others(index, demands)
        )
        self._add(demands, 1)
        self._add(self._options(index)[used], -1)
        return fits

    def _others(self, index: int, demands: Sequence[Demand]) -> Iterator[tuple[int, int]]:
        """Whoever could make room where it is missing, the smallest that is large enough first."""
        for where, _, _, _ in demands:
            missing = -self._free[where]
            if missing <= 0:
                continue
            users = self._users[where]
            first = bisect.bisect_left(users, (missing, -1, -1))
            for _, other, used in users[first : first + EXCHANGES]:
                if other != index:
                    yield other, used

    def _moves_away(self, index: int, used: int, wanted: Sequence[Demand]) -> bool:
        """Return whether a whole item can take another option, and what is wanted then has room."""
        options = self._options(index)
        self._add(options[used], 1)
        moves = False
        for option, demands in enumerate(options):
            if not moves and option != used and _admits(self._problem, demands):
                self._add(demands, -1)
                moves = self._holds(wanted) and self._holds(demands) and self._holds(options[used])
                self._add(demands, 1)
        self._add(options[used], -1)
        return moves

    def _options(self, index: int) -> Sequence[Sequence[Demand]]:
        return self._problem.groups[index].item.options

    def _add(self, demands: Sequence[Demand], sign: int) -> None:
        for where, amount, _, _ in demands:
            self._free[where] += sign * amount

    def _holds(self, demands: Sequence[Demand]) -> bool:
        return all(self._free[where] >= 0 for where, _, _, _ in demands)
