"""Snapshots: found by name, and walked as trees."""

import pytest

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.dialogue import CONSUMER, CONSUMER2, ROOT, RP, RP2


def state(uuid, name, parent=None, root=None):
    return ProviderState(
        Provider(uuid, name, 1, parent, root or uuid),
        {'VCPU': Inventory(8)},
        frozenset({'B', 'A'}),
        frozenset(),
        {'VCPU': 2},
    )


@pytest.fixture
def snapshot():
    return Snapshot(
        [
            state(RP2, 'numa1', ROOT, ROOT),
            state(ROOT, 'host', None),
            state(RP, 'numa0', ROOT, ROOT),
        ],
        [Consumer(CONSUMER2, {RP: {'VCPU': 1}}), Consumer(CONSUMER, {RP: {'VCPU': 1}, 'x': {}})],
    )


def test_a_provider_is_found_by_uuid_and_by_name(snapshot):
    assert snapshot.find(RP) is snapshot.find('numa0') is snapshot.providers[RP]
    assert snapshot.find('other') is None


def test_trees_are_walked_from_the_root_and_by_name(snapshot):
    assert [state.name for state in snapshot.roots()] == ['host']
    assert [state.name for state in snapshot.children(ROOT)] == ['numa0', 'numa1']
    assert [state.name for state in snapshot.tree(ROOT)] == ['host', 'numa0', 'numa1']
    assert [state.name for state in snapshot.tree(RP)] == ['numa0']


def test_consumers_are_found_by_provider(snapshot):
    assert [consumer.uuid for consumer in snapshot.consumers_on(RP)] == [CONSUMER, CONSUMER2]
    assert snapshot.consumers_on(ROOT) == []
