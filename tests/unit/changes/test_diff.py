"""Diff and simulation: each is the other's test."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from placementclient.changes.diff import diff
from placementclient.changes.operations import SetAllocations
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
