# SPDX-License-Identifier: Apache-2.0
"""What the nearest provider of a tree lacks."""

import pytest

from placementclient.insight.candidates.requirements import Requirement, RequirementKind
from placementclient.insight.candidates.shortages import Shortage, ShortageReason, find_shortages
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState


def state(name, inventory, used=0, *traits):
    return ProviderState(
        Provider(name, name, 0), {'VGPU': inventory}, frozenset(traits), usages={'VGPU': used}
    )


def requirement(amount):
    return Requirement(RequirementKind.RESOURCE, 'VGPU', '1', amount)


@pytest.mark.parametrize(
    ('amount', 'inventory', 'reasons'),
    [
        (4, Inventory(8), [(ShortageReason.FREE, 2)]),
        (2, Inventory(8, max_unit=1), [(ShortageReason.MAX_UNIT, 1)]),
        (1, Inventory(8, min_unit=2), [(ShortageReason.MIN_UNIT, 2)]),
        (1, Inventory(8, step_size=2), [(ShortageReason.STEP_SIZE, 2)]),
        (
            3,
            Inventory(8, max_unit=2, step_size=2),
            [(ShortageReason.FREE, 2), (ShortageReason.MAX_UNIT, 2), (ShortageReason.STEP_SIZE, 2)],
        ),
    ],
)
def test_shortages_name_the_limits_of_an_inventory(amount, inventory, reasons):
    lacking = list(find_shortages(requirement(amount), [state('gpu', inventory, 6)], ()))
    assert [(shortage.reason, shortage.amount) for shortage in lacking] == reasons
    assert {shortage.provider for shortage in lacking} == {'gpu'}


def test_a_provider_with_the_trait_is_nearer_than_one_with_more_room():
    providers = [state('a', Inventory(3)), state('b', Inventory(1), 0, 'CUSTOM_A40')]
    trait = Requirement(RequirementKind.TRAIT, 'CUSTOM_T4,CUSTOM_A40', '1')
    [shortage] = find_shortages(requirement(4), providers, [requirement(4), trait])
    assert (shortage.provider, shortage.amount) == ('b', 1)
    [shortage] = find_shortages(requirement(4), providers, [requirement(4)])
    assert (shortage.provider, shortage.amount) == ('a', 3)


def test_a_tree_without_the_class_lacks_its_inventory():
    assert list(find_shortages(requirement(1), [], ())) == [
        Shortage(requirement(1), ShortageReason.INVENTORY)
    ]
