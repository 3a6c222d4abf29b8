# SPDX-License-Identifier: Apache-2.0
"""A change cut into change sets: together they are the whole change, and nothing beyond it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from placementclient.changes.diff import list_operations
from placementclient.changes.operations import DeleteProvider, Reshape, SetTraits
from placementclient.changes.plan import make_plan as plan
from placementclient.changes.simulation import simulate
from placementclient.model.providers import temporary_name
from placementclient.producers.replaced import replace_provider
from tests.snapshot_pairs import content, pair
from tests.unit.insight.clouds import cloud, provider

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_the_change_sets_in_any_order_are_the_change(seed):
    random = Random(seed)
    before, after = pair(random)
    trees = list(plan('', before, after).changes)
    random.shuffle(trees)
    live = before
    for tree in trees:
        live = simulate(live, list_operations(tree))
    assert content(live) == content(after)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_no_provider_or_consumer_is_in_two_change_sets(seed):
    before, after = pair(Random(seed))
    trees = plan('', before, after).changes
    changed = [
        uuid
        for tree in trees
        for uuid in {*tree.before.providers, *tree.after.providers}
        if _content(tree.before, uuid) != _content(tree.after, uuid)
    ]
    consumers = [uuid for tree in trees for uuid in {*tree.before.consumers, *tree.after.consumers}]
    assert len(changed) == len(set(changed))
    assert len(consumers) == len(set(consumers))


def test_equal_snapshots_make_an_empty_plan():
    before, _ = pair(Random(3))
    assert plan('', before, before).changes == ()


def test_a_provider_goes_together_with_the_one_that_has_its_name():
    """Half way, the new one has the name: it gets the rest before the old one is deleted."""
    old = provider('old', traits=['HW_CPU_X86_AVX'], VCPU=8)
    old = replace(old, provider=replace(old.provider, name=temporary_name('host', 'old')))
    new = provider('new')
    before = cloud([old, replace(new, provider=replace(new.provider, name='host'))])
    (tree,) = plan('replace', before, replace_provider(before, 'old', 'new', 'host')).changes
    assert [type(op) for op in list_operations(tree)] == [SetTraits, Reshape, DeleteProvider]


def _content(side, uuid):
    """Return a provider without its usages: these follow from consumers, of any change set."""
    state = side.providers.get(uuid)
    return state and state.content
