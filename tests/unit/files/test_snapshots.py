# SPDX-License-Identifier: Apache-2.0
"""Snapshots as bytes: what comes back, and how each fault is told."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from placementclient.basis import errors
from placementclient.files import snapshots
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Origin, ProviderState, Snapshot
from tests.documents import document
from tests.unit.dialogue import CONSUMER, CONSUMER2, ROOT, RP


def state(uuid, name, parent=None):
    return ProviderState(
        Provider(uuid, name, 1, parent, parent or uuid),
        {'VCPU': Inventory(8), 'DISK_GB': Inventory(9, allocation_ratio=1.5)},
        frozenset({'B', 'A'}),
        frozenset(),
        {'VCPU': 2},
    )


@pytest.fixture
def snapshot():
    return Snapshot(
        [state(RP, 'numa0', ROOT), state(ROOT, 'host')],
        [
            Consumer(CONSUMER2, {RP: {'VCPU': 1, 'DISK_GB': 2}, ROOT: {'VCPU': 1}}),
            Consumer(CONSUMER, {RP: {'VCPU': 1}}, 'p', 'u', 3, 'INSTANCE'),
        ],
        Origin('2026-11-21T14:00:00Z', 'http://placement', 'python-placementclient 1.0'),
    )


def test_a_snapshot_is_read_back_as_it_was_written(snapshot):
    content = b''.join(snapshots.encode_snapshot(snapshot))
    read = snapshots.decode_snapshot(content, 'a.json')
    assert (read.providers, read.consumers) == (snapshot.providers, snapshot.consumers)
    assert read.origin == snapshot.origin
    assert b''.join(snapshots.encode_snapshot(read)) == content


def test_the_order_is_fixed_with_one_item_to_a_line(snapshot):
    lines = b''.join(snapshots.encode_snapshot(snapshot)).decode().splitlines()
    assert [line[:20] for line in lines[1:3]] == [f'{{"uuid":"{uuid}'[:20] for uuid in (ROOT, RP)]
    assert '"inventories":{"DISK_GB":{"total":9,' in lines[1]
    assert '"traits":["A","B"]' in lines[1]
    assert [line[:12] for line in lines[4:6]] == [f'"{CONSUMER}'[:12], f'"{CONSUMER2}'[:12]]
    assert len(lines) == 7


@pytest.mark.parametrize('version', [1, 2])
def test_other_json_of_the_same_content_is_read(version):
    """Spaces in the lines, integers for ratios, and nothing of where it was read."""
    text = (
        f'{{"format": "placementclient/snapshot", "version": {version}, "providers": [\n'
        f'{{"uuid": "{ROOT}", "name": "a", "generation": 1, "parent_provider_uuid": null, '
        f'"root_provider_uuid": "{ROOT}", "inventories": {{"VCPU": {{"total": 8, "reserved": 0, '
        '"min_unit": 1, "max_unit": 8, "step_size": 1, "allocation_ratio": 16}}, "traits": [], '
        '"aggregates": [], "usages": {}}\n'
        '], "consumers": {\n}}\n'
    )
    read = snapshots.decode_snapshot(text.encode(), 'a.json')
    assert (read.origin, read.unsteady) == (None, frozenset())
    assert read.providers[ROOT].inventories['VCPU'] == Inventory(8, 0, 1, 8, 1, 16.0)


def test_unsteady_trees_are_kept_and_only_of_roots():
    states = [ProviderState(Provider(ROOT, 'a', 1, None, ROOT))]
    content = b''.join(snapshots.encode_snapshot(Snapshot(states, (), unsteady=[ROOT])))
    assert snapshots.decode_snapshot(content, 'a.json').unsteady == {ROOT}
    with pytest.raises(errors.BadFile, match=f'unsteady: {RP} is no root'):
        snapshots.decode_snapshot(
            content.replace(b'"unsteady":["' + ROOT.encode(), b'"unsteady":["' + RP.encode()),
            'a.json',
        )


Damage = Callable[[dict[str, Any]], Any]


def provider(**fields):
    return lambda content: content['providers'][1].update(fields)


def inventory(**fields):
    return lambda content: content['providers'][1]['inventories']['VCPU'].update(fields)


def consumer(**fields):
    return lambda content: content['consumers'][CONSUMER2].update(fields)


FAULTS: dict[str, tuple[Damage, str]] = {
    'format': (
        lambda content: content.update(format='other'),
        'a file of an unknown kind; expected: a snapshot. To make one: placement resource provider '
        'snapshot save FILE',
    ),
    'version': (lambda content: content.update(version=3), 'snapshot version 3 is not known'),
    'missing': (
        lambda content: content.pop('consumers'),
        'damaged snapshot: object missing required field consumers',
    ),
    'kind': (
        lambda content: content.update(providers={}),
        'damaged snapshot: providers: expected array, got object',
    ),
    'no parent': (
        provider(parent_provider_uuid=CONSUMER),
        f"damaged snapshot: the parent of 'numa0' ({RP}), {CONSUMER}, is missing",
    ),
}
ITEMS: dict[str, tuple[Damage, str]] = {
    'text for a number': (
        inventory(total='8'),
        'providers[1].inventories[...].total: expected int, got str',
    ),
    'no step': (
        inventory(step_size=0),
        'providers[1].inventories[...].step_size: expected int >= 1',
    ),
    'long number': (
        provider(usages={'VCPU': 10**400}),
        'providers[1].usages[...]: expected int <= 9223372036854775807',
    ),
    'no amount': (
        consumer(allocations={RP: {'VCPU': 0}}),
        f'consumers.{CONSUMER2}.allocations[...][...]: expected int >= 1',
    ),
}
FAULTS = {name: (damage, f'a.json: {reason}') for name, (damage, reason) in FAULTS.items()} | {
    name: (damage, f'a.json:1: damaged snapshot: {reason}')
    for name, (damage, reason) in ITEMS.items()
}


@pytest.mark.parametrize(('damage', 'message'), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_told_with_its_place(snapshot, damage, message):
    content = document(snapshot)
    damage(content)
    with pytest.raises(errors.BadFile) as caught:
        snapshots.decode_snapshot(json.dumps(content).encode(), 'a.json')
    assert str(caught.value) == message


HOST = 'a.json:2: damaged snapshot: providers[0]'
TEXTS = {
    'no JSON': (
        b'"total":8',
        b'"total":NaN',
        'a.json:2: damaged or cut off; expected: a snapshot. Copy the file',
    ),
    'number': (
        b'"total":8',
        b'"total":1e999',
        f'{HOST}.inventories[...].total: ',
    ),
    'ratio that no service stores': (
        b'"allocation_ratio":1.5',
        b'"allocation_ratio":1e39',
        f'{HOST}.inventories[...].allocation_ratio: expected float <= 3.40282e+38',
    ),
    'not UTF-8': (b'"host"', b'"ho\xffst"', 'a.json:2: not UTF-8 text'),
    'torn': (b'}\n}}\n', b'', 'a.json:6: damaged or cut off; expected: a snapshot. Copy the file'),
    'twice': (b'"total":8', b'"total":7,"total":8', "a.json: damaged snapshot: the key 'total' ap"),
    'deep': (b'"total":8', b'"other":' + b'[' * 100_000, 'a.json: nested too deeply'),
}


@pytest.mark.parametrize(('old', 'new', 'message'), TEXTS.values(), ids=TEXTS)
def test_a_fault_in_the_text_is_told_with_its_line(snapshot, old, new, message):
    content = b''.join(snapshots.encode_snapshot(snapshot))
    assert old in content
    with pytest.raises(errors.BadFile) as caught:
        snapshots.decode_snapshot(content.replace(old, new, 1), 'a.json')
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ('content', 'kind'),
    [
        *((content, 'a file of an unknown kind') for content in (b'null', b'[]', b'7', b'"text"')),
        *((content, 'text, not JSON') for content in (b'- name: a', b'<html>', b'# Notes\ntext\n')),
    ],
)
def test_other_documents_are_no_snapshot(content, kind):
    with pytest.raises(errors.BadFile, match=f'^a.json: {kind}; expected: a snapshot. To'):
        snapshots.decode_snapshot(content, 'a.json')
