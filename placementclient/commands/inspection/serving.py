"""Serve a page to scrapers while another thread reads the next figures.

prometheus_client's own server starts a thread for each connection, without a limit and without a
deadline. This one has one thread, a limit of connections and a deadline for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Protocol

from placementclient.client import errors

#: Of Prometheus' text format.
CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
#: How long a request and its answer may take together, in seconds.
DEADLINE = 10.0
#: How many connections may be open. With one more the oldest is closed: a scraper sends its request
#: at once, so the one that has been open longest is the least likely to be one.
CONNECTIONS = 64
#: How many bytes a request may have.
_LONGEST = 16384
#: Until a connection is accepted again after that has failed, in seconds.
_PAUSE = 0.1
#: How many connections wait to be accepted: scrapers come all at once.
_BACKLOG = 128


class _PageServer:
    """Answers with a page, in a thread of its own.

    :param page: makes the page, at each request
    """

    def __init__(self, host: str, port: int, page: Callable[[], bytes]) -> None:
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._page = page
        self._most = _most_connections()
        self._open: dict[asyncio.Task[None], None] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> _PageServer:
        self._accepting = self._loop.create_task(self._accept())
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._accepting.cancel)
        self._thread.join()
        self._listener.close()
        self._loop.close()

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._accepting)
        self._loop.run_until_complete(self._close(list(self._open)))

    async def _accept(self) -> None:
        while True:
            try:
                connection, _ = await self._loop.sock_accept(self._listener)
            except Exception:
                # No descriptor is left, or the client has gone already.
                await self._close(list(self._open)[:1])
                await asyncio.sleep(_PAUSE)
                continue
            await self._close(list(self._open)[: len(self._open) + 1 - self._most])
            task = self._loop.create_task(self._answer(connection))
            self._open[task] = None
            task.add_done_callback(functools.partial(self._closed, connection))
            # Let it begin, or it may be closed before.
            await asyncio.sleep(0)

    def _closed(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._open.pop(task, None)
        connection.close()

    async def _close(self, tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, connection: socket.socket) -> None:
        # A client that goes away or is too slow is no error here.
        with contextlib.suppress(OSError):
            connection.setblocking(False)
            async with asyncio.timeout(DEADLINE):
                request = b''
                while b'\n\r\n' not in request and b'\n\n' not in request:
                    received = await self._loop.sock_recv(connection, _LONGEST)
                    request += received
                    if not received or len(request) > _LONGEST:
                        return
                await self._loop.sock_sendall(connection, _response(request, self._page))


def _most_connections() -> int:
    """Return how many connections may be open: what is read needs descriptors too."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        return CONNECTIONS
    return max(1, min(CONNECTIONS, descriptors // 4))


def _response(request: bytes, page: Callable[[], bytes]) -> bytes:
    """Return the whole answer to a request.

    :param request: its first line and its headers
    """
    method, _, rest = request.partition(b'\r\n')[0].partition(b' ')
    path = rest.partition(b' ')[0].partition(b'?')[0]
    status, body = '200 OK', b''
    if method not in (b'GET', b'HEAD'):
        status, body = '405 Method Not Allowed', b'GET /metrics\n'
    elif path not in (b'/', b'/metrics'):
        status, body = '404 Not Found', b'GET /metrics\n'
    else:
        try:
            body = page()
        except Exception:
            status = '500 Internal Server Error'
    head = (
        f'HTTP/1.0 {status}\r\nContent-Type: {CONTENT_TYPE}\r\n'
        f'Content-Length: {len(body)}\r\nConnection: close\r\n\r\n'
    )
    return head.encode() + (b'' if method == b'HEAD' else body)


class Deadline:
    """The time at which a reading has to be over: each request until then ends by then.

    :param seconds: how long a reading may take
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = float('inf')

    def begin(self) -> None:
        """Begin a reading."""
        self._until = time.monotonic() + self.seconds

    def end(self) -> None:
        """Let no further request be sent."""
        self._until = 0.0

    def left(self) -> float:
        """Return how long the reading may still take, in seconds.

        :raises errors.PlacementError: if it is over
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise errors.PlacementError(
                f'The reading was not over after {self.seconds:g} s: '
                'a service hangs, or is too slow for the --interval'
            )
        return left


class BoundedSession:
    """A keystoneauth session whose requests end by a deadline.

    :param session: the session that sends them
    """

    def __init__(self, session: Any, deadline: Deadline) -> None:
        self._session, self._deadline = session, deadline
        # Of what is asked of Keystone.
        session.timeout = min(session.timeout or deadline.seconds, deadline.seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def request(
        self, url: str, method: str, *, timeout: float | None = None, **settings: Any
    ) -> Any:
        """Send a request, as the session does, which is not repeated here.

        :param timeout: how long an answer is waited for, in seconds
        """
        left = self._deadline.left()
        settings['connect_retries'] = 0
        return self._session.request(url, method, timeout=min(timeout or left, left), **settings)

    def get(self, url: str, **settings: Any) -> Any:
        """Send a GET request, as :meth:`request`."""
        return self.request(url, 'GET', **settings)


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


class PageSource(Protocol):
    """The source of the page."""

    def page(self) -> bytes:
        """Return the page as it is now; called in another thread."""

    def read(self) -> None:
        """Read what the page shows; raises nothing but what ends the service."""

    def stop(self) -> None:
        """Let a reading end soon."""


def serve(
    where: tuple[str, int], source: PageSource, interval: float, started: Callable[[str, int], None]
) -> None:
    """Serve a page, and read what it shows again and again, until a SIGTERM.

    Requests are answered from the beginning on, also while the first reading lasts.

    :param interval: how long to wait between two readings, in seconds
    :param started: called with the address, after the first reading
    :raises errors.PlacementError: if the address cannot be used
    """
    with (
        contextlib.suppress(_Terminated),
        terminable(source.stop),
        _bound(*where, source.page) as server,
    ):
        source.read()
        started(where[0], server.port)
        while True:
            threading.Event().wait(interval)
            source.read()


def _bound(host: str, port: int, page: Callable[[], bytes]) -> _PageServer:
    try:
        return _PageServer(host, port, page)
    except OSError as reason:
        raise errors.PlacementError(f'{host}:{port}: {reason.strerror or reason}') from None


@contextlib.contextmanager
def terminable(stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Have a SIGTERM let go of everything, as Ctrl-C does.

    :param stop: is called before
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        stop()
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
