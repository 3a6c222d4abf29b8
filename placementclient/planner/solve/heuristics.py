"""The quick pass of the search: finds most solutions, and proves most choices, without a solver.

Everything that it says is checked against the rooms; what it does not say is still open.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from placementclient.planner.solve.problem import (
    Decision,
    Demand,
    Item,
    ItemPlacement,
    Part,
    Problem,
)

#: How many items of a place are looked at for one that can make room, and how many may move on.
MOST_TRIED = 8
#: How often items of a solution move before what is still open is left to the solver.
MOST_MOVES = 20_000


def place(problem: Problem) -> list[list[ItemPlacement]] | None:
    """A solution with the fewest divisions; ``None``: none was found, there may be one."""
    return _fitted(problem) or _fitted(problem, is_even=True)


def explore(problem: Problem, decision: Decision) -> None:
    """Learn what is possible: items go where none is known to go, and others make room for them."""
    for placements in (decision.placements, _fitted(problem, is_even=True)):
        if placements is None or not decision.is_open(problem):
            continue
        decision.note(placements)
        solution = _Solution(problem, placements)
        for index, group in enumerate(problem.groups):
            for option in range(len(group.item.options)):
                if option not in decision.possible[index] and solution.makes_room(index, option):
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


def _fitted(problem: Problem, *, is_even: bool = False) -> list[list[ItemPlacement]] | None:
    """A solution, the largest items first; ``None``: none was found.

    :param is_even: whether to leave some room everywhere and to divide nothing; else each item
        takes the first of its options that has room
    """
    free = [bin_.free for bin_ in problem.bins]
    placements: list[list[ItemPlacement]] = [[] for _ in problem.groups]
    for index in _by_weight(problem):
        group, placed = problem.groups[index], placements[index]
        options = [
            (option, demands)
            for option, demands in enumerate(group.item.options)
            if _admits(problem, group.item, demands)
        ]
        while left := group.count - len(placed):
            if is_even:
                options.sort(key=lambda each: _left(problem, free, each[1]), reverse=True)
            for option, demands in options:
                if taken := _take(free, demands, 1 if is_even else left):
                    placed += [(Part(option, _size(demands)),)] * taken
                    break
            else:
                parts = None if is_even else _divide(problem, group.item, free)
                if parts is None:
                    return None
                placed.append(parts)
    return placements


def _take(free: list[int], demands: Sequence[Demand], most: int) -> int:
    """Take the room for as many items as have it, up to ``most``, and return how many these are."""
    number = min(most, *(max(free[where], 0) // amount for where, amount, _, _ in demands))
    for where, amount, _, _ in demands:
        free[where] -= amount * number
    return number


def _left(problem: Problem, free: Sequence[int], demands: Sequence[Demand]) -> float:
    """Return the share of its places that an option would leave free."""
    return min(
        (free[where] - amount) / max(problem.bins[where].free, 1) for where, amount, _, _ in demands
    )


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


def _admits(problem: Problem, item: Item, demands: Sequence[Demand]) -> bool:
    return not item.divisible or problem.bins[demands[0].bin].takes(demands[0])


def _size(demands: Sequence[Demand]) -> int:
    return sum(demand.amount for demand in demands)


class _Solution:
    """A solution, of which items can change their places for others."""

    def __init__(self, problem: Problem, placements: Sequence[Sequence[ItemPlacement]]) -> None:
        self._free, self._left = [bin_.free for bin_ in problem.bins], MOST_MOVES
        #: of each group, the options that the units admit
        self._options = [
            {
                option: demands
                for option, demands in enumerate(group.item.options)
                if _admits(problem, group.item, demands)
            }
            for group in problem.groups
        ]
        #: of each bin, the whole items that use it, the smallest first: (amount, group, option)
        self._users: list[list[tuple[int, int, int]]] = [[] for _ in problem.bins]
        #: of each group, the options that whole items of it use
        self._used = [
            sorted({item[0].option for item in placed if len(item) == 1}) for placed in placements
        ]
        for index, placed in enumerate(placements):
            for item in placed:
                for option, amount in item if len(item) > 1 else ():
                    self._free[problem.groups[index].item.options[option][0].bin] -= amount
                if len(item) == 1:
                    self._put(index, item[0].option)

    def makes_room(self, index: int, option: int) -> bool:
        """Return whether a whole item of a group can take an option if a few others move on."""
        if option not in self._options[index] or self._left <= 0:
            return False
        return any(self._moves(index, used, option) for used in self._used[index])

    def _moves(self, index: int, used: int, option: int) -> bool:
        moves = [(index, used, option)]
        self._move(index, used, option)
        while (short := self._short(moves)) is not None and len(moves) <= MOST_TRIED:
            move = self._next(short, {(index, option) for index, _, option in moves})
            if move is None:
                break
            self._move(*move)
            moves.append(move)
        for index, used, option in reversed(moves):
            self._move(index, option, used)
        self._left -= len(moves)
        return short is None

    def _short(self, moves: Sequence[tuple[int, int, int]]) -> int | None:
        """A bin to which items have moved, and that has too little room for them."""
        for index, _, option in moves:
            for where, _, _, _ in self._options[index][option]:
                if self._free[where] < 0:
                    return where
        return None

    def _next(self, short: int, moved: set[tuple[int, int]]) -> tuple[int, int, int] | None:
        """Let an item leave a bin: for where it fits, else for where the least room is missing.

        :param moved: the groups and options of those that stay there
        """
        users = [each for each in self._users[short] if each[1:] not in moved]
        first = bisect.bisect_left(users, (-self._free[short], -1, -1))
        best, least = None, -math.inf
        for _, index, used in users[first : first + MOST_TRIED] or users[-1:]:
            for option, demands in self._options[index].items():
                if any(demand.bin == short for demand in demands):
                    continue
                left = min(0, *(self._free[where] - amount for where, amount, _, _ in demands))
                if left > least:
                    best, least = (index, used, option), left
        return best

    def _move(self, index: int, used: int, option: int) -> None:
        for where, amount, _, _ in self._options[index][used]:
            self._free[where] += amount
            self._users[where].remove((amount, index, used))
        self._put(index, option)

    def _put(self, index: int, option: int) -> None:
        for where, amount, _, _ in self._options[index][option]:
            self._free[where] -= amount
            bisect.insort(self._users[where], (amount, index, option))
