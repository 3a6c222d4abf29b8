# SPDX-License-Identifier: Apache-2.0
"""From one database to another: of any kind to any kind, and from the tables of nova_api.

The tests start MariaDB and PostgreSQL where they are installed.
"""

import contextlib
import os
import subprocess
import sys

import pytest
import sqlalchemy
from keystoneauth1.session import Session
from msgspec.structs import replace
from placement.db.sqlalchemy import migration

from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.embedded.service import Service, make_configuration
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import Snapshot
from tests.databases import available, served
from tests.functional import clouds, databases

KINDS = ('sqlite', *(pytest.param(kind, marks=pytest.mark.slow) for kind in available()))
#: The tables of Placement in nova_api, in an order in which each finds what it names.
TABLES = (
    'projects',
    'users',
    'resource_classes',
    'traits',
    'placement_aggregates',
    'resource_providers',
    'inventories',
    'consumers',
    'allocations',
    'resource_provider_aggregates',
    'resource_provider_traits',
)
#: The first schema of Placement, which is that of nova_api.
EXTRACTED = 'b4ed3a175331'


@pytest.fixture(scope='module')
def servers():
    """Returns the URL of a server of a kind, which it starts the first time."""
    urls: dict[str, str] = {}
    with contextlib.ExitStack() as stack:

        def url(kind):
            return urls.get(kind) or urls.setdefault(kind, stack.enter_context(served(kind)))

        yield url


@pytest.fixture
def url_of(servers, tmp_path):
    """Returns the URL of a database; of a kind that has a server each name has the same."""

    def url(kind, name):
        return f'sqlite:///{tmp_path / name}.sqlite' if kind == 'sqlite' else servers(kind)

    return url


def cloud():
    """Two hosts with custom names and aggregates; more is allocated than there is room for."""
    base = clouds.cloud(2, 4)
    first, second = base.roots()
    fpga = {'VGPU': Inventory(2, max_unit=1), 'CUSTOM_FPGA': Inventory(4, step_size=2)}
    traits = {*first.traits, 'CUSTOM_GOLD'}
    first = replace(first, inventories={**first.inventories, **fpga}, traits=frozenset(traits))
    return Snapshot([first, second], base.consumers.values())


def fill(url, content):
    """Make a database with this content."""
    databases.emptied(url)
    with Direct(placement_database=url) as direct:
        clouds.load(http.Client(Session(auth=direct), microversion.HIGHEST), content)


def run(url, command):
    """Run a command on a database, in a process of its own."""
    environment = {**os.environ, 'OS_AUTH_TYPE': 'placement_direct', 'OS_PLACEMENT_DATABASE': url}
    words = [sys.executable, '-m', 'placementclient', 'resource', 'provider', 'snapshot']
    return subprocess.run(
        [*words, *command.split()], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize('target', KINDS)
@pytest.mark.parametrize('source', KINDS)
def test_a_snapshot_moves_all_records_to_another_database(
    source, target, url_of, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    old, new = url_of(source, 'old'), url_of(target, 'new')
    fill(old, cloud())
    assert run(old, 'save old.json').returncode == 0
    databases.emptied(new)
    restored = run(new, 'restore old.json')
    assert restored.returncode == 0, restored.stderr
    compared = run(new, 'diff old.json live')
    assert (compared.returncode, compared.stderr) == (0, 'No differences\n')
    assert run(new, 'restore old.json --missing').stderr == 'Nothing to change\n'


def test_a_restore_goes_on_after_a_service_that_was_killed_between_two_transactions(
    url_of, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    old, new = url_of('sqlite', 'old'), url_of('sqlite', 'new')
    for url in (old, new):
        fill(url, cloud())
    assert run(old, 'save old.json').returncode == 0
    engine = sqlalchemy.create_engine(new)
    with engine.begin() as connection:
        # Placement first makes the records of consumers: here of all but the last one.
        connection.execute(sqlalchemy.text('DELETE FROM allocations'))
        connection.execute(sqlalchemy.text('UPDATE consumers SET generation = 0'))
        last = 'DELETE FROM consumers WHERE id = (SELECT max(id) FROM consumers)'
        connection.execute(sqlalchemy.text(last))
    engine.dispose()

    restored = run(new, 'restore old.json --missing')

    assert restored.returncode == 0, restored.stderr
    assert run(new, 'diff old.json live').stderr == 'No differences\n'


def copy_to_nova_api(source, target):
    """Fill the tables of nova_api, which has standard classes and types of consumers nowhere."""
    service = Service(make_configuration(target))
    migration.upgrade(EXTRACTED)
    service.close()
    old, new = sqlalchemy.create_engine(source), sqlalchemy.create_engine(target)
    rows, tables = sqlalchemy.MetaData(), sqlalchemy.MetaData()
    rows.reflect(old)
    tables.reflect(new)
    with old.connect() as reading, new.begin() as writing:
        for name in TABLES:
            table = tables.tables[name]
            known = [column.name for column in table.columns]
            query = sqlalchemy.select(*(rows.tables[name].c[column] for column in known))
            if name == 'resource_classes':
                query = query.where(sqlalchemy.text("name LIKE 'CUSTOM_%'"))
            records = [dict(row._mapping) for row in reading.execute(query)]
            if records:
                writing.execute(table.insert(), records)
            if new.dialect.name == 'postgresql' and 'id' in known and records:
                # As pg_dump does: else the next row would get the ID of the first.
                sequence = f"pg_get_serial_sequence('{name}', 'id')"
                writing.execute(sqlalchemy.text(f'SELECT setval({sequence}, max(id)) FROM {name}'))
        writing.execute(sqlalchemy.text('DROP TABLE alembic_version'))
    old.dispose()
    new.dispose()


def manage(folder, url, *words):
    """Run placement-manage on a database."""
    (folder / 'placement.conf').write_text(f'[placement_database]\nconnection = {url}\n')
    program = 'from placement.cmd.manage import main; raise SystemExit(main())'
    arguments = ['--config-file', str(folder / 'placement.conf'), 'db', *words]
    subprocess.run([sys.executable, '-c', program, *arguments], check=True, capture_output=True)


@pytest.mark.parametrize('kind', KINDS)
def test_the_tables_of_nova_api_become_a_placement(kind, url_of, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, target = url_of('sqlite', 'old'), url_of(kind, 'api')
    before = cloud()
    untyped = (replace(consumer, type=None) for consumer in before.consumers.values())
    fill(source, Snapshot(before.providers.values(), untyped))
    assert run(source, 'save old.json').returncode == 0
    engine = sqlalchemy.create_engine(target)
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    engine.dispose()
    copy_to_nova_api(source, target)
    refused = run(target, 'save no.json')
    assert (refused.returncode, 'has no schema of Placement' in refused.stderr) == (1, True)
    manage(tmp_path, target, 'stamp', EXTRACTED)
    manage(tmp_path, target, 'sync')
    manage(tmp_path, target, 'online_data_migrations')
    assert run(target, 'diff old.json live').stderr == 'No differences\n'
