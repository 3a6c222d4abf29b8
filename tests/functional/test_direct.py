"""The service in this process: on which database, for whom, and what it leaves alone."""

import concurrent.futures
import gc
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
import requests
import requests_mock
from keystoneauth1 import adapter, loading, noauth, session

from placementclient import embedded as direct
from placementclient.client import errors

pytest.importorskip('placement')

SYNC = 'placement-manage db sync'
#: An early revision of the server's schema.
OLD = '611cd6dffd7b'
#: References to those that a test has used.
OPEN: list[Any] = []


@pytest.fixture(autouse=True)
def _closed():
    """Let go of the server's modules after each test."""
    yield
    close_all()


def close_all():
    """Close all services of a test: a process runs one at a time."""
    while OPEN:
        if isinstance(auth := OPEN.pop()(), direct.Direct):
            auth.close()


def connect(auth, **options):
    """Return a client of one service, and close the others."""
    close_all()
    OPEN.append(weakref.ref(auth))
    return adapter.Adapter(
        session.Session(auth=auth),
        service_type='placement',
        default_microversion='1.39',
        raise_exc=False,
        **options,
    )


def create(service, *names):
    for name in names:
        answer = service.post('/resource_providers', json={'name': name})
        assert answer.status_code == 200, answer.text


def names(service):
    answer = service.get('/resource_providers')
    assert answer.status_code == 200, answer.text
    return {provider['name'] for provider in answer.json()['resource_providers']}


@pytest.fixture
def scratch():
    with direct.Direct.scratch() as auth:
        yield connect(auth)


@pytest.fixture
def local(tmp_path, monkeypatch):
    """Where the user's own database is, or will be."""
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / 'share'))
    return tmp_path / 'share' / 'placementclient' / 'placement.sqlite'


@pytest.fixture
def database(local):
    """A database with a current schema."""
    connect(direct.Direct()).get('/')
    return local


