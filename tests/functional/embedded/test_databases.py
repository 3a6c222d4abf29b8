# SPDX-License-Identifier: Apache-2.0
"""The databases of the service in this process: which it creates, migrates and refuses."""

import gc
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from placementclient import embedded as direct
from placementclient.basis import errors
from tests.functional.embedded.sessions import CONFIGURED, connect, create, execute, names, run

pytest.importorskip('placement')

SYNC = 'placement-manage db sync'
#: An early revision of the server's schema.
OLD = '611cd6dffd7b'


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


def test_the_first_request_creates_the_database_of_the_user(local):
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
def test_processes_may_create_the_database_at_the_same_moment(local):
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
    with pytest.raises(errors.DirectError, match='There is no database'):
        connect(direct.Direct(url.format(path))).get('/')
    assert not path.exists()


def test_a_named_database_without_schema_is_refused_and_stays_empty(tmp_path):
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


NOVA_API = ('cell_mappings', 'request_specs', 'resource_providers')


@pytest.mark.parametrize('version', ['', 'b30f573d3377'])
@pytest.mark.parametrize(
    ('tables', 'whose'),
    [
        (NOVA_API, 'nova_api, such as cell_mappings'),
        (('orders', 'users'), 'something else, such as orders, users'),
    ],
)
def test_a_database_of_another_service_is_refused_and_stays_as_it_is(
    tmp_path, version, tables, whose
):
    path = tmp_path / 'other.sqlite'
    for table in tables:
        execute(path, f'CREATE TABLE {table} (id INTEGER)')
    if version:
        execute(path, 'CREATE TABLE alembic_version (version_num VARCHAR(32))')
        execute(path, f"INSERT INTO alembic_version VALUES ('{version}')")
    before = path.read_bytes()
    reason = f"is not Placement's, but has tables of {whose}: check its URL"
    with pytest.raises(errors.DirectError, match=reason) as caught:
        connect(direct.Direct(f'sqlite:///{path}')).get('/')
    assert SYNC not in str(caught.value)
    assert path.read_bytes() == before


def test_a_user_who_may_only_read_needs_the_standard_traits(tmp_path):
    path = tmp_path / 'fresh.sqlite'
    sync(path, 'head')
    read_only = f'sqlite:///file:{path}?mode=ro&uri=true'
    with pytest.raises(errors.DirectError, match=r'lacks standard traits.* user who may write'):
        connect(direct.Direct(read_only)).get('/')
    create(connect(direct.Direct(f'sqlite:///{path}')), 'node')
    assert names(connect(direct.Direct(read_only))) == {'node'}


def test_a_newer_schema_is_refused(database):
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
def test_a_database_may_be_in_a_folder_with_special_characters(folder, tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path / folder))
    create(connect(direct.Direct()), 'node')
    path = tmp_path / folder / 'placementclient' / 'placement.sqlite'
    assert execute(path, 'SELECT name FROM resource_providers') == [('node',)]


# A scratch database


def test_close_removes_a_scratch_database():
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


def test_the_last_reference_removes_a_scratch_database():
    auth = direct.Direct.scratch()
    service = connect(auth)
    service.get('/')
    folder = Path(auth.database.removeprefix('sqlite:///')).parent
    del auth, service
    gc.collect()
    assert not folder.exists()
