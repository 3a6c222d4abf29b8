# SPDX-License-Identifier: Apache-2.0
"""The rules for requests and answers: by real sockets, as nobody mocks what they do."""

import gzip
import itertools
import threading

import pytest
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from placementclient.client import endpoints, errors, transport
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST
from placementclient.nova import service as nova
from tests.deadline import ends_within
from tests.unit.client.servers import sends

BODY = b'{"traits": []}'


def response(status, *headers, body=b''):
    lines = [f'HTTP/1.1 {status}', *headers, f'Content-Length: {len(body)}', 'Connection: close']
    return '\r\n'.join([*lines, '', '']).encode() + body


def client_of(url, **settings):
    return Client(Session(Token(url, 'a-token')), HIGHEST, **settings)


STATUSES = (301, 302, 303, 305, 307, 308)


@pytest.mark.parametrize('status', STATUSES)
@pytest.mark.parametrize(
    'endpoint', [endpoints.LIST_TRAITS, endpoints.CREATE_CLASS, endpoints.DELETE_TRAIT], ids=str
)
def test_a_token_never_leaves_its_origin(serve, monkeypatch, status, endpoint):
    other = serve(sends(response('200 OK', body=BODY)))
    target = f'Location: {other.url}/elsewhere'
    server = serve(sends(response(f'{status} Moved', target)))
    monkeypatch.setattr('time.sleep', lambda seconds: pytest.fail('no retry helps'))
    parts = {'trait': 'CUSTOM_X'} if endpoint is endpoints.DELETE_TRAIT else {}
    with pytest.raises(errors.InvalidAnswer) as raised:
        client_of(server.url).send(endpoint, answer=dict, body={'secret': 1}, **parts)
    assert f'was redirected to {other.url}/elsewhere, and was not sent there' in str(raised.value)
    assert (len(server.requests), other.requests) == (1, [])


@pytest.mark.parametrize(
    'location',
    ['http://user:secret@[/', '//other.test/x', 'ftp://other.test', 'http://other.test/\x1b[2J'],
)
def test_a_redirect_to_no_url_is_an_error(serve, location):
    server = serve(sends(response('302 Found', f'Location: {location}')))
    with pytest.raises(errors.InvalidAnswer, match='was redirected to ') as raised:
        client_of(server.url).send(endpoints.LIST_TRAITS, answer=dict)
    assert 'secret' not in str(raised.value)
    assert '\x1b' not in str(raised.value)


def test_a_password_never_leaves_the_origin_of_keystone(serve):
    other = serve(sends(response('200 OK', body=b'{}')))

    def answer(request, client):
        if request.startswith(b'POST'):
            client.sendall(response('307 Moved', f'Location: {other.url}/v3/auth/tokens'))
        versions = b'{"version": {"id": "v3.14", "status": "stable", "links": []}}'
        client.sendall(response('200 OK', body=versions))

    keystone = serve(answer)
    auth = Password(
        f'{keystone.url}/v3', username='u', password='secret', user_domain_id='d', project_id='p'
    )
    with pytest.raises(errors.InvalidAnswer, match=f'was redirected to {other.url}/v3/auth/tokens'):
        Client(Session(auth), HIGHEST).send(endpoints.CREATE_CLASS, body={'name': 'x'})
    assert other.requests == []


class Catalog(Token):
    """A catalog with one URL for all services."""

    get_access = Token.get_token


def test_a_token_for_another_service_never_leaves_its_origin(serve):
    other = serve(sends(response('200 OK', body=b'{"servers": []}')))
    compute = serve(sends(response('301 Moved', f'Location: {other.url}/')))
    client = Client(Session(Catalog(compute.url, 'a-token')), HIGHEST)
    with pytest.raises(nova.ServiceError, match='was redirected to '):
        nova.servers(client)
    assert other.requests == []


