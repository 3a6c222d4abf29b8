# SPDX-License-Identifier: Apache-2.0
"""Who asks, in the refusals of a policy; and what Keystone refuses."""

from typing import Any

import pytest
from keystoneauth1.exceptions import NotFound
from keystoneauth1.identity.v3 import Password
from keystoneauth1.session import Session

from placementclient.api import trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.nova import service as nova
from tests.unit.dialogue import URL, Reply, fault

KEYSTONE = 'http://cloud.test/v3'


DOMAIN = {'id': 'default', 'name': 'Default'}
SCOPES: dict[str, Any] = {
    'project': {'project': {'id': 'p', 'name': 'demo', 'domain': DOMAIN}},
    'domain': {'domain': {'id': 'd', 'name': 'corp'}},
    'system': {'system': {'all': True}},
}


def token(scope):
    """A token of bob with two roles, and Placement and Nova in its catalog."""
    endpoint = {'id': 'e', 'interface': 'public', 'region': 'r', 'region_id': 'r', 'url': URL}
    token = {
        'methods': ['password'],
        'expires_at': '2099-01-01T00:00:00.000000Z',
        'issued_at': '2026-01-01T00:00:00.000000Z',
        'user': {'id': 'u', 'name': 'bob', 'domain': DOMAIN},
        'roles': [{'id': name, 'name': name} for name in ('member', 'reader')],
        'catalog': [
            {'id': kind, 'type': kind, 'name': kind, 'endpoints': [endpoint]}
            for kind in ('placement', 'compute')
        ],
    }
    return Reply(201, {'token': token | SCOPES[scope]}, {'X-Subject-Token': 'x'})


def client_of(scope):
    credentials = {'username': 'bob', 'password': 'x', 'user_domain_id': 'default'}
    scopes = {'project': 'project_id', 'domain': 'domain_id', 'system': 'system_scope'}
    auth = Password(KEYSTONE, **credentials, **{scopes[scope]: 'all'})
    return Client(Session(auth), max_retries=0)


WRONG_SCOPE = (
    ': Placement takes only tokens of a project. Give --os-project-name, and neither '
    '--os-system-scope nor --os-domain-name'
)


@pytest.mark.parametrize(
    ('scope', 'words'),
    [
        ('project', 'scope project demo'),
        ('domain', f'scope domain corp{WRONG_SCOPE}'),
        ('system', f'scope system{WRONG_SCOPE}'),
    ],
)
def test_a_refusal_of_the_policy_says_who_asks(service, scope, words):
    service.answer(token(scope), fault(403, 'Policy does not allow placement:traits:list.'))
    with pytest.raises(errors.Forbidden) as refusal:
        trait.list(client_of(scope))
    assert refusal.value.sentence == (
        'Policy does not allow placement:traits:list. The default policy requires the role admin '
        f'or service; you are user bob, roles member, reader, {words}'
    )


EXPECTED = (
    f'No token from {KEYSTONE}: expected the URL of Keystone, such as https://host:5000/v3, which '
    'answers with a token, its expires_at and a catalog of URLs'
)


def _without_an_end(body):
    del body['token']['expires_at']


def _of_a_list(body):
    body['token'] = []


def _with_a_url_that_is_none(body):
    for service in body['token']['catalog']:
        service['endpoints'][0]['url'] = 'http://[::1/placement'


@pytest.mark.parametrize('body', [[{'token': {}}], {'a': 1}, 'text', b'<html>maintenance</html>'])
def test_an_answer_that_is_not_keystones_is_an_error_that_says_what_was_expected(service, body):
    service.answer(Reply(201, body))
    with pytest.raises(errors.AuthenticationFailed) as refusal:
        trait.list(client_of('project'))
    assert str(refusal.value) == EXPECTED


@pytest.mark.parametrize(
    ('change', 'found'),
    [
        (_without_an_end, '; expires_at is missing'),
        (_of_a_list, ''),
        (_with_a_url_that_is_none, '; Invalid IPv6 URL'),
    ],
)
def test_an_answer_without_a_token_is_an_error_that_says_what_was_expected(service, change, found):
    reply = token('project')
    change(reply.body)
    service.answer(reply)
    with pytest.raises(errors.AuthenticationFailed) as refusal:
        trait.list(client_of('project'))
    assert str(refusal.value) == f'{EXPECTED}{found}'


def test_a_url_of_the_catalog_that_ends_in_a_version_is_named(service):
    reply = token('project')
    for entry in reply.body['token']['catalog']:
        entry['endpoints'] = [entry['endpoints'][0] | {'url': f'{URL}/v1.0'}]
    service.answer(reply, fault(404, 'The resource could not be found.'))
    with pytest.raises(errors.NotFound) as refusal:
        trait.list(client_of('project'))
    assert refusal.value.sentence == (
        'The resource could not be found. The URL of the service ends in a version, which URLs of '
        f'Placement do not: {URL}/v1.0. Correct it in the catalog or in your settings'
    )


def test_a_refusal_of_nova_says_who_asks(service):
    service.answer(token('project'), Reply(403, {}, reason='Forbidden'))
    client = client_of('project')
    with pytest.raises(nova.ServiceRefusal, match=r'^Nova refuses: F.* admin, and you are user'):
        nova.servers(client)


def test_a_wrong_password_names_the_url_the_user_and_the_project(service):
    service.answer(Reply(401, {}, reason='Unauthorized'))
    with pytest.raises(errors.AuthenticationFailed) as refusal:
        trait.list(client_of('project'))
    assert str(refusal.value) == (
        'Keystone at http://cloud.test/v3 refuses to authenticate user bob of project all: '
        'Unauthorized (HTTP 401)'
    )


def test_a_wrong_token_is_reported_as_such_and_not_as_a_missing_page(service):
    service.fail(NotFound('Could not recognize Fernet token', http_status=404))
    with pytest.raises(errors.AuthenticationFailed) as refusal:
        trait.list(client_of('project'))
    assert str(refusal.value) == (
        'Keystone does not accept the token: get a new one (openstack token issue), or '
        'authenticate with a password or an application credential'
    )
