# SPDX-License-Identifier: Apache-2.0
"""The limits on every request of the client, to Keystone and all other services.

A request stays at its origin, and its answer has a size and an end.
"""

import copy
import io
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import requests
from requests import adapters, utils
from urllib3 import PoolManager, connection, connectionpool, poolmanager

from placementclient.basis.printable import excerpt
from placementclient.basis.wording import without_credentials
from placementclient.client import errors

#: The default timeout for each next part of an answer, in seconds.
TIMEOUT = 60.0
#: The whole answer may take this many times as long as one part.
PARTS = 10
#: The most redirects of a request.
MOST_REDIRECTS = 5
#: How many characters of the target of a redirect are shown.
_LONGEST = 200
#: The most connections that are kept open to a server. By default requests keeps 10: with more
#: workers, many a request would begin with a new connection.
CONNECTIONS = 1000


def bounded(session: Any, answer_limit: int) -> Any:
    """Return a copy of a session, with its connections and token, whose requests have the limits.

    A session that has them is returned as it is.
    """
    if any(isinstance(adapter, BoundedTransport) for adapter in session.session.adapters.values()):
        return session
    limited = copy.copy(session)
    limited.session = copy.copy(session.session)
    limited.session.adapters = OrderedDict(
        (prefix, BoundedTransport(adapter, answer_limit))
        for prefix, adapter in session.session.adapters.items()
    )
    limited.redirect = False
    return limited


class BoundedTransport(adapters.BaseAdapter):
    """An adapter of requests with the limits."""

    def __init__(self, adapter: adapters.BaseAdapter, answer_limit: int) -> None:
        super().__init__()
        self._adapter, self._answer_limit = adapter, answer_limit
        if isinstance(adapter, adapters.HTTPAdapter):
            _configure(adapter.poolmanager)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        *args: Any,
        **settings: Any,
    ) -> requests.Response:
        """Send a request and read the answer; follow redirects of reads to the same origin."""
        for _ in range(MOST_REDIRECTS + 1):
            response = self._answer(request, stream, timeout or TIMEOUT, *args, **settings)
            target = response.headers.get('location')
            if target is None or not 300 <= response.status_code < 400:
                return response
            request = _redirected(request, target)
        raise errors.InvalidAnswer(f'{_name(request)} was redirected again and again')

    def _answer(
        self, request: requests.PreparedRequest, *args: Any, **settings: Any
    ) -> requests.Response:
        self._configure_proxy(request, settings.get('proxies'))
        try:
            response = self._adapter.send(request, *args, **settings)
            response.raw = _BoundedBody(response.raw, self._answer_limit)
            try:
                response.content  # noqa: B018 - it is read now, so that it fails now
            except BaseException as failure:
                response.close()
                if isinstance(failure, requests.RequestException):
                    failure.request, failure.response = request, response
                raise
            return response
        except ValueError as reason:
            # Of http.client, for a part of an answer with a negative length.
            if isinstance(reason, requests.RequestException):
                raise
            raise errors.InvalidAnswer(
                f'The answer to {_name(request)} is damaged: expected parts of a length from 0 on'
            ) from reason
        except _Endless as reason:
            raise errors.InvalidAnswer(f'The answer to {_name(request)} {reason}') from None

    def _configure_proxy(self, request: requests.PreparedRequest, proxies: Any) -> None:
        """Apply the timeouts and the number of connections to the proxy of a request, too."""
        proxy = proxies and utils.select_proxy(str(request.url), proxies)
        if proxy and isinstance(self._adapter, adapters.HTTPAdapter):
            url = utils.prepend_scheme_if_needed(proxy, 'http')
            _configure(self._adapter.proxy_manager_for(url))

    def close(self) -> None:
        self._adapter.close()


def _redirected(request: requests.PreparedRequest, location: str) -> requests.PreparedRequest:
    url = str(request.url)
    try:
        target = urllib.parse.urljoin(url, location)
        is_within = _origin(target) == _origin(url)
    except ValueError:
        target, is_within = location, False
    if request.method != 'GET' or not is_within:
        shown = excerpt(without_credentials(target), _LONGEST)
        raise errors.InvalidAnswer(
            f'{_name(request)} was redirected to {shown}, and was not sent there: the URL of the '
            'service, in the catalog or in the settings, must be its own'
        )
    redirected = request.copy()
    redirected.prepare_url(target, None)
    return redirected


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {'https': 443}.get(parts.scheme, 80)


def _name(request: requests.PreparedRequest) -> str:
    url = urllib.parse.urlsplit(str(request.url))
    return f'{request.method} {url.scheme}://{url.netloc.rpartition("@")[2]}{url.path}'


class _Endless(Exception):
    """An answer is larger or slower than it may be."""


class _BoundedBody:
    """The body of an answer that is being read, up to a number of decompressed bytes."""

    def __init__(self, body: Any, most: int) -> None:
        self._body, self._most = body, most

    def stream(self, size: int, decode_content: bool | None = None) -> Iterator[bytes]:
        left = self._most
        for part in self._body.stream(size, decode_content=decode_content):
            left -= len(part)
            if left < 0:
                raise _Endless(
                    f'has more than {self._most >> 20} MiB (--os-placement-answer-limit)'
                )
            yield part

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)


class _TimedStream(io.RawIOBase):
    """The bytes that come from the stream of a socket within some seconds."""

    def __init__(self, stream: Any, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if time.monotonic() > self._deadline:
            raise _Endless(f'did not end within {self._seconds:g} s (--os-placement-timeout)')
        count: int | None = self._stream.readinto(buffer)
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """An answer that ends by a deadline, its headers included, however slowly its parts come."""

    def __init__(self, sock: Any, *args: Any, **settings: Any) -> None:
        super().__init__(sock, *args, **settings)
        if seconds := sock.gettimeout():
            stream = _TimedStream(self.fp.detach(), seconds * PARTS)
            self.fp = io.BufferedReader(stream)


def _timed(pool: Any) -> Any:
    """Return a class of pools whose connections have timed responses."""
    kind = type('_TimedConnection', (pool.ConnectionCls,), {'response_class': _TimedResponse})
    return type('_TimedPool', (pool,), {'ConnectionCls': kind})


_POOLS = {scheme: _timed(pool) for scheme, pool in poolmanager.pool_classes_by_scheme.items()}


def _configure(manager: PoolManager) -> None:
    """Give the connections of a manager the limits, except those through SOCKS."""
    if manager.pool_classes_by_scheme == poolmanager.pool_classes_by_scheme:
        # Connections that a test intercepts stay as they are.
        if connectionpool.HTTPConnectionPool.ConnectionCls is connection.HTTPConnection:
            manager.pool_classes_by_scheme = _POOLS
        manager.connection_pool_kw['maxsize'] = CONNECTIONS
        # Drop its earlier connections.
        manager.clear()
