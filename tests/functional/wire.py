# SPDX-License-Identifier: Apache-2.0
"""A proxy with real sockets that does to a request what networks and load balancers do."""

import re
import socket
import socketserver
import struct
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

#: How much of an answer arrives where it is cut in its headers.
CUT = 30


class Wire(socketserver.ThreadingTCPServer):
    """A proxy in front of a service; every request has a connection of its own.

    :param service_url: where the service answers
    :ivar url: where the proxy does
    :ivar patience: how long a slow answer takes, in seconds; longer than anybody waits
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, service_url):
        super().__init__(('127.0.0.1', 0), _Handler)
        self._service = urlsplit(service_url)
        self.url = f'http://127.0.0.1:{self.server_address[1]}'
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._fault: Fault | None = None
        self._is_hit: Callable[[str], bool] = lambda method: False
        self._left = self._before = 0

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={'poll_interval': 0.01}).start()
        return self

    def __exit__(self, *exc_info):
        self.ended.set()
        self.shutdown()
        self.server_close()

    def hit(self, fault, times=1, *, writes=True, after=0):
        """Do that to the next so many writes, or reads, after so many that go through."""
        with self._lock:
            self._fault, self._left, self._before = fault, times, after
            self._is_hit = lambda method: (method != 'GET') is writes

    def fault_of(self, method):
        """What to do to a request, if anything."""
        with self._lock:
            if self._left and self._is_hit(method):
                if self._before:
                    self._before -= 1
                    return None
                self._left -= 1
                return self._fault
        return None

    def forward(self, request):
        """What the service answers."""
        with socket.create_connection((self._service.hostname, self._service.port)) as service:
            service.sendall(request)
            answer = b''
            while piece := service.recv(65536):
                answer += piece
        return answer


class _Handler(socketserver.BaseRequestHandler):
    """One request."""

    server: Wire

    def handle(self):
        request = self._read()
        if not request:
            return
        fault = self.server.fault_of(request.partition(b' ')[0].decode())
        if fault is None:
            self.request.sendall(self.server.forward(request))
        else:
            fault(self.server, request, self.request)

    def _read(self):
        """A request with its body, made the last of its connection."""
        request = b''
        while b'\r\n\r\n' not in request:
            piece = self.request.recv(65536)
            if not piece:
                return b''
            request += piece
        head, _, body = request.partition(b'\r\n\r\n')
        length = re.search(rb'(?i)^content-length: *(\d+)', head, re.MULTILINE)
        while length and len(body) < int(length[1]):
            body += self.request.recv(65536)
        head = re.sub(rb'(?im)^connection:.*\r\n', b'', head)
        return head + b'\r\nConnection: close\r\n\r\n' + body


#: Does something to a request: ``fault(wire, request, socket of the client)``.
Fault = Callable[[Wire, bytes, Any], None]


def _reset(client):
    """Cut a connection so that the other end notices at once."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    client.close()


def cut_before(wire, request, client):
    """The service never sees it."""
    _reset(client)


def cut_after(wire, request, client):
    """The service has carried it out; its answer is lost."""
    wire.forward(request)
    _reset(client)


def cut_in_headers(wire, request, client):
    """A part of the headers arrives."""
    client.sendall(wire.forward(request)[:CUT])


def cut_in_body(wire, request, client):
    """All but the last byte arrives; of an answer without a body, all but its last header."""
    client.sendall(wire.forward(request)[:-1].removesuffix(b'\r\n\r'))


def slow(wire, request, client):
    """The answer comes when nobody waits any more."""
    answer = wire.forward(request)
    wire.ended.wait()
    client.close()
    del answer


def refusing(status, *headers, forwarded=False):
    """What a load balancer answers, with a page; the service may have carried it out."""
    page = b'<html><body>Sorry</body></html>'
    lines = [f'HTTP/1.1 {status}', 'Content-Type: text/html', f'Content-Length: {len(page)}']
    answer = '\r\n'.join([*lines, *headers, 'Connection: close', '', '']).encode() + page

    def fault(wire, request, client):
        if forwarded:
            wire.forward(request)
        client.sendall(answer)

    return fault


def twice(wire, request, client):
    """It is sent twice, and the second answer is given back."""
    wire.forward(request)
    client.sendall(wire.forward(request))


FAULTS: dict[str, Fault] = {
    'cut before it is forwarded': cut_before,
    'cut before the answer': cut_after,
    'cut in the headers': cut_in_headers,
    'cut in the answer': cut_in_body,
    'slow': slow,
    '429 with Retry-After': refusing('429 Too Many Requests', 'Retry-After: 3'),
    '503 with Retry-After': refusing('503 Service Unavailable', 'Retry-After: 86400'),
    '502 with a page': refusing('502 Bad Gateway'),
    '504 with a page': refusing('504 Gateway Timeout', forwarded=True),
    '404 with a page': refusing('404 Not Found'),
    'sent twice': twice,
}
