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
    from keystoneauth1.session import Session
    from prometheus_client.metrics_core import Metric
    from requests import Response


class TimeLimitedSession:
    """A keystoneauth session whose requests end with the time limit of the reading."""

    def __init__(self, session: Session, collector: Collector) -> None:
        self._session, self._collector = session, collector
        # For requests to Keystone.
        session.timeout = min(session.timeout or collector.longest, collector.longest)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the session."""
        return getattr(self._session, name)

    def request(
        self, url: str, method: str, *, timeout: float | None = None, **settings: Any
    ) -> Response:
        """Send a request with the session, without retries, if there is time left."""
        remaining = self._collector.compute_remaining_time()
        settings['connect_retries'] = 0
        limit = min(timeout or remaining, remaining)
        return self._session.request(url, method, timeout=limit, **settings)

    def get(self, url: str, **settings: Any) -> Response:
        """Send a GET request, as :meth:`request` does."""
        return self.request(url, 'GET', **settings)


def parse_address(text: str) -> tuple[str, int]:
    """Return the address and the port of ``127.0.0.1:9000``, ``[::1]:9000``, or ``:9000`` for all.

    :raises errors.UsageError: if the text has another form
    """
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.UsageError(f'{text!r} is not of form <address>:<port>')
    return host.strip('[]'), int(port)


class _Reading(NamedTuple):
    """The metrics of one reading.

    :ivar read_at: the time of the reading, in seconds since 1970
    :ivar at: the same on the monotonic clock, in seconds
    """

    families: Sequence[Metric] = ()
    read_at: float | None = None
    at: float = float('-inf')


class Collector:
    """The metrics that are served: those of the last successful reading, and their age.

    :param read: reads the metrics
    :param interval: the pause between two readings, in seconds
    :ivar longest: the time limit of a reading, in seconds
    """

    def __init__(
        self, read: Callable[[], Sequence[Metric]], interval: float, log: logging.Logger
    ) -> None:
        self._read, self.interval, self.log = read, interval, log
        # The figures are up to date for this time; a longer reading is given up.
        self._fresh = 3 * interval
        self.longest = max(self._fresh, 60)
        self._end = math.inf
        self._figures = _Reading()
        self._seconds = 0.0
        self._is_good = True

    def collect(self) -> Sequence[Metric]:
        """Return the last good metrics, and those that tell their age; Prometheus calls this."""
        figures = self._figures
        is_up = time.monotonic() - figures.at < self._fresh
        return [
            *figures.families,
            *metrics.make_reading_metrics(is_up, figures.read_at, self._seconds),
        ]

    def stop(self) -> None:
        """Let every further request of the reading fail."""
        self._end = 0.0

    def compute_remaining_time(self) -> float:
        """Return the remaining time of the reading, in seconds.

        :raises errors.PlacementError: if there is none
        """
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise errors.PlacementError(
                f'The reading was not over after {self.longest:g} s: '
                'a service hangs, or is too slow for the --interval'
            )
        return remaining

    def read(self) -> None:
        """Read the metrics; after an error, keep the earlier ones and log it once.

        :raises errors.PlacementError: if the first reading shows that the options are impossible
        """
        from placementclient.nova.service import NoCatalog

        began_at = time.monotonic()
        self._end = began_at + self.longest
        try:
            self._figures = _Reading(self._read(), time.time(), time.monotonic())
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
    """Raised by a SIGTERM, like a Ctrl-C."""


def serve_metrics(where: tuple[str, int], collector: Collector) -> None:
    """Serve metrics and read them again and again, until SIGTERM.

    Scrapes are answered from the beginning on, also during the first reading.

    :param where: the address and the port

    :raises errors.PlacementError: if the address cannot be used
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        collector.stop()
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with contextlib.suppress(Terminated), run_metrics_server(*where, collector) as port:
            collector.read()
            collector.log.warning(f'Serving http://{where[0]}:{port}/metrics')
            while True:
                threading.Event().wait(collector.interval)
                collector.read()
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def run_metrics_server(host: str, port: int, collector: Collector) -> Iterator[int]:
    """Run the HTTP server of prometheus_client in threads; the value is its port.

    :raises errors.PlacementError: if the address cannot be used
    """
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
