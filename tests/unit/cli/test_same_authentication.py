# SPDX-License-Identifier: Apache-2.0
"""The options of authentication mean the same in ``placement`` and in ``openstack``.

Both programs run in this process, against one Keystone that grants everything: which requests
reach Keystone and Placement shows what a program has made of options, variables and clouds.yaml.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from openstack.config import loader
from openstackclient import shell as openstack
from osc_lib.clientmanager import ClientManager
from requests_mock import ANY

from placementclient.cli import shell
from tests.unit.cli.keystone import token, version

KEYSTONE, OTHER = 'http://keystone.test/v3', 'http://other-keystone.test/v3'
LIST = ['resource', 'class', 'list', '-f', 'value']
CLOUDS = f"""
clouds:
  admin:
    auth:
      auth_url: {KEYSTONE}
      username: admin
      password: secret
      project_name: admin
      user_domain_id: default
      project_domain_id: default
  internal:
    auth: {{auth_url: '{KEYSTONE}', username: a, password: b, project_name: c}}
    region_name: south
    interface: internal
  typed:
    auth: {{auth_url: '{KEYSTONE}', username: a, password: b, project_name: c}}
    endpoint_type: admin
  application:
    auth_type: v3applicationcredential
    auth: {{auth_url: '{KEYSTONE}', application_credential_id: i, application_credential_secret: s}}
  insecure:
    auth_type: none
    auth: {{endpoint: 'https://none.test'}}
    insecure: true
  selected:
    auth: {{auth_url: '{KEYSTONE}', username: a, password: b, project_name: c}}
    placement_interface: admin
    placement_region_name: south
  none:
    auth_type: none
    auth: {{endpoint: 'http://none.test'}}
"""
ONE_CLOUD = f"""
clouds:
  only:
    auth: {{auth_url: '{KEYSTONE}', username: a, password: b, project_name: c}}
