"""The cloud, its accounts and the programs; see ``python -m tests.cloud``."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from placementclient.cli import shell
from tests.cloud import layout, processes
from tests.cloud.compute import Compute


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    status: int
    stdout: str
    stderr: str

    def json(self, *statuses: int) -> Any:
        """Return what was printed, once the status is one of those expected."""
        assert self.status in (statuses or (0,)), f'status {self.status}: {self.stderr}'
        return json.loads(self.stdout)


Placement = Callable[..., Result]


_began = time.monotonic()
_left_out: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that were left out last time."""
    former = layout.left_out()
    items.sort(key=lambda item: item.nodeid not in former)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out the tests for which there is no time."""
    if time.monotonic() - _began > float(os.environ.get(layout.LIMIT, 'inf')):
        _left_out.append(item.nodeid)
        pytest.skip(f'{layout.LIMIT} is over')


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested."""
    if _left_out:
        terminalreporter.section('no time for these tests', red=True)
        for name in _left_out:
            terminalreporter.line(f'did NOT run: {name}')


@pytest.fixture(scope='session', autouse=True)
def _cloud() -> None:
    if 'nova' not in processes.running():
        pytest.exit('The cloud does not run: start it with "python -m tests.cloud up"', 1)


def variables(user: str = 'admin', project: str = 'demo', **more: str) -> dict[str, str]:
    """The variables of an openrc file, by their names."""
    return {
        'OS_AUTH_URL': layout.url('keystone') + '/v3',
        'OS_USERNAME': user,
        'OS_PASSWORD': layout.PASSWORD,
        'OS_PROJECT_NAME': project,
        'OS_USER_DOMAIN_NAME': 'Default',
        'OS_PROJECT_DOMAIN_NAME': 'Default',
        'OS_IDENTITY_API_VERSION': '3',
        'OS_REGION_NAME': layout.REGION,
        **more,
    }


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the settings or the home of who runs it."""
    for name in [name for name in os.environ if name.startswith('OS_')]:
        monkeypatch.delenv(name)
    for name in ('HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'):
        monkeypatch.setenv(name, str(tmp_path / 'home'))
    monkeypatch.setenv(layout.VARIABLE, str(layout.folder()))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope='session')
def compute() -> Compute:
    """An administrator at Nova."""
    return Compute()


@pytest.fixture
def placement(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Placement:
    """Runs the program ``placement`` as an administrator: ``placement('resource provider list')``.

    A single string is split as a shell does.
    """
    for name, value in variables().items():
        monkeypatch.setenv(name, value)

    def run(*argv: str) -> Result:
        capsys.readouterr()
        try:
            status = shell.main(shlex.split(argv[0]) if len(argv) == 1 else list(argv))
        except SystemExit as exit:
            status = int(exit.code or 0)
        return Result(status, *capsys.readouterr())

    return run


def started(
    name: str, *argv: str, environment: Mapping[str, str], answers: str = ''
) -> Callable[[], Result]:
    """Run ``placement`` or ``openstack`` as a process, with no other variables of a cloud.

    :param answers: what is typed
    :returns: waits for its end
    """
    path = Path(sys.executable).with_name(name)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith('OS_')}
    process = subprocess.Popen(
        [str(path), *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**inherited, **environment},
    )

    def result() -> Result:
        try:
            texts = process.communicate(answers, timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return Result(process.returncode, *texts)

    return result


def program(name: str, *argv: str, environment: Mapping[str, str], answers: str = '') -> Result:
    """Run ``placement`` or ``openstack`` to its end, as :func:`started`."""
    return started(name, *argv, environment=environment, answers=answers)()
