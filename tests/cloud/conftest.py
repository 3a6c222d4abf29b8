# SPDX-License-Identifier: Apache-2.0
"""The cloud, its accounts and the programs; see ``python -m tests.cloud``."""

import os
import time

import pytest

from tests import programs
from tests.cloud import layout, processes
from tests.cloud.compute import Compute
from tests.programs import isolate, words

_began = time.monotonic()
_left_out: list[str] = []


def pytest_collection_modifyitems(items):
    """Begin with the tests that were left out last time."""
    former = layout.left_out()
    items.sort(key=lambda item: item.nodeid not in former)


def pytest_runtest_setup(item):
    """Leave out the tests for which there is no time."""
    if time.monotonic() - _began > float(os.environ.get(layout.LIMIT, 'inf')):
        _left_out.append(item.nodeid)
        pytest.skip(f'{layout.LIMIT} is over')


def pytest_terminal_summary(terminalreporter):
    if _left_out:
        terminalreporter.section('no time for these tests', red=True)
        for name in _left_out:
            terminalreporter.line(f'did NOT run: {name}')


@pytest.fixture(scope='session', autouse=True)
def _cloud():
    if 'nova' not in processes.running():
        pytest.exit('The cloud does not run: start it with "python -m tests.cloud up"', 1)


def variables(user='admin', project='demo', **more):
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
def _environment(monkeypatch, tmp_path):
    """No test sees the settings or the home of who runs it."""
    isolate(monkeypatch, tmp_path / 'home')
    for name in ('XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'):
        monkeypatch.setenv(name, str(tmp_path / 'home'))
    monkeypatch.setenv(layout.VARIABLE, str(layout.folder()))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope='session')
def compute():
    """An administrator at Nova."""
    return Compute()


@pytest.fixture
def placement(monkeypatch, capsys):
    """Runs the program ``placement`` as an administrator: ``placement('resource provider list')``.

    A single string is split as a shell does.
    """
    for name, value in variables().items():
        monkeypatch.setenv(name, value)

    def run(*argv):
        return programs.run(capsys, words(argv))

    return run
