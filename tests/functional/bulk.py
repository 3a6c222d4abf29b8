"""A Placement filled at once, past the service: with a great deal, and with what it refuses."""

import sqlite3

from sqlalchemy.engine import make_url

from placementclient.api import resource_provider


class Database:
    """The database of a scratch Placement.

    :param client: of a session with ``Direct.scratch()``
    """

    def __init__(self, client):
        resource_provider.list(client, name='nobody')  # starts the service
        url = make_url(client.session.auth._transport._service.database)
        self._connection = sqlite3.connect(str(url.database))
        self._connection.execute('PRAGMA synchronous = OFF')

    def fill(self, snapshot):
        """Write all that a snapshot has; the service is asked nothing."""
        with self._connection:
            ids = self._providers(snapshot)
            self._what_providers_have(snapshot, ids)
            self._consumers(snapshot)
            self._allocations(snapshot, ids)

    def forget_consumer(self, uuid):
        """Make the record of a consumer be missing, as it is of one from before there were any."""
        with self._connection:
            self._connection.execute('DELETE FROM consumers WHERE uuid = ?', (uuid,))

    def _providers(self, snapshot):
        ids: dict[str, int] = {}
        rows = []
        for root in snapshot.roots():
            for state in snapshot.tree(root.uuid):
                ids[state.uuid] = number = len(ids) + 1
                parent = ids.get(state.provider.parent_provider_uuid or '')
                rows.append((number, state.uuid, state.name, 1, ids[root.uuid], parent))
        self._insert(
            'resource_providers',
            'id uuid name generation root_provider_id parent_provider_id',
            rows,
        )
        return ids

    def _what_providers_have(self, snapshot, ids):
        states = snapshot.providers.values()
        classes = self._ids('resource_classes', 'name', (c for s in states for c in s.inventories))
        traits = self._ids('traits', 'name', (t for s in states for t in s.traits))
        aggregates = self._ids(
            'placement_aggregates', 'uuid', (a for s in states for a in s.aggregates)
        )
        fields = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')
        self._insert(
            'inventories',
            f'resource_provider_id resource_class_id {" ".join(fields)}',
            (
                (ids[s.uuid], classes[c], *(getattr(inventory, field) for field in fields))
                for s in states
                for c, inventory in s.inventories.items()
            ),
        )
        self._insert(
            'resource_provider_traits',
            'resource_provider_id trait_id',
            ((ids[s.uuid], traits[t]) for s in states for t in s.traits),
        )
        self._insert(
            'resource_provider_aggregates',
            'resource_provider_id aggregate_id',
            ((ids[s.uuid], aggregates[a]) for s in states for a in s.aggregates),
        )

    def _consumers(self, snapshot):
        consumers = snapshot.consumers.values()
        projects = self._ids('projects', 'external_id', (str(c.project_id) for c in consumers))
        users = self._ids('users', 'external_id', (str(c.user_id) for c in consumers))
        types = self._ids('consumer_types', 'name', (c.type for c in consumers if c.type))
        self._insert(
            'consumers',
            'uuid project_id user_id generation consumer_type_id',
            (
                (c.uuid, projects[str(c.project_id)], users[str(c.user_id)], 1, types.get(c.type))
                for c in consumers
            ),
        )

    def _allocations(self, snapshot, ids):
        classes = self._ids('resource_classes', 'name', ())
        self._insert(
            'allocations',
            'consumer_id resource_provider_id resource_class_id used',
            (
                (consumer.uuid, ids[uuid], classes[name], amount)
                for consumer in snapshot.consumers.values()
                for uuid, resources in consumer.allocations.items()
                for name, amount in resources.items()
            ),
        )

    def _ids(self, table, column, names):
        """The IDs of names, which are made where they are missing."""
        statement = f'INSERT OR IGNORE INTO {table} ({column}) VALUES (?)'
        self._connection.executemany(statement, ((name,) for name in sorted(set(names))))
        return dict(self._connection.execute(f'SELECT {column}, id FROM {table}').fetchall())

    def _insert(self, table, columns, rows):
        names = [*columns.split(), 'created_at', 'updated_at']
        marks = ', '.join('?' * len(columns.split()))
        self._connection.executemany(
            f'INSERT INTO {table} ({", ".join(names)}) '
            f"VALUES ({marks}, datetime('now'), datetime('now'))",
            rows,
        )
