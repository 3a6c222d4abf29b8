# SPDX-License-Identifier: Apache-2.0
"""Trees that changed after they were planned, and the way back after they were applied."""

import pytest

from placementclient.changes.obstacles import Obstructed
from placementclient.files import specifications
from placementclient.model.consumers import Consumer
from placementclient.planner import planner, replan
from placementclient.planner.errors import Infeasible, Undecided
from placementclient.planner.specification import assignments
from tests.unit.planner.clouds import applied, cloud, taken_back, uuid_of, with_usages

A, B, NEW = uuid_of('a'), uuid_of('b'), uuid_of('new')
SPEC = """
trees: {name: [compute1]}
moves:
  - {from_resource_provider: "{root}", to_resource_provider: gpu0, moved_resources: {VGPU: 2}}
  - {from_resource_provider: "{root}", to_resource_provider: gpu1, moved_resources: {VGPU: 2}}
"""
ROWS = f"""consumer_uuid,resource_class,amount,to_provider,evidence
{A},VGPU,,gpu0,mdev
{B},VGPU,,gpu0,mdev
"""
TWO = {'a': {'compute1': {'VGPU': 1}}, 'b': {'compute1': {'VGPU': 1}}}


def host(consumers, total=4):
    inventories = {'VGPU': {'total': total}, 'VCPU': {'total': 8}}
    return cloud({'compute1': {'inventories': inventories}}, consumers)


def plan(rows=ROWS):
    assigned = assignments.parse_assignments(rows, 'rows.csv')
    spec = specifications.parse_specification(SPEC, 'spec.yaml')
    return planner.plan_reshape(host(TWO), spec, assigned)


def test_replan_refuses_a_new_consumer_with_a_choice():
    made = plan()
    live = host({'a': TWO['a'], 'new': {'compute1': {'VGPU': 1}}})
    with pytest.raises(Undecided) as undecided:
        replan.replan_tree(live, made, made.changes[0])
    assert [row.consumer_uuid for row in undecided.value.rows] == [NEW]


def test_replan_refuses_a_consumer_that_grew_beyond_its_place():
    made = plan()
    live = host({'a': {'compute1': {'VGPU': 2}}, 'b': TWO['b']})
    with pytest.raises(Infeasible, match='3 VGPU are assigned to gpu0'):
        replan.replan_tree(live, made, made.changes[0])


def test_a_new_plan_with_another_place_for_a_consumer_is_not_the_reviewed_one():
    [reviewed], [again] = plan().changes, plan(ROWS.replace('gpu0', 'gpu1')).changes
    assert list(replan.find_unreviewed_effects(reviewed, again)) == [
        f'consumer {uuid} would get VGPU of gpu1' for uuid in sorted((A, B))
    ]


def after(made, consumers):
    """The tree as applied, then with other consumers: ``{name: {provider: VGPU}}``."""
    live = applied(host(TWO), made.changes[0])
    for name, amounts in consumers.items():
        uuid, allocations = uuid_of(name), {}
        for provider, amount in amounts.items():
            allocations[live.find_existing(provider).uuid] = {'VGPU': amount}
        live.consumers[uuid] = Consumer(uuid, allocations, 'p', 'u', 1)
    return with_usages(live.providers.values(), filter(_allocates, live.consumers.values()))


def _allocates(consumer):
    return bool(consumer.allocations)


def test_rollback_is_refused_where_there_is_no_room():
    live = host(TWO, total=3)
    spec = specifications.parse_specification(
        'trees: {name: [compute1]}\nproviders: [{name: gpu0, inventories: {VGPU: {total: 9}}}]\n'
        'moves: [{from_resource_provider: compute1, to_resource_provider: gpu0,'
        ' moved_resources: {VGPU: 3}}]',
        'spec.yaml',
    )
    made = planner.plan_reshape(live, spec)
    live = after(made, {'new': {'gpu0': 5}})
    with pytest.raises(Obstructed, match='compute1 has no room for its VGPU any more'):
        taken_back(live, made.changes[0])
