"""Diff and simulation: each is the other's test."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.changes.diff import diff
from placementclient.changes.operations import SetAllocations, SetTraits
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.snapshot_pairs import content, pair, uuid_of

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_a_diff_leads_from_one_snapshot_to_the_other(seed):
    before, after = pair(Random(seed))
    assert content(simulate(before, diff(before, after))) == content(after)


@settings(max_examples=50, deadline=None)
@given(SEEDS)
def test_nothing_leads_to_what_is_there(seed):
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


def test_what_is_given_back_makes_room_without_more_inventory():
    """Allocations that end are written first: for no moment there has to be more."""
    host = uuid_of('host')
    state = ProviderState(
        Provider(host, 'host', 3, None, host), {'VCPU': Inventory(8)}, usages={'VCPU': 8}
    )
    old, new = (Consumer(uuid_of(name), {host: {'VCPU': 8}}, 'p', 'u') for name in ('old', 'new'))
    operations = diff(Snapshot([state], [old]), Snapshot([state], [new]))
    assert [type(operation) for operation in operations] == [SetAllocations] * 2
    assert operations[0].before == (old,)
