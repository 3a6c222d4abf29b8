"""The heuristics, each alone: what they say is true, whatever they leave open."""

from placementclient.model.connected import connected
from placementclient.model.inventories import Units
from placementclient.planner.solve import heuristics
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


def decision(placements):
    """What one solution tells."""
    known = Decision(placements, [set() for _ in placements], [True] * len(placements))
    known.note(placements)
    return known


def test_sizes_and_classes_that_are_not_counted():
    assert heuristics.overfull(problem([3], (whole((0, 2)), 2)))
    assert not heuristics.overfull(problem([3], (whole((0, 2)), 1)))
    assert not heuristics.overfull(problem([1], (whole((0, 1)), 1), (whole((0, 2)), 1)))
    assert not heuristics.overfull(problem([1], (Item(((Demand(0, 2),),), divisible=True), 1)))
    together = Item(((Demand(0, 2), Demand(1, 2)),))
    assert not heuristics.overfull(problem([1, 1], (together, 1)))


def test_what_stays_is_placed_against_the_units():
    bins = (Bin(9, Units(1, 2)), Bin(9, Units(1, 2)))
    stays = Item(((Demand(0, 3),), (Demand(1, 3, stays=True),)), divisible=True)
    packing = Problem(bins, (ItemGroup(stays, 1),))
    assert heuristics.place(packing) == [[((1, 3),)]]


def test_fewest_parts():
    divisible = Item(((Demand(0, 5),), (Demand(1, 5),), (Demand(2, 5),)), divisible=True)
    assert heuristics.place(problem([1, 2, 4], (divisible, 1))) is None
    assert heuristics.place(problem([1, 4, 5], (divisible, 1))) == [[((2, 5),)]]
    assert heuristics.place(problem([2, 3, 0], (divisible, 1))) == [[((0, 2), (1, 3))]]


def test_an_exchange_makes_room():
    packing = problem([3, 2], (whole((0, 2), (1, 2)), 1), (whole((0, 1), (1, 1)), 2))
    known = decision([[(Part(0, 2),)], [(Part(0, 1),), (Part(1, 1),)]])
    heuristics.explore(packing, known)
    assert known.possible == [{0, 1}, {0, 1}]


def test_items_make_room_for_each_other():
    """Each place is full, and has items of another size."""
    everywhere = (0, 1, 2)
    fours, twos, ones = (
        (whole(*((where, size) for where in everywhere)), count)
        for size, count in ((4, 1), (2, 2), (1, 4))
    )
    packing = problem([4, 4, 4], fours, twos, ones)
    known = decision([[(Part(0, 4),)], [(Part(1, 2),)] * 2, [(Part(2, 1),)] * 4])
    heuristics.explore(packing, known)
    assert known.possible == [{0, 1, 2}] * 3
    assert known.fixed == [False] * 3


def test_what_has_something_in_common():
    touched = {'a': {'s'}, 'b': {'t'}, 'c': {'u'}, 'd': {'s', 'u'}, 'e': {'t'}, 'f': set[str]()}
    assert list(connected(touched)) == [['a', 'c', 'd'], ['b', 'e'], ['f']]
