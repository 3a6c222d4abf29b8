"""Runs that are paused, slowed and stopped from another terminal, and the events they print."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from placementclient.api import inventory
from placementclient.changes import control
from placementclient.changes.records.controls import ControlRecord, RunState
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.planner.records import schema
from placementclient.reshape import storage
from tests.functional import clouds, guide, stopping
from tests.functional.applying import client_of
from tests.functional.stopping import Service

PLACEMENT = Path(sys.executable).parent / 'placement'
LINES = Draft202012Validator(schema.schema('events'), format_checker=FormatChecker())


@pytest.fixture(scope='module')
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with stopping.running(tmp_path_factory.mktemp('unreliable')) as service:
        yield service


@pytest.fixture
def client(service: Service) -> Client:
    (service.folder / 'delay').unlink(missing_ok=True)
    result = client_of(service.url)
    clouds.emptied(result)
    return result


class Terminal:
    """Types commands about one plan of some hosts."""

    def __init__(self, client: Client, service: Service, folder: Path, hosts: int) -> None:
        before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
        self.plan = folder / 'plan.json'
        self.journal = f'{self.plan}.journal'
        storage.write_plan(str(self.plan), clouds.plan_of(before, 1, moved_trait=True))
        self.environment = {
            **os.environ,
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': service.url,
            'PYTHONWARNINGS': 'ignore',
        }

    def started(self, command: str, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PLACEMENT, 'resource', 'provider', 'reshape', command, self.plan, *options],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def applying(self, *options: str) -> subprocess.Popen[str]:
        return self.started('apply', '--yes', '--json-lines', *options)

    def order(self, *options: str) -> dict[str, Any]:
        """What a command about the run prints."""
        process = self.started('status', '-f', 'json', *options)
        printed, said = process.communicate(timeout=180)
        assert process.returncode == 0, said
        (row,) = json.loads(printed)
        return dict(row)

    def until(self, condition: Callable[[ControlRecord], bool]) -> ControlRecord:
        """Wait for what the control file says; one that is damaged says nothing yet."""
        record = None
        for _ in range(1200):
            with contextlib.suppress(errors.BadFile):
                record = control.ControlFile(self.journal).read()
                if record is not None and condition(record):
                    return record
            time.sleep(0.05)
        raise AssertionError(record)

    def states(self) -> dict[str, str]:
        printed, _ = self.started('status', '-f', 'json').communicate(timeout=180)
        return {row['tree']: row['state'] for row in json.loads(printed)}


def events_of(printed: str) -> list[dict[str, Any]]:
    """The lines, each of which the schema admits."""
    found = [json.loads(line) for line in printed.splitlines()]
    for event in found:
        assert [fault.message for fault in LINES.iter_errors(event)] == []
        counts = dict(event['counts'])
        assert counts.pop('trees') == sum(counts.values()), event
    assert [event['time'] for event in found] == sorted(event['time'] for event in found)
    return found


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event['event'] for event in events]


def test_paused_resumed_and_hurried_from_another_terminal(
    client: Client, service: Service, tmp_path: Path
) -> None:
    terminal = Terminal(client, service, tmp_path, 4)
    service.stop_at(3, 'after')
    applying = terminal.applying('--workers', '1')
    assert service.wait_until_reached(applying)
    pausing = terminal.started('status', '--pause', '-f', 'json')
    terminal.until(lambda record: record.state is RunState.PAUSING and record.under_way == 1)
    assert pausing.poll() is None, 'a tree is under way'
    service.go_on()
    (row,) = json.loads(pausing.communicate(timeout=180)[0])
    assert row == {
        'command': 'apply',
        'process': applying.pid,
        'state': 'paused',
        'workers': 1,
        'under_way': 0,
    }
    # The first tree has ended, and no other begins.
    journal = Path(terminal.journal).read_bytes()
    assert sorted(terminal.states().values()) == ['applied', 'pending', 'pending', 'pending']
    _, said = terminal.started('status').communicate(timeout=180)
    assert f'apply (process {applying.pid}) is paused, 1 tree at a time' in said
    time.sleep(1.2)
    assert applying.poll() is None
    assert Path(terminal.journal).read_bytes() == journal

    assert 'The order to pause was given at 20' in said
    # Nobody obeys a damaged control file, until the run has written it anew.
    applying.send_signal(signal.SIGSTOP)
    Path(f'{terminal.journal}.control').write_text('{')
    looking = terminal.started('status', '--workers', '2')
    printed, said = looking.communicate(timeout=180)
    assert (looking.returncode, 'pending' in printed) == (0, True)
    applying.send_signal(signal.SIGCONT)
    terminal.until(lambda record: record.state is RunState.PAUSED)
    row = terminal.order('--workers', '2')
    assert (row['workers'], row['state']) == (2, 'paused')
    assert applying.stdout is not None
    begun = ''
    while 'pace-changed' not in begun:
        begun += applying.stdout.readline()
    row = terminal.order('--resume', '--workers', '3')
    assert (row['workers'], row['state']) == (3, 'running')
    printed, said = applying.communicate(timeout=180)
    assert applying.returncode == 0
    events = events_of(begun + printed)
    assert [name for name in names(events) if not name.startswith('tree-')] == [
        *('run-began', 'run-pausing', 'run-paused'),
        *('pace-changed', 'pace-changed', 'run-resumed', 'run-ended'),
    ]
    assert max(event['counts']['under_way'] for event in events) == 3
    assert events[-1]['counts']['done'] == 4
    assert f'Paused by {terminal.journal}.control; no tree is under way. Go on with: ' in said
    assert set(terminal.states().values()) == {'applied'}
    assert not Path(f'{terminal.journal}.control').exists()
    assert terminal.started('status', '--pause').wait() == 1


def test_stopped_and_typed_again(client: Client, service: Service, tmp_path: Path) -> None:
    terminal = Terminal(client, service, tmp_path, 3)
    service.stop_at(3, 'after')
    applying = terminal.applying('--workers', '1')
    assert service.wait_until_reached(applying)
    stopping_ = terminal.started('status', '--stop', '-f', 'json')
    terminal.until(lambda record: record.state is RunState.STOPPING)
    resuming = terminal.started('status', '--resume')
    assert 'is stopping' in resuming.communicate(timeout=180)[1]
    assert resuming.returncode == 1
    service.go_on()
    printed, said = applying.communicate(timeout=180)
    assert applying.returncode == 6
    assert json.loads(stopping_.communicate(timeout=180)[0])[0]['state'] == 'ended'
    events = events_of(printed)
    assert names(events) == ['run-began', 'tree-began', 'run-stopping', 'tree-ended', 'run-ended']
    assert events[-1]['exit_status'] == 6
    assert events[-1]['counts'] == {
        **dict.fromkeys(('under_way', 'left_alone', 'failed'), 0),
        'trees': 3,
        'done': 1,
        'not_started': 2,
    }
    assert f'Stopped by {terminal.journal}.control: 1 of 3 trees done; the same command' in said
    again = terminal.applying()
    printed, _ = again.communicate(timeout=180)
    assert again.returncode == 0
    assert events_of(printed)[-1]['counts']['done'] == 3


def test_stopped_after_the_last_tree_has_begun(
    client: Client, service: Service, tmp_path: Path
) -> None:
    terminal = Terminal(client, service, tmp_path, 1)
    service.stop_at(3, 'after')
    applying = terminal.applying()
    assert service.wait_until_reached(applying)
    ordered = terminal.started('status', '--stop')
    terminal.until(lambda record: record.state is RunState.STOPPING)
    service.go_on()
    applying.communicate(timeout=180)
    assert (applying.returncode, ordered.wait()) == (0, 0)


@pytest.mark.parametrize('command', ['apply', 'rollback'])
def test_killed_while_paused(
    client: Client, service: Service, tmp_path: Path, command: str
) -> None:
    """The next run goes on, and says that the one before was paused."""
    terminal = Terminal(client, service, tmp_path, 3)
    if command == 'rollback':
        assert terminal.applying().wait() == 0
    service.stop_at(2, 'after')
    running = terminal.started(command, '--yes', '--json-lines', '--workers', '1')
    assert service.wait_until_reached(running)
    pausing = terminal.started('status', '--pause')
    terminal.until(lambda record: record.state is RunState.PAUSING)
    service.go_on()
    assert pausing.wait() == 0
    running.send_signal(signal.SIGKILL)
    printed, _ = running.communicate()
    assert names(events_of(printed))[-1] == 'run-paused'
    _, said = terminal.started('status').communicate(timeout=180)
    assert f'{command} (process {running.pid}) was killed while it was paused' in said
    refused = terminal.started('status', '--resume')
    assert refused.communicate()[1].startswith('No apply or rollback of ')
    assert refused.returncode == 1

    again = terminal.started(command, '--yes', '--json-lines')
    printed, said = again.communicate(timeout=180)
    assert again.returncode == 0
    events = events_of(printed)
    assert names(events)[:2] == ['run-began', 'run-resumed']
    assert events[-1]['counts']['done'] == 3
    assert f'{terminal.journal}.control is of ' in said
    assert 'that was killed after it was paused at ' in said


def test_any_plan_can_be_stopped(client: Client, service: Service, tmp_path: Path) -> None:
    """A plan of changes, as other commands write it; and the way back."""
    terminal = Terminal(client, service, tmp_path, 3)
    terminal.plan.unlink()
    edit = ('--with-class', 'VCPU', '--amend', '--resource', 'VCPU:reserved=2')
    planned = subprocess.run(
        [
            *(PLACEMENT, 'resource', 'provider', 'inventory', 'set', *edit),
            *('--plan', terminal.plan),
        ],
        env=terminal.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert planned.returncode == 0, planned.stderr
    for command, done in (('apply', 'applied'), ('rollback', 'rolled back')):
        service.stop_at(1, 'after')
        running = terminal.started(command, '--yes', '--json-lines', '--workers', '1')
        assert service.wait_until_reached(running)
        stopping_ = terminal.started('status', '--stop')
        terminal.until(lambda record: record.state is RunState.STOPPING)
        service.go_on()
        events = events_of(running.communicate(timeout=180)[0])
        assert (running.returncode, stopping_.wait()) == (6, 0)
        assert [event['state'] for event in events if 'state' in event] == [done]
        again = terminal.started(command, '--yes', '--json-lines')
        assert events_of(again.communicate(timeout=180)[0])[-1]['counts']['done'] == 3
        assert set(terminal.states().values()) == {done}


def test_interrupted_while_paused(client: Client, service: Service, tmp_path: Path) -> None:
    terminal = Terminal(client, service, tmp_path, 2)
    service.stop_at(2, 'after')
    applying = terminal.applying('--workers', '1')
    assert service.wait_until_reached(applying)
    pausing = terminal.started('status', '--pause')
    terminal.until(lambda record: record.state is RunState.PAUSING)
    service.go_on()
    assert pausing.wait() == 0
    applying.send_signal(signal.SIGINT)
    printed, _ = applying.communicate(timeout=180)
    assert applying.returncode == 130
    last = events_of(printed)[-1]
    assert (last['event'], last['exit_status'], last['reason']) == ('run-ended', 130, 'Interrupted')
    assert not Path(f'{terminal.journal}.control').exists()


def test_a_second_interrupt_does_not_wait(client: Client, service: Service, tmp_path: Path) -> None:
    terminal = Terminal(client, service, tmp_path, 2)
    service.stop_at(3, 'after')
    applying = terminal.applying('--workers', '2')
    assert service.wait_until_reached(applying)
    applying.send_signal(signal.SIGINT)
    assert applying.stderr is not None
    said = ''
    while 'under way; a second Ctrl-C does not wait' not in said:
        said += applying.stderr.readline()
    applying.send_signal(signal.SIGINT)
    printed, _ = applying.communicate(timeout=60)
    assert applying.returncode == -signal.SIGINT
    (stopping_,) = [each for each in events_of(printed) if each['event'] == 'run-stopping']
    assert stopping_['reason'] in said
    service.go_on()
    again = terminal.applying()
    printed, _ = again.communicate(timeout=180)
    assert (again.returncode, events_of(printed)[-1]['counts']['done']) == (0, 2)


def test_a_tree_that_is_left_alone_and_a_run_that_cannot_begin(
    client: Client, service: Service, tmp_path: Path
) -> None:
    terminal = Terminal(client, service, tmp_path, 2)
    tree = storage.read_plan(str(terminal.plan)).trees[0]
    root = tree.root_provider_uuid
    generation = inventory.list(client, root).generation or 0
    inventory.set(client, root, 'VGPU', {'total': 16}, generation)
    applying = terminal.applying()
    printed, _ = applying.communicate(timeout=180)
    events = events_of(printed)
    assert applying.returncode == events[-1]['exit_status'] == 6
    ends = {event['tree']: event for event in events if event['event'] == 'tree-ended'}
    assert ends[tree.root_provider_name]['state'] == 'left alone'
    assert ends[tree.root_provider_name]['tree_uuid'] == tree.root_provider_uuid
    assert ends[tree.root_provider_name]['reason']
    Path(terminal.journal).write_text('nothing')
    damaged = terminal.applying()
    (last,) = events_of(damaged.communicate(timeout=180)[0])
    assert (last['event'], last['exit_status']) == ('run-ended', 1)
    assert 'not a journal' in last['reason']
    assert damaged.returncode == 1


@pytest.mark.parametrize(
    ('options', 'status', 'said'),
    [
        (['--pause'], 1, 'No apply or rollback of plan.json is running'),
        (['--pause', '--stop'], 2, 'give one of --pause, --resume and --stop'),
        (['--resume', '--tree', 'compute0'], 2, 'without --watch and --tree'),
        (['--stop', '--watch', '1'], 2, ''),
    ],
)
def test_orders_that_nobody_obeys_need_no_service(
    tmp_path: Path, options: list[str], status: int, said: str
) -> None:
    ended = subprocess.run(
        [PLACEMENT, 'resource', 'provider', 'reshape', 'status', 'plan.json', *options],
        cwd=tmp_path,
        env={**os.environ, 'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'http://127.0.0.1:1'},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (status, '')
    assert said in ended.stderr


def test_a_reader_that_has_gone_does_not_end_the_run(
    client: Client, service: Service, tmp_path: Path
) -> None:
    terminal = Terminal(client, service, tmp_path, 2)
    with open('/dev/full', 'wb') as full:
        ended = subprocess.run(
            [
                *(PLACEMENT, 'resource', 'provider', 'reshape', 'apply', terminal.plan),
                *('--yes', '--json-lines'),
            ],
            env=terminal.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert 'Cannot write to stdout: No space left on device' in ended.stderr
    assert set(terminal.states().values()) == {'applied'}


def test_the_playbook_of_the_page(client: Client, service: Service, tmp_path: Path) -> None:
    terminal = Terminal(client, service, tmp_path, 2)
    command = [PLACEMENT.with_name('ansible-playbook'), guide.SOURCE / 'examples' / 'window.yml']

    def played() -> tuple[int, str]:
        ended = subprocess.run(
            command,
            cwd=tmp_path,
            env={
                **terminal.environment,
                'PATH': f'{PLACEMENT.parent}:{os.environ["PATH"]}',
                'ANSIBLE_HOME': str(tmp_path / 'ansible'),
                'ANSIBLE_LOCALHOST_WARNING': 'false',
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    command += ['-e', f'plan={terminal.plan}']
    tree = storage.read_plan(str(terminal.plan)).trees[0]
    root = tree.root_provider_uuid
    there = inventory.list(client, root)
    inventory.set(client, root, 'VGPU', {'total': 16}, there.generation or 0)
    status, printed = played()
    assert status == 2, printed
    assert tree.root_provider_name in printed.partition('Name the trees')[2], printed
    assert "'left_alone': 1" in printed
    inventory.set(client, root, 'VGPU', {'total': 8, 'max_unit': 8}, (there.generation or 0) + 1)
    status, printed = played()
    assert (status, 'changed=1' in printed) == (0, True), printed
    status, printed = played()
    assert (status, 'changed=0' in printed) == (0, True), printed


def test_a_service_that_answers_slowly(client: Client, service: Service, tmp_path: Path) -> None:
    """It goes on with fewer workers, and with more when answers are fast again."""
    terminal = Terminal(client, service, tmp_path, 16)
    delay = service.folder / 'delay'
    delay.write_text('0.4')
    applying = terminal.applying('--workers', '4', '--max-latency', '250')
    assert applying.stdout is not None
    lines: list[str] = []
    for line in applying.stdout:
        lines.append(line)
        if json.loads(line).get('workers') == 1:
            delay.unlink(missing_ok=True)
    assert applying.wait() == 0
    assert applying.stderr is not None
    said = applying.stderr.read()
    events = events_of(''.join(lines))
    paces = [event['workers'] for event in events if event['event'] == 'pace-changed']
    assert paces[:2] == [2, 1]
    assert max(paces[2:], default=0) > 1, 'more, when answers are fast again'
    assert max(event['counts']['under_way'] for event in events) <= 4
    assert events[-1]['counts']['done'] == 16
    assert 'ms (more than the limit of 250 ms): 2 trees at a time' in said
