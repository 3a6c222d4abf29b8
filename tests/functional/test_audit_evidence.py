# SPDX-License-Identifier: Apache-2.0
"""An audit frees what Nova, or the operator, says to be gone, and nothing else."""

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from placementclient.api import (
    allocation,
)
from placementclient.model.servers import Server
from placementclient.nova import service
from tests.functional import clouds
from tests.functional.audited import build
from tests.functional.clouds import content, uuid_of, watched


@pytest.fixture
def small(client, tmp_path):
    """A small cloud, to fix."""
    return build(client, 10, tmp_path)


@pytest.fixture
def nova(monkeypatch):
    """A catalog with Nova, which answers for single servers as set, else that it knows none."""
    answers: dict[str, Server | Exception | None] = {}
    asked: list[str] = []

    def server_record(client, uuid):
        asked.append(uuid)
        answer = answers.get(uuid)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def server(client, uuid):
        return [uuid] if answers.get(uuid) else []

    monkeypatch.setattr(service, 'has_nova', lambda client: True)
    monkeypatch.setattr(service, 'read_server_record', server_record)
    monkeypatch.setattr(service, 'read_server', server)
    return SimpleNamespace(answers=answers, asked=asked)


def alive(host, **changes):
    """The record of a settled server, as Nova gives it now."""
    return replace(Server('s', host, host, None, 'ACTIVE'), **changes)


GONE = Server('s', status='DELETED')


def fix(site, placement, *options):
    """Fix what consumers hold; return the results by the names of the servers, and the status."""
    result = site.audit(placement, *site.files, '--id', 'orphan', '--id', 'doubled', '--id',
                        'left-by-migration', '--fix', '--yes', *options)  # fmt: skip
    rows = {row['subject']: row for row in json.loads(result.stdout)}
    return {n: rows[uuid_of(n)] for n in ('gone', 'both', 'moved away')}, result


def test_fix_asks_nova_just_before_it_frees(small, placement, nova):
    """Also where files are given: the word of Nova counts then."""
    nova.answers.update({uuid_of('gone'): GONE, uuid_of('both'): alive('left')})
    nova.answers[uuid_of('moved')] = alive('target')
    with watched(small.client) as requests:
        rows, result = fix(small, placement)
    assert {name: row['fix'] for name, row in rows.items()} == dict.fromkeys(rows, 'done')
    assert result.status == 0, result.stdout
    assert sorted(nova.asked) == sorted(map(uuid_of, ('gone', 'both', 'moved')))
    freed = [path for method, path in requests if method == 'POST']
    assert freed
    assert requests.index(('POST', freed[0])) > 3


@pytest.mark.parametrize(
    ('answers', 'ends', 'status'),
    [
        ({}, {'gone': 'left to you', 'both': 'left to you', 'moved away': 'left to you'}, 3),
        (
            {'gone': alive('left', status='SOFT_DELETED'), 'both': alive('left', task='migrating'),
             'moved': alive('source')},
            {'gone': 'failed: Nova has the server', 'both': 'left to you',
             'moved away': 'left to you'},
            3,
        ),
        (
            {'gone': GONE, 'both': service.ServiceRefusal('Nova refuses: Oops (HTTP 500)')},
            {'gone': 'done', 'both': 'failed: Nova cannot be asked: Nova refuses: Oops (HTTP 500)',
             'moved away': 'left to you'},
            1,
        ),
    ],
    ids=['Nova knows none', 'Nova has them', 'a cell is down'],
)  # fmt: skip
def test_fix_frees_nothing_without_a_record_of_nova(small, placement, nova, answers, ends, status):
    nova.answers.update({uuid_of(name): answer for name, answer in answers.items()})
    before = clouds.captured(small.client).consumers
    rows, result = fix(small, placement)
    assert {name: row['fix'] for name, row in rows.items()} == ends
    assert result.status == status
    for row in rows.values():
        assert bool(row['reason']) == (row['fix'] != 'done')
    kept = {name for name, end in ends.items() if end != 'done'}
    after = clouds.captured(small.client).consumers
    assert all(after[uuid_of(name)] == before[uuid_of(name)] for name in kept)


def test_fix_asks_no_further_when_nova_does_not_filter(small, placement, nova):
    refusal = service.UnfilteredList('Nova cannot be asked for deleted servers: its policy')
    nova.answers.update(dict.fromkeys(map(uuid_of, ('gone', 'both', 'moved')), refusal))
    rows, result = fix(small, placement)
    assert result.status == 1
    for row in rows.values():
        assert row['fix'].startswith('failed: Nova cannot be asked')


def test_fix_frees_what_the_operator_says_to_be_gone(small, placement, tmp_path, monkeypatch):
    """What Nova knows in no record: without a catalog, too."""
    (small.folder / 'servers.json').write_text('[]')
    kept = small.audit(placement, *small.files, '--id', 'orphan', '--fix', '--yes')
    assert (kept.status, clouds.captured(small.client).consumers.keys() > {uuid_of('gone')}) == (
        3, True
    )  # fmt: skip
    names = tmp_path / 'gone.txt'
    names.write_text(f'{uuid_of("gone")}\n{uuid_of("both")}\n')
    options = ('--id', 'orphan', '--gone', str(names), '--fix', '--yes')
    done = small.audit(placement, *small.files, *options)
    ends = {row['subject']: row['fix'] for row in json.loads(done.stdout)}
    assert (ends[uuid_of('gone')], ends[uuid_of('both')], done.status) == ('done', 'done', 6)
    assert not clouds.captured(small.client).consumers.keys() & {uuid_of('gone'), uuid_of('both')}
    assert 'left: the lists know ' in done.stderr


def test_gone_refuses_consumers_that_still_exist(small, placement, nova):
    def refused(name, reason):
        result = small.audit(
            placement, *small.files, '--gone', uuid_of(name), '--gone', uuid_of('gone'),
            '--fix', '--yes',
        )  # fmt: skip
        expected = f'--gone: {uuid_of(name)}: {reason}'
        assert (result.status, result.stdout, expected in result.stderr) == (1, '', True), result

    before = clouds.captured(small.client)
    refused('both', 'a list of servers has it (ACTIVE)')
    refused('evacuating away', 'its migration is in progress: pre-migrating')
    nova.answers[uuid_of('container')] = alive('left')
    refused('container', 'Nova has this server')
    assert content(clouds.captured(small.client)) == content(before)
    both = small.audit(
        placement, '--gone', uuid_of('gone'), '--ignore-consumer', uuid_of('gone'), '--fix'
    )
    assert both.status == 2


def test_a_plan_frees_nothing_of_a_consumer_that_has_changed_since(
    small, placement, tmp_path, nova
):
    """It may need what it holds again, though it holds the same; who is gone stays planned."""
    nova.answers.update({uuid_of('gone'): GONE, uuid_of('both'): alive('left')})
    path = str(tmp_path / 'plan.json')
    options = ('--id', 'orphan', '--id', 'doubled', '--plan', path)
    assert small.audit(placement, *small.files, *options).status == 0
    both = allocation.show(small.client, uuid_of('both')).value
    allocation.set(small.client, both)
    result = placement(f'resource provider reshape apply {path} --yes -f json')
    assert 'it has changed since it was checked' in result.stdout
    assert allocation.show(small.client, uuid_of('both')).value.allocations == both.allocations
    # Who is gone stays gone, also on the same host.
    assert not allocation.show(small.client, uuid_of('gone')).value.allocations
    assert result.status == 6
    assert placement(f'resource provider reshape apply {path} --yes').status == 6
