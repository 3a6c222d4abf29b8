"""A provider in the place of another, from any point of the way."""

import pytest
from msgspec.structs import replace

from placementclient.changes.diff import diff, operations_of
from placementclient.changes.operations import Reshape, SetAllocations, SetInventories
from placementclient.changes.plan import plan_of as plan
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import rows
from placementclient.client import errors
from placementclient.model.aside import LONGEST_NAME, aside, original
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.shortfalls import Unaccounted
from placementclient.producers.replaced import Irreplaceable, check_related, replaced
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


def below(state, parent):
    return replace(state, provider=replace(state.provider, parent_provider_uuid=parent))


def places(snapshot):
    return {
        uuid: (state.name, state.provider.parent_provider_uuid)
        for uuid, state in snapshot.providers.items()
    }


def held(snapshot, uuid='s'):
    return snapshot.consumers[uuid].allocations


def test_a_new_one_has_all_of_the_old_one():
    after = replaced(cloud(HOST, [SERVER]), 'old', 'new')
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
    assert held(after) == {'new': {'VCPU': 2}, 'old_gpu': {'VGPU': 1}, 'pool': {'DISK_GB': 7}}


def test_a_child_is_made_below_the_same_parent():
    after = replaced(cloud(HOST, [SERVER]), 'old_gpu', 'new')
    assert places(after) == {
        'old': ('old', None),
        'new': ('old_gpu', 'old'),
        'old:port': ('old:port', 'new'),
    }


def test_children_follow_a_new_name_but_for_those_of_others():
    after = replaced(cloud(HOST), 'old', 'new', 'fresh')
    assert {name for name, _ in places(after).values()} == {'fresh', 'fresh_gpu', 'old:port'}


def test_a_twin_keeps_its_inventories_and_its_place():
    other = consumer('o', twin={'VCPU': 3})
    after = replaced(cloud([*HOST, TWIN], [SERVER, other]), 'old', 'twin')
    twin = after.providers['twin']
    assert (twin.name, twin.traits, twin.aggregates) == ('old', {'A', 'B'}, {'rack', 'zone'})
    assert {name: each.total for name, each in twin.inventories.items()} == {
        'VCPU': 16,
        'DISK_GB': 50,
    }
    assert (held(after)['twin'], held(after, 'o')) == ({'VCPU': 2}, {'twin': {'VCPU': 3}})


def test_the_shares_of_one_consumer_in_both_are_joined():
    both = consumer('s', old={'VCPU': 2}, twin={'VGPU': 1})
    twin = provider('twin', VGPU=4)
    assert held(replaced(cloud([*HOST, twin], [both]), 'old', 'twin')) == {
        'twin': {'VCPU': 2, 'VGPU': 1}
    }


def test_a_child_of_each_with_one_name_become_one():
    """nova-compute has made its children again under the new name."""
    states = [*HOST, TWIN, provider('twin_gpu', 'twin', VGPU=8), provider('twin_nic', 'twin')]
    other = consumer('o', twin_gpu={'VGPU': 2})
    after = replaced(cloud(states, [SERVER, other]), 'old', 'twin', 'twin')
    assert places(after) == {
        'twin': ('twin', None),
        'twin_gpu': ('twin_gpu', 'twin'),
        'old:port': ('old:port', 'twin_gpu'),
        'twin_nic': ('twin_nic', 'twin'),
    }
    assert after.providers['twin_gpu'].inventories == {'VGPU': Inventory(8)}
    assert held(after)['twin_gpu'] == {'VGPU': 1}
    assert held(after, 'o') == {'twin_gpu': {'VGPU': 2}}


