"""Plans of changes in files: what was written is read, what was edited is refused."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.changes.plan import plan_of as plan
from placementclient.client import errors
from placementclient.model.snapshots import Origin
from placementclient.planner.records import plans
from tests.snapshot_pairs import content, pair


def a_plan(seed):
    before, after = pair(Random(seed))
    before.origin = Origin('2026-01-02T03:04:05+00:00', 'http://placement', 'placement 1.0')
    return plan('resource provider purge', before, after)


def encoded(made):
    return b''.join(plans.encode(made))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_plan_that_was_written_is_read(seed):
    made = a_plan(seed)
    read = plans.decode(encoded(made), 'plan.json')
    assert (read.command, read.origin) == (made.command, made.origin)
    assert plans.identity(read) == plans.identity(made)
    for one, other in zip(read.trees, made.trees, strict=True):
        assert one.root_provider_name == other.root_provider_name
        assert content(one.before) == content(other.before)
        assert content(one.after) == content(other.after)
    assert encoded(replace(read, digest=None)) == encoded(made)


def test_a_plan_whose_parts_contradict_each_other_is_refused():
    made = a_plan(1)
    twice = replace(made, trees=(made.trees[0], made.trees[0]))
    with pytest.raises(errors.BadFile, match='is there twice'):
        plans.decode(encoded(twice), 'plan.json')
    moved = replace(made.trees[0], root_provider_uuid='another')
    with pytest.raises(errors.BadFile, match='changes in two trees'):
        plans.decode(encoded(replace(made, trees=(made.trees[0], moved))), 'plan.json')
