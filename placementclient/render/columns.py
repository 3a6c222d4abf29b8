# SPDX-License-Identifier: Apache-2.0
"""The columns of every table that a command prints.

Names and order are a contract: scripts select columns by name and read values by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.client.microversion import LOWEST, Microversion
from placementclient.model.inventories import FIELDS
from placementclient.render.facts import Facts, format_amounts

if TYPE_CHECKING:
    from placementclient.model.consumers import (
        Candidate,
        Consumer,
        Holding,
        ProjectUsage,
        ProviderSummary,
        Resources,
    )
    from placementclient.model.freshness import Read

#: The result of a command for cliff.
Output = tuple[tuple[str, ...], Any]


class Column(NamedTuple):
    """A column of a table.

    :param value: returns the cell of an item; ``None``: its attribute of this name
    :param since: the microversion that has the column
    """

    name: str
    value: Callable[[Any], object] | None = None
    since: Microversion = LOWEST


class Columns:
    """The columns of a table. They make a table of several items, or a row of one item."""

    def __init__(self, *columns: Column) -> None:
        self._columns = columns

    def __add__(self, other: Columns) -> Columns:
        return Columns(*self._columns, *other._columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, at any microversion."""
        return tuple(column.name for column in self._columns)

    def make_table(self, items: Iterable[object], version: Microversion = LOWEST) -> Output:
        """Return the names of the columns, and a row for each item.

        :param version: the microversion; columns that are newer are left out
        """
        columns = [column for column in self._columns if version >= column.since]
        values_of = [column.value or attrgetter(column.name) for column in columns]
        values = [tuple([value(item) for value in values_of]) for item in items]
        return tuple(column.name for column in columns), values

    def make_row(self, item: object, version: Microversion = LOWEST) -> Output:
        """Return the names of the columns that a microversion has, and the values of one item."""
        names, (values,) = self.make_table([item], version)
        return names, values


def _make_field_column(name: str) -> Column:
    """Return a column with the value of a key of each item; empty if the item lacks it."""
    return Column(name, lambda item: item.get(name, ''))


def group_holdings_by_consumer(holdings: Iterable[Holding]) -> dict[str, dict[str, object]]:
    """Return the allocations of a provider by consumer, in the form of Placement's API."""
    records: dict[str, dict[str, object]] = {}
    for holding in holdings:
        record = records[holding.consumer_uuid] = {'resources': dict(holding.resources)}
        if holding.consumer_generation is not None:
            record['consumer_generation'] = holding.consumer_generation
    return records


def list_candidates(
    candidates: Iterable[Candidate],
    summaries: Mapping[str, ProviderSummary],
    version: Microversion,
    *,
    long: bool,
) -> Output:
    """Return a table with a row for each provider of each candidate.

    :param summaries: of the providers, by UUID
    :param long: whether to add the columns for the groups of the request and the tree
    """
    columns = CANDIDATE + CANDIDATE_TREE if long else CANDIDATE
    return columns.make_table(_make_candidate_rows(candidates, summaries, 1), version)


def list_claim_and_alternates(
    candidates: Iterable[Candidate],
    summaries: Mapping[str, ProviderSummary],
    names: Mapping[str, str],
    version: Microversion,
) -> Output:
    """Return a table with the providers of the claimed candidate, number 0, and its alternates.

    :param candidates: the claimed one first
    :param summaries: of the providers, by UUID
    :param names: of the providers, by UUID
    """
    return CLAIMED.make_table(_make_candidate_rows(candidates, summaries, 0, names), version)


class _AllocationRow(NamedTuple):
    """The allocations of a consumer on one provider.

    :param generation: of the provider
    :param name: of the provider
    """

    uuid: str
    generation: int | None
    resources: Resources
    consumer: Consumer
    name: str


def list_allocations(
    read: Read[Consumer], version: Microversion, names: Mapping[str, str] | None = None
) -> Output:
    """Return a table with the allocations of a consumer.

    :param names: of the providers, by UUID; ``None``: the table has no column for them
    """
    columns = ALLOCATION if names is None else RELOCATED
    rows = (
        _AllocationRow(
            uuid, read.generations[uuid], resources, read.value, (names or {}).get(uuid, '')
        )
        for uuid, resources in read.value.allocations.items()
    )
    return columns.make_table(rows, version)


class _CandidateRow(NamedTuple):
    """A provider of a candidate.

    :param number: of the candidate
    """

    number: int
    uuid: str
    candidate: Candidate
    summary: ProviderSummary
    name: str


