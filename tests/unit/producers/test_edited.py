"""Many providers with one edit made."""

import pytest
from msgspec.structs import replace

from placementclient.client import errors
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.edited import InventoryEdit, NamesEdit, edited


def state(name, traits='', **inventories):
    return ProviderState(Provider(name, name, 1), inventories, frozenset(traits.split()))


HOST = state('host', 'A B', VCPU=Inventory(8, reserved=6), PCPU=Inventory(4))
DISK = state('disk', DISK_GB=Inventory(100))


def after(edit, *states):
    after, notes = edited(Snapshot(states, ()), [each.uuid for each in states], edit)
    assert not notes
    return list(after.providers.values())


@pytest.mark.parametrize(
    ('edit', 'inventories'),
    [
        (
            InventoryEdit({'VCPU': {'reserved': 2}}, amend=True),
            {'VCPU': Inventory(8, reserved=2), 'PCPU': Inventory(4)},
        ),
        (
            InventoryEdit({'VGPU': {'total': 2}}, amend=True),
            {'VCPU': Inventory(8, reserved=6), 'PCPU': Inventory(4), 'VGPU': Inventory(2)},
        ),
        (InventoryEdit({'VCPU': {'total': 16}}, replaces=True), {'VCPU': Inventory(16)}),
        (InventoryEdit({}, replaces=True), {}),
    ],
)
def test_inventories(edit, inventories):
    assert after(edit, HOST) == [replace(HOST, inventories=inventories)]


def test_who_lacks_a_class_is_passed_over():
    edit = InventoryEdit({'VCPU': {'reserved': 2}}, amend=True)
    assert after(edit, HOST, DISK)[1] == DISK
    assert list(edit.remarks([HOST, DISK])) == ['Passed over, without VCPU: disk']


def test_only_the_selected_are_edited():
    after, _ = edited(Snapshot([HOST, DISK], ()), ['disk'], InventoryEdit({}, replaces=True))
    assert after.providers == {'host': HOST, 'disk': replace(DISK, inventories={})}


def test_a_value_that_one_cannot_have():
    edit = InventoryEdit({'VCPU': {'total': 4}}, amend=True)
    after, notes = edited(Snapshot([HOST, state('b', VCPU=Inventory(8))], ()), ['host', 'b'], edit)
    assert notes == [('host', 'failed', 'VCPU: reserved 6 is above the total of 4')]
    assert after.providers['host'] == HOST
    assert after.providers['b'].inventories == {'VCPU': Inventory(4)}


@pytest.mark.parametrize(
    ('edit', 'sentence'),
    [
        (
            InventoryEdit({'VCPUS': {'reserved': 2}}, amend=True),
            'No resource provider that is selected has inventory of VCPUS. Did you mean "VCPU"?',
        ),
        (
            InventoryEdit({'VCPU': {'total': 2}}),
            'DISK_GB, PCPU would be dropped: --replace does it, --amend keeps what is not given',
        ),
    ],
)
def test_an_edit_that_nobody_can_have_meant(edit, sentence):
    with pytest.raises(errors.PlacementError) as refused:
        edit.check([HOST, DISK])
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ('edit', 'names'),
    [
        (NamesEdit('traits', frozenset('BC')), 'ABC'),
        (NamesEdit('traits', removed=frozenset('BC')), 'A'),
        (NamesEdit('aggregates', frozenset('X')), 'AB'),
    ],
)
def test_names(edit, names):
    [found] = after(edit, HOST)
    assert found.traits == frozenset(names)
    assert found.aggregates == (edit.added if edit.facet == 'aggregates' else frozenset())


def test_names_that_nobody_has_are_told():
    edit = NamesEdit('traits', removed=frozenset({'A', 'CUSTOM'}))
    said = 'No resource provider that is selected has the trait CUSTOM'
    assert list(edit.remarks([HOST, DISK])) == [said]
