"""What has to change so that a Placement is as it is declared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from placementclient import errors
from placementclient.declaration.changes import (
    Change,
    Create,
    Delete,
    InUse,
    SetInventories,
    SetNames,
    SetProvider,
    changes,
)
from placementclient.declaration.declared import Declared
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, provider

HOST = provider('host', VCPU=8)
NUMA = provider('numa', 'host')
GPU = provider('gpu', 'numa', 'host', VGPU=4)
CLOUD = cloud([HOST, NUMA, GPU], [consumer('s', host={'VCPU': 6})])


def found(*declared: Declared, prune: bool = False) -> tuple[Change, ...]:
    return changes(declared, CLOUD, prune=prune)


def test_what_is_used_does_not_go_with_a_rename_either() -> None:
    fewer = {'VCPU': {'total': 2}}
    with pytest.raises(InUse) as refused:
        found(Declared('new', 'host', fewer))
    assert refused.value.facts == (('host', 'VCPU', 6, 2),)


def test_a_new_child_and_a_new_name() -> None:
    inventories = {'VGPU': {'total': 1}}
    assert found(Declared('new', 'host', children=(Declared('fresh', '', inventories),))) == (
        Create('fresh', '', 'new', 'host'),
        SetProvider('new', 'host', 'host'),
        SetInventories('fresh', '', {}, {'VGPU': Inventory(1)}),
    )


def test_a_new_parent_that_is_made() -> None:
    declared = Declared('host', children=(Declared('made', children=(Declared('gpu'),)),))
    assert found(declared) == (
        Create('made', '', 'host', 'host'),
        SetProvider('gpu', 'gpu', 'gpu', 'numa', 'made'),
    )


def test_a_new_name_of_a_parent_is_none_of_its_children() -> None:
    declared = Declared('host', children=(Declared('new', 'numa', children=(Declared('gpu'),)),))
    assert found(declared) == (SetProvider('new', 'numa', 'numa'),)


def test_a_new_name_beside_a_new_parent() -> None:
    assert found(Declared('host', children=(Declared('new', 'gpu'),))) == (
        SetProvider('new', 'gpu', 'gpu'),
        SetProvider('new', 'gpu', 'new', 'numa', 'host', 'host'),
    )


def test_what_is_declared_by_its_name_and_by_its_uuid_is_declared_twice() -> None:
    trait = frozenset({'CUSTOM_A'})
    named = CLOUD.providers['gpu'].provider._replace(name='called')
    there = cloud([HOST, NUMA, replace(GPU, provider=named)])
    by_name, by_uuid = Declared('called', traits=trait), Declared('', 'gpu', traits=frozenset())
    with pytest.raises(errors.BadArgument, match='called is declared twice'):
        changes([by_name, by_uuid], there)
    assert changes([by_name], there) == (SetNames('called', 'gpu', 'traits', frozenset(), trait),)


def test_what_goes_goes_once() -> None:
    assert found(Declared('host'), Declared('numa'), prune=True) == (Delete('gpu', 'gpu'),)
    assert found(Declared('numa'), Declared('host'), prune=True) == (Delete('gpu', 'gpu'),)


def test_a_file_of_nova_does_not_prune() -> None:
    with pytest.raises(errors.UsageError, match='names no children'):
        found(Declared('host', adds=True), prune=True)
    assert found(Declared('host', adds=True)) == ()
