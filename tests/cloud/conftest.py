"""The cloud, its accounts and the programs; see ``python -m tests.cloud``."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

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


#: The modules of the programs.
MODULES = {'placement': 'placementclient.cli.shell', 'openstack': 'openstackclient.shell'}
#: A process has these from the start; to load them takes longer than most commands.
for _module in (*MODULES.values(), 'openstackclient.compute.v2.server', 'openstack.connection'):
    importlib.import_module(_module)

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
    """Run ``placement`` or ``openstack`` in a process, with no other variables of a cloud.

    The process is a copy of this one, which has loaded what both need.

    :param answers: what is typed
    :returns: waits for its end
    """
    files = [os.memfd_create(name) for _ in range(3)]
    os.write(files[0], answers.encode())
    os.lseek(files[0], 0, os.SEEK_SET)
    process = os.fork()
    if not process:
        _carry_out(name, argv, environment, files)

    def result() -> Result:
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        texts = []
        for number in files:
            os.lseek(number, 0, os.SEEK_SET)
            with open(number, encoding='utf-8') as file:
                texts.append(file.read())
        return Result(status, *texts[1:])

    return result


def _carry_out(
    name: str, argv: Sequence[str], environment: Mapping[str, str], files: Sequence[int]
) -> NoReturn:
    """Be the program."""
    status: Any = 1
    try:
        signal.alarm(120)
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, 'w'), os.fdopen(2, 'w')
        for variable in [variable for variable in os.environ if variable.startswith('OS_')]:
            del os.environ[variable]
        os.environ.update(environment)
        sys.argv = [name, *argv]
        status = importlib.import_module(MODULES[name]).main(list(argv))
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(status or 0))


def program(name: str, *argv: str, environment: Mapping[str, str], answers: str = '') -> Result:
    """Run ``placement`` or ``openstack`` to its end, as :func:`started`."""
    return started(name, *argv, environment=environment, answers=answers)()
