# SPDX-License-Identifier: Apache-2.0
"""A change cut into change sets: together they are the whole change, and nothing beyond it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from placementclient.changes.diff import diff, list_operations
from placementclient.changes.operations import DeleteProvider, Reshape, SetTraits, UpdateProvider
from placementclient.changes.plan import make_plan as plan
from placementclient.changes.simulation import simulate
from placementclient.model.providers import make_temporary_name
from placementclient.model.snapshots import Snapshot
from placementclient.producers.replaced import replace_provider
from tests.snapshot_pairs import content, pair
from tests.unit.insight.clouds import cloud, provider

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_the_trees_of_a_plan_can_be_changed_in_any_order(seed):
    random = Random(seed)
    before, after = pair(random)
    changes = list(plan('', before, after).changes)
    random.shuffle(changes)
    live = before
    for change in changes:
        live = simulate(live, list_operations(change))
    assert content(live) == content(after)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_no_provider_or_consumer_is_in_two_change_sets(seed):
    before, after = pair(Random(seed))
    changes = plan('', before, after).changes
    changed = [
        uuid
        for change in changes
        for uuid in {*change.before.providers, *change.after.providers}
        if _content(change.before, uuid) != _content(change.after, uuid)
    ]
    consumers = [
        uuid for change in changes for uuid in {*change.before.consumers, *change.after.consumers}
    ]
    assert len(changed) == len(set(changed))
    assert len(consumers) == len(set(consumers))


def test_a_half_replaced_provider_is_deleted_with_the_new_one_that_has_its_name():
    """Half way, the new one has the name: it gets the rest before the old one is deleted."""
    old = provider('old', traits=['HW_CPU_X86_AVX'], VCPU=8)
    old = replace(old, provider=replace(old.provider, name=make_temporary_name('host', 'old')))
    new = provider('new')
    before = cloud([old, replace(new, provider=replace(new.provider, name='host'))])
    (change,) = plan('replace', before, replace_provider(before, 'old', 'new', 'host')).changes
    assert [type(op) for op in list_operations(change)] == [SetTraits, Reshape, DeleteProvider]


def test_names_below_a_provider_change_before_its_own():
    states = [provider('host'), provider('host_a', 'host'), provider('host_a_b', 'host_a', 'host')]
    before = cloud(states)
    after = Snapshot(
        (
            type(state)(replace(state.provider, name=state.name.replace('host', 'new')))
            for state in states
        ),
        (),
    )
    renamed = [op.uuid for op in diff(before, after) if isinstance(op, UpdateProvider)]
    assert renamed == ['host_a_b', 'host_a', 'host']


def _content(side, uuid):
    """Return a provider without its usages: these follow from consumers, of any change set."""
    state = side.providers.get(uuid)
    return state and state.content
