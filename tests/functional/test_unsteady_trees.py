# SPDX-License-Identifier: Apache-2.0
"""Trees that others write to all the time, while a snapshot of them is read."""

import json
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from placementclient.api import inventory
from placementclient.files import disk
from tests.functional import clouds
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of
from tests.functional.conftest import program
from tests.functional.main_jobs import SPEC

SAVE = 'resource provider snapshot save cloud.json'
HOT = ('compute0', 'compute2')


@pytest.fixture
def run(service_url, capsys, tmp_path, monkeypatch):
    """Run a command while others write to two of three hosts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('time.sleep', lambda seconds: None)
    client, other = client_of(service_url), client_of(service_url)
    clouds.emptied(other)
    clouds.load(other, clouds.cloud(hosts=3, servers=1))
    placement = program(client.session, capsys)

    def run(*argv, is_hot=True):
        with hot(client, other) if is_hot else ExitStack():
            return placement(*argv)

    return run


@contextmanager
def hot(client, other):
    """Write to each hot tree whenever it is read."""

    def write(uuid):
        live = inventory.list(other, uuid)
        same = {name: value.as_fields() for name, value in live.value.items()}
        inventory.set_all(other, uuid, same, live.generation or 0)

    with ExitStack() as stack:
        for name in HOT:
            uuid = uuid_of(name)
            part = f'{uuid}/aggregates'
            act = lambda uuid=uuid: write(uuid)  # noqa: E731
            stack.enter_context(clouds.disturbed(client, 'GET', part, act, 1000))
        yield


def test_snapshot_save_names_all_unsteady_trees_and_writes_no_file(run):
    result = run(SAVE)
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith(
        'Each of the trees compute0, compute2 changed each of the 6 times that it was read: '
        'try again when less is going on there; --keep-going saves such trees too, and marks them\n'
    )
    assert not Path('cloud.json').exists()


def test_keep_going_saves_unsteady_trees_as_read_last_and_marks_them(run):
    result = run(f'{SAVE} --keep-going -f json')
    assert result.status == 6, result
    assert json.loads(result.stdout)['trees'] == 3
    assert 'wrote cloud.json, with 2 trees marked as unsteady (exit 6)\n' in result.stderr
    shown = run('resource provider snapshot show cloud.json -f json', is_hot=False)
    assert shown.json()['unsteady'] == [*HOT]
    assert {state.name for state in disk.read_snapshot('cloud.json').roots()} == {
        f'compute{number}' for number in range(3)
    }
    part = run(f'{SAVE[:-10]}part.json --snapshot cloud.json --tree compute1', is_hot=False)
    assert part.status == 0


READ_LAST = 'Perhaps inconsistent, because others changed the tree at each reading: '


def test_commands_that_read_go_on_and_name_unsteady_trees(run):
    for command in ('resource capacity show', 'resource provider audit', 'resource class list'):
        live = run(f'{command} --long' if 'class' in command else command)
        assert live.status == 0, live
        assert f'{READ_LAST}compute0, compute2\n' in live.stderr
    assert run(f'{SAVE} --keep-going').status == 6
    read = run('resource capacity show --snapshot cloud.json', is_hot=False)
    assert (read.status, read.stderr) == (0, f'cloud.json: {READ_LAST}compute0, compute2\n')


def test_commands_that_write_refuse_unsteady_trees_of_a_snapshot(run):
    Path('spec.yaml').write_text(SPEC)
    assert run(f'{SAVE} --keep-going').status == 6
    plan = 'resource provider reshape plan --spec spec.yaml --snapshot cloud.json -o plan.json'
    for command in (
        f'{plan} --tree compute0',
        'resource provider snapshot restore cloud.json --yes',
        'resource provider drain plan compute1 --snapshot cloud.json',
        'resource provider audit --snapshot cloud.json --dry-run',
    ):
        refused = run(command, is_hot=False)
        assert (refused.status, refused.stdout) == (1, ''), command
        assert 'cloud.json: the command needs compute0' in refused.stderr
    assert run(f'{plan} --tree compute1', is_hot=False).status == 0
    assert run('resource provider audit --fix --yes').status == 1
