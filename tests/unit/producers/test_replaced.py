# SPDX-License-Identifier: Apache-2.0
"""A provider in the place of another, from any point of the way."""

from contextlib import nullcontext

import pytest
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.changes.diff import diff, list_operations
from placementclient.changes.operations import Reshape, SetAllocations, SetInventories
from placementclient.changes.plan import make_plan as plan
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import LONGEST_NAME, make_temporary_name, restore_name
from placementclient.producers.replaced import Irreplaceable, replace_provider
from placementclient.producers.same_host import refuse_other_host_in_use
from tests.snapshot_pairs import content
from tests.unit.insight.clouds import cloud, consumer, provider

OLD = provider('old', traits=['A'], aggregates=['rack'], VCPU=8, DISK_GB=Inventory(50, reserved=5))
GPU = provider('old_gpu', 'old', VGPU=4)
PORT = provider('old:port', 'old_gpu', 'old')
SERVER = consumer('s', old={'VCPU': 2}, old_gpu={'VGPU': 1}, pool={'DISK_GB': 7})
HOST = [OLD, GPU, PORT]
TWIN = provider('twin', traits=['B'], aggregates=['zone'], VCPU=16)


def named(state, name):
    return replace(state, provider=replace(state.provider, name=name))


def places(snapshot):
    return {
        uuid: (state.name, state.provider.parent_provider_uuid)
        for uuid, state in snapshot.providers.items()
    }


def holdings(snapshot, uuid='s'):
    return snapshot.consumers[uuid].allocations


def test_the_new_provider_has_all_of_the_old_one():
    after = replace_provider(cloud(HOST, [SERVER]), 'old', 'new', 'old')
    assert places(after) == {
        'new': ('old', None),
        'old_gpu': ('old_gpu', 'new'),
        'old:port': ('old:port', 'old_gpu'),
    }
    new = after.providers['new']
    assert (new.inventories, new.traits, new.aggregates) == (
        OLD.inventories,
        OLD.traits,
        OLD.aggregates,
    )
    assert holdings(after) == {
        'new': {'VCPU': 2},
        'old_gpu': {'VGPU': 1},
        'pool': {'DISK_GB': 7},
    }


def test_a_child_is_made_below_the_same_parent():
    after = replace_provider(cloud(HOST, [SERVER]), 'old_gpu', 'new', 'old_gpu')
    assert places(after) == {
        'old': ('old', None),
        'new': ('old_gpu', 'old'),
        'old:port': ('old:port', 'new'),
    }


def test_children_follow_a_new_name_but_for_those_of_others():
    after = replace_provider(cloud(HOST), 'old', 'new', 'fresh')
    assert {name for name, _ in places(after).values()} == {'fresh', 'fresh_gpu', 'old:port'}


def test_a_twin_keeps_its_inventories_and_its_place():
    other = consumer('o', twin={'VCPU': 3})
    after = replace_provider(cloud([*HOST, TWIN], [SERVER, other]), 'old', 'twin', 'old')
    twin = after.providers['twin']
    assert (twin.name, twin.traits, twin.aggregates) == ('old', {'A', 'B'}, {'rack', 'zone'})
    assert {name: inventory.total for name, inventory in twin.inventories.items()} == {
        'VCPU': 16,
        'DISK_GB': 50,
    }
    assert (holdings(after)['twin'], holdings(after, 'o')) == (
        {'VCPU': 2},
        {'twin': {'VCPU': 3}},
    )


def test_the_shares_of_one_consumer_in_both_are_joined():
    both = consumer('s', old={'VCPU': 2}, twin={'VGPU': 1})
    twin = provider('twin', VGPU=4)
    assert holdings(replace_provider(cloud([*HOST, twin], [both]), 'old', 'twin', 'old')) == {
        'twin': {'VCPU': 2, 'VGPU': 1}
    }


def test_a_child_of_each_with_one_name_become_one():
    """nova-compute has made its children again under the new name."""
    states = [*HOST, TWIN, provider('twin_gpu', 'twin', VGPU=8), provider('twin_nic', 'twin')]
    other = consumer('o', twin_gpu={'VGPU': 2})
    after = replace_provider(cloud(states, [SERVER, other]), 'old', 'twin', 'twin')
    assert places(after) == {
        'twin': ('twin', None),
        'twin_gpu': ('twin_gpu', 'twin'),
        'old:port': ('old:port', 'twin_gpu'),
        'twin_nic': ('twin_nic', 'twin'),
    }
    assert after.providers['twin_gpu'].inventories == {'VGPU': Inventory(8)}
    assert holdings(after)['twin_gpu'] == {'VGPU': 1}
    assert holdings(after, 'o') == {'twin_gpu': {'VGPU': 2}}


