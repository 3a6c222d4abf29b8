# SPDX-License-Identifier: Apache-2.0
"""An HTTP server for metrics; the main thread reads the next values."""

from __future__ import annotations

import contextlib
import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.basis import errors
from placementclient.render import metrics

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric


class BoundedSession:
    """A keystoneauth session whose requests get no more time than the reading has left."""

    def __init__(self, session: Any, collector: Collector) -> None:
        self._session, self._collector = session, collector
        # For requests to Keystone.
        session.timeout = min(session.timeout or collector.longest, collector.longest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def request(
        self, url: str, method: str, *, timeout: float | None = None, **settings: Any
    ) -> Any:
        """Send a request with the session, without retries, if there is time left."""
        left = self._collector.left()
        settings['connect_retries'] = 0
        return self._session.request(url, method, timeout=min(timeout or left, left), **settings)

    def get(self, url: str, **settings: Any) -> Any:
        return self.request(url, 'GET', **settings)


def address(text: str) -> tuple[str, int]:
    """Parse ``127.0.0.1:9000``, ``[::1]:9000``, or ``:9000`` for all addresses."""
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.UsageError(f'{text!r} is not of form <address>:<port>')
    return host.strip('[]'), int(port)


class _Figures(NamedTuple):
    """The figures of one reading, with its time since 1970 and on the monotonic clock."""

    families: Sequence[Metric] = ()
    read_at: float | None = None
    at: float = float('-inf')


class Collector:
    """The served metrics: the last good values, and their age.

    :param interval: how long to wait between two readings, in seconds
    :ivar longest: the most seconds that a reading may take
    """

    def __init__(
        self, read: Callable[[], Sequence[Metric]], interval: float, log: logging.Logger
    ) -> None:
        self._read, self.interval, self.log = read, interval, log
        # The figures are up to date for this time; a longer reading is given up.
        self._fresh = 3 * interval
        self.longest = max(self._fresh, 60)
        self._end = math.inf
        self._figures = _Figures()
        self._seconds = 0.0
        self._is_good = True

    def collect(self) -> Sequence[Metric]:
        """Return the last good values, and whether they are too old now."""
        figures = self._figures
        is_up = time.monotonic() - figures.at < self._fresh
        return [*figures.families, *metrics.reading(is_up, figures.read_at, self._seconds)]

    def stop(self) -> None:
        """Refuse further requests."""
        self._end = 0.0

    def left(self) -> float:
        """Return the remaining time of the reading, in seconds, or refuse further requests."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise errors.PlacementError(
                f'The reading was not over after {self.longest:g} s: '
                'a service hangs, or is too slow for the --interval'
            )
        return left

    def read(self) -> None:
        """Read the values; after any error keep the earlier ones.

        :raises errors.PlacementError: if the first reading shows that the options are impossible
        """
        from placementclient.nova.service import NoCatalog

        began_at = time.monotonic()
        self._end = began_at + self.longest
        try:
            self._figures = _Figures(self._read(), time.time(), time.monotonic())
        except Exception as failure:
            wrong_options = (errors.BadArgument, errors.BadFile, errors.UsageError, NoCatalog)
            if self._figures.read_at is None and isinstance(failure, wrong_options):
                raise
            if self._is_good:  # once, not in every interval
                is_first = self._figures.read_at is None
                began = 'There are no figures yet' if is_first else 'The figures stay as they are'
                is_told = isinstance(failure, errors.PlacementError)
                self.log.error(f'{began}: {failure if is_told else errors.Unexpected(failure)}')
            self.log.debug('The reading failed', exc_info=failure)
            self._is_good = False
        else:
            if not self._is_good:
                self.log.warning('The figures are read again')
            self._is_good = True
        self._seconds = time.monotonic() - began_at


class Terminated(KeyboardInterrupt):
    """A SIGTERM. Handlers of Ctrl-C handle it too."""


def serve(where: tuple[str, int], collector: Collector) -> None:
    """Serve metrics and read their values repeatedly, until SIGTERM.

    Requests are answered from the beginning on, also while the first reading lasts.

    :raises errors.PlacementError: if the address cannot be used
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        collector.stop()
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with contextlib.suppress(Terminated), served(*where, collector) as port:
            collector.read()
            collector.log.warning(f'Serving http://{where[0]}:{port}/metrics')
            while True:
                threading.Event().wait(collector.interval)
                collector.read()
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def served(host: str, port: int, collector: Collector) -> Iterator[int]:
    """Serve metrics in threads of prometheus_client's server; the value is the port."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, _ = start_http_server(port, host or '0.0.0.0', registry)  # noqa: S104 (as typed)
    except OSError as reason:
        raise errors.PlacementError(f'{host}:{port}: {reason.strerror or reason}') from None
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
