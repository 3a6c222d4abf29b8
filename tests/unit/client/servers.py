# SPDX-License-Identifier: Apache-2.0
"""Servers of real sockets, as nobody mocks what they say."""

import socketserver
from contextlib import suppress


class Server(socketserver.ThreadingTCPServer):
    """A server that answers each request by a function.

    :param answer: gets the request and the socket
    :ivar requests: as they came
    """

    daemon_threads = True

    def __init__(self, answer):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.answer, self.requests = answer, list[bytes]()
        self.url = f'http://127.0.0.1:{self.server_address[1]}'


class _Handler(socketserver.BaseRequestHandler):
    server: Server

    def handle(self):
        request = b''
        while b'\r\n\r\n' not in request and (piece := self.request.recv(65536)):
            request += piece
        self.server.requests.append(request)
        with suppress(OSError):
            self.server.answer(request, self.request)


def sends(*parts):
    """Answer every request so."""
    return lambda _, client: client.sendall(b''.join(parts))