"""
#: An openrc.
RC = {
    'OS_AUTH_URL': KEYSTONE,
    'OS_USERNAME': 'rc',
    'OS_PASSWORD': 'secret',
    'OS_PROJECT_NAME': 'demo',
    'OS_USER_DOMAIN_NAME': 'Default',
    'OS_PROJECT_DOMAIN_NAME': 'Default',
}
NO_DOMAINS = {name: value for name, value in RC.items() if 'DOMAIN' not in name}


#: A catalog of two regions and three interfaces.
URLS = {
    (region, interface): f'http://{region}-{interface}.test'
    for region in ('north', 'south')
    for interface in ('public', 'internal', 'admin')
}


class Made(NamedTuple):
    """What a program has made of its settings.

    :param tokens: the requests for tokens: their URL and what they say
    :param requests: the URLs that Placement was asked at, with which token, and what is trusted
    """

    tokens: Sequence[tuple[str, Any]]
    requests: Sequence[tuple[str, str | None, Any, Any]]


def made_by(run, argv, mocker):
    """Run a program."""
    mocker.reset_mock()
    for keystone in (KEYSTONE, OTHER):
        mocker.get(keystone, json=version(keystone))
        mocker.post(
            f'{keystone}/auth/tokens', json=token(URLS), headers={'X-Subject-Token': 'granted'},
            status_code=201,
        )  # fmt: skip
    with suppress(SystemExit):
        run([*argv, *LIST])
    history = mocker.request_history
    return Made(
        [(request.url, request.json()) for request in history if request.method == 'POST'],
        [
            (request.url, request.headers.get('X-Auth-Token'), request.verify, request.cert)
            for request in history
            if request.url.endswith('/resource_classes')
        ],
    )


COMBINATIONS: list[tuple[str, dict[str, str]]] = [
    ('--os-cloud admin', {}),
    ('--os-cloud admin --os-username nosuch --os-password x', {}),
    (f'--os-cloud admin --os-auth-url {OTHER}', {}),
    ('--os-cloud admin --os-auth-type v3password', {}),
    ('--os-cloud admin --os-region-name south', {}),
    ('--os-cloud admin --os-interface internal', {}),
    ('--os-cloud admin', RC),
    ('--os-cloud admin', {'OS_ENDPOINT_TYPE': 'internal'}),
    ('--os-cloud internal', {}),
    ('--os-cloud internal', {'OS_ENDPOINT_TYPE': 'admin'}),
    ('--os-cloud typed', {}),
    ('--os-cloud application', {}),
    ('--os-cloud none', {}),
    ('--os-cloud none --os-endpoint http://elsewhere.test', {}),
    ('', {'OS_CLOUD': 'admin', 'OS_PASSWORD': 'other'}),
    ('--os-cloud none', {'OS_CLOUD': 'admin'}),
    ('', RC),
    ('', NO_DOMAINS),
    ('', NO_DOMAINS | {'OS_DEFAULT_DOMAIN': 'd'}),
    ('--os-default-domain d', NO_DOMAINS),
    ('--os-username other', RC),
    ('', RC | {'OS_INTERFACE': 'internal'}),
    ('', RC | {'OS_ENDPOINT_TYPE': 'internal'}),
    ('', RC | {'OS_ENDPOINT_TYPE': 'internal', 'OS_INTERFACE': 'admin'}),
    ('--os-interface admin', RC | {'OS_ENDPOINT_TYPE': 'internal'}),
    ('--insecure', RC),
    ('--os-cacert /ca.pem --os-cert /cert.pem --os-key /key.pem', RC),
    ('--os-cloud admin --insecure', {}),
    ('--os-cloud insecure', {}),
    ('--os-cloud insecure --verify', {}),
    ('', NO_DOMAINS | {'OS_IDENTITY_API_VERSION': '3'}),
    ('', RC | {'OS_IDENTITY_API_VERSION': '3', 'OS_DEFAULT_DOMAIN': 'd'}),
    ('--os-default-domain d --os-identity-api-version 3', NO_DOMAINS),
    ('--os-cloud internal --os-identity-api-version 3', {}),
    ('--os-token t --os-endpoint http://token.test', {}),
    ('--os-auth-type v3token --os-token t --os-project-id p', {'OS_AUTH_URL': KEYSTONE}),
    ('--os-cloud selected', {}),
    ('', RC | {'OS_PLACEMENT_INTERFACE': 'admin', 'OS_PLACEMENT_REGION_NAME': 'south'}),
    ('--os-auth-type=v3password --os-password=other', RC),
    ('--os-auth-type token --os-token t', {'OS_AUTH_URL': KEYSTONE, 'OS_PROJECT_NAME': 'p'}),
    ('', {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'http://none.test'}),
    ('--os-endpoint http://elsewhere.test', {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': 'http://n'}),
    ('', RC | {'OS_PLACEMENT_ENDPOINT_OVERRIDE': 'http://override.test'}),
    ('--os-cloud admin', {'OS_PLACEMENT_ENDPOINT_OVERRIDE': 'http://override.test'}),
    ('', NO_DOMAINS | {'OS_TENANT_NAME': 't', 'OS_PROJECT_NAME': ''}),
]


#: Settings that both programs refuse.
REFUSED: list[tuple[str, dict[str, str]]] = [
    ('--os-cloud nowhere', {}),
    ('--os-cloud admin --os-auth-type token --os-token t', {}),
    ('--os-cloud internal --os-region-name north', {}),
    ('--os-interface nonsense', RC),
    ('', {}),
    ('', {'OS_TOKEN': 't', 'OS_ENDPOINT': 'http://token.test'}),
]


@pytest.fixture
def both(requests_mock, tmp_path, monkeypatch):
    """Run both programs with settings, and a ``clouds.yaml``."""
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    # openstacksdk 4.4 adds that file to this list for the life of the process.
    monkeypatch.setattr(loader, 'CONFIG_FILES', list(loader.CONFIG_FILES))
    requests_mock.get(ANY, json={'resource_classes': []})

    def run(argv, environment, clouds=CLOUDS):
        (tmp_path / 'clouds.yaml').write_text(clouds)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        # OpenStackClient keeps the client of a plugin for the life of the process.
        vars(ClientManager)['placement']._handle = None
        whole = made_by(openstack.OpenStackShell().run, argv.split(), requests_mock)
        return made_by(shell.main, argv.split(), requests_mock), whole

    return run


@pytest.mark.parametrize(('argv', 'environment'), COMBINATIONS, ids=str)
def test_both_programs_authenticate_alike(both, argv, environment):
    lean, whole = both(argv, environment)
    assert whole.requests
    assert lean == whole


@pytest.mark.parametrize(('argv', 'environment'), REFUSED, ids=str)
def test_both_programs_refuse_the_same_settings(both, argv, environment):
    assert both(argv, environment) == (Made([], []), Made([], []))


@pytest.mark.parametrize(
    ('argv', 'environment'),
    [
        ('', {}),
        ('', {'OS_REGION_NAME': 'south'}),
        ('--os-username other', {}),
        ('--os-username other', RC),
    ],
    ids=str,
)
def test_a_cloud_that_is_the_only_one_need_not_be_named(both, argv, environment):
    lean, whole = both(argv, environment, ONE_CLOUD)
    assert whole.requests
    assert lean == whole
