# SPDX-License-Identifier: Apache-2.0
"""Databases that a server has, for tests that are run on them."""

import contextlib
import sqlite3

import sqlalchemy

from placementclient.embedded import Direct
from placementclient.embedded.service import Service, make_configuration

SQLITE = 'sqlite:///'
#: Those that name providers or consumers come before those that hold them.
PROVIDER_TABLES = (
    'allocations',
    'inventories',
    'resource_provider_traits',
    'resource_provider_aggregates',
    'resource_providers',
    'consumers',
)

#: What says what there is; the rest is bookkeeping, such as the projects that were ever named.
TABLES = {
    'resource_providers': 'uuid, name, parent_provider_id',
    'inventories': 'resource_provider_id, resource_class_id, total, reserved, allocation_ratio',
    'allocations': 'resource_provider_id, consumer_id, resource_class_id, used',
    'resource_provider_traits': 'resource_provider_id, trait_id',
    'resource_provider_aggregates': 'resource_provider_id, aggregate_id',
    'traits': 'name',
    'resource_classes': 'name',
    'consumers': 'uuid, project_id, user_id, consumer_type_id',
}


def emptied(url):
    """Leave a database with a current schema and nothing else."""
    engine = sqlalchemy.create_engine(url)
    tables = sqlalchemy.MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    engine.dispose()
    service = Service(make_configuration(url))
    service.migrate_schema()
    service.close()


def sqlite_file(session):
    """Return the file of the embedded service that a session reaches, if it has one."""
    url = session.auth.database if isinstance(session.auth, Direct) else ''
    return url.removeprefix(SQLITE) if url.startswith(SQLITE) else None


def clear(path):
    """Delete all providers and allocations from a SQLite database."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for table in PROVIDER_TABLES:
            database.execute(f'DELETE FROM {table}')


@contextlib.contextmanager
def restored(path):
    """Bring a SQLite database back to its present content after the block."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        before = database.serialize()
    yield
    with (
        contextlib.closing(sqlite3.connect(path)) as database,
        contextlib.closing(sqlite3.connect(':memory:')) as copy,
    ):
        copy.deserialize(before)
        copy.backup(database)


def content(connection):
    """What a SQLite database has, by table, in an order that does not depend on anything."""
    return {
        table: sorted(connection.execute(f'SELECT {columns} FROM {table}'), key=repr)
        for table, columns in TABLES.items()
    }
