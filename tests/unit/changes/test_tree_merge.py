# SPDX-License-Identifier: Apache-2.0
"""The states from which an atomic change does not begin."""

import pytest

from placementclient.changes.tree_merge import merge_change
from placementclient.files import specifications
from placementclient.planner import planner
from tests.unit.changes.test_deviations import CHANGE
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.planner import clouds

[HOST] = CHANGE.before.providers.values()
CONSUMERS = CHANGE.before.consumers.values()


@pytest.mark.parametrize(
    ('states', 'message'),
    [
        (
            [HOST, provider('cell', 'host'), provider('gpu', 'cell', 'host')],
            'gpu exists already, below another parent',
        ),
        ([HOST, provider('gpu', 'host', VGPU=1)], 'gpu exists already, and is not empty'),
        (
            [HOST, provider('other'), provider('gpu', 'other')],
            'gpu exists already, below another parent',
        ),
        (
            [provider('host', 'rack', 'rack', VCPU=8, VGPU=4), provider('rack')],
            'host is now in the tree of rack',
        ),
    ],
)
def test_a_tree_with_a_provider_that_others_made_or_moved_is_left_alone(states, message):
    merged = merge_change(CHANGE, cloud(states, CONSUMERS))
    assert [obstacle.reason for obstacle in merged.obstacles] == [message]
    assert merged.operations == ()


def test_an_empty_child_may_be_there_already():
    live = cloud([HOST, provider('gpu', 'host')], CONSUMERS)
    kinds = [type(operation).__name__ for operation in merge_change(CHANGE, live).operations]
    assert (merge_change(CHANGE, live).obstacles, kinds) == ((), ['Reshape'])


def test_consumers_that_stay_on_a_target_with_less_capacity_are_not_in_the_way():
    spec = """
providers: [{name: gpu, inventories: {VGPU: {allocation_ratio: 1.0}}}]
moves: [{from_resource_provider: host, to_resource_provider: gpu, moved_resources: {VGPU: 2}}]
"""
    gpu = {'gpu': {'inventories': {'VGPU': {'total': 2, 'allocation_ratio': 4.0}}}}
    host = {'host': {'inventories': {'VGPU': {'total': 2}}, 'children': gpu}}
    before = clouds.cloud(host, {'moves': {'host': {'VGPU': 1}}, 'stays': {'gpu': {'VGPU': 1}}})
    parsed = specifications.parse_specification(spec, 'spec.yaml')
    [change] = planner.plan_reshape(before, parsed, migrations=()).changes
    live = clouds.applied(before, change)
    assert merge_change(change, before).obstacles == ()
    assert merge_change(change, live, backward=True).obstacles == ()


def test_a_consumer_that_stays_and_has_grown_is_in_the_way():
    spec = """
providers: [{name: gpu, parent: host}]
moves: [{from_resource_provider: host, to_resource_provider: gpu, moved_resources: {VGPU: 6}}]
"""
    host = {'host': {'inventories': {'VGPU': {'total': 8}}}}
    before, live = (
        clouds.cloud(host, {'moves': {'host': {'VGPU': 6}}, 'stays': {'host': {'VGPU': amount}}})
        for amount in (1, 2)
    )
    parsed = specifications.parse_specification(spec, 'spec.yaml')
    [change] = planner.plan_reshape(before, parsed, migrations=()).changes
    assert merge_change(change, before).obstacles == ()
    [obstacle] = merge_change(change, live).obstacles
    assert obstacle.reason.endswith(' holds VGPU on host that it did not')


def test_of_several_classes_in_the_way_the_first_by_name_is_reported():
    names = [f'CUSTOM_{letter}' for letter in 'FCAEBD']
    spec = f"""
providers: [{{name: gpu, parent: host}}]
moves:
- from_resource_provider: host
  to_resource_provider: gpu
  moved_resources: {{{', '.join(f'{name}: 4' for name in names)}}}
"""
    before = clouds.cloud({'host': {'inventories': {name: {'total': 4} for name in names}}}, {})
    parsed = specifications.parse_specification(spec, 'spec.yaml')
    [change] = planner.plan_reshape(before, parsed, migrations=()).changes
    newcomer = consumer('new', **{clouds.uuid_of('host'): dict.fromkeys(names, 1)})
    [obstacle] = merge_change(change, cloud(before.providers.values(), [newcomer])).obstacles
    assert obstacle.reason == 'consumer new holds CUSTOM_A on host that it did not'
