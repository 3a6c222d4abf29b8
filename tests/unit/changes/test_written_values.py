# SPDX-License-Identifier: Apache-2.0
"""The values that a run has written: taken back in their order, and written again."""

from placementclient.changes.operations import (
    CreateProvider,
    Position,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from placementclient.changes.written_values import WrittenValues, find_repeated_writes
from placementclient.model.inventories import Inventory


def traits(*, before, after):
    return SetTraits('host', frozenset(before), frozenset(after))


def test_different_values_written_to_one_object_are_no_undoing():
    limits = ({'VCPU': Inventory(8)}, {'VCPU': Inventory(16)})
    operations = [
        CreateProvider('child', 'gpu', 'host'),
        traits(before='A', after='AB'),
        traits(before='AB', after='B'),
        SetInventories('host', *limits),
        SetInventories('host', *reversed(limits)),
        UpdateProvider('child', Position('gpu', 'host'), Position('aside', 'host')),
        UpdateProvider('child', Position('aside', 'host'), Position('gpu2', 'host')),
    ]
    assert list(find_repeated_writes(operations)) == []


def test_what_is_written_twice_is_named_as_undone_by_others():
    inventories: tuple[dict[str, Inventory], ...] = ({}, {'VCPU': Inventory(8)})
    operations = [
        CreateProvider('child', 'gpu', 'host'),
        traits(before='', after='AB'),
        SetInventories('host', *inventories),
        CreateProvider('child', 'gpu', 'host'),
        traits(before='A', after='AB'),
        SetInventories('host', *inventories),
    ]
    assert list(find_repeated_writes(operations)) == [
        'the provider gpu',
        'the trait B of host',
        'the inventory of VCPU of host',
    ]


def test_an_inventory_that_was_written_twice_is_taken_back_in_the_opposite_order():
    first, second, third = (Inventory(total) for total in (4, 8, 16))
    written = WrittenValues(
        [
            SetInventories('host', {'VCPU': first}, {'VCPU': second}),
            SetInventories('host', {'VCPU': second}, {'VCPU': third}),
        ]
    )
    assert written.compute_inventory_without_writes('host', 'VCPU', third) == first
    assert written.compute_inventory_without_writes('host', 'VCPU', Inventory(99)) == Inventory(99)
