# SPDX-License-Identifier: Apache-2.0
"""Somebody else changed something between the plan and the end of its application."""

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_class, resource_provider, trait
from placementclient.basis.errors import ExitStatus
from placementclient.model.outcomes import TreeState
from placementclient.runs import engines
from tests.functional import clouds
from tests.functional.clouds import uuid_of

ROOT = uuid_of('compute0')


def add_trait(client):
    traits = trait.list_of_provider(client, ROOT)
    assert traits.generation is not None
    trait.set_on_provider(client, ROOT, [*traits.value, 'HW_CPU_X86_SSE'], traits.generation)


def touch(client):
    read = inventory.list(client, ROOT)
    assert read.generation is not None
    same = {name: value.as_fields() for name, value in read.value.items()}
    inventory.set_all(client, ROOT, same, read.generation)


def free(client):
    allocation.delete(client, uuid_of('server0.1'))


def allocate(name, vgpus):
    return lambda client: allocation.set(client, clouds.server(name, 'compute0', vgpus))


def grow(client):
    read = inventory.show(client, ROOT, 'VCPU')
    assert read.generation is not None
    fields = replace(read.value, total=64).as_fields()
    inventory.set(client, ROOT, 'VCPU', fields, read.generation)


def resize(total, provider_uuid=ROOT, **fields):
    """Change the inventory that the plan moves."""

    def disturb(client):
        read = inventory.show(client, provider_uuid, 'VGPU')
        assert read.generation is not None
        changed = replace(read.value, total=total, **fields).as_fields()
        inventory.set(client, provider_uuid, 'VGPU', changed, read.generation)

    return disturb


def hand_over(client):
    consumer = allocation.show(client, uuid_of('server0.1')).value
    allocation.set(client, replace(consumer, project_id=uuid_of('another')), replaces_owner=True)


def applied(client, path, plan, disturb, when):
    """Apply a plan that somebody disturbs: before, or just before a request."""
    if when == 'before':
        disturb(client)
        return engines.apply(client, plan, path)
    method, part = when.split()
    with clouds.disturbed(client, method, part, lambda: disturb(client)):
        return engines.apply(client, plan, path)


def consumer_of(client, name):
    return allocation.show(client, uuid_of(name)).value


