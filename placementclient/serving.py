"""A page in memory, served to many at once while it is made anew."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType

from placementclient import errors

#: Of Prometheus' text format.
CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class _Server(ThreadingHTTPServer):
    #: Connections that wait to be accepted: scrapers come all at once.
    request_queue_size = 128
    page = b''

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ':' in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Who does not wait for the answer is no fault of anybody's."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    #: In seconds; who says nothing for so long is no scraper.
    timeout = 10

    def do_GET(self) -> None:
        """Answer with the page."""
        is_known = self.path.partition('?')[0] in ('/', '/metrics')
        body = self.server.page if is_known else b'GET /metrics\n'
        self.send_response(200 if is_known else 404)
        self.send_header('Content-Type', CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody wants a line for each scrape."""


class _Terminated(KeyboardInterrupt):
    """A SIGTERM. Whatever lets go on Ctrl-C lets go now."""


def address(text: str) -> tuple[str, int]:
    """``'127.0.0.1:9000'``, ``'[::1]:9000'``, or ``':9000'`` for all addresses.

    :raises errors.UsageError: if it is not of that form
    """
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.UsageError(f'{text!r} is not of form <address>:<port>')
    return host.strip('[]'), int(port)


def serve(
    where: tuple[str, int],
    make: Callable[[], str],
    interval: float,
    started: Callable[[str, int], None],
) -> None:
    """Make a page, serve it, and make it anew, until a SIGTERM.

    :param make: makes it; what was made last is served meanwhile
    :param interval: how long to wait before it is made anew, in seconds
    :param started: is told the address, once the first page is there
    :raises errors.PlacementError: if the address cannot be used
    """
    with contextlib.suppress(_Terminated), terminable(), _bound(*where) as server:
        server.page = make().encode()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            started(where[0], server.server_port)
            while True:
                threading.Event().wait(interval)
                server.page = make().encode()
        finally:
            server.shutdown()


def _bound(host: str, port: int) -> _Server:
    try:
        return _Server(host, port)
    except OSError as reason:
        raise errors.PlacementError(f'{host}:{port}: {reason.strerror or reason}') from None


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Have a SIGTERM let go of everything, as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
