# SPDX-License-Identifier: Apache-2.0
"""The model: values with a representation in JSON."""

import pytest

from placementclient.basis import errors
from placementclient.model.inventories import FIELDS, Inventory
from placementclient.model.providers import Provider, is_uuid, normalize_uuid, normalize_uuids_in
from placementclient.model.snapshots import Origin, ProviderState, Snapshot
from tests.unit.dialogue import RP


@pytest.mark.parametrize(
    'text', [RP, RP.replace('1', 'A'), RP.replace('1', 'f'), RP.replace('-', '')]
)
def test_uuids_are_recognized_in_every_form(text):
    assert is_uuid(text)


@pytest.mark.parametrize(
    'text',
    [
        '',
        'compute1',
        RP[:-1],
        RP + '1',
        RP.replace('-', '', 1),
        RP + '\n',
        f'{{{RP}}}',
        '\uff11' + RP[1:],
    ],
)
def test_texts_that_are_no_uuids_are_names(text):
    assert not is_uuid(text)


@pytest.mark.parametrize(
    ('inventory', 'capacity'),
    [
        (Inventory(16), 16),
        (Inventory(16, allocation_ratio=1.1), 17),
        (Inventory(8, allocation_ratio=1.1), 8),
        (Inventory(16, reserved=4, allocation_ratio=4.0), 48),
        (Inventory(1, allocation_ratio=0.5), 0),
        (Inventory(4, reserved=4), 0),
    ],
)
def test_capacity_is_floored_as_the_service_does_it(inventory, capacity):
    assert inventory.capacity == capacity


@pytest.mark.parametrize(
    ('amount', 'admitted'), [(0, False), (2, False), (4, True), (5, False), (8, True), (12, False)]
)
def test_units_say_how_large_one_allocation_may_be(amount, admitted):
    assert Inventory(100, min_unit=4, max_unit=8, step_size=4).admits(amount) is admitted


def test_an_inventory_and_its_fields_convert_to_each_other():
    inventory = Inventory(8, 1, 2, 6, 2, 1.5)
    assert Inventory(**inventory.as_fields()) == inventory
    assert Inventory(8).with_fields({'reserved': 1}) == Inventory(8, reserved=1)
    assert sorted(FIELDS) == sorted(inventory.as_fields())


def test_uuids_are_read_in_small_letters():
    capitals = 'AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA'
    assert normalize_uuid(capitals) == capitals.lower()
    assert normalize_uuid(capitals.replace('-', '')) == capitals.lower()
    assert normalize_uuid('CUSTOM_A') == 'CUSTOM_A'
    # Without hyphens it may be a name.
    name = capitals.replace('-', '')
    groups = {'mappings': {'': [capitals]}, 'project_id': capitals, 'name': name}
    body = {capitals: [{capitals: {'VCPU': 1}}], **groups}
    small = {
        capitals.lower(): [{capitals.lower(): {'VCPU': 1}}],
        'mappings': {'': [capitals.lower()]},
        'project_id': capitals,
        'name': name,
    }
    assert normalize_uuids_in(body) == small
    with pytest.raises(errors.BadArgument, match='appears twice'):
        normalize_uuids_in({capitals: 1, capitals.lower(): 2})


def test_selected_trees_keep_the_origin_and_the_unsteady_trees_of_a_snapshot():
    origin = Origin('2026-11-28T00:00:00Z', 'http://placement')
    states = [ProviderState(Provider(name, name, 1, None, name)) for name in ('one', 'other')]
    snapshot = Snapshot(states, (), origin, unsteady=['one', 'other'])
    part = snapshot.select_trees(['one'])
    assert (part.origin, part.unsteady, [*part.providers]) == (origin, {'one'}, ['one'])
