"""Metrics served by a process of its own, while the service comes and goes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token
from prometheus_client.parser import text_string_to_metric_families

from placementclient import http, microversion
from placementclient.snapshot import restore
from tests.functional.test_capacity_requests import varied

UP = 'openstack_placement_up'
CAPACITY = 'openstack_hypervisor_placement_allocatable_capacity'


def free_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def scraped(port: int) -> dict[str, list[float]]:
    """The values of each metric."""
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=30) as answer:
        text = answer.read().decode()
    return {
        family.name: [sample.value for sample in family.samples]
        for family in text_string_to_metric_families(text)
    }


def when(port: int, *, is_up: bool) -> dict[str, list[float]]:
    """The first scrape that says whether the service is there."""
    for _ in range(600):
        try:
            found = scraped(port)
        except OSError:
            found = {}
        if found.get(UP) == [float(is_up)]:
            return found
        time.sleep(0.2)
    raise AssertionError(f'{UP} never becomes {is_up}')


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A Placement of its own, which may be stopped, with a cloud in it."""
    port = free_port()
    script = Path(__file__).with_name('service.py')
    database = tmp_path / 'placement.sqlite'
    with subprocess.Popen([sys.executable, str(script), str(port), str(database)]) as process:
        url = f'http://127.0.0.1:{port}'
        for _ in range(600):
            try:
                urllib.request.urlopen(url).close()
                break
            except OSError:
                time.sleep(0.1)
        session = Session(auth=Token(url, 'admin'))
        restore.load(http.Client(session, microversion.HIGHEST, endpoint_override=url), varied())
        yield process, url
        process.kill()


def test_served(service: tuple[subprocess.Popen[bytes], str], tmp_path: Path) -> None:
    process, url = service
    port = free_port()
    environment = {
        **os.environ, 'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': url, 'OS_TOKEN': 'admin'
    }  # fmt: skip
    command = ['resource', 'capacity', 'export', '--serve', f'127.0.0.1:{port}', '--interval', '1']
    with subprocess.Popen(
        [sys.executable, '-m', 'placementclient', *command],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as exporter:
        first = when(port, is_up=True)
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: scraped(port), range(50)))
        assert all(answer[CAPACITY] == first[CAPACITY] for answer in answers)
        process.kill()
        away = when(port, is_up=False)
        assert away[CAPACITY] == first[CAPACITY]
        exporter.send_signal(signal.SIGTERM)
        _, said = exporter.communicate(timeout=60)
        assert exporter.returncode == 0
        assert f'Serving http://127.0.0.1:{port}/metrics' in said
        assert 'The figures stay as they are: ' in said
