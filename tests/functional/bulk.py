# SPDX-License-Identifier: Apache-2.0
"""A Placement filled at once, past the service: with a great deal, and with what it refuses."""

from datetime import datetime

import sqlalchemy

from placementclient.api import resource_provider

#: Long ago, so that nothing seems to have changed since Nova was asked.
FILLED_AT = datetime(2019, 12, 31)


class Database:
    """The database of an embedded Placement without providers.

    :param client: of a session with ``Direct``
    :param url: of the database, where it is not a file alone
    """

    def __init__(self, client, url=None):
        resource_provider.list(client, name='nobody')  # starts the service
        self._engine = sqlalchemy.create_engine(url or client.session.auth.database)
        self._tables = sqlalchemy.MetaData()
        self._tables.reflect(self._engine)

    def execute(self, statement, *rows):
        """Execute a statement with the parameters of each row."""
        with self._engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement), rows or None)

    def fill(self, snapshot):
        """Write all that a snapshot has; the service is asked nothing."""
        with self._engine.begin() as self._connection:
            ids = self._providers(snapshot)
            self._what_providers_have(snapshot, ids)
            self._consumers(snapshot)
            self._allocations(snapshot, ids)
        self._engine.dispose()

    def forget_consumer(self, uuid):
        """Make the record of a consumer be missing, as it is of one from before there were any."""
        self.execute('DELETE FROM consumers WHERE uuid = :uuid', {'uuid': uuid})

    def _providers(self, snapshot):
        ids: dict[str, int] = {}
        rows = []
        for root in snapshot.roots():
            for state in snapshot.tree(root.uuid):
                ids[state.uuid] = number = len(ids) + 1
                parent = ids.get(state.provider.parent_provider_uuid or '')
                generation = state.provider.generation
                rows.append((number, state.uuid, state.name, generation, ids[root.uuid], parent))
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
        columns = self._tables.tables[table].c
        query = sqlalchemy.select(columns[column], columns.id)
        existing = dict(self._connection.execute(query).fetchall())
        self._insert(table, column, ((name,) for name in sorted(set(names) - existing.keys())))
        return dict(self._connection.execute(query).fetchall())

    def _insert(self, table, columns, rows):
        names = columns.split()
        records = [{'created_at': FILLED_AT, **dict(zip(names, row, strict=True))} for row in rows]
        if records:
            self._connection.execute(self._tables.tables[table].insert(), records)
