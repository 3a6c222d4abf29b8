# SPDX-License-Identifier: Apache-2.0
"""Diff and simulation: each is the other's test."""

from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from placementclient.changes.diff import diff, list_operations
from placementclient.changes.operations import (
    CreateProvider,
    Reshape,
    SetAllocations,
    SetTraits,
)
from placementclient.changes.plan import make_plan
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.accepting import refusals
from tests.snapshot_pairs import content, pair, uuid_of, with_types_of
from tests.unit.planner.clouds import with_usages

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_a_diff_leads_from_one_snapshot_to_the_other(seed):
    before, after = pair(Random(seed))
    assert content(simulate(before, diff(before, after))) == content(after)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
@example(38)
@example(554)
def test_placement_accepts_each_operation_forward_and_backward(seed):
    before, after = pair(Random(seed))
    for start, end in ((before, after), (after, before)):
        assert [*refusals(start, diff(start, with_types_of(start, end)))] == []


@settings(max_examples=200, deadline=None)
@given(SEEDS)
@example(89)
@example(664)
def test_placement_accepts_each_operation_of_a_plan_and_of_its_rollback(seed):
    before, after = pair(Random(seed))
    changes = make_plan('tree apply', before, with_types_of(before, after)).changes
    for backward in (False, True):
        live = after if backward else before
        for change in changes:
            operations = list_operations(change, backward=backward)
            assert [*refusals(live, operations)] == []
            live = simulate(live, operations)


def test_consumers_that_make_room_come_before_those_that_need_it():
    """Two hosts are divided; a server leaves a full pool, to which one of the other host goes."""
    pool, full = uuid_of('pool'), {uuid_of('pool'): {'DISK_GB': 4}}

    def cloud(is_divided, **allocated):
        states = [ProviderState(Provider(pool, 'pool', 1, None, pool), {'DISK_GB': Inventory(4)})]
        for name in ('a', 'b'):
            uuid, child = uuid_of(name), uuid_of(name + '0')
            root = ProviderState(Provider(uuid, name, 1, None, uuid), {'VGPU': Inventory(4)})
            states.append(replace(root, inventories={}) if is_divided else root)
            if is_divided:
                cell = ProviderState(Provider(child, name + '0', 0, uuid, uuid))
                states.append(replace(cell, inventories=root.inventories))
        consumers = [Consumer(uuid_of(u), held, 'p', 'u') for u, held in allocated.items()]
        return with_usages(states, consumers)

    def held(name, *more):
        return {uuid_of(name): {'VGPU': 1}, **dict(more)}

    for leaving, coming in ('ab', 'ba'):
        before = cloud(False, x=held(coming), y=held(leaving) | full)
        after = cloud(True, x=held(coming + '0') | full, y=held(leaving + '0'))
        operations = diff(before, after)
        assert [*refusals(before, operations)] == []
        # At no moment the pool has more.
        kinds = [type(operation) for operation in operations]
        assert kinds == [CreateProvider, CreateProvider, Reshape, Reshape]


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_equal_snapshots_need_no_operations(seed):
    before, _ = pair(Random(seed))
    assert diff(before, before) == ()


def test_traits_are_gained_before_allocations_move_and_lost_after_it():
    hosts = [uuid_of('a'), uuid_of('b')]

    def cloud(trait, place):
        states = [
            ProviderState(
                Provider(uuid, uuid, 3, None, uuid),
                {'VCPU': Inventory(8)},
                frozenset({trait if uuid == hosts[0] else 'HW_CPU_X86_AVX'}),
            )
            for uuid in hosts
        ]
        return Snapshot(states, [Consumer(uuid_of('c'), {place: {'VCPU': 2}}, 'p', 'u')])

    old, new = 'HW_CPU_X86_SSE', 'HW_CPU_X86_VMX'
    operations = diff(cloud(old, hosts[0]), cloud(new, hosts[1]))
    assert operations == (
        SetTraits(hosts[0], frozenset({old}), frozenset({old, new})),
        *(operation for operation in operations if isinstance(operation, SetAllocations)),
        SetTraits(hosts[0], frozenset({old, new}), frozenset({new})),
    )
    assert len(operations) == 3
    # Where nothing moves, one request does.
    assert diff(cloud(old, hosts[0]), cloud(new, hosts[0])) == (
        SetTraits(hosts[0], frozenset({old}), frozenset({new})),
    )


def test_freed_amounts_make_room_without_more_inventory():
    """Allocations that end are written first: for no moment there has to be more."""
    host = uuid_of('host')
    state = ProviderState(
        Provider(host, 'host', 3, None, host), {'VCPU': Inventory(8)}, usages={'VCPU': 8}
    )
    old, new = (Consumer(uuid_of(name), {host: {'VCPU': 8}}, 'p', 'u') for name in ('old', 'new'))
    operations = diff(Snapshot([state], [old]), Snapshot([state], [new]))
    assert [type(operation) for operation in operations] == [SetAllocations] * 2
    assert operations[0].before == (old,)
