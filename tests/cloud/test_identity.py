# SPDX-License-Identifier: Apache-2.0
"""The ways to authenticate at Keystone: each in both programs, with the same outcome."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.cloud import accounts, layout, programs, settings
from tests.cloud.conftest import variables

LIST = ('resource', 'class', 'list', '-f', 'json')
#: What everyone sees who is let in, whatever other tests do meanwhile.
CLASSES = ['DISK_GB', 'MEMORY_MB', 'VCPU']
DEFAULT = 'Default'


def both(*argv, environment, start=programs.fork):
    first, second = [start(name, *argv, environment=environment) for name in programs.MAINS]
    return first(), second()


def listed(*argv, environment, start=programs.fork):
    """The classes that each program lists, of those that are always there."""
    results = both(*argv, *LIST, environment=environment, start=start)
    return [
        sorted(record['name'] for record in result.json() if record['name'] in CLASSES)
        for result in results
    ]


def without(values, *names):
    return {name: value for name, value in values.items() if name not in names}


@pytest.fixture(scope='module')
def admin():
    return accounts.session(project='demo')


def kolla():
    return variables() | {
        'OS_TENANT_NAME': 'demo',
        'OS_INTERFACE': 'internal',
        'OS_ENDPOINT_TYPE': 'internalURL',
        'OS_AUTH_PLUGIN': 'password',
        'OS_CACERT': '',
    }


def devstack():
    keystone = layout.url('keystone')
    return without(variables(), 'OS_USER_DOMAIN_NAME', 'OS_PROJECT_DOMAIN_NAME') | {
        'OS_AUTH_URL': keystone,
        'OS_AUTH_TYPE': 'password',
        'OS_USER_DOMAIN_ID': 'default',
        'OS_PROJECT_DOMAIN_ID': 'default',
        'OS_TENANT_NAME': 'demo',
        'OS_VOLUME_API_VERSION': '3',
        'OS_CACERT': '',
    }


def horizon():
    """The variables of the openrc file that Horizon offers for download."""
    (project,) = (
        accounts.session(project='demo')
        .get('/projects?name=demo', endpoint_filter={'service_type': 'identity'})
        .json()['projects']
    )
    return variables() | {
        'OS_PROJECT_ID': project['id'],
        'OS_PROJECT_DOMAIN_ID': 'default',
        'OS_INTERFACE': 'public',
    }


def plain_v2_url():
    return variables() | {'OS_AUTH_URL': layout.url('keystone') + '/'}


def token():
    """The variables of a token with a scope."""
    return {
        'OS_AUTH_TYPE': 'token',
        'OS_AUTH_URL': layout.url('keystone') + '/v3',
        'OS_TOKEN': str(accounts.session(project='demo').get_token()),
        'OS_PROJECT_NAME': 'demo',
        'OS_PROJECT_DOMAIN_NAME': DEFAULT,
        'OS_REGION_NAME': layout.REGION,
    }


def admin_token():
    """The variables of a token and an endpoint, without Keystone."""
    return {
        'OS_AUTH_TYPE': 'admin_token',
        'OS_ENDPOINT': layout.url('placement'),
        'OS_TOKEN': str(accounts.session(project='demo').get_token()),
    }


def application_credential(**more):
    """The variables of an application credential, made for this test."""
    session = accounts.session(project='demo')
    credential = session.post(
        f'/users/{session.get_user_id()}/application_credentials',
        json={'application_credential': {'name': os.urandom(8).hex(), **more}},
        endpoint_filter={'service_type': 'identity'},
    ).json()['application_credential']
    return {
        'OS_AUTH_TYPE': 'v3applicationcredential',
        'OS_AUTH_URL': layout.url('keystone') + '/v3',
        'OS_APPLICATION_CREDENTIAL_ID': credential['id'],
        'OS_APPLICATION_CREDENTIAL_SECRET': credential['secret'],
        'OS_REGION_NAME': layout.REGION,
    }


@pytest.mark.parametrize(
    'environment',
    [
        *(variables, kolla, devstack, horizon, plain_v2_url),
        *(token, admin_token, application_credential),
    ],
)
def test_variables_of_an_openrc_log_in(environment):
    assert listed(environment=environment()) == [CLASSES, CLASSES]


def test_options_log_in():
    options = [
        word
        for name, value in without(variables(), 'OS_IDENTITY_API_VERSION').items()
        for word in ('--' + name.lower().replace('_', '-'), value)
    ]

    assert listed(*options, environment={}, start=programs.start) == [CLASSES, CLASSES]


@pytest.fixture
def clouds():
    auth = {
        'auth_url': layout.url('keystone') + '/v3',
        'password': layout.PASSWORD,
        'user_domain_name': DEFAULT,
        'project_domain_name': DEFAULT,
        'project_name': 'demo',
    }
    clouds: dict[str, Any] = {
        name: {'auth': {**auth, 'username': name}, 'region_name': layout.REGION}
        for name in ('admin', *accounts.PEOPLE)
    }
    clouds['internal'] = clouds['admin'] | {'interface': 'internal'}
    clouds['bare'] = clouds['amos'] | {'auth': {**auth, 'username': 'amos', 'project_name': 'bare'}}
    system = {key: value for key, value in auth.items() if not key.startswith('project')}
    clouds['system'] = {
        'auth': {**system, 'username': 'admin', 'system_scope': 'all'},
        'region_name': layout.REGION,
    }
    Path('clouds.yaml').write_text(json.dumps({'clouds': clouds}))


@pytest.mark.usefixtures('clouds')
@pytest.mark.parametrize(
    'options',
    [
        '--os-cloud admin',
        '--os-cloud admin --os-interface internal',
        '--os-cloud admin --os-username amos',
        '--os-cloud admin --os-project-name admin',
        '--os-cloud admin --os-placement-api-version 1.20',
        '--os-cloud admin --os-identity-api-version 3',
        '--os-cloud admin --os-user-domain-name Default --os-project-domain-name Default',
        '--os-cloud admin --insecure',
        f'--os-cloud admin --os-region-name {layout.REGION}',
        '--os-cloud bare --os-project-name demo',
        '--os-cloud admin --os-auth-type password --os-password secret',
        '--os-cloud admin --os-user-domain-id default --os-project-domain-id default',
        '--os-cloud admin --os-cacert /dev/null --verify',
        '--os-cloud admin --os-placement-retries 1 --os-placement-timeout 30',
        '--os-cloud admin --os-interface admin',
    ],
)
def test_options_win_over_a_cloud_of_the_file(options):
    assert listed(*options.split(), environment={}) == [CLASSES, CLASSES]


@pytest.mark.usefixtures('clouds')
def test_options_win_over_a_cloud_of_the_variable():
    classes = listed(
        '--os-username', 'amos', environment={'OS_CLOUD': 'admin'}, start=programs.start
    )
    assert classes == [CLASSES, CLASSES]


#: What a refusal says, in both programs; the exit status is 1.
FORBIDDEN = 'Policy does not allow|HTTP 403|Forbidden'
REFUSED: dict[str, tuple[dict[str, str], tuple[str, ...], str]] = {
    'a member': (variables('alice'), (), FORBIDDEN),
    'a reader': (variables('rita'), (), FORBIDDEN),
    'another region': (variables(OS_REGION_NAME='Elsewhere'), (), 'Elsewhere|endpoint'),
    'a region that is down': (
        variables(OS_REGION_NAME=layout.DOWN_REGION, OS_PLACEMENT_RETRIES='0'), (), layout.DOWN_URL
    ),
    'an interface that the region has not': (
        variables(OS_REGION_NAME=layout.SHORT_REGION, OS_INTERFACE='admin'), (), 'endpoint'
    ),
    'a word that is no interface': (variables(), ('--os-interface', 'nonsense'), 'invalid choice'),
    'a variable that is no interface': (variables(OS_INTERFACE='nonsense'), (), 'endpoint'),
    'a project without the endpoint': (
        variables('amos', 'bare'), (), 'placement.*endpoint|endpoint.*placement'
    ),
    'a wrong password': (variables(OS_PASSWORD='wrong'), (), 'HTTP 401'),
    'no such user': (variables('nobody'), (), 'HTTP 401'),
    'no such project': (variables(project='none'), (), 'HTTP 401'),
    'Keystone is not there': (
        variables(OS_AUTH_URL='http://127.0.0.1:9/v3'), (), 'connect|refused|reach'
    ),
    'no user': (without(variables(), 'OS_USERNAME'), (), 'user'),
    'no URL': (without(variables(), 'OS_AUTH_URL'), (), 'auth.url'),
}  # fmt: skip


@pytest.mark.parametrize('case', REFUSED)
def test_refused_logins_say_what_is_wrong(case):
    environment, options, reason = REFUSED[case]

    results = both(*options, *LIST, environment=environment)

    assert [result.stdout for result in results] == ['', '']
    statuses = {result.status for result in results}
    assert statuses <= {1, 2}, results
    assert len(statuses) == 1, results
    for result in results:
        assert re.search(reason, result.stderr, re.IGNORECASE), result.stderr
        assert 'Traceback' not in result.stderr


#: The roles that may do something: read, and be let in by the reshaper.
ROLES = {'alice': (1, False), 'rita': (1, False), 'amos': (0, False), 'sam': (0, True)}


@pytest.mark.parametrize('user', ROLES)
def test_roles_decide_what_a_user_may_do(user):
    status, is_allowed = ROLES[user]

    results = both(*['resource', 'api', 'show', '-f', 'json'], environment=variables(user))
    lists = both(*LIST, environment=variables(user))

    assert [result.status for result in lists] == [status, status]
    reshaper = [
        json.loads(result.stdout)['reshaper_allowed'] if result.stdout else None
        for result in results
    ]
    assert reshaper == [is_allowed, is_allowed]


NEEDS = ('authentication', 'endpoint', 'version', 'read', 'reshape', 'clock')
#: Files by name: the user and other values of [placement], how the checks end, and a word of them.
CONFIGURED: dict[str, tuple[str, dict[str, str], dict[str, bool], str]] = {
    **{
        user: (
            user,
            {'project_name': 'demo'},
            dict.fromkeys(NEEDS, True) | {'read': status == 0, 'reshape': is_allowed},
            user,
        )
        for user, (status, is_allowed) in ROLES.items()
    },
    'wrong-password': ('nova', {'password': 'never-printed'}, {NEEDS[0]: False}, '401'),
    'wrong-region': (
        'nova', {'region_name': 'Elsewhere'}, {NEEDS[0]: True, NEEDS[1]: False}, 'Elsewhere'
    ),
    'wrong-interface': (
        'nova',
        {'region_name': layout.SHORT_REGION, 'valid_interfaces': 'admin'},
        {NEEDS[0]: True, NEEDS[1]: False},
        'endpoint',
    ),
}  # fmt: skip


def test_service_users_of_nova_confs_are_checked_before_an_upgrade(tmp_path):
    files = {name: str(tmp_path / f'{name}.conf') for name in CONFIGURED}
    for name, (user, values, *_) in CONFIGURED.items():
        settings.save(files[name], {'placement': {**settings.account(user), **values}})
    given = [word for path in files.values() for word in ('--service-conf', path)]
    command = ('resource', 'api', 'check', '--for', '2026.1', *given, '-f', 'json')

    for result in both(*command, environment=variables()):
        rows = result.json(3)
        for name, (_, _, needs, reason) in CONFIGURED.items():
            ours = [row for row in rows if row['file'] == files[name]]
            assert {row['need']: row['is_met'] for row in ours} == needs, name
            assert any(reason in row['has'] for row in ours), (name, ours)
        for secret in (layout.PASSWORD, 'never-printed'):
            assert secret not in result.stdout + result.stderr


@pytest.mark.usefixtures('clouds')
@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        # Placement (16.0) lets nobody in who has no project.
        ('--os-cloud system', 'HTTP 403'),
        ('--os-cloud admin --os-system-scope all', 'cannot be scoped to multiple targets'),
    ],
)
def test_a_token_of_the_system_is_accepted(options, reason):
    results = both(*options.split(), *LIST, environment={})

    assert [result.status for result in results] == [1, 1]
    assert all(reason in result.stderr for result in results), results


@pytest.mark.parametrize(
    ('way', 'reasons'),
    [
        # The plugin is asked after the program has its token: there the words are Keystone's.
        (token, ('Keystone does not accept the token: get a new one', 'Failed to validate token')),
        (admin_token, ('401', '401')),
    ],
)
def test_a_revoked_token_is_an_error(admin, way, reasons):
    environment = way()
    assert listed(environment=environment) == [CLASSES, CLASSES]
    admin.delete(
        '/auth/tokens',
        headers={'X-Subject-Token': environment['OS_TOKEN']},
        endpoint_filter={'service_type': 'identity'},
    )
    if way is admin_token:
        # Only Placement is asked.
        time.sleep(settings.CACHED)

    results = both(*LIST, environment=environment)

    assert [result.status for result in results] == [1, 1]
    for result, reason in zip(results, reasons, strict=True):
        assert reason in result.stderr
        assert 'Traceback' not in result.stderr


@pytest.mark.parametrize('is_token', [True, False])
def test_expired_credentials_are_an_error(is_token):
    ends = time.gmtime(time.time() + 3)
    credential = application_credential(expires_at=time.strftime('%Y-%m-%dT%H:%M:%S', ends))
    # A token ends with the application credential that it is from.
    auth = v3.ApplicationCredential(
        credential['OS_AUTH_URL'],
        credential['OS_APPLICATION_CREDENTIAL_SECRET'],
        credential['OS_APPLICATION_CREDENTIAL_ID'],
    )
    token = admin_token() | {'OS_TOKEN': str(Session(auth=auth).get_token())}
    time.sleep(4)

    results = both(*LIST, environment=token if is_token else credential)

    assert [result.status for result in results] == [1, 1]
    assert all('401' in result.stderr for result in results), results
    assert not any('Traceback' in result.stderr for result in results)


def test_a_deleted_application_credential_is_an_error(admin):
    environment = application_credential()
    assert listed(environment=environment) == [CLASSES, CLASSES]
    credential = environment['OS_APPLICATION_CREDENTIAL_ID']
    admin.delete(
        f'/users/{admin.get_user_id()}/application_credentials/{credential}',
        endpoint_filter={'service_type': 'identity'},
    )

    results = both(*LIST, environment=environment)

    assert [result.status for result in results] == [1, 1]
    assert all('HTTP 40' in result.stderr for result in results), results
