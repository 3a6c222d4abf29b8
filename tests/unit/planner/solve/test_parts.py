"""The parts of the search, each alone: what they say is true, whatever they leave open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.model.connected import connected
from placementclient.model.inventories import Units
from placementclient.planner.solve import heuristics
from placementclient.planner.solve.problem import (
    Bin,
    Demand,
    Item,
    ItemGroup,
    Part,
    Problem,
)
from tests.unit.planner.solve.problems import (
    decision,
    holds,
    possible,
    problem,
    solutions,
    whole,
)


@st.composite
def packings(draw, sizes=(1, 2, 3, 5)):
    free = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3))
    groups = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from(sizes))
        places = draw(st.permutations(range(len(free))))[: draw(st.integers(1, len(free)))]
        groups.append((whole(*((where, size) for where in places)), draw(st.integers(1, 3))))
    return problem(free, *groups)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(packings())
def test_what_is_found_is_a_solution(packing):
    every = list(solutions(packing))
    found = heuristics.place(packing)
    if found is not None:
        assert holds(packing, found)
        assert every


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(packings())
def test_what_is_learnt_is_possible(packing):
    every = list(solutions(packing))
    if not every:
        return
    known = decision(every[0])
    heuristics.explore(packing, known)
    truth = possible(packing)
    assert all(options <= true for options, true in zip(known.possible, truth, strict=True))


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(packings(sizes=(2,)))
def test_more_items_of_one_size_than_there_is_room_for(packing):
    core = heuristics.overfull(packing)
    if core is not None:
        assert not list(solutions(core))
        assert sum(group.count for group in core.groups) <= sum(
            group.count for group in packing.groups
        )


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
    assert known.possible == possible(packing) == [{0, 1}, {0, 1}]


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
