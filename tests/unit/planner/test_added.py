"""The independent check of what a plan adds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from placementclient.model.snapshots import Snapshot
from placementclient.planner import invariants, planner
from placementclient.planner.specification import specification
from tests.unit.planner.clouds import cloud, uuid_of

DEVICE = 'CUSTOM_PCI'
CHILD = 'compute1_0000:81:00.0'
SPEC = {
    'additions': [
        {
            'resource_provider': CHILD,
            'parent': 'compute1',
            'inventories': {DEVICE: {'total': 4}},
            'consumers': {uuid_of('vm'): {DEVICE: 1}},
        }
    ]
}


@pytest.fixture
def tree():
    snapshot = cloud(
        {'compute1': {'inventories': {'VCPU': {'total': 4}}}}, {'vm': {'compute1': {'VCPU': 1}}}
    )
    (planned,) = planner.make(snapshot, specification.from_document(SPEC, 'spec')).trees
    return planned


def refused(tree):
    with pytest.raises(invariants.BadPlan) as fault:
        invariants.check_tree(tree, specification.from_document(SPEC, 'spec'))
    return str(fault.value)


def holding(tree, amount):
    """The consumer gets another amount, rows and all."""
    (consumer,), (row,) = tree.consumers, tree.rows
    (child,) = tree.created()
    allocations = {**consumer.before.allocations, child.uuid: {DEVICE: amount}}
    holder = structs.replace(consumer.after, allocations=allocations)
    after = Snapshot(tree.after.providers.values(), [holder])
    return replace(tree, after=after, rows=(replace(row, amount=amount),))


def test_what_the_specification_adds(tree):
    invariants.check_tree(tree, specification.from_document(SPEC, 'spec'))
    assert holding(tree, 1) == tree


def test_more_than_it_adds(tree):
    assert f'no addition gives {uuid_of("vm")} 2 {DEVICE}' in refused(holding(tree, 2))


def test_the_same_twice(tree):
    twice = replace(holding(tree, 2), rows=tree.rows * 2)
    assert f'no addition gives {uuid_of("vm")} 1 {DEVICE}' in refused(twice)


def test_a_row_that_takes_away(tree):
    (row,) = tree.rows
    away = replace(row, from_provider=row.to_provider, to_provider=None)
    assert 'no addition gives' in refused(replace(tree, rows=(away,)))


def test_more_held_than_the_rows_say(tree):
    more = replace(holding(tree, 2), rows=tree.rows)
    assert 'is not what it holds and its rows move' in refused(more)
