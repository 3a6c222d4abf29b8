# SPDX-License-Identifier: Apache-2.0
"""Edits of one provider."""

import pytest
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.model.inventories import Inventory
from placementclient.producers.edited import FacetEdit, InventoryEdit
from tests.unit.insight.clouds import provider

HOST = provider('host', traits='AB', VCPU=Inventory(8, reserved=6), PCPU=4)
DISK = provider('disk', DISK_GB=100)


@pytest.mark.parametrize(
    ('edit', 'inventories'),
    [
        (
            InventoryEdit({'VCPU': {'reserved': 2}}, amend=True),
            {'VCPU': Inventory(8, reserved=2), 'PCPU': Inventory(4)},
        ),
        (
            InventoryEdit({'VCPU': {'total': 6}}, amend=True),
            {'VCPU': Inventory(6, reserved=6), 'PCPU': Inventory(4)},
        ),
        (
            InventoryEdit({'VGPU': {'total': 2}}, amend=True),
            {'VCPU': Inventory(8, reserved=6), 'PCPU': Inventory(4), 'VGPU': Inventory(2)},
        ),
        (InventoryEdit({'VCPU': {'total': 16}}, replaces=True), {'VCPU': Inventory(16)}),
        (InventoryEdit({}, replaces=True), {}),
    ],
)
def test_edits_change_the_given_fields_of_inventories(edit, inventories):
    assert edit.edit_state(HOST) == replace(HOST, inventories=inventories)


def test_edits_pass_over_providers_without_the_class():
    edit = InventoryEdit({'VCPU': {'reserved': 2}}, amend=True)
    assert edit.edit_state(DISK) == DISK
    assert list(edit.list_remarks([HOST, DISK])) == ['Skipped, without VCPU: disk']


def test_a_provider_that_cannot_have_a_value_is_refused():
    with pytest.raises(errors.BadArgument, match='VCPU: reserved 6 is above the total of 4'):
        InventoryEdit({'VCPU': {'total': 4}}, amend=True).edit_state(HOST)


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
def test_edits_without_effect_are_refused(edit, sentence):
    with pytest.raises(errors.PlacementError) as refused:
        edit.check_providers([HOST, DISK])
    assert str(refused.value) == sentence


@pytest.mark.parametrize(
    ('edit', 'names'),
    [
        (FacetEdit('traits', frozenset('BC')), 'ABC'),
        (FacetEdit('traits', removed=frozenset('BC')), 'A'),
        (FacetEdit('aggregates', frozenset('X')), 'AB'),
    ],
)
def test_edits_add_and_remove_names(edit, names):
    edited = edit.edit_state(HOST)
    assert edited.traits == frozenset(names)
    assert edited.aggregates == (edit.added if edit.facet == 'aggregates' else frozenset())


def test_edits_report_names_that_no_provider_has():
    edit = FacetEdit('traits', removed=frozenset({'A', 'CUSTOM'}))
    message = 'No resource provider that is selected has the trait CUSTOM'
    assert list(edit.list_remarks([HOST, DISK])) == [message]
