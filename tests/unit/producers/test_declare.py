# SPDX-License-Identifier: Apache-2.0
"""A snapshot as a declaration wants it."""

import pytest
from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.changes.plan import make_plan as plan
from placementclient.changes.summary import ChangeRow, list_change_rows
from placementclient.model.specifications import DeclaredProvider as Declared
from placementclient.producers.declare import (
    InventoryStillUsed,
    apply_declarations,
    choose_new_uuids,
    refuse_moved_providers,
)
from tests.unit.insight.clouds import cloud, consumer, provider

HOST = provider('host', VCPU=8)
NUMA = provider('numa', 'host')
GPU = provider('gpu', 'numa', 'host', VGPU=4)
CLOUD = cloud([HOST, NUMA, GPU], [consumer('s', host={'VCPU': 6})])


def applied(live, *declarations, **options):
    return apply_declarations(live, declarations, choose_new_uuids(declarations), **options)


def changes(*declarations, live=CLOUD, prune=False):
    after = applied(live, *declarations, prune=prune)
    return [
        row
        for tree in plan('', live, after).changes
        for row in list_change_rows(tree.before, tree.after)
    ]


def test_a_rename_shrinks_no_used_inventory():
    fewer = {'VCPU': {'total': 2}}
    with pytest.raises(InventoryStillUsed, match='6 VCPU of host is in use, and there would be 2'):
        changes(Declared('new', 'host', fewer))


def test_a_declaration_may_add_a_child_and_rename():
    inventories = {'VGPU': {'total': 1}}
    assert changes(Declared('new', 'host', children=(Declared('fresh', '', inventories),))) == [
        ChangeRow('host', 'name', 'host', 'new'),
        ChangeRow('fresh', 'create', None, {'parent': 'new'}),
        ChangeRow('fresh', 'VGPU', None, {'total': 1}),
    ]


def test_a_declaration_may_move_a_provider_below_a_new_one():
    made = Declared('host', children=(Declared('made', children=(Declared('gpu'),)),))
    assert changes(made) == [
        ChangeRow('made', 'create', None, {'parent': 'host'}),
        ChangeRow('gpu', 'parent', 'numa', 'made'),
    ]


def test_a_new_name_of_a_parent_changes_no_child():
    renamed = Declared('host', children=(Declared('new', 'numa', children=(Declared('gpu'),)),))
    assert changes(renamed) == [ChangeRow('numa', 'name', 'numa', 'new')]


def test_a_declaration_may_rename_and_move_at_once():
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


HELD = consumer('s', gpu={'VGPU': 1})
OTHER = provider('other', VCPU=8)


@pytest.mark.parametrize(
    ('declaration', 'message'),
    [
        # A slip of indentation: one host below another, also without servers.
        (Declared('other', children=(Declared('host'),)), 'gpu, which is in use, below other'),
        (Declared('host', children=(Declared('other'),)), 'other, which is a root, below host'),
        (Declared('fresh', children=(Declared('other'),)), 'other, which is a root, below fresh'),
        (Declared('other', children=(Declared('gpu'),)), 'gpu, which is in use, below other'),
        # Along with the one above it.
        (Declared('other', children=(Declared('numa'),)), 'gpu, which is in use, below other'),
    ],
)
def test_indentation_alone_joins_no_trees(declaration, message):
    live = cloud([HOST, NUMA, GPU, OTHER], [HELD])
    with pytest.raises(errors.BadArgument, match=f'^The file puts {message}.*--reparent'):
        refuse_moved_providers(live, applied(live, declaration))


@pytest.mark.parametrize(
    ('declaration', 'consumers'),
    [
        # Within its tree, and to another one while nobody uses it.
        (Declared('host', children=(Declared('gpu'),)), [HELD]),
        (Declared('other', children=(Declared('numa'),)), []),
    ],
)
def test_providers_move_within_their_tree_and_unused_ones_anywhere(declaration, consumers):
    live = cloud([HOST, NUMA, GPU, OTHER], consumers)
    refuse_moved_providers(live, applied(live, declaration))


@pytest.mark.parametrize('live_traits', [(), ('COMPUTE_STATUS_DISABLED', 'COMPUTE_RESCUE_BFV')])
def test_traits_that_nova_sets_and_takes_stay_as_they_are(live_traits):
    live = cloud([provider('host', traits=['CUSTOM_OLD', *live_traits])])
    traits = frozenset({'CUSTOM_NEW', 'COMPUTE_STATUS_DISABLED'})
    after = applied(live, Declared('host', traits=traits))
    assert after.providers['host'].traits == {'CUSTOM_NEW', *live_traits}
