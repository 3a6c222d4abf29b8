"""What is said where there is no connection: by real sockets, as nobody mocks what they say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from keystoneauth1.identity import Password
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from placementclient.client import endpoints, errors, unreachable
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('NO_PROXY', '*')


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """What accepts connections, and says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server


def port(server: socket.socket) -> int:
    number: int = server.getsockname()[1]
    return number


def refused_port() -> int:
    with socket.create_server(('127.0.0.1', 0)) as server:
        return port(server)


def said(url: str, timeout: float = 5, auth: object = None) -> str:
    """What is said of a request that is not answered."""
    client = Client(Session(auth or Token(url, 'a-token')), HIGHEST, timeout=timeout, max_retries=0)
    with pytest.raises(errors.PlacementError) as raised:
        client.send(endpoints.LIST_TRAITS)
    return str(raised.value)


def test_a_connection_that_is_refused() -> None:
    where = f'127.0.0.1:{refused_port()}'
    sentence = f'No answer from http://{where}: Connection refused'
    assert said(f'http://user:secret@{where}/placement') == sentence
    keystone = Password(f'http://{where}', username='u', password='p', project_name='p')
    assert said('', auth=keystone) == sentence


def test_a_name_that_nobody_has() -> None:
    assert said('http://nowhere.invalid:8778').startswith(
        'No answer from http://nowhere.invalid:8778: '
    )
    assert 'HTTPConnection' not in said('http://nowhere.invalid:8778')


def test_an_answer_that_does_not_come(listening: socket.socket) -> None:
    where = f'http://127.0.0.1:{port(listening)}'
    assert said(where, timeout=0.05) == f'No answer from {where} in time'


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        (b'', 'Remote end closed connection without response'),
        (b'SSH-2.0-OpenSSH\r\n', 'SSH-2.0-OpenSSH'),
        (b'x' * 60_000 + b'\r\n', 'x' * 200),
    ],
)
def test_an_answer_that_is_none(listening: socket.socket, answer: bytes, reason: str) -> None:
    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    server = threading.Thread(target=serve)
    server.start()
    where = f'http://127.0.0.1:{port(listening)}'
    assert said(where).strip() == f'No answer from {where}: {reason}'
    server.join()


def test_a_service_without_tls(listening: socket.socket) -> None:
    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n')

    server = threading.Thread(target=serve)
    server.start()
    where = f'https://127.0.0.1:{port(listening)}'
    assert said(where).startswith(f'No secure connection to {where}: ')
    assert '_ssl.c' not in said(f'https://127.0.0.1:{refused_port()}')
    server.join()


def test_what_is_nothing_of_a_connection_says_itself() -> None:
    assert unreachable.sentence(ValueError('as it is')) == 'as it is'
