"""Serve metrics to scrapers while the main thread reads the next figures."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from placementclient.client import errors

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


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


class Source(Protocol):
    """The source of the metrics; a collector of prometheus_client."""

    def collect(self) -> Iterable[Metric]:
        """Return the metrics as they are now; called in other threads."""

    def read(self) -> None:
        """Read the figures; raises nothing but what ends the service."""

    def stop(self) -> None:
        """Let a reading end soon."""


def serve(
    where: tuple[str, int], source: Source, interval: float, started: Callable[[str, int], None]
) -> None:
    """Serve metrics, and read their figures again and again, until a SIGTERM.

    Requests are answered from the beginning on, also while the first reading lasts.

    :param interval: how long to wait between two readings, in seconds
    :param started: called with the address, after the first reading
    :raises errors.PlacementError: if the address cannot be used
    """
    with (
        contextlib.suppress(_Terminated),
        terminable(source.stop),
        served(*where, source) as port,
    ):
        source.read()
        started(where[0], port)
        while True:
            threading.Event().wait(interval)
            source.read()


@contextlib.contextmanager
def served(host: str, port: int, source: Source) -> Iterator[int]:
    """Answer scrapes in threads of prometheus_client's server; the value is the port.

    :raises errors.PlacementError: if the address cannot be used
    """
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(source)
    try:
        server, _ = start_http_server(port, host or '0.0.0.0', registry)  # noqa: S104 (as typed)
    except OSError as reason:
        raise errors.PlacementError(f'{host}:{port}: {reason.strerror or reason}') from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


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
