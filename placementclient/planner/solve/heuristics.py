# SPDX-License-Identifier: Apache-2.0
"""The fast part of the search, which finds most solutions and proves most choices.

It is first-fit decreasing: the items that take the largest share of a bin are placed first, each in
the first bin with room. Each solution is checked against the free amounts. The solver decides what
this does not find.
"""

from collections.abc import Collection, Sequence

from placementclient.planner.solve.problem import (
    Decision,
    Demand,
    Item,
    ItemGroup,
    ItemPlacement,
    NumberedProblem,
    Part,
)

#: The most options of groups to try before the solver takes over.
MOST_STEPS = 200_000


def place_items(problem: NumberedProblem) -> list[list[ItemPlacement]] | None:
    """Return the placements of each group's items, with as few divided items as possible.

    Return ``None`` if the heuristic finds none.
    """
    return _fit_items(problem) or _fit_items(problem, is_even=True)


def record_possible_options(problem: NumberedProblem, decision: Decision) -> None:
    """Look for solutions with options that no known one uses; record them in ``decision``."""
    for is_even in (True, False):
        is_new = True
        while is_new:
            number = sum(map(len, decision.possible))
            placements = _fit_items(problem, is_even=is_even, explored_options=decision.possible)
            decision.record_solution(placements or ())
            is_new = sum(map(len, decision.possible)) > number
    _try_unexplored_options(problem, decision)


def _try_unexplored_options(problem: NumberedProblem, decision: Decision) -> None:
    """Try each option that no known solution uses, with an item placed so before all others."""
    tries_left = MOST_STEPS // sum(len(group.item.options) for group in problem.groups)
    for index, group in enumerate(problem.groups):
        for option, demands in enumerate(group.item.options):
            is_open = option not in decision.possible[index]
            if is_open and _is_whole_admitted(problem, group.item, demands) and tries_left > 0:
                tries_left -= 1
                first = index, option
                placements = _fit_items(problem, is_even=True, placed_first=first) or _fit_items(
                    problem, placed_first=first
                )
                decision.record_solution(placements or ())


def find_overfull_part(problem: NumberedProblem) -> NumberedProblem | None:
    """Return a minimal infeasible part of a problem: too many equal items for all bins.

    The items are whole, of one class and one size.

    :return: the problem's groups, some with fewer items; ``None`` if there is no such part
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
    return None if left else NumberedProblem(problem.bins, tuple(groups))


def _compute_least_share(problem: NumberedProblem, group: int) -> float:
    """Return the smallest share of a bin that an item of a group takes, over its options."""
    return min(
        max(demand.amount / max(problem.bins[demand.bin].free, 1) for demand in demands)
        for demands in problem.groups[group].item.options
    )


def _fit_items(
    problem: NumberedProblem,
    *,
    is_even: bool = False,
    placed_first: tuple[int, int] | None = None,
    explored_options: Sequence[Collection[int]] = (),
) -> list[list[ItemPlacement]] | None:
    """Return a solution, with the largest items placed first; ``None``: none was found.

    :param is_even: prefer for each item the bin that keeps the largest free share, and divide none;
        otherwise prefer the first bin
    :param placed_first: the group and the option of an item that is placed before all others
    :param explored_options: by group, the options to try after the others
    """
    free = [bin_.free for bin_ in problem.bins]
    placements: list[list[ItemPlacement]] = [[] for _ in problem.groups]
    if placed_first is not None:
        group, option = placed_first
        demands = problem.groups[group].item.options[option]
        if not _take_room(free, demands, 1):
            return None
        placements[group].append((Part(option, _sum_amounts(demands)),))
    for index in sorted(
        range(len(problem.groups)), key=lambda n: -_compute_least_share(problem, n)
    ):
        later = explored_options[index] if explored_options else ()
        if not _place_group(
            problem, problem.groups[index], free, placements[index], is_even, later
        ):
            return None
    return placements


def _place_group(
    problem: NumberedProblem,
    group: ItemGroup,
    free: list[int],
    placed: list[ItemPlacement],
    is_even: bool,
    explored: Collection[int],
) -> bool:
    """Place the remaining items of a group; return whether all have a place.

    :param free: the free amount of each bin; the items take theirs from it
    :param placed: the placements of the items that have a place; the others are added
    :param explored: options to try after the others
    :param is_even: whether to prefer the bin that keeps the largest free share
    """
    options = [
        (option, demands)
        for option, demands in enumerate(group.item.options)
        if _is_whole_admitted(problem, group.item, demands)
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
    """Take the room for equal items off the bins of an option; return the number of these items.

    :param free: the free amount of each bin
    :param demands: of the option
    :param most: the most items
    """
    rooms = (max(free[demand.bin], 0) // demand.amount for demand in demands)
    number = min(most, *rooms)
    for demand in demands:
        free[demand.bin] -= demand.amount * number
    return number


def _compute_free_share(
    problem: NumberedProblem, free: Sequence[int], demands: Sequence[Demand]
) -> float:
    """Return the smallest share of a bin that an option would leave free.

    :param free: the free amount of each bin
    :param demands: of the option
    """
    return min(
        (free[demand.bin] - demand.amount) / max(problem.bins[demand.bin].free, 1)
        for demand in demands
    )


def _divide_item(problem: NumberedProblem, item: Item, free: list[int]) -> ItemPlacement | None:
    """Divide an item into as few parts as it can have; ``None`` if that was not found.

    :param free: the free amount of each bin; the parts take theirs from it
    """
    if not item.divisible:
        return None
    demands = [demand for (demand,) in item.options]
    left, parts = item.size, list[Part]()
    for option, demand in enumerate(demands):
        most = min(left, free[demand.bin])
        amount = problem.bins[demand.bin].find_largest_part(most, demand.retained)
        if amount:
            parts.append(Part(option, amount))
            free[demand.bin] -= amount
            left -= amount
    # Where the largest bins, when empty, hold the item in fewer parts, only the solver knows.
    empty = sorted((problem.bins[demand.bin].free for demand in demands), reverse=True)
    has_fewer_parts = sum(empty[: len(parts) - 1]) >= item.size
    return None if left or has_fewer_parts else tuple(parts)


def _is_whole_admitted(problem: NumberedProblem, item: Item, demands: Sequence[Demand]) -> bool:
    """Return whether an option may have an item whole; True of each that is not divisible."""
    return not item.divisible or problem.bins[demands[0].bin].admits(demands[0])


def _sum_amounts(demands: Sequence[Demand]) -> int:
    return sum(demand.amount for demand in demands)
