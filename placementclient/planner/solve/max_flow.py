"""Items of one size: a flow, which is decided exactly, and fast, by augmenting paths."""

from __future__ import annotations

from placementclient.optimize.max_flow import Flow
from placementclient.planner.solve.problem import Decision, ItemGroup, ItemPlacement, Part, Problem


def applies(problem: Problem) -> bool:
    """Return whether all items are whole, of one class and of one size."""
    sizes = {
        demand.amount
        for group in problem.groups
        for demands in group.item.options
        for demand in demands
    }
    return len(sizes) == 1 and all(
        not group.item.divisible and all(len(demands) == 1 for demands in group.item.options)
        for group in problem.groups
    )


def decide(problem: Problem) -> Decision | None:
    """A solution and all that is possible; ``None``: proof that there is none."""
    size, places, flow = _size(problem), _places(problem), _flow(problem)
    for index, group in enumerate(problem.groups):
        if flow.draw(index, group.count) < group.count:
            return None
    reach = [flow.reach([where]) for where in range(len(problem.bins))]
    placements: list[list[ItemPlacement]] = []
    possible: list[set[int]] = []
    for index, own in enumerate(places):
        used = {where for where in own if index in flow.drawn[where]}
        placements.append(
            [
                (Part(option, size),)
                for option, where in enumerate(own)
                for _ in range(flow.drawn[where].get(index, 0))
            ]
        )
        possible.append(
            {
                option
                for option, where in enumerate(own)
                if not used.isdisjoint(reach[where])
                or any(flow.free[other] for other in reach[where])
            }
        )
    return Decision(placements, possible, [len(options) == 1 for options in possible])


def core(problem: Problem) -> Problem:
    """A part of an infeasible problem that is infeasible, and from which no item can be spared.

    It is the first item for which no room can be made, with all that fill the bins it could use.

    :return: the same groups, some of them with fewer items or none
    """
    flow = _flow(problem)
    stuck = next(
        index
        for index, group in enumerate(problem.groups)
        if flow.draw(index, group.count) < group.count
    )
    counts = [0] * len(problem.groups)
    counts[stuck] = 1
    for where in flow.reach(_places(problem)[stuck]):
        for other, number in flow.drawn[where].items():
            counts[other] += number
    return Problem(
        problem.bins,
        tuple(
            ItemGroup(group.item, count)
            for group, count in zip(problem.groups, counts, strict=True)
        ),
    )


def _flow(problem: Problem) -> Flow:
    """Items are users, in units of their size, and bins are sources."""
    size = _size(problem)
    return Flow([max(bin_.free, 0) // size for bin_ in problem.bins], _places(problem))


def _size(problem: Problem) -> int:
    return problem.groups[0].item.options[0][0].amount


def _places(problem: Problem) -> list[list[int]]:
    """Of each group the bins that it may use, in the order of its options."""
    return [[demands[0].bin for demands in group.item.options] for group in problem.groups]
