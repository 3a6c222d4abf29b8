"""The client: what a request is made of, and what becomes of the answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from keystoneauth1.exceptions import ConnectFailure
from keystoneauth1.session import Session
from requests import exceptions

from placementclient import endpoints, errors
from placementclient.http import Client
from placementclient.microversion import Microversion
from tests.unit.conftest import Service
from tests.unit.dialogue import (
    MONDAY,
    NOTHING,
    URL,
    Reply,
    fault,
    get,
)

LIST = get('/traits', {'traits': []})
V20 = Microversion(1, 20)


def at(session: Session, minor: int | None = None) -> Client:
    return Client(session, None if minor is None else Microversion(1, minor))


def lines(service: Service) -> list[str]:
    return [f'{request.version} {request.line}' for request in service.requests]


# What a request is made of


def test_a_request_carries_token_version_and_who_sends_it(client: Client, service: Service) -> None:
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS)
    headers = service.last.headers
    assert service.last.url == f'{URL}/traits'
    assert headers['X-Auth-Token'] == 'a-token'
    assert headers['OpenStack-API-Version'] == 'placement 1.39'
    assert headers['Accept'] == 'application/json'
    assert headers['User-Agent'].startswith('python-placementclient')
    assert 'Content-Type' not in headers
    assert service.last.body is None


def test_a_body_is_sent_as_json(client: Client, service: Service) -> None:
    service.answer(NOTHING)
    client.send(endpoints.CREATE_CLASS, body={'name': 'é'})
    assert service.last.headers['Content-Type'] == 'application/json'
    assert json.loads(service.last.body) == {'name': 'é'}


@pytest.mark.parametrize('body', [{}, []])
def test_an_empty_body_is_a_body(client: Client, service: Service, body: Any) -> None:
    service.answer(NOTHING)
    client.send(endpoints.REPLACE_ALLOCATIONS, body=body)
    assert json.loads(service.last.body) == body


@pytest.mark.parametrize(
    ('query', 'sent'),
    [
        ({}, ''),
        ({'name': None, 'member_of': []}, ''),
        ({'limit': 0}, '?limit=0'),
        ({'name': 'a&b=c d/é#%'}, '?name=a%26b%3Dc+d%2F%C3%A9%23%25'),
        ({'member_of': ['in:a,b', '!c']}, '?member_of=in%3Aa%2Cb&member_of=%21c'),
        ({'name': ''}, '?name='),
    ],
)
def test_a_query_is_encoded(client: Client, service: Service, query: Any, sent: str) -> None:
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS, query=query)
    assert service.last.url == f'{URL}/traits{sent}'


def test_an_unsafe_part_is_refused_before_anything_is_sent(
    client: Client, service: Service
) -> None:
    with pytest.raises(errors.UnsafePath):
        client.send(endpoints.DELETE_TRAIT, {'trait': '..'})
    assert service.requests == []


# What becomes of the answer


def test_an_answer_is_status_body_and_headers(client: Client, service: Service) -> None:
    service.answer(Reply(201, {'name': 'x'}, {'Last-Modified': MONDAY}))
    answer = client.send(endpoints.SHOW_CLASS, {'resource_class': 'x'})
    assert (answer.status, answer.body, answer.last_modified) == (201, {'name': 'x'}, MONDAY)


def test_an_answer_without_a_body_has_none_of_the_keys(client: Client, service: Service) -> None:
    service.answer(NOTHING)
    answer = client.send(endpoints.DELETE_TRAIT, {'trait': 'x'})
    assert (answer.status, answer.body, answer.last_modified) == (204, {}, None)
    with pytest.raises(errors.InvalidAnswer, match=r"^The answer has no 'traits'"):
        answer.body['traits']


def test_a_key_that_is_missing_deeper_is_told_too(client: Client, service: Service) -> None:
    service.answer(Reply(200, {'resource_classes': [{}]}))
    answer = client.send(endpoints.LIST_CLASSES)
    with pytest.raises(errors.InvalidAnswer, match=r"^The answer has no 'name'"):
        answer.body['resource_classes'][0]['name']


@pytest.mark.parametrize(
    'body', ['<html>', '[]', '5', 'null', '"x"', b'\xff\xfe\xfa', '[' * 100_000]
)
def test_a_success_without_a_json_object_is_no_answer(
    client: Client, service: Service, body: str | bytes
) -> None:
    service.answer(Reply(200, body))
    with pytest.raises(errors.InvalidAnswer) as refusal:
        client.send(endpoints.LIST_TRAITS)
    assert str(refusal.value) == (
        'GET /traits was answered with HTTP 200 but without JSON: '
        'what answers is not a Placement service'
    )


@pytest.mark.parametrize('status', [300, 302, 304])
def test_a_redirection_to_nowhere_is_not_taken_for_done(
    client: Client, service: Service, status: int
) -> None:
    service.answer(Reply(status))
    with pytest.raises(errors.InvalidAnswer, match=f'^DELETE /traits/CUSTOM_X .* HTTP {status} '):
        client.send(endpoints.DELETE_TRAIT, {'trait': 'CUSTOM_X'})
    assert lines(service) == ['1.39 DELETE /traits/CUSTOM_X']


def test_a_refusal_is_raised_and_not_repeated(client: Client, service: Service) -> None:
    service.answer(fault(503, 'Busy'))
    with pytest.raises(errors.ServerError, match=r'^Busy \(HTTP 503\) \[req-1\]$'):
        client.send(endpoints.LIST_TRAITS)
    assert len(service.requests) == 1


def test_a_service_that_cannot_be_reached_is_keystoneauths_error(
    client: Client, service: Service
) -> None:
    service.fail(exceptions.ConnectionError('refused'))
    with pytest.raises(ConnectFailure):
        client.send(endpoints.LIST_TRAITS)


# Where it goes


def test_the_url_is_that_of_the_catalog(client: Client) -> None:
    assert client.url == URL


def test_the_url_can_be_overridden(session: Session, service: Service) -> None:
    client = Client(session, endpoint_override='http://other.test/p')
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS)
    assert client.url == 'http://other.test/p'
    assert service.last.url == 'http://other.test/p/traits'
