# SPDX-License-Identifier: Apache-2.0
"""Commands on the real Placement of a cloud, and the judgement of what they have freed."""

import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keystoneauth1.session import Session

from placementclient.embedded import Direct
from tests.functional import databases
from tests.worlds.cloud import CLASSES, SHARING, Cloud
from tests.worlds.nova import URL, CatalogDirect, LyingNova

#: By consumer, provider and class.
Held = dict[tuple[str, str | None, str], int]
_TRAITS = (SHARING, 'COMPUTE_NODE', 'OWNER_NOVA', 'OWNER_CYBORG')
_SUM = """SELECT a.consumer_id, p.uuid, c.name, a.used FROM allocations a
    JOIN resource_providers p ON a.resource_provider_id = p.id
    JOIN resource_classes c ON a.resource_class_id = c.id"""


class Stage:
    """The real Placement in this process, with one cloud at a time."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self._direct = Direct.scratch(self.folder)
        for name in filter(lambda name: name.startswith('CUSTOM_'), CLASSES):
            self.session().put(
                f'/resource_classes/{name}',
                endpoint_filter={'service_type': 'placement'},
                headers={'OpenStack-API-Version': 'placement 1.7'},
            )
        path = databases.sqlite_file(self.session())
        self._database = sqlite3.connect(str(path), check_same_thread=False)
        with self._database as database:
            database.execute("INSERT INTO users (id, external_id) VALUES (1, 'u')")
            database.execute("INSERT INTO consumer_types (id, name) VALUES (1, 'INSTANCE')")
            database.execute("INSERT INTO consumer_types (id, name) VALUES (2, 'MIGRATION')")
        self._classes = dict(self._database.execute('SELECT name, id FROM resource_classes'))
        self._traits = dict(self._database.execute('SELECT name, id FROM traits'))

    def close(self) -> None:
        self._database.close()
        self._direct.close()
        self._folder.cleanup()

    def set(self, cloud: Cloud, *, is_typed: bool) -> None:
        """Let Placement have a cloud, and nothing else."""
        with self._database as database:
            for table in (*databases.PROVIDER_TABLES, 'placement_aggregates', 'projects'):
                database.execute(f'DELETE FROM {table}')
            self._insert_providers(cloud)
            self._insert_allocations(cloud, is_typed)

    def _insert(self, table: str, rows: Sequence[Sequence[Any]], columns: str) -> None:
        marks = ', '.join('?' * len(columns.split(',')))
        self._database.executemany(f'INSERT INTO {table} ({columns}) VALUES ({marks})', rows)

    def _insert_providers(self, cloud: Cloud) -> None:
        ids = {uuid: n for n, uuid in enumerate(cloud.providers, 1)}
        states = [(ids[p.uuid], p) for p in cloud.providers.values()]
        aggregates = {p.aggregate: n for n, p in states if p.aggregate}
        self._insert(
            'resource_providers',
            [
                (n, p.uuid, p.name, 1, ids[p.root.uuid], p.parent and ids[p.parent.uuid])
                for n, p in states
            ],
            'id, uuid, name, generation, root_provider_id, parent_provider_id',
        )
        self._insert(
            'inventories',
            [
                (n, self._classes[name], CLASSES[name], 0, 1, CLASSES[name], 1, 1.0)
                for n, p in states
                for name in p.classes
            ],
            'resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, '
            'step_size, allocation_ratio',
        )
        traits = [(n, self._traits[name]) for n, p in states for name in p.traits]
        self._insert('resource_provider_traits', traits, 'resource_provider_id, trait_id')
        self._insert('placement_aggregates', [*aggregates.items()], 'uuid, id')
        members = [(n, aggregates[p.aggregate]) for n, p in states if p.aggregate]
        self._insert('resource_provider_aggregates', members, 'resource_provider_id, aggregate_id')

    def _insert_allocations(self, cloud: Cloud, is_typed: bool) -> None:
        ids = {uuid: n for n, uuid in enumerate(cloud.providers, 1)}
        projects = {server.uuid: server.project for server in cloud.servers}
        projects |= {m.uuid: m.server.project for m in cloud.migrations}
        numbers = {name: n for n, name in enumerate(sorted({*projects.values(), 'nobody'}), 1)}
        self._insert('projects', [*numbers.items()], 'external_id, id')
        migrations = {migration.uuid for migration in cloud.migrations}
        consumers = dict.fromkeys(holding.consumer for holding in cloud.holdings)
        self._insert(
            'consumers',
            [
                (uuid, numbers[projects.get(uuid, 'nobody')], 1, 1,
                 (2 if uuid in migrations else 1) if is_typed and uuid in projects else None)
                for uuid in consumers
            ],
            'uuid, project_id, user_id, generation, consumer_type_id',
        )  # fmt: skip
        self._insert(
            'allocations',
            [
                (ids[h.provider.uuid], h.consumer, self._classes[name], amount, at, at)
                for h in cloud.holdings
                for at in [_written(h.written)]
                for name, amount in h.resources.items()
            ],
            'resource_provider_id, consumer_id, resource_class_id, used, created_at, updated_at',
        )

    def held(self) -> Held:
        """Return all allocations, read past all that is tested."""
        return {row[:3]: row[3] for row in self._database.execute(_SUM)}

    def providers(self) -> dict[str, str]:
        return dict(self._database.execute('SELECT uuid, name FROM resource_providers'))

    def rewrite(self, consumer: str) -> None:
        """Let another client write the allocations of a consumer again."""
        with self._database as database:
            database.execute(
                'UPDATE consumers SET generation = generation + 1 WHERE uuid = ?', [consumer]
            )
            now = _written(0)
            database.execute(
                'UPDATE allocations SET updated_at = ? WHERE consumer_id = ?', [now, consumer]
            )

    def session(self, nova: LyingNova | None = None) -> Session:
        """Return a session that has a compute service in its catalog, if there is one."""
        if nova is None:
            return Session(auth=self._direct)
        session = Session(auth=CatalogDirect(self._direct))
        session.session.mount(URL, nova)
        return session


def _written(hours: float) -> str:
    moment = datetime.now(UTC) - timedelta(hours=hours)
    return moment.strftime('%Y-%m-%d %H:%M:%S.%f')
