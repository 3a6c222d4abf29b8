# SPDX-License-Identifier: Apache-2.0
"""The requests of a program, recorded on their way to a service, and sent again without it."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import queue
import resource
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from benchmarks.paired import Run, Spent, clock


@dataclass(frozen=True, slots=True)
class Request:
    """What was sent, and the status that it was answered with."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None
    status: int


@contextlib.contextmanager
def recorder(url: str) -> Iterator[tuple[str, list[Request]]]:
    """The URL of a proxy of a service, and what it has passed on, in the order of the answers."""
    requests: list[Request] = []

    class Recorder(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            self.service = _connection(url)

        def finish(self) -> None:
            self.service.close()
            super().finish()

        def handle_request(self) -> None:
            body = self.rfile.read(int(self.headers.get('Content-Length', 0))) or None
            headers = {name: value for name, value in self.headers.items() if name != 'Host'}
            self.service.request(self.command, self.path, body, headers)
            answer = self.service.getresponse()
            content = answer.read()
            requests.append(Request(self.command, self.path, headers, body, answer.status))
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name not in ('Content-Length', 'Transfer-Encoding', 'Connection'):
                    self.send_header(name, value)
            if answer.status != http.HTTPStatus.NO_CONTENT:
                self.send_header('Content-Length', str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = handle_request  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Tell nothing."""

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Recorder) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        try:
            yield f'http://127.0.0.1:{proxy.server_port}', requests
        finally:
            proxy.shutdown()


def replay(
    url: str, first: Sequence[Request], lanes: Sequence[Sequence[Request]], workers: int
) -> Run:
    """Send recorded requests, each with the very same headers and body, and nothing more.

    :param first: one after the other, before all else
    :param lanes: so many at a time as there are workers, each of them one after the other
    """

    def run() -> Spent:
        spent = clock(resource.RUSAGE_SELF)
        connections: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        for _ in range(workers):
            connections.put(_connection(url))

        def send(lane: Sequence[Request]) -> None:
            connection = connections.get()
            try:
                for request in lane:
                    _send(connection, request)
            finally:
                connections.put(connection)

        send(first)
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(send, lanes))
        while not connections.empty():
            connections.get().close()
        return spent()

    return run


def _connection(url: str) -> http.client.HTTPConnection:
    where = urlsplit(url)
    assert where.hostname
    return http.client.HTTPConnection(where.hostname, where.port)


def _send(connection: http.client.HTTPConnection, request: Request) -> None:
    connection.request(request.method, request.path, request.body, dict(request.headers))
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != request.status:
        raise SystemExit(
            f'{request.method} {request.path} was answered with {answer.status}, '
            f'not {request.status}: {content.decode()}'
        )
