# SPDX-License-Identifier: Apache-2.0
"""The user of ``[placement]`` of a ``nova.conf``, as keystoneauth's loaders make it."""

import pytest
from keystoneauth1 import fixture

from placementclient.basis import errors
from placementclient.nova.service_user import load_service_user

KEYSTONE = 'http://keystone.example/v3'
PASSWORD = (
    f'auth_type = password\nauth_url = {KEYSTONE}\nusername = nova\npassword = top$$secret\n'
    'project_name = service\nuser_domain_name = Default\nproject_domain_name = Default\n'
)


@pytest.fixture
def keystone(requests_mock):
    token = fixture.V3Token()
    token.set_project_scope()
    placement = token.add_service('placement', 'placement')
    for region in ('one', 'two'):
        urls = {kind: f'http://{kind}.{region}.example' for kind in ('public', 'internal')}
        placement.add_standard_endpoints(region=region, **urls)
    document = fixture.DiscoveryList(href='http://keystone.example', v2=False)
    requests_mock.get(KEYSTONE, json={'version': fixture.V3Discovery(KEYSTONE)})
    requests_mock.get('http://keystone.example', json=document)
    return requests_mock.post(
        f'{KEYSTONE}/auth/tokens', json=token, headers={'X-Subject-Token': 't'}
    )


@pytest.mark.parametrize(
    ('more', 'url'),
    [
        ('', 'http://internal.one.example'),
        ('region_name = two\n', 'http://internal.two.example'),
        ('region_name = two\nvalid_interfaces = public, internal\n', 'http://public.two.example'),
        ('valid_interfaces = admin,public\n', 'http://public.one.example'),
    ],
)
def test_the_endpoint_is_that_which_nova_finds(keystone, more, url):
    user = load_service_user(f'[placement]\n{PASSWORD}{more}', 'nova.conf')
    assert user.session.get_endpoint(**user.selection) == url
    asked = keystone.last_request.json()['auth']['identity']['password']['user']
    assert (asked['name'], asked['password']) == ('nova', 'top$secret')


def test_another_section_may_have_the_user(keystone):
    text = f'[shared]\n{PASSWORD}[placement]\nauth_section = shared\nregion_name = two\n'
    user = load_service_user(text, 'nova.conf')
    assert user.session.get_endpoint(**user.selection) == 'http://internal.two.example'


def test_old_names_of_options_count(keystone):
    text = PASSWORD.replace('project_name', 'tenant_name').replace('auth_type', 'auth_plugin')
    user = load_service_user(f'[placement]\n{text}', 'nova.conf')
    assert user.session.get_project_id() is not None
    assert keystone.last_request.json()['auth']['scope']['project']['name'] == 'service'


def test_an_error_about_the_service_user_has_no_value_of_an_option():
    with pytest.raises(errors.BadFile) as raised:
        load_service_user(f'[placement]\n{PASSWORD}timeout = secret\n', 'nova.conf')
    assert str(raised.value) == 'nova.conf: [placement] timeout is no number of seconds'
