# SPDX-License-Identifier: Apache-2.0
"""The real Placement service, in this process and over HTTP."""

import gc
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from keystoneauth1 import noauth
from keystoneauth1.session import Session

from placementclient.client import endpoints, http, microversion
from placementclient.client.transport import limit_session
from placementclient.embedded import Direct, service
from placementclient.testing import EmbeddedPlacement
from tests import programs
from tests.functional import browser, databases, stopping
from tests.programs import Result, isolate, words

#: The page that needs jq. .ci/run sets the variable, and installs jq: then it has to be there.
PAGE_WITH_JQ = 'pipeline'
HAS_JQ = bool(os.environ.get('JQ_TO_TEST') or shutil.which('jq'))
#: The test files that need a program which is not installed, with its name; unless a variable of
#: the environment asks for them.
MISSING: dict[str, str] = {}
if not (browser.IS_INSTALLED or browser.IS_REQUIRED):
    MISSING['test_report.py'] = 'chromium or chromedriver'
if not (os.environ.get('PROMTOOL_TO_TEST') or shutil.which('promtool')):
    MISSING['test_alert_rules.py'] = 'promtool'
collect_ignore = list(MISSING)
if not HAS_JQ:
    MISSING[f'{PAGE_WITH_JQ}.rst'] = 'jq'


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested."""
    for tested, program in MISSING.items():
        terminalreporter.section(f'{program} is not installed', red=True)
        terminalreporter.line(f'NOT tested, as it needs {program}: {tested}')


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    """No test sees the cloud settings or the home of who runs it."""
    isolate(monkeypatch, tmp_path)
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'data'))
    monkeypatch.setenv('COLUMNS', '200')


@pytest.fixture(autouse=True)
def _one_service(_environment):
    """No test leaves a service behind, in a frame of its failure or a cycle: a process has one."""
    yield
    if service.is_running():
        gc.collect()


@pytest.fixture(scope='module', name='service')
def stopping_service(tmp_path_factory):
    """A service in another process, which stops at a request if a test says so."""
    with stopping.running(tmp_path_factory.mktemp('unreliable')) as service:
        yield service


@pytest.fixture
def session():
    """A session with a Placement of its own; what is patched of it, is of every client too.

    On a SQLite database of its own; on the one of ``PLACEMENT_TEST_DATABASE``, where that is set,
    which is emptied before.
    """
    url = os.environ.get('PLACEMENT_TEST_DATABASE')
    if url:
        databases.emptied(url)
        with Direct(placement_database=url) as service:
            yield limit_session(Session(auth=service), endpoints.ANSWER_LIMIT)
    else:
        with EmbeddedPlacement() as placement:
            yield limit_session(placement.session, endpoints.ANSWER_LIMIT)


@pytest.fixture
def client(session):
    """A client that uses the highest microversion, and nothing but requests.

    It names the URL: then it does not count on who answers there.
    """
    endpoint = session.get_endpoint(service_type='placement')
    return http.Client(session, microversion.HIGHEST, endpoint_override=endpoint)


@pytest.fixture
def path(tmp_path):
    """The journal of a plan."""
    return str(tmp_path / 'plan.journal')


@pytest.fixture
def placement(client, capsys):
    """Runs the program ``placement``: ``placement('resource', 'provider', 'list')``.

    A single string is split as a shell does. The session is that of the client: a test sees and
    changes the requests of both.
    """
    return program(client.session, capsys)


def process(*argv):
    """Run ``placement`` as a process, as it needs a Placement of its own beside that of a test."""
    command = [sys.executable, '-m', 'placementclient', *words(argv)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def placement_over_http(service_url, capsys):
    """The same, with a service in another process, which has what other tests have left."""
    return program(Session(auth=noauth.NoAuth(endpoint=service_url)), capsys)


def program(session, capsys):
    """Return what runs ``placement`` in this process.

    :param session: without it, the variables of the environment say which Placement
    """

    def run(*argv, microversion='1'):
        version = ('--os-placement-api-version', microversion)
        return programs.run(capsys, [*version, *words(argv)], session)

    return run


@pytest.fixture(scope='session')
def service_url(tmp_path_factory):
    """Where a real Placement answers over HTTP, in a process of its own.

    It is the release that the Python of ``PLACEMENT_TEST_PYTHON`` has, where that is set.
    """
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    database = tmp_path_factory.mktemp('service') / 'placement.sqlite'
    script = Path(__file__).with_name('service.py')
    python = os.environ.get('PLACEMENT_TEST_PYTHON', sys.executable)
    process = subprocess.Popen([python, str(script), str(port), str(database)])
    url = f'http://127.0.0.1:{port}'
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait(url, process):
    for _ in range(1200):
        assert process.poll() is None, 'the service has ended'
        try:
            urllib.request.urlopen(url).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f'nothing answers at {url}')