BOTH = consumer('s', old={'VCPU': 1}, twin={'VCPU': 2})
MIDDLE = provider('middle', 'twin')


@pytest.mark.parametrize(
    ('states', 'consumers', 'message'),
    [
        ([OLD, TWIN], [BOTH], 'consumer s holds VCPU on old and on twin: it is not known which'),
        ([OLD, provider('twin', VCPU=7)], [], 'twin grants less VCPU than old'),
        (
            [OLD, provider('twin', VCPU=Inventory(8, step_size=2))],
            [],
            'twin grants less VCPU than old',
        ),
        (
            [replace(OLD, usages={'VCPU': 1}), TWIN],
            [],
            '1 VCPU of old is used by consumers without',
        ),
        (
            [OLD, provider('twin', 'old')],
            [],
            'twin is below old: twin cannot replace old. Give a provider that is neither above nor '
            'below it',
        ),
        (
            [provider('old', 'middle', 'twin'), MIDDLE, TWIN],
            [],
            'old is below twin: twin cannot replace old',
        ),
        # Half way: the root has the name of the child already.
        (
            [named(provider('old', 'twin'), make_temporary_name('old', 'old')), named(TWIN, 'old')],
            [],
            'is below old: old cannot replace',
        ),
    ],
)
def test_a_replacement_that_would_lose_or_break_something_is_refused(states, consumers, message):
    with pytest.raises(errors.PlacementError, match=message):
        replace_provider(cloud(states, consumers), 'old', 'twin', 'old')


@pytest.mark.parametrize('name', ['old', 'twin', 'third', 'old_b'])
@pytest.mark.parametrize('new', ['new', 'twin'])
def test_a_replacement_goes_on_from_each_of_its_steps(new, name):
    """Also where only the two UUIDs and the name are known that the new one gets."""
    twin = [TWIN, provider('twin_gpu', 'twin', VGPU=4)] if new == 'twin' else []
    before = cloud(
        [*HOST, provider('old_deep', 'old:port', 'old'), *twin],
        [SERVER, consumer('o', **({'twin': {'VCPU': 3}} if twin else {}))],
    )
    after = replace_provider(before, 'old', new, name)
    operations = diff(before, after)
    end = simulate(before, operations)
    for number in range(len(operations)):
        live = simulate(before, operations[:number])
        again = replace_provider(live, 'old', new, name)
        assert content(simulate(live, diff(live, again))) == content(end), operations[number]


TWINS_CONSUMER = consumer('o', twin={'VCPU': 3})


@pytest.mark.parametrize('name', ['old', 'twin', 'third'])
def test_another_host_in_use_is_refused(name):
    both = consumer('b', old={'VCPU': 1}, twin={'DISK_GB': 1})
    live = cloud([*HOST, TWIN], [SERVER, both, TWINS_CONSUMER, consumer('p', twin={'VCPU': 1})])
    with pytest.raises(Irreplaceable) as refused:
        refuse_other_host_in_use(live, 'old', 'twin', name)
    assert str(refused.value) == (
        'twin is in use: 2 consumers with nothing on old have allocations there, and its name is '
        'of another host. Check that both are the same host, then give --merge to join them'
    )


@pytest.mark.parametrize(
    ('child', 'name'),
    [('twin_gpu', 'old'), ('twin_gpu', 'third'), ('twin:port', 'twin'), ('twin_gpu', 'twin')],
)
def test_a_host_whose_child_is_in_use_is_refused(child, name):
    states = [*HOST, TWIN, provider(child, 'twin', VGPU=4)]
    live = cloud(states, [SERVER, Consumer('o', {child: {'VGPU': 1}}, 'p', 'u', 1, None)])
    with pytest.raises(Irreplaceable, match='twin is in use: 1 consumer with nothing on old has'):
        refuse_other_host_in_use(live, 'old', 'twin', name)


