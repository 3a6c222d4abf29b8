"""A key press where the service accepts connections and never answers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from placementclient.completion import values


@pytest.fixture
def environment(tmp_path):
    """Return the variables that lead to such a service."""
    with socket.create_server(('127.0.0.1', 0), backlog=16) as silent:
        yield {
            **os.environ,
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': f'http://127.0.0.1:{silent.getsockname()[1]}',
            'OS_PLACEMENT_RETRIES': '0',
            'XDG_CACHE_HOME': str(tmp_path),
        }


def press(environment):
    """Press the key, and return how long that took, in seconds."""
    started = time.monotonic()
    pressed = subprocess.run(
        [sys.executable, '-m', 'placementclient', 'complete', '--values', 'providers', ''],
        env=environment,
        input='',
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (pressed.returncode, pressed.stdout) == (0, '')
    return time.monotonic() - started


def test_a_key_press_waits_for_no_longer_than_it_says(environment):
    # The rest is for starting Python; the service would be given up after minutes.
    assert values.TIMEOUT <= press(environment) < values.TIMEOUT + 8
    # Within a minute the next one does not ask again.
    assert press(environment) < values.TIMEOUT
