# SPDX-License-Identifier: Apache-2.0
"""What is said where there is no connection: by real sockets, as nobody mocks what they say."""

import socket
import threading

import pytest
from keystoneauth1.identity import Password
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from placementclient.basis.errors import PlacementError
from placementclient.client import endpoints, errors, unreachable
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.client.sent_changes import SentChange
from tests.unit.client.servers import sends


@pytest.fixture(autouse=True)
def _without_proxies(monkeypatch):
    monkeypatch.setenv('NO_PROXY', '*')


@pytest.fixture
def listening():
    """What accepts connections, and says nothing."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server


UNKNOWN = '; it is unknown whether it was done'


def port(server):
    number: int = server.getsockname()[1]
    return number


def refused_port():
    with socket.create_server(('127.0.0.1', 0)) as server:
        return port(server)


def message(url, timeout=5, auth=None, endpoint=endpoints.LIST_TRAITS):
    """What is said of a request that is not answered."""
    client = Client(Session(auth or Token(url, 'a-token')), HIGHEST, timeout=timeout, max_retries=0)
    with pytest.raises(PlacementError) as raised:
        client.send(endpoint)
    return str(raised.value)


@pytest.mark.parametrize(
    ('argv', 'variables', 'source'),
    [
        (['--os-endpoint', 'http://a:1/x'], {'OS_AUTH_URL': 'http://a:1'}, '--os-endpoint'),
        (['--os-auth-url=http://a:1'], {}, '--os-auth-url'),
        (['--os-auth-url=http://b'], {'OS_AUTH_URL': 'http://a:1/v3'}, 'OS_AUTH_URL'),
        (['--os-cloud', 'lab'], {}, 'clouds.yaml or the service catalog'),
        ([], {'OS_CLOUD': 'x', 'OS_CLIENT_CONFIG_FILE': 'f'}, 'f or the service catalog'),
        (['trait', 'list'], {'HOME': 'http://a:1'}, 'the service catalog'),
    ],
)
def test_an_error_names_the_source_of_the_url(argv, variables, source):
    assert unreachable.describe_url_source('http://a:1/traits', argv, variables) == source
    assert unreachable.describe_url_source('a:1/traits', argv, variables) == source


def test_a_refused_connection_is_an_error_with_the_url():
    where = f'127.0.0.1:{refused_port()}'
    sentence = f'No answer from http://{where}: Connection refused'
    # Nothing was done without a connection.
    for endpoint in (endpoints.LIST_TRAITS, endpoints.CREATE_CLASS):
        assert message(f'http://user:secret@{where}/placement', endpoint=endpoint) == sentence
    keystone = Password(f'http://{where}', username='u', password='p', project_name='p')
    assert message('', auth=keystone, endpoint=endpoints.CREATE_CLASS) == sentence


def test_a_host_name_that_does_not_resolve_is_an_error():
    assert message('http://nowhere.invalid:8778').startswith(
        'No answer from http://nowhere.invalid:8778: '
    )
    assert 'HTTPConnection' not in message('http://nowhere.invalid:8778')


def test_a_timeout_is_an_error(listening):
    where = f'http://127.0.0.1:{port(listening)}'
    assert message(where, timeout=0.05) == f'No answer from {where} in time'


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        (b'', 'Remote end closed connection without response'),
        (b'SSH-2.0-OpenSSH\r\n', 'SSH-2.0-OpenSSH'),
        (b'x' * 60_000 + b'\r\n', f'{"x" * 200}…'),
    ],
)
def test_an_answer_that_is_no_http_is_an_error(serve, answer, reason):
    url = serve(sends(answer)).url
    assert message(url) == f'No answer from {url}: {reason}'


@pytest.mark.parametrize(
    ('headers', 'body'),
    [
        (b'Content-Length: 5000', b'x' * 27),
        (b'Transfer-Encoding: chunked', b'5\r\nhello\r\n'),
        (b'Content-Encoding: gzip\r\nContent-Length: 5', b'hello'),
    ],
)
def test_an_answer_that_breaks_off_is_an_error(serve, headers, body):
    url = serve(sends(b'HTTP/1.1 200 OK\r\n', headers, b'\r\n\r\n', body)).url
    for endpoint, end in ((endpoints.LIST_TRAITS, ''), (endpoints.CREATE_CLASS, UNKNOWN)):
        sentence = f'The answer from {url} is damaged or not complete{end}'
        assert message(url, endpoint=endpoint) == sentence


@pytest.mark.parametrize(
    'url',
    ['ftp://cloud.test', 'a:b@cloud.test:8778', 'cloud.test', 'http://', 'http://a b', 'http://['],
)
def test_a_malformed_url_is_refused_without_a_retry(url, monkeypatch):
    rule = 'begins with https:// or http://|^cloud.test.*/.* has no http:// or https:// before it'
    client = Client(Session(Token(url, 'a-token')), HIGHEST)
    monkeypatch.setattr('time.sleep', lambda seconds: pytest.fail('no retry helps'))
    for endpoint in (endpoints.LIST_TRAITS, endpoints.CREATE_CLASS):
        with pytest.raises(errors.NotSent, match=rule) as raised:
            client.send(endpoint)
        assert not raised.value.may_be_done


def test_a_lost_answer_is_not_explained_by_an_earlier_refused_connection(serve):
    try:
        Client(
            Session(Token(f'http://127.0.0.1:{refused_port()}', 'x')), max_retries=0
        ).read_version_range()
    except errors.NoConnection:
        url = serve(sends(b'')).url
        assert message(url, endpoint=endpoints.CREATE_CLASS).endswith(UNKNOWN)


@pytest.mark.parametrize('location', ['http://127.0.0.1:1/', 'ftp://cloud.test/'])
def test_a_redirected_write_has_an_unknown_outcome(serve, location):
    answer = f'HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n'
    url = serve(sends(answer.encode())).url
    assert message(url, endpoint=endpoints.CREATE_CLASS).endswith(UNKNOWN)


def test_a_write_is_retried_until_there_is_a_connection(monkeypatch):
    number = refused_port()
    started: list[socket.socket] = []

    def start(seconds):
        started.append(socket.create_server(('127.0.0.1', number)))
        threading.Thread(target=serve).start()

    def serve():
        connection, _ = started[0].accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b'HTTP/1.1 204 X\r\nx-openstack-request-id: 1\r\n\r\n')

    monkeypatch.setattr('time.sleep', start)
    client = Client(Session(Token(f'http://127.0.0.1:{number}', 'a-token')), HIGHEST)
    client.send(endpoints.DELETE_TRAIT, trait='CUSTOM_X')
    assert client.last_change == SentChange('DELETE /traits/CUSTOM_X', is_done=True)
    started[0].close()


def test_https_to_a_service_without_tls_is_an_error(listening):
    where = f'https://127.0.0.1:{port(listening)}'
    threading.Thread(
        target=lambda: listening.accept()[0].sendall(b'HTTP/1.1 400 X\r\n\r\n')
    ).start()
    assert message(where).startswith(f'No secure connection to {where}: ')
