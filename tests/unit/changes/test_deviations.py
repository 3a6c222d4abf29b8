# SPDX-License-Identifier: Apache-2.0
"""A change that is made, compared with what others have made of it since."""

import pytest
from msgspec.structs import replace

from placementclient.changes import phases
from placementclient.changes.deviations import find_deviations
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot
from tests.unit.insight.clouds import cloud, consumer, provider

GPU = provider('gpu', 'host', VGPU=4)
CHANGE = Change(
    {'host': 'host'},
    cloud([provider('host', VCPU=8, VGPU=4)], [consumer('s', host={'VCPU': 2, 'VGPU': 2})]),
    cloud([provider('host', VCPU=8), GPU], [consumer('s', host={'VCPU': 2}, gpu={'VGPU': 2})]),
    is_atomic=True,
)


@pytest.mark.parametrize(
    ('host', 'allocated', 'kind', 'is_damage'),
    [
        (provider('host', VCPU=8), {}, 'gone', False),
        # It was resized where the plan has put it.
        (provider('host', VCPU=8), {'host': {'VCPU': 2}, 'gpu': {'VGPU': 1}}, 'amount', False),
        # It is back where the plan took it from, in part.
        (provider('host', VCPU=8, VGPU=1), {'host': {'VCPU': 2, 'VGPU': 1}}, 'amount', True),
        (provider('host', VCPU=8, VGPU=2), {'host': {'VCPU': 2, 'VGPU': 2}}, 'misplaced', True),
    ],
)
def test_amounts_that_others_changed_are_damage_only_where_the_consumer_was_before(
    host, allocated, kind, is_damage
):
    live = cloud([host, GPU], [consumer('s', **allocated)])
    [deviation] = [item for item in find_deviations(CHANGE, live) if item.kind != 'inventory']
    assert (deviation.kind, deviation.is_error) == (kind, is_damage)


@pytest.mark.parametrize(
    ('states', 'kinds'),
    [
        # Back where the plan removed it, as a nova-compute of the old release does.
        ([provider('host', VCPU=8, VGPU=4), GPU], {('inventory', True)}),
        ([provider('host', VCPU=9), GPU], {('inventory', False)}),
        ([provider('host', VCPU=8), provider('gpu', 'host', VGPU=5)], {('inventory', False)}),
        ([provider('host', VCPU=8)], {('missing', True)}),
        # A host takes its children along.
        ([], {('missing', False)}),
    ],
)
def test_a_child_or_an_inventory_is_damaged_if_the_change_is_undone(states, kinds):
    live = cloud(states, CHANGE.after.consumers.values())
    found = {(item.kind, item.is_error) for item in find_deviations(CHANGE, live)}
    assert found == kinds


@pytest.mark.parametrize(
    ('planned', 'live', 'is_damage'),
    [(None, 'INSTANCE', False), ('INSTANCE', 'OTHER', False), ('INSTANCE', None, True)],
)
def test_a_type_that_others_have_set_is_no_damage(planned, live, is_damage):
    before, after, now = (
        Snapshot(side.providers.values(), [replace(side.consumers['s'], type=kind)])
        for side, kind in ((CHANGE.before, planned), (CHANGE.after, planned), (CHANGE.after, live))
    )
    change = Change({'host': 'host'}, before, after, is_atomic=True)
    [deviation] = find_deviations(change, now)
    assert (deviation.kind, deviation.is_error) == ('owner', is_damage)


@pytest.mark.parametrize(
    ('host', 'gpu', 'has_happened'),
    [(4, 1, False), (2, 3, True), (9, 1, False), (9, 3, True), (2, 1, True)],
)
def test_a_move_between_existing_inventories_is_known_by_their_totals(host, gpu, has_happened):
    before, after, live = (
        cloud([provider('host', VGPU=left), provider('gpu', 'host', VGPU=moved)])
        for left, moved in ((4, 1), (2, 3), (host, gpu))
    )
    change = Change({'host': 'host'}, before, after, is_atomic=True)
    assert phases.has_happened(change, live) is has_happened


@pytest.mark.parametrize(('total', 'is_damage'), [(4, True), (5, False)])
def test_another_total_is_damage_only_where_it_is_that_before_the_change(total, is_damage):
    before, after, live = (
        cloud([provider('host', VGPU=left), provider('gpu', 'host', VGPU=moved)])
        for left, moved in ((4, 1), (2, 3), (total, 3))
    )
    change = Change({'host': 'host'}, before, after, is_atomic=True)
    [deviation] = find_deviations(change, live)
    assert (deviation.kind, deviation.is_error) == ('inventory', is_damage)


@pytest.mark.parametrize(
    ('trait', 'kinds'),
    [
        ('COMPUTE_STATUS_DISABLED', []),
        ('COMPUTE_TRUSTED_CERTS', []),
        ('HW_CPU_X86_AVX2', ['trait']),
        ('CUSTOM_A', ['trait']),
    ],
)
def test_traits_that_nova_sets_and_takes_are_no_deviation(trait, kinds):
    live = cloud(
        [provider('host', VCPU=8, traits=[trait]), GPU],
        [consumer('s', host={'VCPU': 2}, gpu={'VGPU': 2})],
    )
    assert [deviation.kind for deviation in find_deviations(CHANGE, live)] == kinds


def test_a_trait_of_nova_that_the_plan_moves_is_compared():
    states = [provider('host', VCPU=8, traits=['COMPUTE_MANAGED_PCI_DEVICE']), GPU]
    live = cloud(states, [consumer('s', host={'VCPU': 2}, gpu={'VGPU': 2})])
    change = Change({'host': 'host'}, live, CHANGE.after, is_atomic=True)
    [deviation] = find_deviations(change, live)
    assert (deviation.kind, deviation.is_error) == ('trait', True)
