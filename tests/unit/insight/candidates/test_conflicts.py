"""Smallest conflicts and smallest concessions, without any provider."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placementclient.insight.candidates import conflicts
from placementclient.insight.candidates.conflicts import correction_sets, minimized

ALL = 'ABCDEF'
SETS = st.sets(st.frozensets(st.sampled_from(ALL), min_size=1, max_size=6), max_size=4)


def minimal(sets: Iterable[frozenset[str]]) -> set[frozenset[str]]:
    sets = set(sets)
    return {one for one in sets if not any(other < one for other in sets)}


def possible_but_for(sets: Iterable[frozenset[str]]) -> conflicts.Possible[str]:
    """Everything is possible that has none of these in it."""
    forbidden = list(sets)
    return lambda kept: not any(one <= kept for one in forbidden)


@given(SETS)
def test_all_minimal_conflicts_are_found(planted: set[frozenset[str]]) -> None:
    found = conflicts.conflicts(ALL, possible_but_for(planted))
    small = {one for one in minimal(planted) if len(one) <= conflicts.LARGEST}
    assert small <= set(found) <= minimal(planted)
    assert bool(found) == bool(planted)
    assert [len(one) for one in found] == sorted(len(one) for one in found)


@given(SETS.filter(bool))
def test_what_is_minimized_is_one_of_them(planted: set[frozenset[str]]) -> None:
    assert minimized(ALL, possible_but_for(planted)) in minimal(planted)


@given(SETS)
def test_concessions_are_the_smallest_that_suffice(planted: set[frozenset[str]]) -> None:
    possible = possible_but_for(planted)
    given_up = list(correction_sets(ALL, conflicts.conflicts(ALL, possible), possible))
    if not planted:
        assert given_up == []
        return
    size = len(given_up[0])
    suffice = {
        frozenset(chosen)
        for chosen in combinations(ALL, size)
        if possible(frozenset(ALL) - frozenset(chosen))
    }
    assert set(given_up) == suffice or len(given_up) == conflicts.MAX_CORRECTION_SETS
    assert not any(
        possible(frozenset(ALL) - frozenset(chosen)) for chosen in combinations(ALL, size - 1)
    )


def test_what_to_give_up_is_not_looked_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicts, 'MAX_STEPS', 32)
    planted = [frozenset(pair) for pair in ('AB', 'CD', 'EF')]
    steps = conflicts.Steps()
    assert 0 < len(list(correction_sets(ALL, planted, possible_but_for(planted), steps))) < 8
    assert steps.is_cut
    few = conflicts.Steps()
    assert list(correction_sets(ALL, planted[:1], possible_but_for(planted[:1]), few))
    assert not few.is_cut


def test_without_patience_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicts, 'MAX_STEPS', 3)
    planted = [frozenset('EF')]
    assert conflicts.conflicts(ALL, possible_but_for(planted)) == planted


def test_what_is_passed_over_counts_too() -> None:
    pairs = [frozenset((number, number + 1)) for number in range(0, 40, 2)]
    steps = conflicts.Steps()
    assert list(correction_sets(range(40), pairs, lambda kept: False, steps)) == []
    assert steps.is_cut


def test_what_is_impossible_by_itself_is_given_up_at_once() -> None:
    alone = [frozenset((number,)) for number in range(15)]

    def possible(kept: frozenset[int]) -> bool:
        return min(kept, default=15) >= 15

    steps = conflicts.Steps()
    assert conflicts.conflicts(range(30), possible, steps)[:15] == alone
    few = conflicts.Steps()
    assert list(correction_sets(range(30), alone, possible, few)) == [frozenset(range(15))]
    assert not few.is_cut
