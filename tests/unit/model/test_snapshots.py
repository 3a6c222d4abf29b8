"""Snapshots: found by name, walked as trees, and read back from JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from placementclient import errors
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from tests.unit.dialogue import CONSUMER, CONSUMER2, ROOT, RP, RP2


def state(
    uuid: str, name: str, parent: str | None = None, root: str | None = None
) -> ProviderState:
    return ProviderState(
        Provider(uuid, name, 1, parent, root or uuid),
        {'VCPU': Inventory(8)},
        frozenset({'B', 'A'}),
        frozenset(),
        {'VCPU': 2},
    )


@pytest.fixture
def snapshot() -> Snapshot:
    return Snapshot(
        [
            state(RP2, 'numa1', ROOT, ROOT),
            state(ROOT, 'host', None),
            state(RP, 'numa0', ROOT, ROOT),
        ],
        [Consumer(CONSUMER2, {RP: {'VCPU': 1}}), Consumer(CONSUMER, {RP: {'VCPU': 1}, 'x': {}})],
    )


def test_a_provider_is_found_by_uuid_and_by_name(snapshot: Snapshot) -> None:
    assert snapshot.find(RP) is snapshot.find('numa0') is snapshot.providers[RP]
    assert snapshot.find('other') is None


def test_trees_are_walked_from_the_root_and_by_name(snapshot: Snapshot) -> None:
    assert [state.name for state in snapshot.roots()] == ['host']
    assert [state.name for state in snapshot.children(ROOT)] == ['numa0', 'numa1']
    assert [state.name for state in snapshot.tree(ROOT)] == ['host', 'numa0', 'numa1']
    assert [state.name for state in snapshot.tree(RP)] == ['numa0']


def test_consumers_are_found_by_provider(snapshot: Snapshot) -> None:
    assert [consumer.uuid for consumer in snapshot.consumers_on(RP)] == [CONSUMER, CONSUMER2]
    assert snapshot.consumers_on(ROOT) == []


def test_a_snapshot_survives_json_in_a_fixed_order(snapshot: Snapshot) -> None:
    text = json.dumps(snapshot.to_json())
    read = Snapshot.from_json(json.loads(text), 'a.json')
    assert json.dumps(read.to_json()) == text
    assert read.providers == snapshot.providers
    assert read.consumers == snapshot.consumers


def test_an_empty_snapshot_is_one() -> None:
    assert Snapshot.from_json(Snapshot([], []).to_json(), 'a.json').roots() == []


GOOD: dict[str, Any] = {
    'format': 'placementclient/snapshot',
    'version': 1,
    'providers': [],
    'consumers': {},
}


@pytest.mark.parametrize(
    ('document', 'reason'),
    [
        (None, 'not a snapshot'),
        ([], 'not a snapshot'),
        ({}, 'not a snapshot'),
        (GOOD | {'format': 'placementclient/plan'}, 'not a snapshot'),
        (GOOD | {'version': 2}, 'snapshot version 2 is not known'),
        (GOOD | {'providers': 5}, 'damaged snapshot: '),
        (GOOD | {'providers': [{}]}, "damaged snapshot: KeyError('uuid')"),
        (GOOD | {'consumers': []}, 'damaged snapshot: '),
        (GOOD | {'consumers': {CONSUMER: {}}}, "damaged snapshot: KeyError('allocations')"),
    ],
    ids=str,
)
def test_what_is_no_snapshot_is_told_with_its_file(document: Any, reason: str) -> None:
    with pytest.raises(errors.BadFile) as refusal:
        Snapshot.from_json(document, 'a.json')
    assert str(refusal.value).startswith(f'a.json: {reason}')
