# SPDX-License-Identifier: Apache-2.0
"""A Placement, or some of its trees, read from the server's tables in one transaction.

The joins are those of the server's own queries, as only the database knows which UUIDs are equal:
in MariaDB, capitals equal small letters, in SQLite and PostgreSQL they do not.
"""

import contextlib
import itertools
import operator
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Any, TypeVar

from placement.db.sqlalchemy import models
from sqlalchemy import Connection, Engine, Select, select
from sqlalchemy.orm import aliased

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

#: Of more trees than this everything is read, and the rest is left out: databases limit the
#: parameters of a statement.
SELECTED = 500
#: How many rows a table's cursor hands out at once.
_FETCHED = 1000

#: The ids of the roots of the trees that are read; ``None``: all trees.
_RootIds = list[int] | None
T = TypeVar('T')
R = TypeVar('R', bound=tuple[object, ...])


def read_snapshot(engine: Engine, roots: Collection[str] | None, *, types: bool) -> Snapshot:
    """Return the content of the tables of a database at one moment.

    :param roots: the UUIDs of the roots of the trees; one that does not exist is passed over;
        ``None``: everything
    :param types: whether consumers have types, as from microversion 1.38 on
    """
    with _open_transaction(engine) as connection:
        return _TableReader(connection).read_snapshot(roots, types=types)


def read_providers(engine: Engine, roots: Collection[str]) -> list[Provider]:
    """Return the providers of some trees, by the UUIDs of their roots."""
    with _open_transaction(engine) as connection:
        return list(_TableReader(connection).read_providers(roots)[0].values())


