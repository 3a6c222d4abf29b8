"""Metrics served on real sockets, also while Placement hangs."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from placementclient.client import errors
from placementclient.commands.inspection import serving
from tests.unit.dialogue import ROOT, SIGNED, version_document

#: How long something may take that takes no time, in seconds: generous, for nothing is timed.
TIMEOUT = 60.0
UP = 'openstack_placement_up'
READ_AT = 'openstack_placement_capacity_last_read_timestamp_seconds'


def pause(seconds):
    """Wait: ``time.sleep`` does not in the unit tests."""
    threading.Event().wait(seconds)


def eventually(found, said):
    """The first result that is one."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if result := found():
                return result
        pause(0.1)
    raise AssertionError(said)


def collector():
    return serving.Collector(list, 10, logging.getLogger('told'))


@pytest.mark.parametrize('address', ['127.0.0.1', '::1', ''])
def test_a_scrape_gets_the_format_that_it_accepts(address):
    with serving.served(address, 0, collector()) as port:
        host = f'[{address}]' if ':' in address else address or '127.0.0.1'
        url = f'http://{host}:{port}/metrics'
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            plain = list(text_string_to_metric_families(answer.read().decode()))
        accepting = {'Accept': 'application/openmetrics-text;version=1.0.0'}
        request = urllib.request.Request(url, headers=accepting)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            open_metrics = list(openmetrics.text_string_to_metric_families(answer.read().decode()))
    names = [family.name for family in plain]
    assert [family.name for family in open_metrics] == names
    assert [family.samples for family in open_metrics] == [family.samples for family in plain]
    assert UP in names


@pytest.mark.parametrize('host', ['127.0.0.1', 'nowhere.invalid'])
def test_an_address_that_cannot_be_used_is_an_error(host):
    with (
        serving.served('127.0.0.1', 0, collector()) as port,
        pytest.raises(errors.PlacementError, match=f'^{host}:{port}: '),
        serving.served(host, port, collector()),
    ):
        pass


class Placement:
    """What answers like a Placement with one provider, until it is told something else.

    :ivar answers: the JSON of some paths
    :ivar hangs: whether it answers nothing
    """

    def __init__(self):
        self.answers: dict[str, str] = {}
        self.hangs = False
        self._released = threading.Event()
        placement = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                placement._answer(self)

            def log_message(self, *args):
                """Nothing."""

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler):
        if self.hangs:
            self._released.wait()
            return
        path = handler.path.partition('?')[0]
        generation = '"resource_provider_generation": 1'
        usual = {
            '/': json.dumps(version_document('1.39').reply.body),
            '/resource_providers': listed(None),
            f'/resource_providers/{ROOT}/inventories': f'{{"inventories": {{}}, {generation}}}',
            f'/resource_providers/{ROOT}/traits': f'{{"traits": [], {generation}}}',
            f'/resource_providers/{ROOT}/aggregates': f'{{"aggregates": [], {generation}}}',
            f'/resource_providers/{ROOT}/usages': f'{{"usages": {{}}, {generation}}}',
            f'/resource_providers/{ROOT}/allocations': f'{{"allocations": {{}}, {generation}}}',
        }
        body = self.answers.get(path, usual[path]).encode()
        handler.send_response(200)
        for name, value in SIGNED.items():
            handler.send_header(name, value)
        handler.send_header('Content-Length', str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


def listed(parent):
    """The only provider, below this parent."""
    record = {'uuid': ROOT, 'name': 'host', 'generation': 1}
    ancestors = {'parent_provider_uuid': parent, 'root_provider_uuid': ROOT}
    return json.dumps({'resource_providers': [record | ancestors]})


@pytest.fixture
def cloud():
    placement = Placement()
    try:
        yield placement
    finally:
        placement.close()


class Exporter:
    """The command in a process of its own."""

    def __init__(self, cloud, folder, *options):
        with socket.create_server(('127.0.0.1', 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self._log = folder / 'log'
        program = [sys.executable, '-m', 'placementclient', *options]
        command = ['resource', 'capacity', 'export', '--interval', '1', '--serve']
        self.process = subprocess.Popen(
            [*program, *command, f'127.0.0.1:{self.port}'],
            env=os.environ
            | {'OS_AUTH_TYPE': 'admin_token', 'OS_ENDPOINT': cloud.url, 'OS_TOKEN': 'admin'},
            stderr=self._log.open('wb'),
        )

    @property
    def said(self):
        return self._log.read_text()

    def scraped(self):
        """The values of the metrics that have one without labels."""
        url = f'http://127.0.0.1:{self.port}/metrics'
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            text = answer.read().decode()
        families = text_string_to_metric_families(text)
        return {each.name: each.samples[0].value for each in families if each.samples}

    def wait_until(self, *, up):
        return eventually(  # type: ignore[no-any-return]
            lambda: (found := self.scraped())[UP] == float(up) and found, f'up is not {up}'
        )


@pytest.fixture
def export(cloud, tmp_path):
    running: list[Exporter] = []

    def start(*options):
        running.append(Exporter(cloud, tmp_path, *options))
        return running[-1]

    try:
        yield start
    finally:
        for exporter in running:
            exporter.process.kill()
            exporter.process.wait()


@pytest.mark.slow
def test_a_placement_that_hangs_is_down_and_comes_back(cloud, export):
    exporter = export('--timeout', '1', '--retries', '0')
    first = exporter.wait_until(up=True)
    cloud.hangs = True
    away = exporter.wait_until(up=False)
    assert away[READ_AT] >= first[READ_AT]
    cloud.hangs = False
    assert exporter.wait_until(up=True)[READ_AT] > away[READ_AT]
    assert 'Traceback' not in exporter.said


@pytest.mark.slow
def test_a_placement_that_hangs_from_the_beginning_is_down(cloud, export):
    cloud.hangs = True
    exporter = export()
    assert exporter.wait_until(up=False).keys().isdisjoint({READ_AT})
    exporter.process.send_signal(signal.SIGTERM)
    assert exporter.process.wait(TIMEOUT) == 0
    assert exporter.said == ''


WRONG = {
    'a circle': ('/resource_providers', listed(ROOT)),
    'a long integer': (
        f'/resource_providers/{ROOT}/inventories',
        json.dumps(
            {'inventories': {'VCPU': {'total': 10**400}}, 'resource_provider_generation': 1}
        ),
    ),
}


@pytest.mark.slow
def test_no_answer_ends_it(cloud, export):
    exporter = export()
    for path, answer in WRONG.values():
        exporter.wait_until(up=True)
        cloud.answers = {path: answer}
        exporter.wait_until(up=False)
        cloud.answers = {}
    exporter.wait_until(up=True)
    assert exporter.said.count('The figures stay as they are: GET /') == len(WRONG)
    assert exporter.said.count('The figures are read again') == len(WRONG)
