"""A key press where the service accepts connections and never answers."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from placementclient.completion import values


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What leads to such a service; none of the processes that ask it outlives the test."""
    with socket.create_server(('127.0.0.1', 0), backlog=16) as silent:
        yield {
            **os.environ,
            'OS_AUTH_TYPE': 'none',
            'OS_ENDPOINT': f'http://127.0.0.1:{silent.getsockname()[1]}',
            'OS_PLACEMENT_RETRIES': '0',
            'XDG_CACHE_HOME': str(tmp_path),
        }
    for lock in (tmp_path / 'placementclient').glob('*.lock'):
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)


def test_a_key_press_waits_for_no_longer_than_it_says(environment: dict[str, str]) -> None:
    assert values.KEY_PRESS_TIMEOUT < 1
    started = time.monotonic()
    pressed = subprocess.run(
        [sys.executable, '-m', 'placementclient', 'complete', '--values', 'providers', ''],
        env=environment,
        input='',
        capture_output=True,
        text=True,
        timeout=60,
    )
    waited = time.monotonic() - started
    assert (pressed.returncode, pressed.stdout) == (0, '')
    # The service may take 20 seconds; what is beyond the timeout here is for starting Python.
    assert values.KEY_PRESS_TIMEOUT <= waited < values.SERVICE_TIMEOUT / 2
