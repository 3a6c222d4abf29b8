# SPDX-License-Identifier: Apache-2.0
"""The limits on every request of the client, to Keystone and all other services.

A request stays at its origin, and its answer has a size and an end. It passes, from the outside in:

* :class:`BoundedTransport`, which follows redirects and reads the whole answer;
* ``HTTPAdapter`` of requests, and a pool of urllib3 whose connections make a
  :class:`_TimedResponse`: its headers and its body come through a :class:`_TimedStream`, which ends
  at a deadline;
* on the way back :class:`_BoundedBody`, which counts the bytes that urllib3 has decompressed.
"""

from __future__ import annotations

import copy
import functools
import io
import socket
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from typing import TYPE_CHECKING

import requests
from requests import adapters, utils
from urllib3 import BaseHTTPResponse, PoolManager, connection, connectionpool, poolmanager

from placementclient.basis.printable import cut_text
from placementclient.basis.wording import mask_credentials
from placementclient.client import errors

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from keystoneauth1.session import Session

#: The default timeout for each next part of an answer, in seconds.
TIMEOUT = 60.0
#: How many times as long as one part the whole answer may take.
MOST_PARTS = 10
#: The most redirects of a request.
MOST_REDIRECTS = 5
#: How many characters of the target of a redirect are shown.
_LONGEST_TARGET = 200
#: The most connections that are kept open to a server. By default requests keeps 10: with more
#: workers, many a request would begin with a new connection.
CONNECTIONS = 1000


def limit_session(session: Session, answer_limit: int) -> Session:
    """Return a copy of a session that limits size, duration and redirects of each answer.

    It has the same connections and token. A session with such limits is returned as it is.
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
    """An adapter of requests that limits size, duration and redirects of each answer."""

    def __init__(self, adapter: adapters.BaseAdapter, answer_limit: int) -> None:
        super().__init__()
        self._adapter, self._answer_limit = adapter, answer_limit
        if isinstance(adapter, adapters.HTTPAdapter):
            _limit_connections(adapter.poolmanager)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: float | tuple[float | None, float | None] | None = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
        proxies: dict[str, str] | None = None,
    ) -> requests.Response:
        """Send a request and read the answer; follow redirects of reads to the same origin."""
        send = functools.partial(
            self._adapter.send,
            stream=stream,
            timeout=timeout or TIMEOUT,
            verify=verify,
            cert=cert,
            proxies=proxies,
        )
        for _ in range(MOST_REDIRECTS + 1):
            self._limit_proxy(request, proxies)
            response = self._send_and_read(request, send)
            target = response.headers.get('location')
            if target is None or not 300 <= response.status_code < 400:
                return response
            request = _make_redirected_request(request, target)
        raise errors.InvalidAnswer(f'{_describe_request(request)} was redirected again and again')

    def _send_and_read(
        self,
        request: requests.PreparedRequest,
        send: Callable[[requests.PreparedRequest], requests.Response],
    ) -> requests.Response:
        """Send a request and read its whole answer; refuse one that is too large or too slow."""
        try:
            response = send(request)
            response.raw = _BoundedBody(response.raw, self._answer_limit)
            _read_body(request, response)
        except requests.RequestException:
            raise
        except ValueError as reason:
            # Of http.client, for a part of an answer with a negative length.
            raise errors.InvalidAnswer(
                f'The answer to {_describe_request(request)} is damaged: '
                'expected parts of a length from 0 on'
            ) from reason
        except _LimitExceeded as reason:
            raise errors.InvalidAnswer(
                f'The answer to {_describe_request(request)} {reason}'
            ) from None
        return response

    def _limit_proxy(
        self, request: requests.PreparedRequest, proxies: dict[str, str] | None
    ) -> None:
        """Limit the answers that come through the proxy of a request, if it has one."""
        proxy = proxies and utils.select_proxy(str(request.url), proxies)
        if proxy and isinstance(self._adapter, adapters.HTTPAdapter):
            url = utils.prepend_scheme_if_needed(proxy, 'http')
            _limit_connections(self._adapter.proxy_manager_for(url))

    def close(self) -> None:
        self._adapter.close()


def _read_body(request: requests.PreparedRequest, response: requests.Response) -> None:
    """Read the whole body of an answer into memory; if that fails, close the connection.

    An error of requests gets the answer as its ``response``: part of it has come.
    """
    try:
        response.content  # noqa: B018 - the property reads it
    except BaseException as failure:
        response.close()
        if isinstance(failure, requests.RequestException):
            failure.request, failure.response = request, response
        raise


def _make_redirected_request(
    request: requests.PreparedRequest, location: str
) -> requests.PreparedRequest:
    """Return the request for the target of a redirect; refuse another origin, and a write."""
    url = str(request.url)
    try:
        target = urllib.parse.urljoin(url, location)
        is_within = _parse_origin(target) == _parse_origin(url)
    except ValueError:
        target, is_within = location, False
    if request.method != 'GET' or not is_within:
        shown = cut_text(mask_credentials(target), _LONGEST_TARGET)
        raise errors.InvalidAnswer(
            f'{_describe_request(request)} was redirected to {shown}, and was not sent there: '
            'correct the URL of the service in the catalog or in your settings'
        )
    redirected = request.copy()
    redirected.prepare_url(target, None)
    return redirected


def _parse_origin(url: str) -> tuple[str, str | None, int]:
    """Return the scheme, the host and the port of a URL."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {'https': 443}.get(parts.scheme, 80)