@pytest.mark.parametrize(
    ('states', 'consumers', 'kind', 'said'),
    [
        (
            [*HOST, TWIN],
            [consumer('s', old={'VCPU': 1}, twin={'VCPU': 2})],
            Irreplaceable,
            'consumer s holds VCPU on old and on twin: it is not known which of the two is right',
        ),
        (
            [*HOST, provider('twin', VCPU=7)],
            [],
            Irreplaceable,
            'twin grants less VCPU than old',
        ),
        (
            [*HOST, provider('twin', VCPU=Inventory(8, step_size=2))],
            [],
            Irreplaceable,
            'twin grants less VCPU than old',
        ),
        (
            [replace(OLD, usages={'VCPU': 1}), TWIN],
            [],
            Unaccounted,
            '1 VCPU of old is used by consumers without a record',
        ),
        (
            [OLD, provider('twin', 'old')],
            [],
            errors.BadArgument,
            'twin is below old: twin cannot replace old. Give a provider that is neither above nor '
            'below it',
        ),
        (
            [provider('old', 'middle', 'twin'), provider('middle', 'twin'), TWIN],
            [],
            errors.BadArgument,
            'old is below twin: twin cannot replace old',
        ),
    ],
)
def test_refusals(states, consumers, kind, said):
    with pytest.raises(kind, match=said):
        replaced(cloud(states, consumers), 'old', 'twin')


@pytest.mark.parametrize('name', [None, 'twin', 'third', 'old_b'])
@pytest.mark.parametrize('new', ['new', 'twin'])
def test_from_each_step_the_way_leads_to_the_same_end(new, name):
    """Also where only the two UUIDs and the name are known that the new one gets."""
    twin = [TWIN, provider('twin_gpu', 'twin', VGPU=4)] if new == 'twin' else []
    before = cloud(
        [*HOST, provider('old_deep', 'old:port', 'old'), *twin],
        [SERVER, consumer('o', **({'twin': {'VCPU': 3}} if twin else {}))],
    )
    after = replaced(before, 'old', new, name)
    operations = diff(before, after)
    end = simulate(before, operations)
    for number in range(len(operations)):
        there = simulate(before, operations[:number])
        again = replaced(there, 'old', new, name or 'old')
        assert content(simulate(there, diff(there, again))) == content(end), operations[number]


OWN = consumer('o', twin={'VCPU': 3})


@pytest.mark.parametrize('name', [None, 'twin', 'third'])
def test_another_host_in_use_is_refused(name):
    both = consumer('b', old={'VCPU': 1}, twin={'DISK_GB': 1})
    there = cloud([*HOST, TWIN], [SERVER, both, OWN, consumer('p', twin={'VCPU': 1})])
    with pytest.raises(Irreplaceable) as refused:
        check_related(there, 'old', 'twin', name)
    assert str(refused.value) == (
        'twin is in use: 2 consumers with nothing on old have allocations there, and its name is '
        'of another host. Check that both are the same host, then give --merge to join them'
    )


@pytest.mark.parametrize(
    ('child', 'name'),
    [('twin_gpu', None), ('twin_gpu', 'third'), ('twin:port', 'twin'), ('twin_gpu', 'twin')],
)
def test_so_is_one_of_which_only_a_child_is_in_use(child, name):
    states = [*HOST, TWIN, provider(child, 'twin', VGPU=4)]
    there = cloud(states, [SERVER, Consumer('o', {child: {'VGPU': 1}}, 'p', 'u', 1, None)])
    with pytest.raises(Irreplaceable, match='twin is in use: 1 consumer with nothing on old has'):
        check_related(there, 'old', 'twin', name)


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('web', 'web.example.org'),
        ('web.example.org', 'web'),
        (aside('web', 'old'), 'web'),
        (aside('web.example.org', 'old'), 'web'),
        ('web', aside('web', 'twin')),
        ('web', aside('web', 'old')),
        (aside('w' * LONGEST_NAME, 'old'), 'w' * LONGEST_NAME),
    ],
)
def test_a_twin_of_the_same_name_may_be_in_use(old, new):
    there = cloud([named(OLD, old), GPU, named(TWIN, new)], [SERVER, OWN])
    check_related(there, 'old', 'twin', new)


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('web.example.org', 'web.example.com'),
        ('web1', 'web10'),
        (aside('web', 'old'), 'other'),
    ],
)
def test_a_name_that_only_looks_alike_is_of_another_host(old, new):
    there = cloud([named(OLD, old), GPU, named(TWIN, new)], [SERVER, OWN])
    with pytest.raises(Irreplaceable):
        check_related(there, 'old', 'twin', new)


