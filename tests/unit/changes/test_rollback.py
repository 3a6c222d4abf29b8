# SPDX-License-Identifier: Apache-2.0
"""The ways back of trees that share a target, planned as one change or by plans of their own."""

import pytest
from msgspec.structs import replace

from placementclient.changes.obstacles import Obstructed
from placementclient.files import specifications
from placementclient.model.consumers import Consumer
from placementclient.planner import planner
from placementclient.planner.errors import Infeasible
from tests.unit.planner.clouds import applied, cloud, taken_back, uuid_of, with_usages

HOSTS = {name: {'inventories': {'DISK_GB': {'total': 10}}} for name in ('h0', 'h1')}
POOL = {'ceph': {'traits': ['MISC_SHARES_VIA_AGGREGATE']}}
CONSUMERS = {'a': {'h0': {'DISK_GB': 3}}, 'b': {'h1': {'DISK_GB': 4}}}
SPEC = """
trees: {name: ["h*"]}
providers:
  - {name: ceph, inventories: {DISK_GB: {total: 20}}}
moves:
  - {from_resource_provider: "{root}", to_resource_provider: ceph, moved_resources: {DISK_GB: 10}}
"""


def planned(snapshot, *trees, spec=SPEC):
    parsed = specifications.parse_specification(spec, 'spec.yaml')
    return planner.plan_reshape(snapshot, parsed, trees=trees, migrations=())


def allocations(snapshot):
    return {uuid: consumer.allocations for uuid, consumer in snapshot.consumers.items()}


def test_rollback_keeps_inventory_of_a_target_that_others_use():
    before = cloud({**HOSTS, **POOL}, CONSUMERS)
    first = planned(before, 'h0')
    live = applied(before, first.changes[0])
    second = planned(live, 'h1')
    live = applied(live, second.changes[0])
    with pytest.raises(Obstructed, match='ceph: DISK_GB is 4 used, neither 20 nor 0'):
        taken_back(live, first.changes[0])
    for plan in (second, first):
        live = taken_back(live, plan.changes[0])
    assert allocations(live) == allocations(before)


def test_each_rollback_takes_only_the_part_of_its_plan_off_a_shared_target():
    pool = {'ceph': {**POOL['ceph'], 'inventories': {'DISK_GB': {'total': 20}}}}
    live, spec = cloud({**HOSTS, **pool}, CONSUMERS), SPEC.replace('{total: 20}', '{reserved: 0}')
    plans = []
    for name in HOSTS:
        plans.append(planned(live, name, spec=spec))
        live = applied(live, plans[-1].changes[0])
    totals = []
    for plan in plans:
        live = taken_back(live, plan.changes[0])
        totals.append(live.find_existing('ceph').inventories['DISK_GB'].total)
    assert totals == [30, 20]


def test_a_rollback_of_trees_that_change_together_restores_all_allocations():
    before = cloud({**HOSTS, **POOL}, CONSUMERS)
    plan = planned(before)
    (change,) = plan.changes
    assert plan.find_change('h1') is plan.find_change('h0') is change
    live = applied(before, change)
    assert allocations(taken_back(live, change)) == allocations(before)


def test_a_consumer_that_shrank_on_the_target_of_two_trees_goes_back_to_its_own():
    before = cloud({**HOSTS, **POOL}, CONSUMERS)
    plan = planned(before)
    live = applied(before, plan.changes[0])
    consumer, pool = live.consumers[uuid_of('a')], live.find_existing('ceph')
    live.consumers[consumer.uuid] = replace(consumer, allocations={pool.uuid: {'DISK_GB': 2}})
    live = with_usages(live.providers.values(), live.consumers.values())
    returned = taken_back(live, plan.changes[0])
    assert returned.consumers[consumer.uuid].allocations == {uuid_of('h0'): {'DISK_GB': 2}}


def test_what_a_consumer_gained_since_on_a_target_that_stays_is_not_rolled_back():
    gpu = {'gpu': {'inventories': {'VGPU': {'total': 4}}}}
    host = {'h0': {'inventories': {'VGPU': {'total': 4}}, 'children': gpu}}
    spec = '[{from_resource_provider: h0, to_resource_provider: gpu, moved_resources: {VGPU: 4}}]'
    plan = planned(cloud(host, {'a': {'h0': {'VGPU': 1}}}), spec=spec)
    live, target = applied(plan.changes[0].before, plan.changes[0]), uuid_of('gpu')
    grown = replace(live.consumers[uuid_of('a')], allocations={target: {'VGPU': 3}})
    live = with_usages(live.providers.values(), [grown])
    back = taken_back(live, plan.changes[0]).consumers[grown.uuid].allocations
    assert back == {uuid_of('h0'): {'VGPU': 1}, target: {'VGPU': 2}}