def _describe_request(request: requests.PreparedRequest) -> str:
    """Return the method and the URL of a request, without its query and a password."""
    url = urllib.parse.urlsplit(str(request.url))
    return f'{request.method} {url.scheme}://{url.netloc.rpartition("@")[2]}{url.path}'


class _LimitExceeded(Exception):
    """An answer is larger or slower than it may be."""


class _BoundedBody:
    """The body of an answer that is being read, up to a number of decompressed bytes."""

    def __init__(self, body: BaseHTTPResponse, limit: int) -> None:
        self._body, self._limit = body, limit

    def stream(self, size: int, decode_content: bool | None = None) -> Iterator[bytes]:
        """Yield parts of the body; raise :class:`_LimitExceeded` after too many bytes."""
        left = self._limit
        for part in self._body.stream(size, decode_content=decode_content):
            left -= len(part)
            if left < 0:
                raise _LimitExceeded(
                    f'has more than {self._limit >> 20} MiB (--os-placement-answer-limit)'
                )
            yield part

    def __getattr__(self, name: str) -> object:
        return getattr(self._body, name)


class _TimedStream(io.RawIOBase):
    """The bytes of the stream of a socket, for some seconds from the creation of the object.

    A read that begins later raises :class:`_LimitExceeded`.
    """

    def __init__(self, stream: io.RawIOBase, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if time.monotonic() > self._deadline:
            raise _LimitExceeded(f'did not end within {self._seconds:g} s (--os-placement-timeout)')
        count: int | None = self._stream.readinto(buffer)
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """An answer that ends by a deadline, its headers included, however slowly its parts come."""

    def __init__(
        self,
        sock: socket.socket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        if seconds := sock.gettimeout():
            stream = _TimedStream(self.fp.detach(), seconds * MOST_PARTS)
            self.fp = io.BufferedReader(stream)


def _make_timed_pool_class(
    pool: type[connectionpool.HTTPConnectionPool],
) -> type[connectionpool.HTTPConnectionPool]:
    """Return a class of pools of urllib3 whose connections make timed responses."""
    timed = type('_TimedConnection', (pool.ConnectionCls,), {'response_class': _TimedResponse})
    return type('_TimedPool', (pool,), {'ConnectionCls': timed})


#: The classes of pools for ``http`` and ``https``.
_TIMED_POOLS = {
    scheme: _make_timed_pool_class(pool)
    for scheme, pool in poolmanager.pool_classes_by_scheme.items()
}


def _limit_connections(manager: PoolManager) -> None:
    """Limit the duration of answers on a manager's connections if these are urllib3's own.

    Those through SOCKS have classes of their own. A program that puts another class in place of
    urllib3's, to reach a service without a socket (as wsgi-intercept does), keeps that one.
    """
    if manager.pool_classes_by_scheme != poolmanager.pool_classes_by_scheme:
        return
    if connectionpool.HTTPConnectionPool.ConnectionCls is connection.HTTPConnection:
        manager.pool_classes_by_scheme = _TIMED_POOLS
    manager.connection_pool_kw['maxsize'] = CONNECTIONS
    # Drop its earlier connections.
    manager.clear()