@contextlib.contextmanager
def _open_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a transaction of which all statements see the same moment."""
    with engine.connect() as connection:
        if connection.dialect.name != 'sqlite':
            # Else each statement may see another moment; SQLite always shows one moment.
            connection.execution_options(isolation_level='REPEATABLE READ')
        with connection.begin():
            yield connection


class _TableReader:
    """Reads the tables of a database in one transaction, each with one query."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._shared: dict[Any, Any] = {}

    def read_snapshot(self, roots: Collection[str] | None, *, types: bool) -> Snapshot:
        """Return the trees of some roots, or all, with the consumers on them.

        :param types: whether consumers have their types
        """
        providers, root_ids = self.read_providers(roots)
        classes, traits = self._read_names(models.ResourceClass), self._read_names(models.Trait)
        inventories = self._read_inventories(root_ids, classes)
        traits_of = self._read_linked_names(
            root_ids, models.ResourceProviderTrait, 'trait_id', traits
        )
        aggregates = self._read_names(models.PlacementAggregate, 'uuid')
        aggregates_of = self._read_linked_names(
            root_ids, models.ResourceProviderAggregate, 'aggregate_id', aggregates
        )
        used, allocated = self._read_usages_and_allocations(root_ids, classes)
        nothing: frozenset[str] = frozenset()
        states = [
            ProviderState(
                provider,
                inventories.get(id, {}),
                traits_of.get(id, nothing),
                aggregates_of.get(id, nothing),
                # Usages are those of inventories.
                {name: used.get(id, {}).get(name, 0) for name in inventories.get(id, ())},
            )
            for id, provider in providers.items()
        ]
        uuids = {state.uuid for state in states}
        return Snapshot(states, self._read_consumers(root_ids, allocated, uuids, types=types))

    def read_providers(self, roots: Collection[str] | None) -> tuple[dict[int, Provider], _RootIds]:
        """Return providers by ID, and the IDs of their roots: ``None`` if all trees were read.

        :param roots: the UUIDs of the roots of the trees; ``None``: all trees
        """
        rp = models.ResourceProvider
        root, parent = aliased(rp), aliased(rp)
        query = (
            select(
                rp.id, rp.uuid, rp.name, rp.generation, parent.uuid, root.uuid, rp.root_provider_id
            )
            .join(root, rp.root_provider_id == root.id)
            .outerjoin(parent, rp.parent_provider_id == parent.id)
        )
        selected = None if roots is None else frozenset(roots)
        if selected is None or len(selected) > SELECTED:
            providers = {
                row[0]: Provider(*map(self._share_equal, row[1:6]))
                for row in self._fetch_rows(query)
                if selected is None or row[5] in selected
            }
            return providers, None
        rows = list(self._fetch_rows(query.where(root.uuid.in_(list(selected)))))
        return {row[0]: Provider(*row[1:6]) for row in rows}, sorted({row[6] for row in rows})

    def _read_names(self, model: type[models.BASE], column: str = 'name') -> dict[int, str]:
        """Return the names in the column of a table, by ID."""
        return {
            id: self._share_equal(name)
            for id, name in self._fetch_rows(select(model.id, getattr(model, column)))
        }

    def _read_inventories(
        self, root_ids: _RootIds, classes: Mapping[int, str]
    ) -> dict[int, dict[str, Inventory]]:
        """Return inventories by provider ID and class."""
        model, result = models.Inventory, dict[int, dict[str, Inventory]]()
        query = select(
            model.resource_provider_id,
            model.resource_class_id,
            *(getattr(model, field) for field in Inventory.__struct_fields__),
        )
        for row in self._fetch_rows(_limit_to_trees(query, model, root_ids)):
            result.setdefault(row[0], {})[classes[row[1]]] = self._share_equal(Inventory(*row[2:]))
        return result

    def _read_linked_names(
        self, root_ids: _RootIds, model: type[models.BASE], column: str, names: Mapping[int, str]
    ) -> dict[int, frozenset[str]]:
        """Return the traits or the aggregates of providers, by provider ID.

        :param model: the table that links providers to traits or aggregates
        :param column: its column with the ID of the trait or aggregate
        :param names: the names of the traits, or the UUIDs of the aggregates, by ID
        """
        query = select(model.resource_provider_id, getattr(model, column))
        rows = self._fetch_rows(
            _limit_to_trees(query, model, root_ids).order_by(model.resource_provider_id)
        )
        return {
            provider: self._share_equal(frozenset(names[id] for _, id in pairs))
            for provider, pairs in itertools.groupby(rows, operator.itemgetter(0))
        }

    def _read_usages_and_allocations(
        self, root_ids: _RootIds, classes: Mapping[int, str]
    ) -> tuple[dict[int, dict[str, int]], dict[int, dict[str, dict[str, int]]]]:
        """Return usages by provider ID and class, and allocations by consumer ID.

        The allocations of a consumer are amounts by provider UUID and class.
        """
        model, rp, consumer = models.Allocation, models.ResourceProvider, models.Consumer
        query = (
            select(rp.id, rp.uuid, consumer.id, model.resource_class_id, model.used)
            .join(rp, model.resource_provider_id == rp.id)
            .outerjoin(consumer, model.consumer_id == consumer.uuid)
        )
        if root_ids is not None:
            query = query.where(model.consumer_id.in_(_select_consumers(root_ids)))
        used: dict[int, dict[str, int]] = {}
        allocated: dict[int, dict[str, dict[str, int]]] = {}
        for id, uuid, consumer_id, class_id, amount in self._fetch_rows(query):
            name = classes[class_id]
            usages = used.setdefault(id, {})
            usages[name] = usages.get(name, 0) + amount
            if consumer_id is not None:
                holdings = allocated.setdefault(consumer_id, {})
                holdings.setdefault(self._share_equal(uuid), {})[name] = amount
        return used, allocated

    def _read_consumers(
        self,
        root_ids: _RootIds,
        allocated: Mapping[int, dict[str, dict[str, int]]],
        providers: Container[str],
        *,
        types: bool,
    ) -> Iterator[Consumer]:
        """Yield the consumers on providers; ``allocated`` has allocations by consumer ID.

        :param providers: the UUIDs of the providers of the snapshot
        :param types: whether consumers have their types
        """
        consumer, project, user = models.Consumer, models.Project, models.User
        owner, kind = (project.external_id, user.external_id), models.ConsumerType
        query = (
            select(consumer.id, consumer.uuid, *owner, consumer.generation, kind.name)
            .join(project, consumer.project_id == project.id)
            .join(user, consumer.user_id == user.id)
            .outerjoin(kind, consumer.consumer_type_id == kind.id)
        )
        if root_ids is not None:
            query = query.where(consumer.uuid.in_(_select_consumers(root_ids)))
        for id, uuid, project_id, user_id, generation, type_ in self._fetch_rows(query):
            allocations = allocated.get(id, {})
            if any(provider in providers for provider in allocations):
                yield Consumer(
                    uuid,
                    allocations,
                    self._share_equal(project_id),
                    self._share_equal(user_id),
                    generation,
                    self._share_equal(type_) if types else None,
                )

    def _fetch_rows(self, query: Select[Any]) -> Iterator[Any]:
        for rows in self._connection.execute(query).partitions(_FETCHED):
            yield from rows

    def _share_equal(self, value: T) -> T:
        """Return the same object for equal values, to save memory: hosts are alike."""
        shared: T = self._shared.setdefault(value, value)
        return shared


def _limit_to_trees(query: Select[R], model: type[models.BASE], root_ids: _RootIds) -> Select[R]:
    """Return a query for those rows of a table that belong to providers of some trees."""
    if root_ids is None:
        return query
    rp = models.ResourceProvider
    in_trees = rp.root_provider_id.in_(root_ids)
    return query.join(rp, model.resource_provider_id == rp.id).where(in_trees)


def _select_consumers(root_ids: list[int]) -> Select[tuple[str]]:
    """Return a query for the UUIDs of the consumers with allocations on some trees."""
    query = select(models.Allocation.consumer_id)
    return _limit_to_trees(query, models.Allocation, root_ids)
