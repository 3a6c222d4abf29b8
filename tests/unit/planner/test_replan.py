# SPDX-License-Identifier: Apache-2.0
"""Trees that changed after they were planned, and the way back after they were applied."""

import pytest
from msgspec.structs import replace

from placementclient.changes.obstacles import Obstructed
from placementclient.files import specifications
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
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
{NEW},VGPU,,gpu1,expected
"""
TWO = {'a': {'compute1': {'VGPU': 1}}, 'b': {'compute1': {'VGPU': 1}}}


def host(consumers, total=4):
    inventories = {'VGPU': {'total': total}, 'VCPU': {'total': 8}}
    return cloud({'compute1': {'inventories': inventories}}, consumers)


def plan(consumers=TWO):
    rows = assignments.parse_assignments(ROWS, 'rows.csv')
    assigned = [row for row in rows if row.consumer_uuid != NEW]
    return planner.plan_reshape(
        host(consumers), specifications.parse_specification(SPEC, 'spec.yaml'), assigned
    )


def rows(live, made):
    tree = replan.replan_tree(live, made, made.changes[0])
    return [(row.consumer_uuid, row.to_provider, row.label) for row in tree.reasons]


def test_replan_moves_a_new_consumer_with_one_place():
    live = host({**TWO, 'new': {'compute1': {'VGPU': 2}}})
    expected = sorted([(A, 'gpu0', 'mapped'), (B, 'gpu0', 'mapped'), (NEW, 'gpu1', 'forced')])
    assert sorted(rows(live, plan())) == expected


def test_replan_refuses_a_new_consumer_with_a_choice():
    made = plan()
    live = host({'a': TWO['a'], 'new': {'compute1': {'VGPU': 1}}})
    with pytest.raises(Undecided) as undecided:
        replan.replan_tree(live, made, made.changes[0])
    assert [row.consumer_uuid for row in undecided.value.rows] == [NEW]


def test_replan_forgets_a_consumer_that_left():
    assert rows(host({'a': TWO['a']}), plan()) == [(A, 'gpu0', 'mapped')]


def test_replan_keeps_inferred_places():
    spec = specifications.parse_specification(SPEC, 'spec.yaml')
    made = planner.plan_reshape(host(TWO), spec, allow_inferred=True)
    assert sorted(rows(host(TWO), made)) == sorted(
        (row.consumer_uuid, row.to_provider, row.label) for row in made.changes[0].reasons
    )


def test_replan_refuses_a_consumer_that_grew_beyond_its_place():
    made = plan()
    live = host({'a': {'compute1': {'VGPU': 2}}, 'b': TWO['b']})
    with pytest.raises(Infeasible, match='3 VGPU are assigned to gpu0'):
        replan.replan_tree(live, made, made.changes[0])


def test_replan_refuses_a_child_with_content():
    made = plan()
    child = {'gpu0': {'inventories': {'VGPU': {'total': 2}}}}
    live = cloud(
        {'compute1': {'inventories': {'VGPU': {'total': 4}}, 'children': child}},
        {'a': TWO['a']},
    )
    with pytest.raises(Infeasible, match='gpu0, which the plan makes, is there'):
        replan.replan_tree(live, made, made.changes[0])


def after(made, consumers):
    """The tree as applied, then with other consumers: ``{name: {provider: VGPU}}``."""
    live = applied(host(TWO), made.changes[0])
    for name, amounts in consumers.items():
        uuid, allocations = uuid_of(name), {}
        for provider, amount in amounts.items():
            allocations[live.existing(provider).uuid] = {'VGPU': amount}
        live.consumers[uuid] = Consumer(uuid, allocations, 'p', 'u', 1)
    return with_usages(live.providers.values(), filter(_allocates, live.consumers.values()))


def _allocates(consumer):
    return bool(consumer.allocations)


def test_consumers_that_came_go_back_and_those_that_left_stay_away():
    made = plan()
    live = after(made, {'new': {'gpu1': 2}, 'b': {}})
    returned = taken_back(live, made.changes[0])
    assert {uuid: consumer.allocations for uuid, consumer in returned.consumers.items()} == {
        A: {uuid_of('compute1'): {'VGPU': 1}},
        NEW: {uuid_of('compute1'): {'VGPU': 2}},
    }


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


def test_rollback_is_refused_from_a_changed_inventory():
    made = plan()
    live = applied(host(TWO), made.changes[0])
    child = live.existing('gpu0')
    live.providers[child.uuid] = replace(child, inventories={'VGPU': Inventory(9)})
    with pytest.raises(Obstructed, match='gpu0: VGPU is total 9, neither total 2 nor nothing'):
        taken_back(live, made.changes[0])