@pytest.mark.parametrize(
    ('old', 'new', 'is_same'),
    [
        ('web', 'web.example.org', True),
        ('web.example.org', 'web', True),
        (make_temporary_name('web', 'old'), 'web', True),
        (make_temporary_name('web.example.org', 'old'), 'web', True),
        ('web', make_temporary_name('web', 'twin'), True),
        ('web', make_temporary_name('web', 'old'), True),
        (make_temporary_name('w' * LONGEST_NAME, 'old'), 'w' * LONGEST_NAME, True),
        ('web.example.org', 'web.example.com', False),
        ('web1', 'web10', False),
        (make_temporary_name('web', 'old'), 'other', False),
    ],
)
def test_a_twin_in_use_needs_the_name_of_the_same_host(old, new, is_same):
    live = cloud([named(OLD, old), GPU, named(TWIN, new)], [SERVER, TWINS_CONSUMER])
    with nullcontext() if is_same else pytest.raises(Irreplaceable):
        refuse_other_host_in_use(live, 'old', 'twin', new)


@pytest.mark.parametrize('name', ['old', 'twin', 'third', 'old_b'])
def test_an_interrupted_replacement_goes_on_without_merge(name):
    """Consumers of the old one, also of a child alone, are not those of another host."""
    twin = [
        replace(TWIN, inventories=OLD.inventories),
        provider('twin_gpu', 'twin', VGPU=4),
        provider('twin_fpga', 'twin', FPGA=2),
    ]
    fpga = provider('old_fpga', 'old', FPGA=2)
    numa = [provider('old_numa', 'old', VCPU=4), provider('deep', 'old', VCPU=4)]
    alone = [
        consumer('n', old_numa={'VCPU': 1}),
        consumer('d', deep={'VCPU': 1}),
        consumer('f', old_fpga={'FPGA': 1}),
    ]
    before = cloud([*HOST, fpga, *numa, *twin], [SERVER, *alone])
    refuse_other_host_in_use(before, 'old', 'twin', name)
    operations = diff(before, replace_provider(before, 'old', 'twin', name))
    for number in range(len(operations)):
        live = simulate(before, operations[:number])
        refuse_other_host_in_use(live, 'old', 'twin', name)


def test_an_empty_provider_does_not_hide_another_host():
    """A host that has its inventories below it, as one with NUMA providers."""
    live = cloud([provider('old'), provider('old_numa', 'old', VCPU=4), TWIN], [TWINS_CONSUMER])
    with pytest.raises(Irreplaceable):
        refuse_other_host_in_use(live, 'old', 'twin', 'twin')


def test_a_provider_that_the_replacement_has_made_is_no_other_host():
    refuse_other_host_in_use(cloud(HOST, [SERVER]), 'old', 'new', 'third')


@pytest.mark.parametrize(
    ('states', 'consumers', 'new', 'written'),
    [
        (HOST, ['s'], 'new', {'old': {}, 'new': OLD.inventories}),
        # The inventories of the twin are nova-compute's: they are not written.
        ([OLD, replace(TWIN, inventories=OLD.inventories)], ['s'], 'twin', {'old': {}}),
        (HOST, [], 'new', {'old': {}, 'new': OLD.inventories}),
        # Half way.
        (
            [named(OLD, make_temporary_name('old', 'old')), GPU, PORT],
            [],
            'new',
            {'old': {}, 'new': OLD.inventories},
        ),
    ],
)
def test_one_request_moves_inventories_and_allocations(states, consumers, new, written):
    before = cloud(states, [consumer(uuid, old={'VCPU': 2}) for uuid in consumers])
    (change,) = plan('', before, replace_provider(before, 'old', new, 'old')).changes
    (reshape,) = [o for o in list_operations(change) if isinstance(o, Reshape)]
    assert {i.provider_uuid: dict(i.after) for i in reshape.inventories} == written
    assert [item.uuid for item in reshape.consumers] == consumers
    assert not [
        o for o in list_operations(change) if isinstance(o, SetInventories | SetAllocations)
    ]


def test_the_original_name_is_found_behind_a_temporary_one():
    assert restore_name(make_temporary_name('host', 'u'), 'u') == 'host'
    assert restore_name('host', 'u') == 'host'
    long = 'h' * LONGEST_NAME
    assert len(make_temporary_name(long, 'u')) == LONGEST_NAME
    assert long.startswith(restore_name(make_temporary_name(long, 'u'), 'u'))
