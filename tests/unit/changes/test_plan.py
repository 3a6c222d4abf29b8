"""A change cut into change sets: together they are the whole change, and nothing beyond it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.changes.plan import plan
from placementclient.changes.simulation import simulate
from tests.snapshot_pairs import content, pair

SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_the_change_sets_in_any_order_are_the_change(seed: int) -> None:
    random = Random(seed)
    before, after = pair(random)
    trees = list(plan('', before, after).trees)
    random.shuffle(trees)
    there = before
    for tree in trees:
        there = simulate(there, tree.operations)
    assert content(there) == content(after)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_no_provider_or_consumer_is_in_two_change_sets(seed: int) -> None:
    before, after = pair(Random(seed))
    trees = plan('', before, after).trees
    changed = [
        uuid
        for tree in trees
        for uuid in {*tree.before.providers, *tree.after.providers}
        if tree.before.providers.get(uuid) != tree.after.providers.get(uuid)
    ]
    consumers = [uuid for tree in trees for uuid in {*tree.before.consumers, *tree.after.consumers}]
    assert len(changed) == len(set(changed))
    assert len(consumers) == len(set(consumers))


def test_equal_snapshots_make_an_empty_plan() -> None:
    before, _ = pair(Random(3))
    assert plan('', before, before).trees == ()
