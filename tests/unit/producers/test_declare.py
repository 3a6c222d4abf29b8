"""A snapshot as a declaration wants it."""

import pytest
from msgspec.structs import replace

from placementclient.changes.plan import plan_of as plan
from placementclient.changes.summary import ChangeRow, rows
from placementclient.client import errors
from placementclient.producers.declarations import Declared
from placementclient.producers.declare import InUse, declared
from tests.unit.insight.clouds import cloud, consumer, provider

HOST = provider('host', VCPU=8)
NUMA = provider('numa', 'host')
GPU = provider('gpu', 'numa', 'host', VGPU=4)
CLOUD = cloud([HOST, NUMA, GPU], [consumer('s', host={'VCPU': 6})])


def changes(*declarations, live=CLOUD, prune=False):
    after = declared(live, declarations, prune=prune)
    return [row for tree in plan('', live, after).changes for row in rows(tree.before, tree.after)]


def test_used_inventory_does_not_shrink_with_a_rename_either():
    fewer = {'VCPU': {'total': 2}}
    with pytest.raises(InUse, match='6 VCPU of host is in use, and there would be 2'):
        changes(Declared('new', 'host', fewer))


def test_a_new_child_and_a_new_name():
    inventories = {'VGPU': {'total': 1}}
    assert changes(Declared('new', 'host', children=(Declared('fresh', '', inventories),))) == [
        ChangeRow('host', 'name', 'host', 'new'),
        ChangeRow('fresh', 'create', None, {'parent': 'new'}),
        ChangeRow('fresh', 'VGPU', None, {'total': 1}),
    ]


def test_a_new_parent_that_is_made():
    made = Declared('host', children=(Declared('made', children=(Declared('gpu'),)),))
    assert changes(made) == [
        ChangeRow('made', 'create', None, {'parent': 'host'}),
        ChangeRow('gpu', 'parent', 'numa', 'made'),
    ]


def test_a_new_name_of_a_parent_changes_no_child():
    renamed = Declared('host', children=(Declared('new', 'numa', children=(Declared('gpu'),)),))
    assert changes(renamed) == [ChangeRow('numa', 'name', 'numa', 'new')]


def test_a_new_name_beside_a_new_parent():
    assert changes(Declared('host', children=(Declared('new', 'gpu'),))) == [
        ChangeRow('gpu', 'name', 'gpu', 'new'),
        ChangeRow('new', 'parent', 'numa', 'host'),
    ]


def test_a_provider_declared_by_its_name_and_by_its_uuid_is_declared_twice():
    trait = frozenset({'CUSTOM_A'})
    named = replace(CLOUD.providers['gpu'].provider, name='called')
    live = cloud([HOST, NUMA, replace(GPU, provider=named)])
    by_name, by_uuid = Declared('called', traits=trait), Declared('', 'gpu', traits=frozenset())
    with pytest.raises(errors.BadArgument, match='called is declared twice'):
        changes(by_name, by_uuid, live=live)
    assert changes(by_name, live=live) == [ChangeRow('called', 'traits', None, ['CUSTOM_A'])]


def test_two_declared_providers_of_one_tree_prune_once():
    gone = [
        ChangeRow('gpu', 'delete', {'parent': 'numa'}, None),
        ChangeRow('gpu', 'VGPU', {'total': 4}, None),
    ]
    assert changes(Declared('host'), Declared('numa'), prune=True) == gone
    assert changes(Declared('numa'), Declared('host'), prune=True) == gone


def test_a_file_of_nova_does_not_prune():
    with pytest.raises(errors.UsageError, match='names no children'):
        changes(Declared('host', adds=True), prune=True)
    assert changes(Declared('host', adds=True)) == []
