"""Aggregates as Nova has them, in the real service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from placementclient.api import aggregate, resource_provider, trait
from placementclient.http import Client
from placementclient.nova import service as compute
from tests.functional.clouds import uuid_of
from tests.functional.conftest import Placement

SYNC = ('resource', 'provider', 'aggregate', 'sync')
AZ, EMPTY, FOREIGN = map(uuid_of, ('az', 'empty', 'foreign'))
AGGREGATES = [
    {'uuid': AZ, 'name': 'az', 'hosts': ['in', 'short', 'gone']},
    {'uuid': EMPTY, 'name': 'empty', 'hosts': []},
]
UNKNOWN = ('az', 'gone', 'not known')


def rows(result: Any) -> list[tuple[str, str, str]]:
    return [(row['name'], row['host'], row['state']) for row in json.loads(result.stdout)]


@pytest.fixture
def hosts(client: Client) -> dict[str, str]:
    """A host that is right, one that is missing, one that is too much; and who shares."""
    there = {'in': [AZ, FOREIGN], 'short.a.b': [FOREIGN], 'out': [AZ, FOREIGN], 'nfs': [AZ]}
    uuids = {}
    for name, within in there.items():
        made = resource_provider.create(client, name)
        generation = aggregate.set(client, made.uuid, within, made.generation).generation
        uuids[name] = made.uuid
        if name == 'nfs':
            assert generation is not None
            trait.set_on_provider(client, made.uuid, ['MISC_SHARES_VIA_AGGREGATE'], generation)
    return uuids


@pytest.fixture(params=['a file', 'the compute service'])
def source(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options for what Nova says."""
    if request.param == 'a file':
        path = tmp_path / 'aggregates.json'
        path.write_text(json.dumps({'aggregates': AGGREGATES}))
        return ['--aggregates', str(path)]
    monkeypatch.setattr(compute, 'aggregates', lambda client: AGGREGATES)
    return []


def test_hosts_are_put_in_and_taken_out_once(
    placement: Placement, client: Client, hosts: dict[str, str], source: list[str]
) -> None:
    def within(name: str) -> set[str]:
        return set(aggregate.list(client, hosts[name]).value)

    dry = placement(*SYNC, *source, '--remove', '--dry-run', '-f', 'json')
    assert dry.status == 3
    assert rows(dry) == [('az', 'short', 'would add'), UNKNOWN, ('az', 'out', 'would remove')]
    assert within('short.a.b') == {FOREIGN}
    assert placement(*SYNC, *source).status == 2, 'there is nobody to ask'

    added = placement(*SYNC, *source, '--yes', '-f', 'json')
    assert (added.status, rows(added)) == (6, [('az', 'short', 'added'), UNKNOWN])
    removed = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (removed.status, rows(removed)) == (6, [UNKNOWN, ('az', 'out', 'removed')])
    assert {name: within(name) for name in hosts} == {
        'in': {AZ, FOREIGN}, 'short.a.b': {AZ, FOREIGN}, 'out': {FOREIGN}, 'nfs': {AZ}
    }  # fmt: skip
    again = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (again.status, rows(again)) == (1, [UNKNOWN])


def test_ctrl_c_leaves_a_table(
    placement: Placement,
    hosts: dict[str, str],
    source: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(aggregate, 'set', interrupted)
    ended = placement(*SYNC, *source, '--remove', '--yes', '-f', 'json')
    assert (ended.status, rows(ended)) == (
        130,
        [('az', 'short', 'failed'), UNKNOWN, ('az', 'out', 'not started')],
    )


def test_without_a_compute_service(placement: Placement) -> None:
    refused = placement(*SYNC)
    assert (refused.status, refused.stderr) == (
        1,
        'Nova cannot be asked: the session has no catalog: give --aggregates\n',
    )
