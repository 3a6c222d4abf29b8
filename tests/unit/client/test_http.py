# SPDX-License-Identifier: Apache-2.0
"""The client: what a request is made of, and what becomes of the answer."""

import json
from concurrent.futures import ThreadPoolExecutor

import keystoneauth1.exceptions
import pytest
from requests import exceptions

from placementclient.basis.errors import BadArgument, PlacementError
from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.client.sent_changes import SentChange
from tests.unit.dialogue import NOTHING, URL, Reply, fault, get

LIST = get('/traits', {'traits': []})
# What a request is made of


def test_a_request_carries_token_version_and_who_sends_it(client, service):
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    headers = service.last.headers
    assert service.last.url == f'{URL}/traits'
    assert headers['X-Auth-Token'] == 'a-token'
    assert headers['OpenStack-API-Version'] == 'placement 1.39'
    assert headers['Accept'] == 'application/json'
    assert headers['User-Agent'].startswith('python-placementclient')
    assert 'Content-Type' not in headers
    assert service.last.body is None


def test_a_body_is_sent_as_json(client, service):
    service.answer(NOTHING)
    client.send(endpoints.CREATE_CLASS, body={'name': 'é'})
    assert service.last.headers['Content-Type'] == 'application/json'
    assert json.loads(service.last.body) == {'name': 'é'}


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
def test_a_query_is_encoded(client, service, query, sent):
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict, query=query)
    assert service.last.url == f'{URL}/traits{sent}'


# What is raised where no answer comes


@pytest.mark.parametrize('reply', [Reply(503), Reply(429), Reply(404), Reply(200, '<html>')])
def test_a_write_without_an_answer_is_not_retried_and_has_an_unknown_outcome(
    client, service, reply
):
    service.answer(reply)
    with pytest.raises(errors.NoAnswer) as refusal:
        client.send(endpoints.CREATE_TRAIT, trait='CUSTOM_X')
    assert len(service.requests) == 1
    assert refusal.value.may_be_done


@pytest.mark.parametrize(
    ('failure', 'kind'),
    [
        (exceptions.ConnectionError('refused'), errors.Unreachable),
        (exceptions.ReadTimeout('slow'), errors.Unreachable),
        (exceptions.ChunkedEncodingError('cut'), errors.Unreachable),
        (exceptions.ContentDecodingError('cut'), errors.Unreachable),
        (exceptions.SSLError('certificate'), errors.NoAnswer),
        (keystoneauth1.exceptions.ServiceUnavailable('Keystone'), errors.Unreachable),
        (keystoneauth1.exceptions.Unauthorized('password'), errors.AuthenticationFailed),
        (keystoneauth1.exceptions.EndpointNotFound(), errors.NoEndpoint),
    ],
    ids=repr,
)
def test_errors_of_keystoneauth_become_errors_of_the_client(client, service, failure, kind):
    service.fail(failure)
    with pytest.raises(PlacementError) as raised:
        client.send(endpoints.CREATE_TRAIT, trait='CUSTOM_X')
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ('configured', 'endpoint', 'timeout'),
    [
        (None, endpoints.LIST_TRAITS, 60),
        (None, endpoints.RESHAPE, 600),
        (7.5, endpoints.LIST_TRAITS, 7.5),
        (7.5, endpoints.RESHAPE, 7.5),
    ],
)
def test_each_request_has_a_timeout(session, service, configured, endpoint, timeout):
    service.answer(LIST if endpoint.is_read else NOTHING)
    answer, body = (dict, None) if endpoint.is_read else (None, {})
    Client(session, timeout=configured).send(endpoint, answer=answer, body=body)
    assert service.last.timeout == timeout


# The last change


def test_the_last_change_is_that_of_another_thread_if_one_was_refused(client, service, monkeypatch):
    """The second worker's change is done between the sending and the refusal of the first's."""
    service.answer(NOTHING, fault(404, 'No such trait'))
    send, done = Client._send_once, ThreadPoolExecutor(1)

    def interrupted(self, endpoint, path, *rest):
        if path.endswith('CUSTOM_A'):
            done.submit(client.send, endpoints.DELETE_TRAIT, trait='CUSTOM_B').result()
        return send(self, endpoint, path, *rest)

    monkeypatch.setattr(Client, '_send_once', interrupted)
    with pytest.raises(errors.NotFound):
        client.send(endpoints.DELETE_TRAIT, trait='CUSTOM_A')
    assert client.last_change == SentChange('DELETE /traits/CUSTOM_B', is_done=True)


def test_the_last_change_is_one_with_an_unknown_outcome_if_possible(client, service):
    service.answer(Reply(504), NOTHING)
    with ThreadPoolExecutor(1) as other, pytest.raises(errors.NoAnswer):
        other.submit(client.send, endpoints.DELETE_TRAIT, trait='CUSTOM_A').result()
    client.send(endpoints.DELETE_TRAIT, trait='CUSTOM_B')
    assert client.last_change == SentChange('DELETE /traits/CUSTOM_A', is_done=False)


# Where it goes


def test_the_url_can_be_overridden(session, service):
    client = Client(session, endpoint_override='http://other.test/p')
    service.answer(LIST)
    client.send(endpoints.LIST_TRAITS, answer=dict)
    assert client.url == 'http://other.test/p'
    assert service.last.url == 'http://other.test/p/traits'


def test_the_service_is_named_without_a_password(session, service):
    assert Client(session).service_label == URL
    url = 'http://user:secret@other.test:8778/p?password=secret'
    assert Client(session, endpoint_override=url).service_label == 'http://other.test:8778/p'


@pytest.mark.parametrize('query', [{'name': '\udcff'}, {'required': ['A', 'a\ud800']}])
def test_a_parameter_that_is_no_text_is_refused(client, service, query):
    with pytest.raises(BadArgument, match=r"'a?\\ud\w{3}' is not UTF-8 text"):
        client.send(endpoints.LIST_PROVIDERS, answer=dict, query=query)
    assert service.requests == []
