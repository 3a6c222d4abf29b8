# SPDX-License-Identifier: Apache-2.0
"""The heuristics find other options without the solver."""

from placementclient.model.connected import group_connected_keys
from placementclient.model.inventories import Units
from placementclient.planner.solve import heuristics
from placementclient.planner.solve.problem import (
    Bin,
    Decision,
    Demand,
    Item,
    ItemGroup,
    NumberedProblem,
    Part,
)


def whole(*wheres_and_amounts):
    """An item that has an option in each of some bins."""
    return Item(tuple((Demand(where, amount),) for where, amount in wheres_and_amounts))


def problem(free, *groups):
    """Bins without units, and so many of each item."""
    bins = tuple(Bin(room) for room in free)
    return NumberedProblem(bins, tuple(ItemGroup(item, count) for item, count in groups))


def decision(placements):
    """What one solution tells."""
    decided = Decision(placements, [set() for _ in placements], [True] * len(placements))
    decided.record_solution(placements)
    return decided


def test_a_part_of_an_item_is_a_multiple_of_the_step():
    """Together with what is there."""
    assert Bin(9, Units(2, 8, 2)).find_largest_part(5, retained=1) == 5
    assert Bin(9, Units(2, 8, 2)).find_largest_part(5, retained=0) == 4


def test_a_place_is_possible_where_two_items_can_be_exchanged():
    packing = problem([3, 2], (whole((0, 2), (1, 2)), 1), (whole((0, 1), (1, 1)), 2))
    decided = decision([[(Part(0, 2),)], [(Part(0, 1),), (Part(1, 1),)]])
    heuristics.record_possible_options(packing, decided)
    assert decided.possible == [{0, 1}, {0, 1}]


def test_every_place_is_possible_where_items_of_other_sizes_can_make_room():
    """Each place is full, and has items of another size."""
    everywhere = (0, 1, 2)
    fours, twos, ones = (
        (whole(*((where, size) for where in everywhere)), count)
        for size, count in ((4, 1), (2, 2), (1, 4))
    )
    packing = problem([4, 4, 4], fours, twos, ones)
    decided = decision([[(Part(0, 4),)], [(Part(1, 2),)] * 2, [(Part(2, 1),)] * 4])
    heuristics.record_possible_options(packing, decided)
    assert decided.possible == [{0, 1, 2}] * 3
    assert decided.fixed == [False] * 3


def test_consumers_that_compete_for_a_provider_are_solved_together():
    touched = {'a': {'s'}, 'b': {'t'}, 'c': {'u'}, 'd': {'s', 'u'}, 'e': {'t'}, 'f': set[str]()}
    assert list(group_connected_keys(touched)) == [['a', 'c', 'd'], ['b', 'e'], ['f']]