def _make_candidate_rows(
    candidates: Iterable[Candidate],
    summaries: Mapping[str, ProviderSummary],
    first: int,
    names: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[_CandidateRow]:
    """Yield a row for each provider of each candidate.

    :param first: the number of the first candidate
    :param summaries: of the providers, by UUID
    :param names: of the providers, by UUID, for tables that have them
    """
    for number, candidate in enumerate(candidates, first):
        for uuid in candidate.allocations:
            yield _CandidateRow(number, uuid, candidate, summaries[uuid], names.get(uuid, ''))


def _format_requested_amounts(row: _CandidateRow) -> str:
    resources = row.candidate.allocations[row.uuid]
    return ','.join(f'{name}={amount}' for name, amount in resources.items())


def _make_served_groups_cell(row: _CandidateRow) -> Facts:
    """Return the suffixes of the request groups that a provider serves; the text omits ``''``."""
    mappings = row.candidate.mappings.items()
    groups = [group for group, providers in mappings if row.uuid in providers]
    return Facts(groups, lambda groups: ', '.join(filter(None, groups)))


def _format_provider_usage(row: _CandidateRow) -> str:
    resources = row.summary.resources.items()
    return ','.join(f'{name}={used}/{capacity}' for name, (used, capacity) in resources)


def list_project_usage(usages: Iterable[ProjectUsage]) -> Output:
    """Return a table of the usages of a project by consumer type and class."""
    rows = [
        (usage.consumer_type, usage.consumer_count, name, amount)
        for usage in usages
        for name, amount in usage.resources.items()
    ]
    return ('consumer_type', 'consumer_count', 'resource_class', 'usage'), rows


_TREES = Microversion(1, 14)
#: Items are names.
NAME = Columns(Column('name', str))
#: Items are UUIDs.
UUID = Columns(Column('uuid', str))
PROVIDER = Columns(
    Column('uuid'),
    Column('name'),
    Column('generation'),
    Column('root_provider_uuid', since=_TREES),
    Column('parent_provider_uuid', since=_TREES),
)
#: Items are mappings of an inventory's fields; '' where one has not been given.
INVENTORY = Columns(*map(_make_field_column, FIELDS))
INVENTORY_OF_CLASS = Columns(_make_field_column('resource_class')) + INVENTORY
INVENTORY_OF_PROVIDER = Columns(_make_field_column('resource_provider')) + INVENTORY_OF_CLASS
USED_INVENTORY = INVENTORY + Columns(_make_field_column('used'))
USED_INVENTORY_OF_CLASS = INVENTORY_OF_CLASS + Columns(_make_field_column('used'))
#: Items are (resource class, amount).
USAGE = Columns(Column('resource_class', itemgetter(0)), Column('usage', itemgetter(1)))
_OWNER = Columns(
    Column('project_id', attrgetter('consumer.project_id'), Microversion(1, 12)),
    Column('user_id', attrgetter('consumer.user_id'), Microversion(1, 12)),
    Column('consumer_type', lambda row: row.consumer.type or 'unknown', Microversion(1, 38)),
)
#: osc-placement prints resources as Python does.
ALLOCATION = (
    Columns(
        Column('resource_provider', attrgetter('uuid')),
        Column('generation'),
        Column('resources', lambda row: dict(row.resources)),
    )
    + _OWNER
)
RELOCATED = (
    Columns(
        Column('resource_provider', attrgetter('uuid')),
        Column('name'),
        Column('generation'),
        Column('resources', lambda row: Facts(dict(row.resources), format_amounts)),
    )
    + _OWNER
)
_CANDIDATE = Columns(
    Column('#', attrgetter('number')),
    Column('allocation', _format_requested_amounts),
    Column('resource provider', attrgetter('uuid')),
)
_OF_PROVIDER = Columns(
    Column('inventory used/capacity', _format_provider_usage),
    Column('traits', lambda row: ','.join(row.summary.traits), Microversion(1, 17)),
)
CANDIDATE = _CANDIDATE + _OF_PROVIDER
CANDIDATE_TREE = Columns(
    Column('groups', _make_served_groups_cell, Microversion(1, 34)),
    Column('parent_provider_uuid', attrgetter('summary.parent_provider_uuid'), Microversion(1, 29)),
    Column('root_provider_uuid', attrgetter('summary.root_provider_uuid'), Microversion(1, 29)),
)
CLAIMED = _CANDIDATE + Columns(Column('name')) + _OF_PROVIDER + CANDIDATE_TREE
#: Items are :class:`placementclient.insight.diff.Difference`.
DIFFERENCE = Columns(
    Column('change', attrgetter('change_type')),
    *map(Column, ('kind', 'name', 'uuid', 'field')),
    Column('before', lambda item: Facts(item.before)),
    Column('after', lambda item: Facts(item.after)),
)
#: Items are :class:`placementclient.model.consumers.Holding`.
HOLDING = Columns(
    Column('consumer', attrgetter('consumer_uuid')),
    Column('resources', lambda holding: Facts(dict(holding.resources), format_amounts)),
    Column('consumer_generation', since=Microversion(1, 28)),
)
