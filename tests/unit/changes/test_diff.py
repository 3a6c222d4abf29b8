"""Diff and simulation: each is the other's test."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.changes.diff import diff
from placementclient.changes.simulation import simulate
from tests.snapshot_pairs import content, pair

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_a_diff_leads_from_one_snapshot_to_the_other(seed):
    before, after = pair(Random(seed))
    assert content(simulate(before, diff(before, after))) == content(after)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_nothing_leads_to_what_is_there(seed):
    before, _ = pair(Random(seed))
    assert diff(before, before) == ()