def test_trees_with_more_consumers_than_one_request_moves_are_refused(monkeypatch):
    monkeypatch.setattr(planner, 'MOST_CONSUMERS', 1)
    with pytest.raises(Infeasible) as refused:
        planned(cloud({**HOSTS, **POOL}, CONSUMERS))
    (cause,) = refused.value.causes
    assert str(cause) == (
        'h0, h1: the trees change together, as they share a target or a consumer, and 2 consumers '
        'move, more than 1: plan and apply them a few at a time, with --tree'
    )


def test_an_overcommitted_source_is_not_given_back_more_than_the_service_admits():
    disk = {'total': 1, 'allocation_ratio': 0.5}
    full = cloud({'h0': {'inventories': {'DISK_GB': disk}}, **POOL}, {'a': {'h0': {'DISK_GB': 1}}})
    plan = planned(full, 'h0', spec=SPEC.replace('DISK_GB: 10', 'DISK_GB: all'))
    with pytest.raises(Obstructed, match='h0 has no room for its DISK_GB any more'):
        taken_back(applied(full, plan.changes[0]), plan.changes[0])


def test_rollback_adds_up_what_a_new_consumer_holds_on_two_targets_of_one_source():
    spec = """
trees: {name: ["h*"]}
providers:
  - {name: "{root}_gpu0", inventories: {VGPU: {total: 2}}}
  - {name: "{root}_gpu1", inventories: {VGPU: {total: 2}}}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu0"
    moved_resources: {VGPU: 2}
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu1"
    moved_resources: {VGPU: 2}
"""
    plan = planned(cloud({'h0': {'inventories': {'VGPU': {'total': 4}}}}, {}), spec=spec)
    live = applied(plan.changes[0].before, plan.changes[0])
    targets = {
        live.find_existing('h0_gpu0').uuid: {'VGPU': 1},
        live.find_existing('h0_gpu1').uuid: {'VGPU': 2},
    }
    new = Consumer(uuid_of('new'), targets, 'p', 'u', 1)
    live = with_usages(live.providers.values(), [new])
    returned = taken_back(live, plan.changes[0])
    assert returned.consumers[new.uuid].allocations == {uuid_of('h0'): {'VGPU': 3}}


def test_a_rollback_keeps_an_added_device_that_a_new_server_uses():
    spec = """
additions:
  - resource_provider: h0_nic
    parent: h0
    inventories: {CUSTOM_NIC: {total: 2}}
"""
    plan = planned(cloud(HOSTS, CONSUMERS), spec=spec)
    live = applied(plan.changes[0].before, plan.changes[0])
    new = Consumer(uuid_of('new'), {live.find_existing('h0_nic').uuid: {'CUSTOM_NIC': 1}})
    live = with_usages(live.providers.values(), [*live.consumers.values(), new])
    with pytest.raises(Obstructed, match=f'h0_nic has allocations: consumer {new.uuid}'):
        taken_back(live, plan.changes[0])


def test_rollback_refuses_a_new_consumer_that_may_go_to_either_of_two_sources():
    spec = """
- {from_resource_provider: cell0, to_resource_provider: h0_gpu, moved_resources: {VGPU: 2}}
- {from_resource_provider: cell1, to_resource_provider: h0_gpu, moved_resources: {VGPU: 2}}
"""
    cells = {name: {'inventories': {'VGPU': {'total': 2}}} for name in ('cell0', 'cell1')}
    plan = planned(cloud({'h0': {'children': cells}}, {}), spec=spec)
    live = applied(plan.changes[0].before, plan.changes[0])
    new = Consumer(uuid_of('new'), {live.find_existing('h0_gpu').uuid: {'VGPU': 1}})
    live = with_usages(live.providers.values(), [new])
    with pytest.raises(Obstructed, match='1 VGPU on h0_gpu may go back to cell0, cell1'):
        taken_back(live, plan.changes[0])
