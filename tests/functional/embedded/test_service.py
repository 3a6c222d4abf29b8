# SPDX-License-Identifier: Apache-2.0
"""The service in this process: its options, for whom it answers, and what it leaves alone."""

import concurrent.futures
import sqlite3
import textwrap
import threading
import time
from pathlib import Path

import pytest
import requests
import requests_mock
from keystoneauth1 import loading, noauth, session

from placementclient import embedded as direct
from placementclient.basis import errors
from tests.functional.embedded.sessions import (
    ASKING,
    CONFIGURED,
    client,
    connect,
    create,
    execute,
    names,
    run,
)

pytest.importorskip('placement')


# A deployment's placement.conf


@pytest.fixture
def conf(database, tmp_path):
    path = tmp_path / 'etc' / 'placement.conf'
    path.parent.mkdir()
    path.write_text(
        textwrap.dedent(f"""
            [api]
            auth_strategy = keystone
            [placement_database]
            connection = sqlite:///{database}
            sync_on_startup = true
            [placement]
            incomplete_consumer_project_id = nobody
            [oslo_policy]
            policy_file = policy.yaml
        """)
    )
    return path


def test_the_conf_has_options_of_the_service(conf):
    service = connect(direct.Direct(placement_conf=str(conf)))
    create(service, 'node')
    (node,) = service.get('/resource_providers').json()['resource_providers']
    body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
    service.put(f'/resource_providers/{node["uuid"]}/inventories', json=body)
    consumer = '/allocations/00000000-0000-4000-8000-000000000001'
    allocation = {'resource_provider': {'uuid': node['uuid']}, 'resources': {'VCPU': 1}}
    # Before 1.8 an allocation names no project: the option says whose it is.
    service.put(consumer, json={'allocations': [allocation]}, microversion='1.7')
    assert service.get(consumer).json()['project_id'] == 'nobody'


def test_the_policy_of_a_conf_holds_for_its_instance_alone(conf):
    (conf.parent / 'policy.yaml').write_text('"placement:traits:list": "role:nobody"\n')
    service = connect(direct.Direct(placement_conf=str(conf)))
    assert service.get('/traits').status_code == 403
    assert connect(direct.Direct.scratch()).get('/traits').status_code == 200


def test_the_named_database_wins_over_the_conf(conf, database, tmp_path):
    other = tmp_path / 'other.sqlite'
    other.write_bytes(database.read_bytes())
    with conf.open('a') as file:
        file.write('[placement_database]\nconnection_parameters = charset=utf8\n')
    create(connect(direct.Direct(f'sqlite:///{other}', str(conf))), 'node')
    assert names(connect(direct.Direct())) == set()


@pytest.mark.parametrize(
    ('text', 'reason'),
    [(None, 'find'), ('[placement]\n', 'connection'), ('no = section\n[', 'parse')],
)
def test_a_conf_that_cannot_be_used_is_an_error(text, reason, tmp_path):
    path = tmp_path / 'placement.conf'
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.DirectError, match=reason):
        connect(direct.Direct(placement_conf=str(path))).get('/')


# Side by side


def test_a_second_service_is_refused_until_the_first_is_closed(scratch):
    create(scratch, 'one')
    other = client(direct.Direct.scratch())
    with pytest.raises(errors.DirectError, match=r'cannot run a second one: close the first'):
        other.get('/')
    assert names(scratch) == {'one'}
    scratch.session.auth.close()
    with other.session.auth:
        assert names(other) == set()


def test_the_embedded_placement_leaves_other_requests_of_its_session_on_http():
    plain = requests.Session()
    shared = session.Session(session=plain)
    urls = ('http://host/', 'https://host/')
    before = [plain.get_adapter(url) for url in urls]
    with direct.Direct.scratch() as auth:
        shared.get('/', auth=auth, endpoint_filter={'service_type': 'placement'})
    assert [plain.get_adapter(url) for url in urls] == before
    with requests_mock.Mocker(session=plain) as network:
        network.get('http://host/', text='over HTTP')
        answer = shared.get('http://host/', auth=noauth.NoAuth())
        assert answer.text == 'over HTTP'


