"""The exporter of metrics, while services and tokens come and go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud import accounts, control, layout, processes
from tests.cloud.compute import Compute, until
from tests.cloud.conftest import variables

#: Seconds between two readings.
INTERVAL = 2


@pytest.fixture
def exporter(tmp_path: Path) -> Iterator[str]:
    """The URL of an exporter whose tokens live for little more than two minutes."""
    control.serve('keystone-short')
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    account = variables('amos', OS_AUTH_URL=layout.url('keystone-short') + '/v3')
    command = (
        'resource capacity export --flavors nova --aggregates nova --projects keystone '
        f'--quotas nova --serve 127.0.0.1:{port} --interval {INTERVAL}'
    )
    program = Path(sys.executable).with_name('placement')
    with (
        open(tmp_path / 'exporter.log', 'w+') as log,
        subprocess.Popen(
            [str(program), *command.split()], env={**os.environ, **account}, stdout=log, stderr=log
        ) as process,
    ):
        yield f'http://127.0.0.1:{port}/metrics'
        process.terminate()
        assert process.wait(30) == 0, log.seek(0) or log.read()
    processes.stop('keystone-short')


def _metrics(url: str) -> dict[str, float]:
    with urllib.request.urlopen(url, timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value)
        for line in lines
        if not line.startswith('#')
        for name, _, value in [line.rpartition(' ')]
    }


def _is_up(url: str) -> float | None:
    try:
        return _metrics(url).get('openstack_placement_up')
    except OSError:
        return None


def _figures(url: str) -> dict[str, float]:
    return {name: value for name, value in _metrics(url).items() if 'allocatable' in name}


def _tokens() -> int:
    return processes.log('keystone-short').read_text().count('POST http')


def test_the_exporter_tells_the_truth_and_comes_back(compute: Compute, exporter: str) -> None:
    until(lambda: _is_up(exporter) == 1, 'the exporter does not start')
    figures = _figures(exporter)
    assert figures

    # The token ends: whoever loses a role loses the tokens.
    identity = accounts.Identity()
    identity.renew_role('amos', 'demo', 'admin')
    _stays_up(exporter)

    # Nova is restarted: readings fail as long as flavors cannot be read.
    processes.stop('nova')
    until(lambda: _is_up(exporter) == 0, 'Nova is gone, and nobody says so')
    assert _figures(exporter) == figures
    control.serve('nova')
    until(lambda: _is_up(exporter) == 1, 'Nova is back, and nobody says so')

    # Keystone is gone, and so nobody can say whose token it is.
    processes.stop('keystone', 'keystone-short')
    until(lambda: _is_up(exporter) == 0, 'Keystone is gone, and nobody says so')
    assert _figures(exporter) == figures
    control.serve('keystone')
    control.serve('keystone-short')
    until(lambda: _is_up(exporter) == 1, 'Keystone is back, and nobody says so')

    # What is booted is seen.
    server = compute.boot('seen')
    used = 'openstack_placement_resource_usage'
    until(
        lambda: sum(value for name, value in _metrics(exporter).items() if used in name) > 0,
        'the server is not seen',
    )
    compute.delete(server)


def test_a_minute_without_keystone_ends_by_itself(exporter: str) -> None:
    until(lambda: _is_up(exporter) == 1, 'the exporter does not start')
    figures = _figures(exporter)
    assert figures

    processes.stop('keystone', 'keystone-short')
    until(lambda: _is_up(exporter) == 0, 'Keystone is gone, and nobody says so')
    seen = []
    end = time.monotonic() + 60
    while time.monotonic() < end:
        seen.append((_is_up(exporter), _figures(exporter) == figures))
        time.sleep(INTERVAL)
    control.serve('keystone')
    control.serve('keystone-short')

    assert set(seen) == {(0, True)}
    until(lambda: _is_up(exporter) == 1, 'Keystone is back, and nobody says so')
    assert _figures(exporter) == figures
    _stays_up(exporter)


def _stays_up(url: str) -> None:
    """Readings go on to succeed, long enough for an old one not to count."""
    before = _metrics(url)
    clock = [name for name in before if 'timestamp' in name or 'last' in name]
    until(
        lambda: (
            _is_up(url) == 1
            and all(_metrics(url)[name] > before[name] + 3 * INTERVAL for name in clock)
        ),
        'the exporter does not get another token',
    )