@pytest.mark.parametrize(
    'disturb',
    [add_trait, touch, free, allocate('new', 0), grow, hand_over],
    ids=['trait', 'generation', 'freed', 'allocated', 'inventory', 'project'],
)
def test_apply_keeps_unrelated_changes_of_others(client, disturb, path):
    """``tests.interleavings`` tries every moment."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()), 1, moved_trait=True)
    outcome = applied(client, path, plan, disturb, 'POST /reshaper')
    assert outcome.exit_status is ExitStatus.DONE, outcome
    after = clouds.captured(client)
    deviations = engines.verify(client, plan, journal_path=path)
    assert {deviation.kind for deviation in deviations if deviation.is_error} <= {'owner'}
    root = after.providers[ROOT]
    assert ('HW_CPU_X86_SSE' in root.traits) == (disturb is add_trait)
    assert root.inventories['VCPU'].total == (64 if disturb is grow else 32)
    assert (uuid_of('server0.1') in after.consumers) == (disturb is not free)
    if disturb is hand_over:
        assert consumer_of(client, 'server0.1').project_id == uuid_of('another')
    assert totals(after) == {'VGPU': 3 if disturb is free else 4}


def totals(snapshot):
    """What is held of VGPU; on children only."""
    result = {'VGPU': 0}
    for consumer in snapshot.consumers.values():
        assert 'VGPU' not in consumer.allocations[ROOT]
        for resources in consumer.allocations.values():
            result['VGPU'] += resources.get('VGPU', 0)
    return result


def test_apply_moves_the_amounts_of_a_consumer_that_was_deleted_and_made_again(client, path):
    """Its generation is that of the plan again."""
    before = clouds.loaded(client, clouds.cloud())
    plan = clouds.plan_of(before, children=1)

    def make_again(client):
        free(client)
        allocate('server0.1', 2)(client)

    outcome = applied(client, path, plan, make_again, 'before')
    assert outcome.exit_status is ExitStatus.DONE, outcome
    again = consumer_of(client, 'server0.1')
    assert again.allocations[plan.changes[0].providers[1].uuid] == {'VGPU': 2}


def test_apply_moves_a_consumer_that_came_to_a_tree_without_any(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(servers=0)), children=1)
    outcome = applied(client, path, plan, allocate('new', 2), 'before')
    assert outcome.exit_status is ExitStatus.DONE, outcome
    new = consumer_of(client, 'new')
    assert new.allocations[plan.changes[0].providers[1].uuid] == {'VGPU': 2}


def test_apply_keeps_inferred_places_after_a_consumer_has_left(client, path):
    before = clouds.loaded(client, clouds.cloud())
    plan = clouds.plan_of(before, is_mapped=False, allow_inferred=True)
    outcome = applied(client, path, plan, free, 'before')
    assert outcome.exit_status is ExitStatus.DONE, outcome
    left = [row for row in plan.changes[0].reasons if row.consumer_uuid != uuid_of('server0.1')]
    uuids = {change.name: change.uuid for change in plan.changes[0].providers}
    for row in left:
        consumer = allocation.show(client, row.consumer_uuid).value
        assert consumer.allocations[uuids[row.to_provider]]['VGPU'] == row.amount


@pytest.mark.parametrize('same_uuid', [True, False])
def test_apply_leaves_a_tree_alone_whose_child_has_content(client, path, same_uuid):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud()))
    child = plan.changes[0].providers[1]
    made = resource_provider.create(
        client, child.name, uuid=child.uuid if same_uuid else None, parent_provider_uuid=ROOT
    )
    resource_class.ensure(client, 'CUSTOM_THING')
    inventory.set_all(client, made.uuid, {'CUSTOM_THING': {'total': 3}}, made.generation)
    with clouds.watched(client) as requests:
        outcome = engines.apply(client, plan, path)
    assert outcome.exit_status is ExitStatus.DIFFERS
    assert child.name in outcome.trees[0].reason
    assert 'not empty' in outcome.trees[0].reason
    assert inventory.list(client, made.uuid).value['CUSTOM_THING'].total == 3
    assert [r for r in requests if r[0] != 'GET' and r[1] != '/reshaper'] == []


def test_apply_uses_an_empty_child_that_nova_has_made(client, path):
    """It has another UUID: the plan is made again for it."""
    before = clouds.loaded(client, clouds.cloud())
    plan = clouds.plan_of(before)
    made = resource_provider.create(client, 'compute0_gpu0', parent_provider_uuid=ROOT)
    outcome = engines.apply(client, plan, path)
    assert outcome.exit_status is ExitStatus.DONE, outcome
    assert inventory.list(client, made.uuid).value['VGPU'].total == 4
    assert engines.rollback(client, plan, path).exit_status is ExitStatus.DONE
    after = clouds.captured(client)
    assert {state.name for state in after.providers.values()} == {'compute0', 'compute0_gpu0'}
    assert after.providers[ROOT].inventories == before.providers[ROOT].inventories


def test_apply_leaves_a_tree_alone_that_no_longer_exists(client, path):
    before = clouds.loaded(client, clouds.cloud(hosts=2, servers=2))
    plan = clouds.plan_of(before)
    for consumer in before.consumers_on(ROOT):
        allocation.delete(client, consumer.uuid)
    resource_provider.delete(client, ROOT)
    outcome = engines.apply(client, plan, path)
    assert outcome.exit_status is ExitStatus.PARTIAL
    assert clouds.names(outcome.trees) == [('compute0', 'left alone'), ('compute1', 'applied')]
    assert 'does not exist any more' in outcome.trees[0].reason


def test_apply_leaves_a_tree_alone_that_reserves_more_since(client, path):
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(servers=2)))
    read = inventory.show(client, ROOT, 'VGPU')
    assert read.generation is not None
    fields = replace(read.value, reserved=3).as_fields()
    inventory.set(client, ROOT, 'VGPU', fields, read.generation)
    outcome = engines.apply(client, plan, path)
    assert outcome.trees[0].state is TreeState.LEFT_ALONE
    assert 'reserves 3 VGPU' in outcome.trees[0].reason
    assert len(clouds.captured(client).providers) == 1


@pytest.mark.parametrize('when', ['before', 'POST /reshaper'])
@pytest.mark.parametrize(
    'disturb', [resize(5), resize(10), resize(8, step_size=2, max_unit=8)],
    ids=['fewer', 'more', 'unit'],
)  # fmt: skip
def test_apply_leaves_a_tree_alone_whose_figures_were_not_reviewed(client, path, disturb, when):
    """Though it could be planned: the figures on the targets, or what stays, would be others."""
    plan = clouds.plan_of(clouds.loaded(client, clouds.cloud(servers=2)))
    outcome = applied(client, path, plan, disturb, when)
    assert outcome.exit_status is ExitStatus.DIFFERS, outcome
    assert outcome.trees[0].state is TreeState.LEFT_ALONE
    assert 'the inventories of compute0 have changed, and ' in outcome.trees[0].reason
    after = clouds.captured(client)
    assert list(after.providers) == [ROOT]
    assert after.providers[ROOT].usages['VGPU'] == 2
