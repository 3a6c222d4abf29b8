# SPDX-License-Identifier: Apache-2.0
"""Aggregates as Nova has them, in the real service."""

import json
from typing import Any

import pytest

from placementclient.api import aggregate, resource_provider, trait
from placementclient.nova import service as compute
from tests.functional.clouds import uuid_of

SYNC = ('resource', 'provider', 'aggregate', 'sync')
AZ, EMPTY, FOREIGN = map(uuid_of, ('az', 'empty', 'foreign'))
AGGREGATES: list[dict[str, Any]] = [
    {'uuid': AZ, 'name': 'az', 'hosts': ['in', 'short', 'gone']},
    {'uuid': EMPTY, 'name': 'empty', 'hosts': []},
]
UNANSWERED = {'host': 'compute7', 'binary': 'nova-compute', 'status': 'UNKNOWN'}
UNKNOWN = ('gone', None, 'not known')


def rows(result):
    """Return the object, the aggregates that it gains, and the state of each row."""
    return [(row['object'], row['after'], row['state']) for row in json.loads(result.stdout)]


@pytest.fixture
def hosts(client):
    """A host that is right, one that is missing, one that is too much; and who shares."""
    aggregates = {'in': [AZ, FOREIGN], 'short.a.b': [FOREIGN], 'out': [AZ, FOREIGN], 'nfs': [AZ]}
    uuids = {}
    for name, within in aggregates.items():
        made = resource_provider.create(client, name)
        generation = aggregate.set(client, made.uuid, within, made.generation).generation
        uuids[name] = made.uuid
        if name == 'nfs':
            assert generation is not None
            trait.set_on_provider(client, made.uuid, ['MISC_SHARES_VIA_AGGREGATE'], generation)
    return uuids


def written(folder):
    """The option for a file of the aggregates."""
    path = folder / 'aggregates.json'
    path.write_text(json.dumps({'aggregates': AGGREGATES}))
    return ['--aggregates', str(path)]


@pytest.fixture(params=['a file', 'the compute service'])
def source(request, tmp_path, monkeypatch):
    """The options for what Nova says."""
    if request.param == 'a file':
        return written(tmp_path)
    monkeypatch.setattr(compute, 'aggregates', lambda client: AGGREGATES)
    monkeypatch.setattr(compute, 'compute_services', lambda client: [])
    return []


def test_sync_adds_and_removes_hosts_of_aggregates_once(
    placement, client, hosts, source, tmp_path, monkeypatch
):
    def within(name):
        return set(aggregate.list(client, hosts[name]).value)

    dry = placement(*SYNC, *source, '--remove', '--dry-run', '-f', 'json')
    assert dry.status == 3
    assert dry.stderr == '1 provider to change (exit 3)\n'
    assert rows(dry) == [('short.a.b', [AZ], 'planned'), UNKNOWN, ('out', None, 'left alone')]
    assert within('short.a.b') == {FOREIGN}
    assert placement(*SYNC, *source).status == 2, 'there is nobody to ask'

    added = placement(*SYNC, *source, '--yes', '-f', 'json')
    assert (added.status, rows(added)) == (6, [('short.a.b', [AZ], 'done'), UNKNOWN])
    removed = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (removed.status, rows(removed)) == (1, [UNKNOWN, ('out', None, 'left alone')])
    assert within('out') == {AZ, FOREIGN}
    # The one that is gone leaves the aggregate in Nova: now all of it is known.
    monkeypatch.setitem(AGGREGATES[0], 'hosts', ['in', 'short'])
    source = written(tmp_path) if source else []
    removed = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (removed.status, rows(removed)) == (0, [('out', None, 'done')])
    assert {name: within(name) for name in hosts} == {
        'in': {AZ, FOREIGN}, 'short.a.b': {AZ, FOREIGN}, 'out': {FOREIGN}, 'nfs': {AZ}
    }  # fmt: skip
    again = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (again.status, rows(again)) == (0, [])


def test_sync_without_a_compute_service_asks_for_a_file(placement):
    refused = placement(*SYNC)
    assert (refused.status, refused.stderr) == (
        1,
        'Nova cannot be asked: there is no service catalog (auth type none or placement_direct)\n'
        'Next: Give a file with the list of aggregates\n',
    )


def test_hosts_of_a_cell_that_is_down_are_named_with_the_exit_status(
    placement, client, hosts, monkeypatch
):
    monkeypatch.setattr(compute, 'aggregates', lambda client: [])
    monkeypatch.setattr(compute, 'compute_services', lambda client: [UNANSWERED])
    result = placement(*SYNC, '--yes', '-f', 'json')
    assert (result.status, rows(result)) == (1, [('compute7', None, 'not known')])
    assert 'A cell of Nova does not answer: 1 host (compute7) and their servers' in result.stderr


def test_services_that_cannot_be_used_are_named_with_the_exit_status(
    placement, client, hosts, monkeypatch
):
    """A host whose cell is down may be missing from its aggregate."""
    monkeypatch.setattr(compute, 'aggregates', lambda client: [])
    monkeypatch.setattr(compute, 'compute_services', lambda client: [{'maintenance': True}])
    result = placement(*SYNC, '--yes', '-f', 'json')
    assert (result.status, rows(result)) == (1, [('the cells of Nova', None, 'not known')])
    assert 'It is unknown if all cells of Nova answer: Nova: services[0]' in result.stderr
