"""The quick pass of the search: finds most solutions, and proves most choices, without a solver.

Everything that it says is checked against the rooms; what it does not say is still open.
"""

from __future__ import annotations

from collections.abc import Sequence

from placementclient.planner.solve.problem import (
    Decision,
    Demand,
    Item,
    ItemPlacement,
    Part,
    Problem,
)


def place(problem: Problem) -> list[list[ItemPlacement]] | None:
    """A solution with the fewest divisions; ``None``: none was found, there may be one."""
    if any(group.item.owner >= 0 for group in problem.groups):
        return None
    return _first_fit(problem) or _balanced(problem)


def complete(problem: Problem, decision: Decision) -> None:
    """Learn what is possible: an item may also go wherever a solution leaves room for it."""
    if any(group.item.owner >= 0 for group in problem.groups):
        return
    _move(problem, decision, decision.placements)
    if decision.is_open(problem) and (balanced := _balanced(problem)) is not None:
        decision.note(balanced)
        _move(problem, decision, balanced)


def _move(
    problem: Problem, decision: Decision, placements: Sequence[Sequence[ItemPlacement]]
) -> None:
    """Learn what single items of a solution can change."""
    free = [bin_.free for bin_ in problem.bins]
    for group, placed in zip(problem.groups, placements, strict=True):
        for part in (part for item in placed for part in item):
            for where, amount, _, _ in group.item.options[part.option]:
                free[where] -= part.amount if group.item.divisible else amount
    for index, group in enumerate(problem.groups):
        options = group.item.options
        used = {item[0].option for item in placements[index] if len(item) == 1}
        for option in set(range(len(options))) - decision.possible[index]:
            if _admits(problem, options[option]) and any(
                _has_room(free, options[option], options[other]) for other in used
            ):
                decision.possible[index].add(option)
                decision.fixed[index] = False


def _has_room(free: Sequence[int], wanted: Sequence[Demand], left: Sequence[Demand]) -> bool:
    """Whether there is room for some demands once others are gone."""
    gone = {demand.bin: demand.amount for demand in left}
    return all(amount <= free[where] + gone.get(where, 0) for where, amount, _, _ in wanted)


def _by_weight(problem: Problem) -> list[int]:
    """The groups, the largest items first."""
    return sorted(range(len(problem.groups)), key=lambda group: -_weight(problem, group))


def _weight(problem: Problem, group: int) -> float:
    """How much of the place that suits it best an item takes."""
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
