# SPDX-License-Identifier: Apache-2.0
"""The client: how the microversion is settled, without asking where that is not needed."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.client.microversion import HIGHEST, Microversion
from tests.unit.dialogue import (
    NOTHING,
    Reply,
    Sent,
    fault,
    get,
    put,
    unacceptable,
    version_document,
)

LIST = get('/traits', {'traits': []})
V20 = Microversion(1, 20)


def at(session, minor=None):
    return Client(session, None if minor is None else Microversion(1, minor))


def lines(service):
    return [f'{request.version} {request.line}' for request in service.requests]


def test_the_highest_version_is_tried_first_where_none_is_chosen(client, service):
    service.answer(LIST, LIST)
    assert client.assumed_microversion == HIGHEST
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert client.microversion == HIGHEST
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert lines(service) == ['1.39 GET /traits'] * 2


@pytest.mark.parametrize('minor', [0, 6, 39])
def test_a_version_that_was_chosen_is_used_as_it_is(session, service, minor):
    service.answer(get('/resource_providers', {'resource_providers': []}))
    client = at(session, minor)
    client.send(endpoints.LIST_PROVIDERS, answer=dict)
    assert lines(service) == [f'1.{minor} GET /resource_providers']
    assert client.microversion == client.assumed_microversion == (1, minor)


@pytest.mark.parametrize(
    ('highest', 'settled'), [('1.20', '1.20'), ('1.38', '1.38'), ('1.39', '1.39'), ('1.99', '1.39')]
)
def test_the_negotiated_version_is_asked_for_once(client, service, highest, settled):
    service.answer(version_document(highest))
    assert str(client.microversion) == str(client.microversion) == settled
    assert lines(service) == ['None GET /']


def test_after_a_refusal_the_request_is_sent_once_more_at_the_highest_common_version(
    client, service
):
    write = put('/traits/CUSTOM_X', answer=NOTHING)
    service.answer(unacceptable(write), version_document('1.20'), write, LIST)
    client.send(endpoints.CREATE_TRAIT, trait='CUSTOM_X')
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert lines(service) == [
        '1.39 PUT /traits/CUSTOM_X',
        'None GET /',
        '1.20 PUT /traits/CUSTOM_X',
        '1.20 GET /traits',
    ]
    assert client.microversion == V20


def test_query_and_body_survive_the_negotiation(client, service):
    service.answer(fault(406, 'No'), version_document('1.20'), NOTHING)
    client.send(endpoints.REPLACE_ALLOCATIONS, query={'x': ['1', '2']}, body={'a': 1})
    first, _, second = service.requests
    assert first == Sent('POST /allocations?x=1&x=2', '1.39', {'a': 1})
    assert second == Sent('POST /allocations?x=1&x=2', '1.20', {'a': 1})


def test_a_chosen_version_that_the_service_lacks_is_an_error_with_its_versions(session, service):
    service.answer(fault(406, 'No'), version_document('1.20'))
    with pytest.raises(errors.UnsupportedVersion) as refusal:
        at(session, 30).send(endpoints.LIST_TRAITS, answer=dict)
    assert str(refusal.value) == 'The service supports microversions 1.0 to 1.20, not 1.30'
    assert lines(service) == ['1.30 GET /traits', 'None GET /']


def test_a_service_that_refuses_every_version_is_an_error(client, service):
    service.answer(fault(406, 'No'), version_document('1.39'), fault(406, 'No'))
    with pytest.raises(errors.UnsupportedVersion):
        client.send(endpoints.LIST_TRAITS, answer=dict)
    assert lines(service) == ['1.39 GET /traits', 'None GET /', '1.39 GET /traits']


@pytest.mark.parametrize(('highest', 'sent_at'), [('1.19', '1.19'), ('1.39', '1.20')])
def test_the_version_of_one_request_is_lowered_only_for_an_older_service(
    client, service, highest, sent_at
):
    service.answer(fault(406, 'No'), version_document(highest), LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict, version=V20)
    assert lines(service) == ['1.20 GET /traits', 'None GET /', f'{sent_at} GET /traits']


@pytest.mark.parametrize('version', [None, Microversion(1, 37)], ids=['assumed', 'of its own'])
def test_requests_that_are_refused_together_are_all_repeated_at_the_settled_version(serve, version):
    both_are_sent, is_settled = threading.Barrier(2), threading.Event()

    def answer(request, connection):
        status, body = '200 OK', {'traits': []}
        if request.startswith(b'GET / '):
            body = {'versions': [{'min_version': '1.0', 'max_version': '1.36'}]}
        elif b'placement 1.36' in request:
            is_settled.set()
        else:
            if both_are_sent.wait(20):  # the later refusal
                is_settled.wait(20)
            status, body = '406 Not Acceptable', {'errors': [{'status': 406, 'detail': 'No'}]}
        head = f'HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n'
        connection.sendall(head.encode() + json.dumps(body).encode())

    client = Client(Session(Token(serve(answer).url, 'a-token')))
    with ThreadPoolExecutor(2) as pool:
        requests = [
            pool.submit(client.send, endpoints.LIST_TRAITS, answer=dict, version=version)
            for _ in range(2)
        ]
        assert [request.result().body for request in requests] == [{'traits': []}] * 2
    assert client.microversion == (1, 36)


def test_the_version_of_one_request_is_not_above_the_negotiated_one(client, service):
    service.answer(fault(406, 'No'), version_document('1.36'), LIST, LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    client.send(endpoints.LIST_TRAITS, answer=dict, version=Microversion(1, 37))
    assert lines(service)[2:] == ['1.36 GET /traits'] * 2


GARBAGE = {
    'nothing': Reply(200),
    'HTML': Reply(200, '<html>'),
    'the document of another service': Reply(200, {'versions': {'values': []}}),
}


@pytest.mark.parametrize('garbage', GARBAGE.values(), ids=GARBAGE)
def test_a_malformed_version_document_is_an_error(client, service, garbage):
    service.answer(fault(406, 'No'), garbage)
    with pytest.raises(errors.InvalidAnswer, match=r'the service that answers is not Placement$'):
        client.send(endpoints.LIST_TRAITS, answer=dict)
    assert lines(service) == ['1.39 GET /traits', 'None GET /']


@pytest.mark.parametrize('garbage', [*GARBAGE.values(), Reply(502, '<html>')])
def test_a_refused_version_without_a_version_document_prints_the_refusal(session, service, garbage):
    service.answer(fault(406, 'Unacceptable version header: 1.30'), garbage)
    with pytest.raises(
        errors.NotAcceptable, match=r'^Unacceptable version header: 1.30 \(HTTP 406'
    ):
        at(session, 30).send(endpoints.LIST_TRAITS, answer=dict)


def test_a_406_of_a_proxy_is_an_error(client, service):
    service.answer(Reply(406, '<html>', reason='Not Acceptable'))
    with pytest.raises(errors.ForeignAnswer, match=r'^Not Acceptable: .*\(HTTP 406\)$'):
        client.send(endpoints.LIST_TRAITS, answer=dict)
