"""Small problems, and all their solutions by trying."""

from __future__ import annotations

import itertools

from placementclient.planner.solve.problem import (
    Bin,
    Decision,
    Demand,
    Item,
    ItemGroup,
    Part,
    Problem,
)


def whole(*wheres_and_amounts):
    """An item that has an option in each of some bins."""
    return Item(tuple((Demand(where, amount),) for where, amount in wheres_and_amounts))


def problem(free, *groups):
    """Bins without units, and so many of each item."""
    bins = tuple(Bin(room) for room in free)
    return Problem(bins, tuple(ItemGroup(item, count) for item, count in groups))


def solutions(given):
    """All solutions with whole items, those of a group in the order of their options."""
    ways = [
        list(itertools.combinations_with_replacement(range(len(group.item.options)), group.count))
        for group in given.groups
    ]
    for chosen in itertools.product(*ways):
        placements = [
            [(Part(option, _size(group.item, option)),) for option in options]
            for group, options in zip(given.groups, chosen, strict=True)
        ]
        if holds(given, placements):
            yield placements


def holds(given, placements):
    """Whether everything is placed, and nothing overflows."""
    free = [bin_.free for bin_ in given.bins]
    for group, placed in zip(given.groups, placements, strict=True):
        if len(placed) != group.count:
            return False
        for ((option, _),) in placed:
            for demand in group.item.options[option]:
                free[demand.bin] -= demand.amount
    return min(free) >= 0


def possible(given):
    """Of each group the options that some solution uses."""
    found: list[set[int]] = [set() for _ in given.groups]
    for placements in solutions(given):
        for options, placed in zip(found, placements, strict=True):
            options.update(placement[0].option for placement in placed)
    return found


def decision(placements):
    """What one solution tells."""
    known = Decision(placements, [set() for _ in placements], [True] * len(placements))
    known.note(placements)
    return known


def _size(item, option):
    return sum(demand.amount for demand in item.options[option])
