# SPDX-License-Identifier: Apache-2.0
"""The fast part of the search, which finds most solutions and proves most choices.

Each solution is checked against the free amounts; the solver decides the rest.
"""

from collections.abc import Collection, Sequence

from placementclient.planner.solve.problem import (
    Decision,
    Demand,
    Item,
    ItemGroup,
    ItemPlacement,
    Part,
    Problem,
)

#: The most options of groups to try before the solver takes over.
MOST_STEPS = 200_000


def place_items(problem: Problem) -> list[list[ItemPlacement]] | None:
    """Return the bins of each item, in a solution that divides as few items as possible.

    Return ``None`` if the heuristic finds none.
    """
    return _fit_items(problem) or _fit_items(problem, is_even=True)


def find_possible_options(problem: Problem, decision: Decision) -> None:
    """Look for solutions with options not yet known to be possible; add them to ``decision``."""
    for is_even in (True, False):
        is_new = True
        while is_new:
            number = sum(map(len, decision.possible))
            placements = _fit_items(problem, is_even=is_even, explored=decision.possible)
            decision.record(placements or ())
            is_new = sum(map(len, decision.possible)) > number
    left = MOST_STEPS // sum(len(group.item.options) for group in problem.groups)
    for index, group in enumerate(problem.groups):
        for option, demands in enumerate(group.item.options):
            is_open = option not in decision.possible[index]
            if is_open and _do_units_admit(problem, group.item, demands) and left > 0:
                left -= 1
                first = index, option
                placements = _fit_items(problem, is_even=True, first=first) or _fit_items(
                    problem, first=first
                )
                decision.record(placements or ())


def find_overfull_part(problem: Problem) -> Problem | None:
    """Return a minimal infeasible part of a problem: too many equal items for all bins.

    The items are whole, of one class and one size.

    :return: the same groups, some with fewer items; ``None`` if there is no such part
    """
    options = [option for group in problem.groups for option in group.item.options]
    sizes = {demand.amount for option in options for demand in option}
    is_simple = len(sizes) == 1 and all(len(option) == 1 for option in options)
    if not is_simple or any(group.item.divisible for group in problem.groups):
        return None
    (size,) = sizes
    left, groups = 1 + sum(max(bin_.free, 0) // size for bin_ in problem.bins), []
    for group in problem.groups:
        groups.append(ItemGroup(group.item, min(left, group.count)))
        left -= groups[-1].count
    return None if left else Problem(problem.bins, tuple(groups))


def _weigh_group(problem: Problem, group: int) -> float:
    """Return the share of its best bin that an item takes."""
    return min(
        max(amount / max(problem.bins[where].free, 1) for where, amount, _, _ in demands)
        for demands in problem.groups[group].item.options
    )


def _fit_items(
    problem: Problem,
    *,
    is_even: bool = False,
    first: tuple[int, int] | None = None,
    explored: Sequence[Collection[int]] = (),
) -> list[list[ItemPlacement]] | None:
    """Return a solution, with the largest items placed first; ``None``: none was found."""
    free = [bin_.free for bin_ in problem.bins]
    placements: list[list[ItemPlacement]] = [[] for _ in problem.groups]
    if first is not None:
        demands = problem.groups[first[0]].item.options[first[1]]
        if not _take_room(free, demands, 1):
            return None
        placements[first[0]].append((Part(first[1], _sum_amounts(demands)),))
    for index in sorted(range(len(problem.groups)), key=lambda n: -_weigh_group(problem, n)):
        later = explored[index] if explored else ()
        if not _place_group(
            problem, problem.groups[index], free, placements[index], is_even, later
        ):
            return None
    return placements


def _place_group(
    problem: Problem,
    group: ItemGroup,
    free: list[int],
    placed: list[ItemPlacement],
    is_even: bool,
    explored: Collection[int],
) -> bool:
    """Place the remaining items of a group; return whether all have a place.

    :param explored: options to try after the others
    """
    options = [
        (option, demands)
        for option, demands in enumerate(group.item.options)
        if _do_units_admit(problem, group.item, demands)
    ]
    while left := group.count - len(placed):
        if is_even:
            options.sort(key=lambda pair: _compute_free_share(problem, free, pair[1]), reverse=True)
        if explored:
            options.sort(key=lambda pair: pair[0] in explored)
        for option, demands in options:
            if taken := _take_room(free, demands, 1 if is_even else left):
                placed += [(Part(option, _sum_amounts(demands)),)] * taken
                break
        else:
            parts = None if is_even else _divide_item(problem, group.item, free)
            if parts is None:
                return False
            placed.append(parts)
    return True


def _take_room(free: list[int], demands: Sequence[Demand], most: int) -> int:
    """Take the room for at most ``most`` items; return the number of items that have room."""
    number = min(most, *(max(free[where], 0) // amount for where, amount, _, _ in demands))
    for where, amount, _, _ in demands:
        free[where] -= amount * number
    return number


def _compute_free_share(problem: Problem, free: Sequence[int], demands: Sequence[Demand]) -> float:
    """Return the share of its bins that an option would leave free."""
    return min(
        (free[where] - amount) / max(problem.bins[where].free, 1) for where, amount, _, _ in demands
    )


def _divide_item(problem: Problem, item: Item, free: list[int]) -> ItemPlacement | None:
    """Divide an item into as few parts as it can have; ``None`` where that fails."""
    if not item.divisible:
        return None
    left, parts = item.size, []
    empty = sorted((problem.bins[where].free for ((where, _, _, _),) in item.options), reverse=True)
    for option, ((where, _, retained, _),) in enumerate(item.options):
        part = problem.bins[where].largest_part(min(left, free[where]), retained)
        if part:
            parts.append(Part(option, part))
            free[where] -= part
            left -= part
    if left or sum(empty[: len(parts) - 1]) >= item.size:
        return None
    return tuple(parts)


def _do_units_admit(problem: Problem, item: Item, demands: Sequence[Demand]) -> bool:
    return not item.divisible or problem.bins[demands[0].bin].admits(demands[0])


def _sum_amounts(demands: Sequence[Demand]) -> int:
    return sum(demand.amount for demand in demands)
