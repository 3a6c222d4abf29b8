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
    """A keystoneauth session whose requests may only take the time that is left for a reading."""

    def __init__(self, session: Session, collector: Collector) -> None:
        self._session, self._collector = session, collector
        # For requests to Keystone.
        limit = collector.time_limit
        session.timeout = min(session.timeout or limit, limit)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped keystoneauth session."""
        return getattr(self._session, name)

    def request(
        self, url: str, method: str, *, timeout: float | None = None, **settings: Any
    ) -> Response:
        """Send a request without retries, if there is time left."""
        remaining = self._collector.compute_remaining_time()
        settings['connect_retries'] = 0
        limit = min(timeout or remaining, remaining)
        return self._session.request(url, method, timeout=limit, **settings)

    def get(self, url: str, **settings: Any) -> Response:
        """Send a GET request without retries, if there is time left."""
        return self.request(url, 'GET', **settings)


def parse_address(text: str) -> tuple[str, int]:
    """Return the address and port of ``127.0.0.1:9000``, ``[::1]:9000``, or ``:9000`` for all.

    :raises errors.UsageError: if the text has another form
    """
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise errors.UsageError(f'{text!r} is not of form <address>:<port>, as in 127.0.0.1:9101')
    return host.strip('[]'), int(port)


class _Reading(NamedTuple):
    """The metrics of one reading of the cloud.

    :ivar ended_at: the time at its end, in seconds since 1970; None: there was no reading yet
    :ivar monotonic: the same time on the monotonic clock, in seconds
    """

    families: Sequence[Metric] = ()
    ended_at: float | None = None
    monotonic: float = float('-inf')


class Collector:
    """Collects the metrics that are served: those of the last good reading, and its age.

    :param read: reads the metrics
    :param interval: the pause between two readings, in seconds
    :ivar time_limit: the longest time that a reading may take, in seconds
    """

    def __init__(
        self, read: Callable[[], Sequence[Metric]], interval: float, log: logging.Logger
    ) -> None:
        self._read_metrics, self.interval, self.log = read, interval, log
        #: How long metrics are up to date, in seconds.
        self._fresh_for = 3 * interval
        self.time_limit = max(self._fresh_for, 60)
        #: The end of the time for the present reading, on the monotonic clock.
        self._deadline = math.inf
        self._last_good = _Reading()
        #: How long the last reading took, in seconds, and whether it succeeded.
        self._duration, self._succeeded = 0.0, True

    def collect(self) -> Sequence[Metric]:
        """Return the last good metrics, and their age as metrics; Prometheus calls this."""
        reading = self._last_good
        is_up = time.monotonic() - reading.monotonic < self._fresh_for
        return [
            *reading.families,
            *metrics.make_reading_metrics(is_up, reading.ended_at, self._duration),
        ]

    def abort_reading(self) -> None:
        """Let every further request of the present reading fail."""
        self._deadline = 0.0

    def compute_remaining_time(self) -> float:
        """Return the remaining seconds of the reading; raise PlacementError if there are none."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise errors.PlacementError(
                f'The reading was not over after {self.time_limit:g} s: '
                'a service hangs, or is too slow for the --interval'
            )
        return remaining

    def read(self) -> None:
        """Read the metrics; after an error, keep the last good ones and log it once.

        :raises errors.PlacementError: if the first reading shows that the options are impossible
        """
        began_at = time.monotonic()
        self._deadline = began_at + self.time_limit
        try:
            self._last_good = _Reading(self._read_metrics(), time.time(), time.monotonic())
        except Exception as failure:
            self._report_failure(failure)
            self._succeeded = False
        else:
            if not self._succeeded:
                self.log.warning('The figures are read again')
            self._succeeded = True
        self._duration = time.monotonic() - began_at

    def _report_failure(self, failure: Exception) -> None:
        """Log the first failure in a row; raise one of wrong options before the first success."""
        from placementclient.nova.service import NoCatalog

        is_first = self._last_good.ended_at is None
        wrong_options = (errors.BadArgument, errors.BadFile, errors.UsageError, NoCatalog)
        if is_first and isinstance(failure, wrong_options):
            raise failure
        if self._succeeded:
            kept = 'There are no figures yet' if is_first else 'The figures stay as they are'
            is_ours = isinstance(failure, errors.PlacementError)
            self.log.error(f'{kept}: {failure if is_ours else errors.Unexpected(failure)}')
        self.log.debug('The reading failed', exc_info=failure)


class Terminated(KeyboardInterrupt):
    """Raised by a SIGTERM, like a Ctrl-C."""


def serve_metrics(address: tuple[str, int], collector: Collector) -> None:
    """Serve metrics and read them again and again, until SIGTERM.

    Scrapes are answered from the beginning, also during the first reading.

    :param address: the host and the port
    :raises errors.PlacementError: if the address cannot be used
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        collector.abort_reading()
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with contextlib.suppress(Terminated), run_metrics_server(*address, collector) as port:
            collector.read()
            collector.log.warning(f'Serving http://{address[0]}:{port}/metrics')
            while True:
                threading.Event().wait(collector.interval)
                collector.read()
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def run_metrics_server(host: str, port: int, collector: Collector) -> Iterator[int]:
    """Run the HTTP server of prometheus_client in the block, whose value is the port.

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
