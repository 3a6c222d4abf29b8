# SPDX-License-Identifier: Apache-2.0
"""The search against brute force, and its speed."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.model.inventories import Units
from placementclient.optimize import cpsat
from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.solve.search import Impossible, ItemDecision, search_placements
from tests.unit.planner.exhaustive import divisions

pytest.importorskip('ortools')


def options(item):
    if item.divisible:
        return [
            tuple((option, amount) for option, amount in enumerate(amounts) if amount)
            for amounts in divisions(item.size, len(item.options))
        ]
    return [
        ((option, sum(demand[1] for demand in demands)),)
        for option, demands in enumerate(item.options)
    ]


def holds(bins, items, solution):
    loads = Counter[int]()
    for item, placement in zip(items, solution, strict=True):
        for option, part in placement:
            for where, amount, retained, stays in item.options[option]:
                loads[where] += part if item.divisible else amount
                is_judged = item.divisible and not (stays and part == item.size)
                if is_judged and not bins[where].units.admits(retained + part):
                    return False
    return all(bins[where].free >= load for where, load in loads.items())


def solutions(bins, items):
    return [
        solution
        for solution in itertools.product(*map(options, items))
        if holds(bins, items, solution)
    ]


@st.composite
def problems(draw):
    bins = draw(
        st.lists(
            st.builds(
                Bin,
                st.integers(0, 6),
                st.builds(
                    Units,
                    st.sampled_from([1, 1, 1, 2]),
                    st.sampled_from([2, 3, 99, 99]),
                    st.sampled_from([1, 1, 1, 2]),
                ),
            ),
            min_size=1,
            max_size=4,
        )
    )
    items = []
    for _ in range(draw(st.integers(1, 4))):
        places = draw(st.permutations(range(len(bins))))[: draw(st.integers(1, len(bins)))]
        divisible, size = draw(st.booleans()), draw(st.integers(1, 4))
        other = draw(st.integers(1, 3)) if not divisible and len(bins) > 1 else 0
        stays = draw(st.sampled_from([None, None, places[-1]])) if divisible else None
        options = []
        for where in places:
            retained = draw(st.sampled_from([0, 0, 0, 1])) if divisible else 0
            demands = [Demand(where, size, retained, where == stays)]
            if other:
                demands.append(Demand((where + 1) % len(bins), other))
            options.append(tuple(demands))
        items.append(Item(tuple(options), divisible))
    return bins, items


@pytest.mark.slow
@settings(max_examples=400, deadline=None, derandomize=True)
@given(problems())
def test_search_agrees_with_brute_force(problem):
    bins, items = problem
    every = solutions(bins, items)
    result = search_placements(bins, items)
    if not every:
        assert isinstance(result, Impossible)
        indexes, minimal = result.find_core()
        core = [items[index] for index in indexes]
        assert core
        assert minimal
        alone = len(core) == 1  # what has no choice may have taken its room
        assert alone or not solutions(
            [bin_._replace(free=left) for bin_, left in zip(bins, result.free, strict=True)], core
        )
        return
    assert isinstance(result, list)
    assert tuple(one.placement for one in result) in every
    fewest = min(sum(map(len, solution)) for solution in every)
    assert sum(len(one.placement) for one in result) == fewest
    for index, one in enumerate(result):
        placements = {solution[index] for solution in every}
        assert one.possible == tuple(
            sorted({option for placement in placements for option, _ in placement})
        )
        assert one.forced == (len(placements) == 1)


def alike(sizes, free, divisible=False):
    bins = [Bin(bin_) for bin_ in free]
    return bins, [
        Item(tuple((Demand(where, size),) for where in range(len(free))), divisible)
        for size in sizes
    ]


def cells(slack):
    sizes = [(2 ** (n % 5), 2 ** (n % 5) * 1024 * (1 + n % 3)) for n in range(1000)]
    bins = []
    for _ in range(16):
        for position in (0, 1):
            total = sum(size[position] for size in sizes)
            bins.append(Bin(int(total / 16 * slack) + 1))
    return bins, [
        Item(tuple((Demand(2 * n, cpus), Demand(2 * n + 1, memory)) for n in range(16)))
        for cpus, memory in sizes
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    'problem',
    [
        pytest.param(alike([1] * 1000, [63] * 8 + [62] * 8), id='equal, no room to spare'),
        pytest.param(alike([1] * 1000, [80] * 16), id='equal, room to spare'),
        pytest.param(alike([1, 2, 4, 8] * 250, [235] * 15 + [225]), id='flavors, no room to spare'),
        pytest.param(alike([2, 3, 5, 8] * 250, [281] * 15 + [285]), id='odd flavors, full'),
        pytest.param(alike(range(1, 1001), [32850] * 16), id='all different, 5 % to spare'),
        pytest.param(alike([1, 2, 4, 5] * 250, [200] * 16, True), id='divisible'),
        pytest.param(alike([2] * 300 + [1] * 600, [75] * 16, True), id='divisible, full'),
        pytest.param(cells(1.03), id='VCPU and MEMORY_MB together'),
    ],
)
def test_search_places_a_thousand_consumers_on_sixteen_children(problem):
    bins, items = problem
    result = search_placements(bins, items)
    assert isinstance(result, list)
    assert holds(bins, items, [one.placement for one in result])
    assert all(len(one.possible) == 16 for one in result)


def test_search_proves_that_a_thousand_consumers_do_not_fit():
    bins, items = alike([2] * 1000, [125] * 16)
    result = search_placements(bins, items)
    assert isinstance(result, Impossible)
    assert len(result.find_core()[0]) == 16 * 62 + 1


def test_search_finds_places_that_others_force():
    bins = [Bin(1, Units(1, 9)), Bin(2, Units(1, 9))]
    both = ((Demand(0, 1),), (Demand(1, 1),))
    result = search_placements(bins, [Item((both[0],)), Item(both), Item(both)])
    assert result == [
        ItemDecision(((0, 1),), (0,), True),
        ItemDecision(((1, 1),), (1,), True),
        ItemDecision(((1, 1),), (1,), True),
    ]


@pytest.mark.slow
def test_allocations_stay_on_one_provider_where_all_fit_so():
    sizes = []
    for number in range(10):
        first, second = 2600 + number * 617 % 1400, 2600 + number * 431 % 800
        sizes += [first, second, 10000 - first - second]
    bins = [Bin(10000)] * 10
    items = [Item(tuple((Demand(where, size),) for where in range(10)), True) for size in sizes]
    result = search_placements(bins, items, 20)
    assert isinstance(result, list)
    assert all(len(decision.placement) == 1 for decision in result)


def test_the_timeout_of_the_search_is_in_seconds(monkeypatch):
    limits = []

    def solve(model, effort, seconds):
        limits.append(seconds)
        return cpsat.SearchResult('UNKNOWN', None, 0.1)

    cpsat.load_cp_model()  # its first import may take seconds
    monkeypatch.setattr(cpsat, 'solve', solve)
    sizes = [1000 + (7919 * number * number) % 99991 for number in range(40)]
    bins = [Bin(sum(sizes) // 4 + 1, Units(1, 10**9)) for _ in range(4)]
    items = [Item(tuple((Demand(where, size),) for where in range(4))) for size in sizes]
    assert search_placements(bins, items, 6.0) is None
    assert limits
    assert max(limits) <= 6.0
