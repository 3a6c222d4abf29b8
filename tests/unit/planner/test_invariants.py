# SPDX-License-Identifier: Apache-2.0
"""The independent check of additions; ``tests/unit/runs/test_attacks.py`` has the rest."""

from dataclasses import replace

import pytest
from msgspec import structs

from placementclient.files import specifications
from placementclient.model.snapshots import Snapshot
from placementclient.planner import invariants, planner
from tests.unit.planner.clouds import cloud, uuid_of

DEVICE = 'CUSTOM_PCI'
ADDITIONS = f"""
additions:
- resource_provider: compute1_0000:81:00.0
  parent: compute1
  inventories: {{{DEVICE}: {{total: 4}}}}
  consumers: {{{uuid_of('vm')}: {{{DEVICE}: 1}}}}
"""


def added(total, **row):
    """The tree of a plan that adds a device, but with another amount and another row."""
    snapshot = cloud(
        {'compute1': {'inventories': {'VCPU': {'total': 4}}}}, {'vm': {'compute1': {'VCPU': 1}}}
    )
    (tree,) = planner.plan_reshape(
        snapshot, specifications.parse_specification(ADDITIONS, 'spec')
    ).changes
    (consumer,), (child,) = tree.consumers, tree.list_created_providers()
    allocations = {**consumer.before.allocations, child.uuid: {DEVICE: total}}
    after = Snapshot(
        tree.after.providers.values(), [structs.replace(consumer.after, allocations=allocations)]
    )
    rows = tuple(structs.replace(planned, **row) for planned in tree.reasons)
    return tree, replace(tree, after=after, reasons=rows)


@pytest.mark.parametrize(
    ('tree', 'message'),
    [
        (added(2, amount=2)[1], f'no addition gives {uuid_of("vm")} 2 {DEVICE}'),
        (replace(added(2)[1], reasons=added(2)[0].reasons * 2), 'no addition gives'),
        (added(1, from_provider='compute1_0000:81:00.0', to_provider=None)[1], 'no addition gives'),
        (added(2)[1], 'is not what it holds and its rows move'),
    ],
    ids=['more than it adds', 'the same twice', 'a row that takes away', 'more than the rows say'],
)
def test_an_addition_that_differs_from_its_specification_is_refused(tree, message):
    spec = specifications.parse_specification(ADDITIONS, 'spec')
    invariants.check_change(added(1)[1], spec)
    with pytest.raises(invariants.BadPlan, match=message):
        invariants.check_change(tree, spec)


def test_a_source_that_keeps_more_usage_than_capacity_is_refused():
    spec = specifications.parse_specification(
        'providers: [{name: gpu, parent: compute1}]\nmoves: [{from_resource_provider: compute1, '
        'to_resource_provider: gpu, moved_resources: {VGPU: 2}}]',
        'spec',
    )
    before = cloud(
        {'compute1': {'inventories': {'VGPU': {'total': 4}}}},
        {'one': {'compute1': {'VGPU': 1}}, 'two': {'compute1': {'VGPU': 2}}},
    )
    (tree,) = planner.plan_reshape(before, spec, migrations=(), allow_inferred=True).changes
    nobody_moves = Snapshot(tree.after.providers.values(), tree.before.consumers.values())
    with pytest.raises(invariants.BadPlan, match='has room for 2 VGPU, 3 will be in use'):
        invariants.check_change(replace(tree, after=nobody_moves, reasons=()), spec)