def execute(path, statement):
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def run(program, *argv):
    """Run a program in Python; return what it prints."""
    words = [sys.executable, '-c', textwrap.dedent(program), *map(str, argv)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


#: The server's configuration with the database that a program is given.
CONFIGURED = """
    import sys
    from oslo_config import cfg
    from placement import conf, db_api
    config = cfg.ConfigOpts()
    conf.register_opts(config)
    config.set_override('connection', f'sqlite:///{sys.argv[1]}', 'placement_database')
    config([], default_config_files=[])
    db_api.configure(config)
"""
#: A session that asks the embedded service for its providers.
ASKING = """
    import logging, sys
    from keystoneauth1 import session
    from placementclient import embedded as direct
    from placementclient.client import errors
    def ask(auth):
        filter = {'service_type': 'placement'}
        return session.Session(auth=auth).get('/resource_providers', endpoint_filter=filter)
"""


def sync(path, revision):
    """What ``placement-manage db sync`` does, to a revision of choice."""
    upgrade = """
    from placement.db.sqlalchemy import migration
    migration.upgrade(sys.argv[2])
    """
    run(CONFIGURED + upgrade, path, revision)


def revision(path):
    ((version,),) = execute(path, 'SELECT version_num FROM alembic_version')
    return str(version)


# The user's own database


def test_the_first_request_creates_the_users_own_database(local):
    service = connect(direct.Direct())
    service.get_endpoint()
    assert not local.exists()
    create(service, 'node')
    assert stat.S_IMODE(local.parent.stat().st_mode) == 0o700
    assert names(connect(direct.Direct())) == {'node'}


def test_the_users_own_database_is_migrated(local):
    local.parent.mkdir(parents=True)
    sync(local, OLD)
    create(connect(direct.Direct()), 'node')
    assert revision(local) != OLD
    assert names(connect(direct.Direct())) == {'node'}


@pytest.mark.slow
def test_processes_that_create_it_at_the_same_moment(local):
    program = textwrap.dedent("""
        import sys
        from keystoneauth1 import adapter, session
        from placementclient import embedded as direct
        service = adapter.Adapter(session.Session(auth=direct.Direct()), service_type='placement')
        service.post('/resource_providers', json={'name': sys.argv[1]},
                     headers={'OpenStack-API-Version': 'placement 1.39'})
    """)
    processes = [
        subprocess.Popen([sys.executable, '-c', program, f'node-{number}']) for number in range(4)
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert names(connect(direct.Direct())) == {f'node-{number}' for number in range(4)}


# A database that the operator names


@pytest.mark.parametrize('url', ['sqlite:///{}', 'sqlite:///file:{}?uri=true'])
def test_a_named_database_is_not_created(url, tmp_path):
    path = tmp_path / 'missing.sqlite'
    with pytest.raises(errors.DirectError, match=SYNC):
        connect(direct.Direct(url.format(path))).get('/')
    assert not path.exists()


def test_a_named_database_without_schema_stays_so(tmp_path):
    path = tmp_path / 'empty.sqlite'
    path.touch()
    with pytest.raises(errors.DirectError, match=f'no schema of Placement.*{SYNC}'):
        connect(direct.Direct(f'sqlite:///{path}')).get('/')
    assert path.stat().st_size == 0


def test_a_named_database_is_not_migrated(tmp_path):
    path = tmp_path / 'old.sqlite'
    sync(path, OLD)
    before = path.read_bytes()
    conf = tmp_path / 'placement.conf'
    conf.write_text(f'[placement_database]\nconnection = sqlite:///{path}\n')
    for named in (direct.Direct(f'sqlite:///{path}'), direct.Direct(placement_conf=str(conf))):
        with pytest.raises(errors.DirectError, match=f'old schema.*{SYNC}'):
            connect(named).get('/')
    assert path.read_bytes() == before


def test_a_schema_from_the_future(database):
    execute(database, "UPDATE alembic_version SET version_num = 'f00000000000'")
    with pytest.raises(errors.DirectError, match='does not know') as caught:
        connect(direct.Direct(f'sqlite:///{database}')).get('/')
    assert SYNC not in str(caught.value)


def test_missing_traits_are_added_to_each_database(database, tmp_path):
    copy = tmp_path / 'copy.sqlite'
    copy.write_bytes(database.read_bytes())
    for path in (database, copy):
        execute(path, 'DELETE FROM traits')
        service = connect(direct.Direct(f'sqlite:///{path}'))
        assert service.get('/traits/HW_CPU_X86_AVX').status_code == 204


@pytest.mark.parametrize('folder', ['a $b', '$$HOME', 'größe', 'a%20b', ':x@y'])
def test_folders_with_characters_that_mean_something_elsewhere(folder, tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / folder))
    create(connect(direct.Direct()), 'node')
    path = tmp_path / folder / 'placementclient' / 'placement.sqlite'
    assert execute(path, 'SELECT name FROM resource_providers') == [('node',)]


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
    body: dict[str, Any] = {
        'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}
    }  # fmt: skip
    service.put(f'/resource_providers/{node["uuid"]}/inventories', json=body)
    consumer = '/allocations/00000000-0000-4000-8000-000000000001'
    allocation = {'resource_provider': {'uuid': node['uuid']}, 'resources': {'VCPU': 1}}
    # Before 1.8 an allocation names no project: the option says whose it is.
    service.put(consumer, json={'allocations': [allocation]}, microversion='1.7')
    assert service.get(consumer).json()['project_id'] == 'nobody'


def test_the_policy_of_the_conf_is_that_instances_alone(conf):
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
def test_a_conf_that_does_not_do(text, reason, tmp_path):
    path = tmp_path / 'placement.conf'
    if text is not None:
        path.write_text(text)
    with pytest.raises(errors.DirectError, match=reason):
        connect(direct.Direct(placement_conf=str(path))).get('/')


# Side by side


def test_a_second_service_is_refused_until_the_first_is_closed(scratch):
    create(scratch, 'one')
    other = adapter.Adapter(
        session.Session(auth=direct.Direct.scratch()),
        service_type='placement',
        default_microversion='1.39',
    )
    with pytest.raises(errors.DirectError, match=r'cannot run a second one: close the first'):
        other.get('/')
    assert names(scratch) == {'one'}
    scratch.session.auth.close()
    with other.session.auth:
        assert names(other) == set()


def test_a_session_that_speaks_http_goes_on_doing_so():
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


def test_a_program_that_runs_the_server_itself_is_left_alone(database):
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


def test_nothing_on_the_terminal_and_no_logging_set_up(local):
    program = """
    sys.argv = ['program', '--config-file', '/nonexistent']
    assert ask(direct.Direct()).status_code == 200
    assert not logging.getLogger().handlers
    """
    assert run(ASKING + program) == ''


def test_without_the_extra(local):
    program = """
    sys.modules['placement'] = None
    try:
        ask(direct.Direct())
    except errors.DirectError as error:
        print(error)
    """
    assert 'pip install "python-placementclient[direct]"' in run(ASKING + program)


# Many at once


def test_eight_threads_write(scratch):
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


# A scratch database


def test_a_scratch_database_goes_with_close():
    auth = direct.Direct.scratch()
    service = connect(auth)
    create(service, 'node')
    folder = Path(auth.database.removeprefix('sqlite:///')).parent
    assert folder.exists()
    auth.close()
    auth.close()
    assert not folder.exists()
    with pytest.raises(errors.DirectError, match='closed'):
        service.get('/')


def test_a_scratch_database_goes_with_the_last_reference():
    auth = direct.Direct.scratch()
    service = connect(auth)
    service.get('/')
    folder = Path(auth.database.removeprefix('sqlite:///')).parent
    del auth, service
    gc.collect()
    assert not folder.exists()


# The transport


@pytest.mark.parametrize('name', ['a b', 'a/b?c=d&e', 'größe', '100%', "';--", '日本'])
def test_what_is_encoded_in_urls_is_decoded(scratch, name):
    create(scratch, name)
    answer = scratch.get('/resource_providers', params={'name': name})
    assert [provider['name'] for provider in answer.json()['resource_providers']] == [name]


@pytest.mark.parametrize('body', [b'{"name": "node"}', '{"name": "node"}'])
def test_bodies(scratch, body):
    answer = scratch.post(
        '/resource_providers', data=body, headers={'Content-Type': 'application/json'}
    )
    assert answer.status_code == 200, answer.text


def test_what_fails_inside_is_answered(scratch):
    assert scratch.get('/').json()['versions'][0]['max_version']
    assert names(scratch) == set()
    database = scratch.session.auth.database.removeprefix('sqlite:///')
    execute(Path(database), 'DROP TABLE resource_providers')
    answer = scratch.get('/resource_providers')
    assert answer.status_code == 500
    assert answer.json()['errors'][0]['status'] == 500


# The caller


def test_other_roles():
    service = connect(direct.Direct(placement_roles='admin'))
    service.session.auth._transport = direct.Direct.scratch()._transport
    assert names(service) == set()
    assert service.post('/reshaper', json={}).status_code == 403


def test_nobody_is_nobody(scratch):
    assert scratch.get('/traits', authenticated=False).status_code == 403


def test_loaded_from_options(database):
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
