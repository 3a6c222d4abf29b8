"""Metrics served on real sockets: slow clients, used-up descriptors, a Placement that hangs."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from placementclient.client import errors
from placementclient.commands.inspection import serving
from tests.unit.dialogue import ROOT, SIGNED, version_document

#: How long something may take that takes no time, in seconds: generous, for nothing is timed.
TIMEOUT = 60.0
UP = 'openstack_placement_up'
READ_AT = 'openstack_placement_capacity_last_read_timestamp_seconds'
GET = b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'


def pause(seconds: float) -> None:
    """Wait: ``time.sleep`` does not in the unit tests."""
    threading.Event().wait(seconds)


def eventually(found: Callable[[], Any], said: str) -> Any:
    """The first result that is one."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            if result := found():
                return result
        pause(0.1)
    raise AssertionError(said)


@contextlib.contextmanager
def server(page: Callable[[], bytes] = lambda: b'page\n') -> Iterator[int]:
    """A server in this process; its port."""
    with serving._bound('127.0.0.1', 0, page) as running:
        yield running.port


def connected(port: int) -> socket.socket:
    return socket.create_connection(('127.0.0.1', port), TIMEOUT)


def asked(port: int, request: bytes) -> bytes:
    """All that a request is answered."""
    with connected(port) as client:
        client.sendall(request)
        return b''.join(iter(lambda: client.recv(65536), b''))


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b''
    except ConnectionError:
        return True


@pytest.mark.parametrize(
    ('request_line', 'status', 'body'),
    [
        (b'GET /metrics HTTP/1.1', b'200 OK', b'page\n'),
        (b'GET / HTTP/1.0', b'200 OK', b'page\n'),
        (b'GET /metrics?name[]=x HTTP/1.1', b'200 OK', b'page\n'),
        (b'HEAD /metrics HTTP/1.1', b'200 OK', b''),
        (b'GET /other HTTP/1.1', b'404 Not Found', b'GET /metrics\n'),
        (b'POST /metrics HTTP/1.1', b'405 Method Not Allowed', b'GET /metrics\n'),
        (b'\x00\xff', b'405 Method Not Allowed', b'GET /metrics\n'),
    ],
)
def test_requests(request_line: bytes, status: bytes, body: bytes) -> None:
    with server() as port:
        head, _, answer = asked(port, request_line + b'\r\nHost: x\r\n\r\n').partition(b'\r\n\r\n')
    assert head.startswith(b'HTTP/1.0 ' + status + b'\r\n')
    assert answer == body


def test_a_page_that_fails_or_is_large_is_answered() -> None:
    pages: list[Any] = [b'x' * 5_000_000, RuntimeError(), b'page\n']

    def page() -> bytes:
        found = pages.pop(0)
        if isinstance(found, Exception):
            raise found
        return bytes(found)

    with server(page) as port:
        assert asked(port, GET).endswith(b'x' * 5_000_000)
        assert asked(port, GET).startswith(b'HTTP/1.0 500 ')
        assert asked(port, GET).endswith(b'\r\n\r\npage\n')


def test_a_request_that_does_not_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, 'DEADLINE', 0.5)
    with server() as port, connected(port) as silent, connected(port) as dripping:
        closing = time.monotonic() + TIMEOUT
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < closing:
                dripping.sendall(b'x')
                pause(0.05)
        assert time.monotonic() < closing
        assert is_closed(silent)
        assert asked(port, GET).endswith(b'page\n')


def test_a_request_that_is_too_long_is_not_kept() -> None:
    with server() as port, connected(port) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(b'x' * 1_000_000)
        assert is_closed(client)


@pytest.mark.slow
def test_an_answer_that_nobody_takes_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, 'DEADLINE', 0.5)
    with server(lambda: b'x' * 50_000_000) as port, connected(port) as client:
        client.sendall(GET)
        pause(2)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while received := client.recv(1 << 20):
                taken += len(received)
        assert taken < 50_000_000


def test_many_slow_clients_cost_neither_threads_nor_scrapes() -> None:
    before = threading.active_count()
    with server() as port, contextlib.ExitStack() as clients:
        slow = [clients.enter_context(connected(port)) for _ in range(150)]
        for client in slow:
            with contextlib.suppress(ConnectionError):
                client.sendall(b'GET')
        assert asked(port, GET).endswith(b'page\n')
        assert threading.active_count() <= before + 1
        # The oldest went, so that those that came last could stay.
        assert is_closed(slow[0])
        slow[-1].sendall(b' /metrics HTTP/1.1\r\n\r\n')
        assert slow[-1].recv(65536).startswith(b'HTTP/1.0 200 OK')


