# SPDX-License-Identifier: Apache-2.0
"""Minimal conflicts and minimal sets to give up, without any provider."""

import random
from itertools import combinations

import pytest

from placementclient.insight.candidates import conflicts
from placementclient.insight.candidates.conflicts import ConflictSearch, minimize_conflict

ALL = 'ABCDEF'


def planted(seed):
    """Up to four random sets that are not possible; at least one for a seed above 0."""
    chance = random.Random(seed)
    sizes = [chance.randint(1, 6) for _ in range(chance.randint(1, 4) if seed else 0)]
    return {frozenset(chance.sample(ALL, size)) for size in sizes}


def minimal(sets):
    sets = set(sets)
    return {one for one in sets if not any(other < one for other in sets)}


def possible_but_for(sets):
    """Everything is possible that has none of these in it."""
    forbidden = list(sets)
    return lambda retained: not any(one <= retained for one in forbidden)


@pytest.mark.parametrize('seed', range(100))
def test_all_minimal_sets_of_both_kinds_are_found(seed):
    possible = possible_but_for(planted(seed))
    search = ConflictSearch(ALL, possible)

    corrections = list(search.find_corrections())

    subsets = {frozenset(some) for n in range(7) for some in combinations(ALL, n)}
    assert set(search.conflicts) == minimal(planted(seed))
    assert set(corrections) == minimal(one for one in subsets if possible(frozenset(ALL) - one))
    for sets in (search.conflicts, corrections):
        assert len(sets) == len(set(sets))
        assert [len(one) for one in sets] == sorted(len(one) for one in sets)
    assert not search.is_cut


@pytest.mark.parametrize('seed', range(1, 100))
def test_a_minimized_set_is_one_of_the_minimal(seed):
    assert minimize_conflict(ALL, possible_but_for(planted(seed))) in minimal(planted(seed))


@pytest.mark.parametrize('seed', range(100))
def test_known_conflicts_do_not_change_the_corrections(seed):
    possible = possible_but_for(planted(seed))
    conflicts_before = sorted(minimal(planted(seed)), key=sorted)

    informed, plain = ConflictSearch(ALL, possible, conflicts_before), ConflictSearch(ALL, possible)

    assert list(informed.find_corrections()) == list(plain.find_corrections())
    assert informed.conflicts == plain.conflicts


def test_a_search_ends_and_says_that_it_was_cut(monkeypatch):
    monkeypatch.setattr(conflicts, 'MAX_STEPS', 5)
    search = ConflictSearch(ALL, possible_but_for(frozenset(pair) for pair in ('AB', 'CD', 'EF')))
    assert 0 < len(list(search.find_corrections())) < 8
    assert search.is_cut


def test_a_search_keeps_a_limited_number_of_sets():
    pairs = [frozenset((number, number + 1)) for number in range(0, 40, 2)]
    search = ConflictSearch(range(40), possible_but_for(pairs))  # type: ignore[arg-type]
    assert all(len(one) == 20 for one in search.find_corrections())
    assert search.is_cut
    assert search.conflicts == pairs
