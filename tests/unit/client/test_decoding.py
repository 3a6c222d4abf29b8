"""What becomes of a response."""

from __future__ import annotations

import pytest

from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from tests.unit.conftest import Service
from tests.unit.dialogue import MONDAY, NOTHING, Reply


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


@pytest.mark.parametrize('endpoint', [each for each in endpoints.ALL if not each.silent], ids=str)
@pytest.mark.parametrize('body', [{}, {'hello': 1}])
def test_the_json_of_something_else_is_no_answer(
    client: Client, service: Service, endpoint: endpoints.Endpoint, body: object
) -> None:
    service.answer(Reply(200, body))
    parts = dict.fromkeys(('provider', 'resource_class', 'trait', 'consumer'), 'x')
    with pytest.raises(errors.InvalidAnswer, match='was answered with something else') as refusal:
        client.send(endpoint, parts)
    assert refusal.value.may_be_done == (not endpoint.is_read)


@pytest.mark.parametrize('status', [300, 302, 304])
def test_a_redirection_to_nowhere_is_not_taken_for_done(
    client: Client, service: Service, status: int
) -> None:
    service.answer(Reply(status))
    with pytest.raises(errors.InvalidAnswer, match=f'^DELETE /traits/CUSTOM_X .* HTTP {status} '):
        client.send(endpoints.DELETE_TRAIT, {'trait': 'CUSTOM_X'})
    assert [request.line for request in service.requests] == ['DELETE /traits/CUSTOM_X']


@pytest.mark.parametrize('status', [201, 204])
def test_an_empty_success_that_the_service_has_not_signed_is_none(
    client: Client, service: Service, status: int
) -> None:
    service.answer(Reply(status, is_signed=False))
    with pytest.raises(errors.Unreachable, match='and nothing else') as refusal:
        client.send(endpoints.CREATE_TRAIT, {'trait': 'CUSTOM_X'})
    assert refusal.value.may_be_done