def test_an_address_that_is_taken_is_an_error() -> None:
    with server() as port, pytest.raises(errors.PlacementError, match='in use'):
        serving._bound('127.0.0.1', port, lambda: b'')


class Placement:
    """What answers like a Placement with one provider, until it is told something else.

    :ivar answers: the JSON of some paths
    :ivar hangs: whether it answers nothing
    """

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.hangs = False
        self._released = threading.Event()
        placement = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                placement._answer(self)

            def log_message(self, *args: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self._server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
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


def listed(parent: str | None) -> str:
    """The only provider, below this parent."""
    record = {'uuid': ROOT, 'name': 'host', 'generation': 1}
    ancestors = {'parent_provider_uuid': parent, 'root_provider_uuid': ROOT}
    return json.dumps({'resource_providers': [record | ancestors]})


@pytest.fixture
def cloud() -> Iterator[Placement]:
    placement = Placement()
    try:
        yield placement
    finally:
        placement.close()


class Exporter:
    """The command in a process of its own."""

    def __init__(
        self,
        cloud: Placement,
        folder: Path,
        *options: str,
        descriptors: int | None = None,
    ) -> None:
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
            preexec_fn=descriptors and (lambda: bounded(descriptors)),
        )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def scraped(self) -> dict[str, float]:
        """The values of the metrics that have one without labels."""
        url = f'http://127.0.0.1:{self.port}/metrics'
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            text = answer.read().decode()
        families = text_string_to_metric_families(text)
        return {each.name: each.samples[0].value for each in families if each.samples}

    def wait_until(self, *, up: bool) -> dict[str, float]:
        return eventually(  # type: ignore[no-any-return]
            lambda: (found := self.scraped())[UP] == float(up) and found, f'up is not {up}'
        )


def bounded(descriptors: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


@pytest.fixture
def export(cloud: Placement, tmp_path: Path) -> Iterator[Callable[..., Exporter]]:
    running: list[Exporter] = []

    def start(*options: str, **settings: Any) -> Exporter:
        running.append(Exporter(cloud, tmp_path, *options, **settings))
        return running[-1]

    try:
        yield start
    finally:
        for exporter in running:
            exporter.process.kill()
            exporter.process.wait()


@pytest.mark.slow
def test_a_placement_that_hangs_is_down_and_comes_back(
    cloud: Placement, export: Callable[..., Exporter]
) -> None:
    exporter = export('--timeout', '1', '--retries', '0')
    first = exporter.wait_until(up=True)
    cloud.hangs = True
    away = exporter.wait_until(up=False)
    assert away[READ_AT] >= first[READ_AT]
    cloud.hangs = False
    assert exporter.wait_until(up=True)[READ_AT] > away[READ_AT]
    assert 'Traceback' not in exporter.said


@pytest.mark.slow
def test_a_placement_that_hangs_from_the_beginning_is_down(
    cloud: Placement, export: Callable[..., Exporter]
) -> None:
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
def test_no_answer_ends_it(cloud: Placement, export: Callable[..., Exporter]) -> None:
    exporter = export()
    for path, answer in WRONG.values():
        exporter.wait_until(up=True)
        cloud.answers = {path: answer}
        exporter.wait_until(up=False)
        cloud.answers = {}
    exporter.wait_until(up=True)
    assert exporter.said.count('The figures stay as they are: GET /') == len(WRONG)
    assert exporter.said.count('The figures are read again') == len(WRONG)


@pytest.mark.slow
def test_used_up_descriptors_do_not_end_it(export: Callable[..., Exporter]) -> None:
    exporter = export(descriptors=64)
    before = exporter.wait_until(up=True)[READ_AT]
    with contextlib.ExitStack() as clients:
        for _ in range(300):
            client = clients.enter_context(connected(exporter.port))
            with contextlib.suppress(ConnectionError):
                client.sendall(b'GET')
        # What is read goes on too.
        eventually(lambda: exporter.scraped()[READ_AT] > before + 2, 'nothing is read')
        assert len(os.listdir(f'/proc/{exporter.process.pid}/fd')) < 64
        assert len(os.listdir(f'/proc/{exporter.process.pid}/task')) < 20
    assert 'Traceback' not in exporter.said
