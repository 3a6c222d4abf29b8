"""Several processes on one database apply a plan, take it back, and are killed meanwhile.

On SQLite the command refuses them, as one writes at a time; here they wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from keystoneauth1.session import Session

from placementclient import errors, files
from placementclient.direct import Direct
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.microversion import HIGHEST
from placementclient.model.outcomes import State
from placementclient.planner.plan.plan import Plan
from placementclient.reshape import executor, journal, multiprocess, verify
from placementclient.snapshot import capture
from tests.functional import clouds, databases

TOP = Path(__file__).parents[2]
#: How long a process may take to start, or another to end, in seconds.
PATIENCE = 120


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = os.environ.get('PLACEMENT_TEST_DATABASE') or f'sqlite:///{tmp_path}/placement.sqlite'
    databases.emptied(url)
    return url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Direct(url) as service:
        yield Client(Session(auth=service), HIGHEST)


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocess, 'check', lambda _: None)


def planned(client: Client, folder: Path, hosts: int) -> tuple[Plan, Path]:
    before = clouds.loaded(client, clouds.cloud(hosts=hosts, servers=2))
    plan = clouds.plan_of(before, 2, moved_trait=True)
    path = folder / 'plan.json'
    files.write_plan(str(path), plan)
    return files.read_plan(str(path)), path


@pytest.mark.usefixtures('anywhere')
def test_there_and_back(client: Client, tmp_path: Path) -> None:
    plan, path = planned(client, tmp_path, 6)
    before = capture.capture(client)
    ended: list[str] = []
    outcome = executor.apply(
        client, plan, f'{path}.journal', processes=3,
        report=lambda result: ended.append(result.root_provider_name),
    )  # fmt: skip
    assert outcome.exit_status is ExitStatus.DONE
    assert {tree.state for tree in outcome.trees} == {State.APPLIED}
    assert sorted(ended) == sorted(tree.root_provider_name for tree in plan.trees)
    assert verify.verify(client, plan, journal_path=f'{path}.journal') == []
    known = journal.read(f'{path}.journal', plan)
    assert {record.ended for record in known.values()} == {State.APPLIED}
    outcome = executor.rollback(client, plan, f'{path}.journal', processes=2)
    assert {tree.state for tree in outcome.trees} == {State.ROLLED_BACK}
    after = capture.capture(client)
    assert clouds.content(after) == clouds.content(before)


@pytest.mark.usefixtures('anywhere')
def test_what_a_process_refuses_is_said_by_the_one_that_asked(
    client: Client, tmp_path: Path
) -> None:
    plan, path = planned(client, tmp_path, 3)
    root = plan.trees[1].root_provider_uuid
    client.session.request(
        '/allocations/' + plan.trees[1].consumers[0].uuid, 'DELETE',
        endpoint_filter=client.endpoint_filter, microversion='1.36',
    )  # fmt: skip
    gone = plan.trees[1].consumers[0].uuid
    outcome = executor.apply(client, plan, f'{path}.journal', processes=2)
    assert outcome.exit_status is ExitStatus.DONE, outcome
    revised = journal.read(f'{path}.journal', plan)[root].plan
    assert revised is not None
    assert gone not in {consumer.uuid for consumer in revised.consumers}


def test_one_writer_at_a_time_is_no_case_for_processes(client: Client, tmp_path: Path) -> None:
    plan, path = planned(client, tmp_path, 1)
    if not client.service.startswith('sqlite'):
        outcome = executor.apply(client, plan, f'{path}.journal', processes=2)
        assert outcome.exit_status is ExitStatus.DONE
        return
    with pytest.raises(errors.UsageError, match='On SQLite one process writes at a time'):
        executor.apply(client, plan, f'{path}.journal', processes=2)
    with pytest.raises(errors.UsageError, match='On SQLite'):
        executor.rollback(client, plan, f'{path}.journal', processes=2)
    assert not Path(f'{path}.journal').exists()


def applying(url: str, path: Path) -> subprocess.Popen[bytes]:
    """A process that applies a plan by two others, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, '-m', 'tests.functional.applying_together', url, str(path)],
        cwd=TOP, start_new_session=True,
    )  # fmt: skip


def has_written(process: subprocess.Popen[bytes], path: Path, lines: int) -> bool:
    """Wait until a journal has so many lines; whether the process still runs then."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        if path.exists() and path.read_bytes().count(b'\n') >= lines:
            return process.poll() is None
        time.sleep(0.002)
    return False


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes that work for one."""
    found = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
    return [int(pid) for pid in found if b'spawn_main' in Path(f'/proc/{pid}/cmdline').read_bytes()]


def kill_a_worker(process: subprocess.Popen[bytes]) -> None:
    os.kill(workers_of(process)[0], signal.SIGKILL)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize('kill', [kill_a_worker, subprocess.Popen.kill, kill_all])
def test_killed_at_any_point_it_goes_on(
    client: Client, url: str, tmp_path: Path, kill: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, path = planned(client, tmp_path, 12)
    noted = Path(f'{path}.journal')
    assert callable(kill)
    for lines in (3, 40):
        process = applying(url, path)
        assert has_written(process, noted, lines)
        kill(process)
        assert process.wait(PATIENCE) != ExitStatus.DONE
        wait_until_free(noted)
    monkeypatch.setattr(multiprocess, 'check', lambda _: None)
    outcome = executor.apply(client, plan, str(noted), processes=2)
    assert {tree.state for tree in outcome.trees} <= {State.APPLIED, State.ALREADY_APPLIED}
    assert verify.verify(client, plan, journal_path=str(noted)) == []


def wait_until_free(noted: Path) -> None:
    """Wait for the last process of a run that was killed, which ends by itself."""
    with open(noted, 'rb') as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)


def test_interrupted_it_ends_what_is_under_way(client: Client, url: str, tmp_path: Path) -> None:
    plan, path = planned(client, tmp_path, 12)
    noted = Path(f'{path}.journal')
    process = applying(url, path)
    assert has_written(process, noted, 20)
    # As a terminal does on Ctrl-C: to the process and to those that work for it.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == ExitStatus.INTERRUPTED
    known = journal.read(str(noted), plan)
    assert {record.ended for record in known.values() if record.begun} == {State.APPLIED}
    assert 0 < len(known) < len(plan.trees)
