# SPDX-License-Identifier: Apache-2.0
"""The exporter of metrics, while services and tokens come and go."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.cloud import accounts, control, layout, processes, settings
from tests.cloud.compute import until
from tests.cloud.conftest import variables

#: Seconds between two readings.
INTERVAL = 2
#: keystoneauth renews a token that has less than so many seconds left.
RENEWED = 120
KEYSTONE, PLACEMENT, NOVA = (f'{name}{layout.SHORT}' for name, *_ in layout.SHORT_CATALOG)
USER = 'metra'


@pytest.fixture(scope='module')
def exporter(tmp_path_factory):
    """The URL of an exporter in a region of its own, where tokens live for some two minutes."""
    control.serve(KEYSTONE, PLACEMENT, NOVA)
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    url = f'{layout.url(KEYSTONE)}/v3'
    account = variables(USER, OS_AUTH_URL=url, OS_REGION_NAME=layout.SHORT_REGION)
    command = (
        'resource capacity export --flavors nova --aggregates nova --projects keystone '
        f'--quotas nova --serve 127.0.0.1:{port} --interval {INTERVAL}'
    )
    program = Path(sys.executable).with_name('placement')
    with (
        open(tmp_path_factory.mktemp('exporter') / 'log', 'w+') as log,
        subprocess.Popen(
            [str(program), *command.split()], env={**os.environ, **account}, stdout=log, stderr=log
        ) as process,
    ):
        yield f'http://127.0.0.1:{port}/metrics'
        process.terminate()
        status = process.wait(30)
        processes.stop(KEYSTONE, PLACEMENT, NOVA)
        assert status == 0, log.seek(0) or log.read()


@pytest.fixture
def reading(exporter):
    """The same, once it reads."""
    control.serve(KEYSTONE, PLACEMENT, NOVA)
    until(lambda: _is_up(exporter) == 1, 'the exporter does not start')
    # For some seconds, other tests may leave no host.
    until(lambda: _figures(exporter), 'there are no figures')
    return exporter


def _metrics(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        lines = answer.read().decode().splitlines()
    return {
        name: float(value)
        for line in lines
        if not line.startswith('#')
        for name, _, value in [line.rpartition(' ')]
    }


def _is_up(url):
    try:
        return _metrics(url).get('openstack_placement_up')
    except OSError:
        return None


def _figures(url):
    """What is told of the cloud, and not of the readings."""
    internal = ('openstack_placement_up', '_read_duration_', '_last_read_timestamp_')
    metrics = _metrics(url).items()
    return {name: value for name, value in metrics if not any(word in name for word in internal)}


def _tokens():
    """How many tokens were asked for where those of the exporter are from."""
    return processes.log(KEYSTONE).read_text().count('POST /v3/auth/tokens')


def test_a_token_that_ends_is_renewed(reading):
    before = _tokens()

    until(lambda: _tokens() > before, 'the token is not renewed')

    _stays_up(reading)


def test_a_token_that_is_revoked_is_replaced(reading):
    # Whoever loses a role loses the tokens.
    accounts.Identity().renew_role(USER, 'demo', 'admin')

    _stays_up(reading)


@pytest.mark.parametrize('gone', [NOVA, KEYSTONE, PLACEMENT])
def test_a_service_that_is_restarted(reading, gone):
    processes.stop(gone)
    until(lambda: _is_up(reading) == 0, f'{gone} is gone, and nobody says so')
    # Other tests change hosts all the while: the figures are those of the last reading.
    figures = _figures(reading)
    time.sleep(2 * INTERVAL)
    assert (_is_up(reading), _figures(reading)) == (0, figures)

    control.serve(gone)
    until(lambda: _is_up(reading) == 1, f'{gone} is back, and nobody says so')


def test_a_flavor_that_is_made_is_seen(compute, reading):
    name = f'seen-{os.urandom(4).hex()}'
    compute.make_flavor(name, 1, 64, 1)

    until(lambda: any(name in metric for metric in _metrics(reading)), 'the flavor is not seen')

    compute.discard(f'/flavors/{name}')


def test_an_absence_of_keystone_that_outlasts_a_token_ends_by_itself(reading):
    processes.stop(KEYSTONE)
    until(lambda: _is_up(reading) == 0, 'Keystone is gone, and nobody says so')
    figures = _figures(reading)
    seen = []
    # keystoneauth takes a token for so long before it asks for another one.
    end = time.monotonic() + settings.SHORT_TOKEN - RENEWED + INTERVAL
    while time.monotonic() < end:
        seen.append((_is_up(reading), _figures(reading) == figures))
        time.sleep(INTERVAL)
    control.serve(KEYSTONE)

    assert set(seen) == {(0, True)}
    until(lambda: _is_up(reading) == 1, 'Keystone is back, and nobody says so')
    _stays_up(reading)


def _stays_up(url):
    """Readings go on to succeed, long enough for an old one not to count."""
    before = _metrics(url)
    clock = [name for name in before if 'timestamp' in name or 'last' in name]
    assert clock
    until(
        lambda: (
            _is_up(url) == 1
            and all(_metrics(url)[name] > before[name] + 3 * INTERVAL for name in clock)
        ),
        'the exporter does not get another token',
    )
