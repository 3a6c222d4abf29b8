# SPDX-License-Identifier: Apache-2.0
"""A change carried over: to where it began, where it ended, between, and beside other writers."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from placementclient.changes.atomic_merge import merge_atomic_change
from placementclient.changes.diff import diff
from placementclient.changes.merge import merge
from placementclient.changes.operations import DeleteProvider, SetInventories, SetTraits
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.deadline import ends_within
from tests.snapshot_pairs import content, pair, snapshot, uuid_of, with_types_of

SEEDS = st.integers(0, 2**32 - 1)
HOST = uuid_of('host')
SERVER = uuid_of('server')
GPU = Inventory(2)


@pytest.mark.parametrize('backward', [False, True])
@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_a_change_cut_off_anywhere_is_completed_and_rolled_back(backward, seed):
    random = Random(seed)
    before, after = pair(random)
    operations = diff(before, after)
    sent = operations[: random.randint(0, len(operations))]
    live = simulate(before, sent)
    start, end = (after, before) if backward else (before, after)
    merged = merge(start, end, live, sent)
    assert merged.obstacles == ()
    assert content(simulate(live, merged.operations)) == content(with_types_of(live, end))


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_a_change_beside_random_changes_of_others_ends(seed):
    random = Random(seed)
    before, after = pair(random)
    live = snapshot(random, random.choice((before, after)), keep=0.7)
    # Also a part of what there is, as of trees from which others have moved a provider away.
    listed = [state for state in live.providers.values() if random.random() < 0.8]
    with ends_within(5):
        merged = merge(before, after, Snapshot(listed, live.consumers.values()))
    names = [obstacle.subject for obstacle in merged.obstacles]
    refused = [name for name in names if name.startswith('consumer')]
    assert len(refused) == len(set(refused))


def host(inventories, *traits):
    return ProviderState(Provider(HOST, 'host', 3, None, HOST), inventories, frozenset(traits))


def cloud(*states, **allocated):
    consumers = [
        Consumer(uuid_of(name), {HOST: amounts}, 'p', 'u') for name, amounts in allocated.items()
    ]
    return Snapshot(states, consumers)


def obstacles(merged):
    return [obstacle.reason for obstacle in merged.obstacles]


def test_a_merge_keeps_other_fields_and_classes_of_others():
    before = cloud(host({'VCPU': Inventory(8)}))
    after = cloud(host({'VCPU': Inventory(8, allocation_ratio=4.0)}))
    live = cloud(host({'VCPU': Inventory(8, reserved=1), 'VGPU': Inventory(2)}, 'CUSTOM_T'))
    merged = merge(before, after, live)
    assert merged.obstacles == ()
    desired = {'VCPU': Inventory(8, reserved=1, allocation_ratio=4.0), 'VGPU': Inventory(2)}
    assert merged.operations == (SetInventories(HOST, live.providers[HOST].inventories, desired),)


def test_a_repeated_change_keeps_what_others_had_changed():
    """A request writes all inventories of a provider: it is no owner of those it found."""
    vcpu, disk = Inventory(16), Inventory(500)
    before = Snapshot([host({'VCPU': vcpu, 'DISK_GB': disk})], [])
    desired = vcpu.with_fields({'allocation_ratio': 16.0})
    after = Snapshot([host({'VCPU': desired, 'DISK_GB': disk})], [])
    present = {'VCPU': Inventory(20), 'DISK_GB': Inventory(508)}
    made = merge(before, after, Snapshot([host(present)], [])).operations
    done = simulate(Snapshot([host(present)], []), made)
    assert done.providers[HOST].inventories == {
        'VCPU': Inventory(20, allocation_ratio=16.0),
        'DISK_GB': Inventory(508),
    }
    assert merge(before, after, done, made).operations == ()
    back = merge(after, before, done, made)
    assert simulate(done, back.operations).providers[HOST].inventories == present


def test_a_provider_below_which_others_have_made_one_is_not_deleted():
    cell, card = (
        ProviderState(Provider(uuid_of(name), name, 1, parent, HOST))
        for name, parent in (('cell', HOST), ('card', uuid_of('cell')))
    )
    merged = merge(cloud(host({}), cell), cloud(host({})), cloud(host({}), cell, card))
    assert (obstacles(merged), merged.operations) == (['cell has children: card'], ())


def test_a_field_that_somebody_else_has_changed_is_an_obstacle():
    before = cloud(host({'VCPU': Inventory(8)}))
    after = cloud(host({'VCPU': Inventory(16)}))
    live = cloud(host({'VCPU': Inventory(12)}))
    merged = merge(before, after, live)
    assert obstacles(merged) == ['host: VCPU:total is 12, neither 8 nor 16']
    assert merged.operations == ()


def test_every_field_of_an_inventory_that_the_reshaper_writes_is_compared():
    before = cloud(host({'VCPU': Inventory(8), 'VGPU': Inventory(2)}))
    after = cloud(host({'VCPU': Inventory(8), 'VGPU': Inventory(1)}))
    live = cloud(host({'VCPU': Inventory(8, reserved=1), 'VGPU': Inventory(2, reserved=1)}))
    assert merge(before, after, live).obstacles == ()
    (message,) = obstacles(merge_atomic_change(before, after, live))
    assert message.startswith('host: VGPU is total 2, reserved 1')


def test_an_atomic_change_is_one_request_between_the_traits_that_come_and_those_that_go():
    child = ProviderState(
        Provider(uuid_of('child'), 'child', 0, HOST, HOST), {'VGPU': GPU}, frozenset({'CUSTOM_A'})
    )
    root, left = host({'VCPU': Inventory(8), 'VGPU': GPU}, 'CUSTOM_A'), host({'VCPU': Inventory(8)})
    before = cloud(replace(root, traits=root.traits | {'CUSTOM_OTHER'}))
    operations = merge_atomic_change(cloud(root), Snapshot([left, child], []), before).operations
    kinds = [type(operation).__name__ for operation in operations]
    assert kinds == ['CreateProvider', 'SetTraits', 'Reshape', 'SetTraits']
    gained, lost = operations[1], operations[3]
    assert isinstance(gained, SetTraits)
    assert isinstance(lost, SetTraits)
    assert (gained.provider_uuid, gained.after) == (child.uuid, {'CUSTOM_A'})
    assert (lost.before, lost.after) == ({'CUSTOM_A', 'CUSTOM_OTHER'}, {'CUSTOM_OTHER'})
    made = simulate(before, operations[:2])
    rest = merge_atomic_change(cloud(root), Snapshot([left, child], []), made).operations
    assert rest == operations[2:]


def test_a_change_that_sets_no_owner_keeps_that_of_others():
    vcpu = {'VCPU': Inventory(8)}
    before, after = cloud(host(vcpu), server={'VCPU': 2}), cloud(host(vcpu), server={'VCPU': 3})
    live = Snapshot([host(vcpu)], [replace(before.consumers[SERVER], project_id='another')])
    merged = merge(before, after, live)
    assert merged.obstacles == ()
    done = simulate(live, merged.operations).consumers[SERVER]
    assert (done.project_id, done.allocations) == ('another', {HOST: {'VCPU': 3}})
    assert merge(before, after, simulate(live, merged.operations)).operations == ()


def test_a_consumer_that_holds_something_else_is_an_obstacle():
    before = cloud(host({'VCPU': Inventory(8)}), server={'VCPU': 2})
    after = cloud(host({'VCPU': Inventory(8)}))
    live = cloud(host({'VCPU': Inventory(8)}), server={'VCPU': 4})
    (message,) = obstacles(merge(before, after, live))
    values = f"{{'{HOST}': {{'VCPU': 4}}}}, neither {{'{HOST}': {{'VCPU': 2}}}} nor nothing"
    assert message == f'consumer {SERVER}: allocations are {values}'


def test_a_consumer_on_a_provider_that_left_the_tree_is_refused_once():
    child = ProviderState(Provider(uuid_of('child'), 'child', 0, HOST, HOST), {'VGPU': GPU})
    heir = uuid_of('heir')
    new = ProviderState(Provider(heir, 'host', 0, None, heir), {'VCPU': Inventory(8)})
    moved = replace(child, provider=replace(child.provider, parent_provider_uuid=heir))
    old = host({'VCPU': Inventory(8)})
    allocated = {HOST: {'VCPU': 2}, child.uuid: {'VGPU': 1}}
    consumer = Consumer(SERVER, allocated, 'p', 'u')
    desired = replace(
        consumer, allocations={heir: allocated[HOST], child.uuid: allocated[child.uuid]}
    )
    before, after = Snapshot([old, child], [consumer]), Snapshot([new, moved], [desired])
    with ends_within(5):
        merged = merge(before, after, Snapshot([old], [consumer]))
    assert obstacles(merged) == [
        'child does not exist any more',
        f'consumer {SERVER}: its provider is not created',
        f'host has allocations: consumer {SERVER}',
        f'host exists, with the UUID {HOST}',
    ]


def test_a_merge_deletes_no_provider_in_use():
    before = cloud(host({'VCPU': Inventory(8)}))
    live = cloud(host({'VCPU': Inventory(8)}), server={'VCPU': 2})
    merged = merge(before, cloud(), live)
    assert obstacles(merged) == [f'host has allocations: consumer {SERVER}']
    assert merged.operations == ()


def test_a_merge_deletes_no_provider_that_others_have_changed():
    """To take it back would make the provider as it was planned on, not as it was."""
    before = cloud(host({'VCPU': Inventory(8)}, 'CUSTOM_T'))
    changed = host({'VCPU': Inventory(8), 'VGPU': Inventory(2)}, 'CUSTOM_T', 'CUSTOM_U')
    live = replace(
        changed,
        provider=replace(changed.provider, name='renamed', parent_provider_uuid=SERVER),
        aggregates=frozenset({SERVER}),
    )
    merged = merge(before, cloud(), cloud(live))
    assert obstacles(merged) == [
        'host has inventory: VGPU',
        'host has traits: CUSTOM_U',
        f'host has aggregates: {SERVER}',
        'host has name: renamed',
        f'host has parent: {SERVER}',
    ]
    assert merged.operations == ()
    # What others have taken off it is no reason to keep it.
    assert merge(before, cloud(), cloud(host({}))).obstacles == ()


def test_a_name_that_somebody_else_has_taken_is_an_obstacle():
    other = uuid_of('other')
    live = cloud(ProviderState(Provider(other, 'host', 0, None, other)))
    merged = merge(cloud(), cloud(host({})), live)
    assert obstacles(merged) == [f'host exists, with the UUID {other}']
    assert merged.operations == ()


def test_an_inventory_does_not_shrink_below_what_came_since():
    before = cloud(host({'VCPU': Inventory(4)}))
    after = cloud(host({'VCPU': Inventory(16)}))
    used = replace(host({'VCPU': Inventory(16)}), usages={'VCPU': 10})
    merged = merge(after, before, cloud(used))
    assert obstacles(merged) == ['host: VCPU is 10 used, neither 16 nor 4']
    assert merged.operations == ()


def test_a_host_that_has_filled_up_gets_nothing_beyond_its_capacity():
    """The allocation was planned while there was room: it is no reason to exceed it now."""
    inventory = {'VCPU': Inventory(8)}
    before, after = cloud(host(inventory)), cloud(host(inventory), server={'VCPU': 4})
    live = cloud(replace(host(inventory), usages={'VCPU': 6}), other={'VCPU': 6})
    merged = merge(before, after, live)
    assert merged.operations == ()
    assert obstacles(merged) == [f'consumer {SERVER}: host has no room for its VCPU any more']
    full = {'VCPU': Inventory(8)}
    crowded = cloud(replace(host(full), usages={'VCPU': 12}), server={'VCPU': 12})
    assert merge(cloud(host(full)), crowded, cloud(host(full))).obstacles == ()


def test_room_that_another_client_has_taken_away_since_the_plan_is_no_room():
    full = {'VCPU': Inventory(16)}
    allocated = replace(host(full), usages={'VCPU': 12})
    before = cloud(allocated, other={'VCPU': 12})
    after = cloud(replace(allocated, usages={'VCPU': 16}), other={'VCPU': 12}, server={'VCPU': 4})
    live = cloud(replace(allocated, inventories={'VCPU': Inventory(9)}), other={'VCPU': 12})
    merged = merge(before, after, live)
    assert merged.operations == ()
    assert obstacles(merged) == [f'consumer {SERVER}: host has no room for its VCPU any more']


@pytest.mark.parametrize(
    ('deleted', 'user', 'made_again'),
    [
        ({'leaf'}, HOST, {'host', 'cell'}),
        ({'cell', 'leaf'}, HOST, {'host'}),
        ({'cell'}, HOST, {'host', 'cell', 'leaf'}),
        ({'cell', 'leaf'}, uuid_of('leaf'), {'host', 'cell', 'leaf'}),
    ],
)
def test_a_rollback_makes_no_provider_again_that_another_client_had_deleted(
    deleted, user, made_again
):
    """Unless a consumer or a child needs it: what was sent shows what the change deleted."""
    names = {'host': None, 'cell': HOST, 'leaf': uuid_of('cell')}
    states = [
        ProviderState(Provider(uuid_of(name), name, 1, parent, HOST), {'VCPU': Inventory(8)})
        for name, parent in names.items()
    ]
    before = Snapshot(reversed(states), [Consumer(SERVER, {user: {'VCPU': 1}}, 'p', 'u')])
    sent = [
        operation
        for operation in diff(before, cloud())
        if not (isinstance(operation, DeleteProvider) and operation.name in deleted)
    ]
    merged = merge(cloud(), before, cloud(), sent, backward=True)
    assert merged.obstacles == ()
    back = simulate(cloud(), merged.operations)
    assert {state.name for state in back.providers.values()} == made_again
    assert back.consumers.keys() == {SERVER}