def test_a_placement_server_in_the_same_process_is_left_alone(database):
    server = """
    from oslo_context import context
    from placement import deploy, policy
    deploy.loadapp(config)
    enforcer, engine = policy._ENFORCER, db_api.get_placement_engine()
    mine = context.RequestContext()
    try:
        ask(direct.Direct.scratch())
    except errors.DirectError as error:
        print(error)
    assert context.get_current() is mine
    assert (policy._ENFORCER, db_api.get_placement_engine()) == (enforcer, engine)
    """
    assert 'runs a Placement already' in run(CONFIGURED + ASKING + server, database)


def test_loading_the_plugin_loads_nothing_of_the_server():
    run("""
        import sys, placementclient.embedded as direct
        direct.Direct()
        assert not {'placement', 'sqlalchemy', 'oslo_config', 'webob'} & set(sys.modules)
    """)


def test_the_service_prints_nothing_and_sets_up_no_logging(local):
    program = """
    sys.argv = ['program', '--config-file', '/nonexistent']
    assert ask(direct.Direct()).status_code == 200
    assert not logging.getLogger().handlers
    """
    assert run(ASKING + program) == ''


def test_without_the_extra_direct_an_error_says_what_to_install(local):
    program = """
    sys.modules['placement'] = None
    try:
        ask(direct.Direct())
    except errors.DirectError as error:
        print(error)
    """
    assert 'pip install "python-placementclient[direct]"' in run(ASKING + program)


# Many at once


def test_eight_threads_may_write_at_once(scratch):
    def work(number):
        for step in range(8):
            create(scratch, f'{number}-{step}')
            assert scratch.get('/resource_providers').status_code == 200

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(names(scratch)) == 64


def test_a_writer_waits_for_another_program(database):
    service = connect(direct.Direct())
    service.get('/')
    connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    connection.execute('BEGIN IMMEDIATE')
    threading.Timer(1, connection.rollback).start()
    begun = time.monotonic()
    create(service, 'node')
    assert time.monotonic() - begun > 0.5


# The transport


@pytest.mark.parametrize('name', ['a b', 'a/b?c=d&e', 'größe', '100%', "';--", '日本'])
def test_characters_that_are_encoded_in_urls_are_decoded(scratch, name):
    create(scratch, name)
    answer = scratch.get('/resource_providers', params={'name': name})
    assert [provider['name'] for provider in answer.json()['resource_providers']] == [name]


def test_an_exception_in_the_embedded_service_is_answered_with_status_500(scratch):
    assert scratch.get('/').json()['versions'][0]['max_version']
    assert names(scratch) == set()
    database = scratch.session.auth.database.removeprefix('sqlite:///')
    execute(Path(database), 'DROP TABLE resource_providers')
    answer = scratch.get('/resource_providers')
    assert answer.status_code == 500
    assert answer.json()['errors'][0]['status'] == 500


# The caller


def test_the_roles_of_the_option_decide_what_is_allowed():
    service = connect(direct.Direct(placement_roles='admin'))
    service.session.auth._transport = direct.Direct.scratch()._transport
    assert names(service) == set()
    assert service.post('/reshaper', json={}).status_code == 403


def test_a_request_without_authentication_is_refused(scratch):
    assert scratch.get('/traits', authenticated=False).status_code == 403


def test_the_plugin_is_loaded_from_options(database):
    create(connect(direct.Direct()), 'node')
    options = {'placement_database': f'sqlite:///{database}'}
    loader = loading.get_plugin_loader('placement_direct')
    assert {option.dest for option in loader.get_options()} == {
        'placement_database', 'placement_conf', 'placement_roles',
    }  # fmt: skip
    service = connect(loader.load_from_options_getter(lambda option: options.get(option.dest)))
    assert names(service) == {'node'}
    assert service.session.get_project_id() == service.session.get_user_id() == 'admin'
    assert service.session.get_token() == 'admin'