@pytest.mark.parametrize('name', [None, 'twin', 'third', 'old_b'])
def test_what_was_cut_off_goes_on_without_a_merge(name):
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
    check_related(before, 'old', 'twin', name)
    operations = diff(before, replaced(before, 'old', 'twin', name))
    for number in range(len(operations)):
        there = simulate(before, operations[:number])
        check_related(there, 'old', 'twin', name or 'old')


def test_an_empty_provider_does_not_hide_another_host():
    """A host that has its inventories below it, as one with NUMA providers."""
    there = cloud([provider('old'), provider('old_numa', 'old', VCPU=4), TWIN], [OWN])
    with pytest.raises(Irreplaceable):
        check_related(there, 'old', 'twin', 'twin')


def test_one_that_is_made_is_nobodys():
    check_related(cloud(HOST, [SERVER]), 'old', 'new', 'third')


def test_one_request_moves_inventories_and_allocations():
    before = cloud(HOST, [SERVER])
    (tree,) = plan('', before, replaced(before, 'old', 'new')).trees
    (reshape,) = [each for each in operations_of(tree) if isinstance(each, Reshape)]
    assert {each.provider_uuid: dict(each.after) for each in reshape.inventories} == {
        'old': {},
        'new': OLD.inventories,
    }
    assert [each.uuid for each in reshape.consumers] == ['s']
    assert not [each for each in operations_of(tree) if isinstance(each, SetInventories)]


def test_so_does_one_where_the_twin_has_its_inventories_already():
    twin = replace(TWIN, inventories=OLD.inventories)
    before = cloud([OLD, twin], [consumer('s', old={'VCPU': 2})])
    (tree,) = plan('', before, replaced(before, 'old', 'twin')).trees
    (reshape,) = [each for each in operations_of(tree) if isinstance(each, Reshape)]
    # Those of the twin are nova-compute's: they are not written.
    assert [each.provider_uuid for each in reshape.inventories] == ['old']
    assert not [each for each in operations_of(tree) if isinstance(each, SetAllocations)]


def test_so_does_one_where_nobody_is_on_the_host():
    before = cloud(HOST)
    for there in (before, cloud([named(OLD, aside('old', 'old')), GPU, PORT])):
        (tree,) = plan('', there, replaced(there, 'old', 'new')).trees
        (reshape,) = [each for each in operations_of(tree) if isinstance(each, Reshape)]
        assert (len(reshape.inventories), reshape.consumers) == (2, ())


def test_rows_tell_two_providers_of_one_name_apart():
    before = cloud([OLD], [consumer('s', old={'VCPU': 2})])
    (tree,) = plan('', before, replaced(before, 'old', 'new')).trees
    found = [(row.object, row.change) for row in rows(tree.before, tree.after)]
    assert ('old', 'create') in found
    assert ('old (old)', 'delete') in found
    (moved,) = [row for row in rows(tree.before, tree.after) if row.change == 'allocations']
    assert (moved.before, moved.after) == ({'old (old)': {'VCPU': 2}}, {'old': {'VCPU': 2}})


def test_names_that_make_way_are_found_again():
    assert original(aside('host', 'u'), 'u') == 'host'
    assert original('host', 'u') == 'host'
    long = 'h' * LONGEST_NAME
    assert len(aside(long, 'u')) == LONGEST_NAME
    assert long.startswith(original(aside(long, 'u'), 'u'))