@pytest.mark.parametrize('location', ['/placement/traits', '{}/placement/traits'])
def test_a_read_is_redirected_within_its_origin(serve, location):
    def answer(request, client):
        to = f'Location: {location.format(server.url)}'
        moved = not request.startswith(b'GET /placement')
        client.sendall(response('308 X', to) if moved else response('200 OK', body=BODY))

    server = serve(answer)
    client = client_of(server.url)
    assert client.send(endpoints.LIST_TRAITS, answer=dict).body == {'traits': []}
    assert all(b'X-Auth-Token: a-token' in request for request in server.requests)
    with pytest.raises(errors.InvalidAnswer, match=f'was redirected to {server.url}/placement'):
        client.send(endpoints.CREATE_CLASS, body={})
    assert [request.split(b' ', 2)[1] for request in server.requests] == [
        b'/traits',
        b'/placement/traits',
        b'/resource_classes',
    ]


def test_endless_redirects_are_an_error(serve):
    server = serve(sends(response('302 Found', 'Location: /traits')))
    with pytest.raises(errors.InvalidAnswer, match='was redirected again and again'):
        client_of(server.url).send(endpoints.LIST_TRAITS, answer=dict)
    assert len(server.requests) == transport.MOST_REDIRECTS + 1


CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'


def endless(request, client):
    client.sendall(CHUNKED)
    while True:
        client.sendall(b'400\r\n' + b' ' * 1024 + b'\r\n')


def bomb(*codings):
    content = b' ' * (1 << 24)
    for _ in codings:
        content = gzip.compress(content)
    return sends(response('200 OK', f'Content-Encoding: {", ".join(codings)}', body=content))


@pytest.mark.parametrize('answer', [endless, bomb('gzip'), bomb('gzip', 'gzip')])
def test_an_answer_above_the_size_limit_is_an_error(serve, answer):
    server = serve(answer)
    refusal = f'The answer to GET {server.url}/traits has more than'
    with ends_within(20), pytest.raises(errors.InvalidAnswer, match=refusal):
        client_of(server.url, answer_limit=1 << 20).send(endpoints.LIST_TRAITS, answer=dict)
    assert len(server.requests) == 1


def test_a_chunk_of_negative_length_is_an_error_of_the_answer(serve):
    server = serve(sends(CHUNKED + b'-5\r\nhello\r\n0\r\n\r\n'))
    with pytest.raises(errors.InvalidAnswer, match='expected parts of a length from 0 on'):
        client_of(server.url, max_retries=0).send(endpoints.LIST_TRAITS, answer=dict)


def slowly(*parts):
    """Answer with some bytes at once, and without end one more each moment."""

    def answer(request, client):
        for part in itertools.chain(parts, itertools.repeat(b'1')):
            client.sendall(part)
            if part == b'1':
                threading.Event().wait(0.02)

    return answer


@pytest.mark.parametrize(
    'answer',
    [
        slowly(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n'),
        slowly(CHUNKED + b'FFFF\r\n'),
        slowly(b'HTTP/1.1 200 OK\r\nX: '),
        slowly(),
    ],
    ids=['body', 'chunk', 'header', 'status'],
)
@pytest.mark.parametrize('has_proxy', [False, True])
def test_an_answer_that_never_ends_is_an_error(serve, monkeypatch, answer, has_proxy):
    server = serve(answer)
    url = server.url
    if has_proxy:
        monkeypatch.setenv('NO_PROXY', '')
        monkeypatch.setenv('http_proxy', url)
        url = 'http://cloud.test'
    monkeypatch.setattr(transport, 'MOST_PARTS', 0.1)
    with ends_within(20), pytest.raises(errors.InvalidAnswer, match=r'did not end within 1 s'):
        client_of(url, timeout=10).send(endpoints.LIST_TRAITS, answer=dict)
    assert len(server.requests) == 1


def test_a_session_of_another_program_is_not_changed(serve):
    session = Session(Token('http://cloud.test', 'a-token'))
    adapters = dict(session.session.adapters)
    client = Client(session)
    assert (session.redirect, dict(session.session.adapters)) == (30, adapters)
    assert client.session.auth is session.auth
