# SPDX-License-Identifier: Apache-2.0
"""The columns of every table that a command prints.

Names and order are a contract: scripts select columns by name and read values by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from placementclient.client.microversion import LOWEST, Microversion
from placementclient.model.inventories import FIELDS
from placementclient.render.facts import Facts, format_amounts

if TYPE_CHECKING:
    from placementclient.model.consumers import (
        Candidate,
        Consumer,
        Holding,
        ProviderSummary,
        Resources,
        Usage,
    )
    from placementclient.model.freshness import Read

#: The result of a command for cliff.
Output = tuple[tuple[str, ...], Any]


class Column(NamedTuple):
    """A column of a table; without a function for its value, the attribute of that name."""

    name: str
    value: Callable[[Any], Any] | None = None
    since: Microversion = LOWEST


class Columns:
    def __init__(self, *columns: Column) -> None:
        self._columns = columns

    def __add__(self, other: Columns) -> Columns:
        return Columns(*self._columns, *other._columns)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, at any microversion."""
        return tuple(column.name for column in self._columns)

    def rows(self, items: Iterable[Any], version: Microversion = LOWEST) -> Output:
        """Return a table of several items, with the columns of a microversion."""
        columns = [column for column in self._columns if version >= column.since]
        values_of = [column.value or attrgetter(column.name) for column in columns]
        values = [tuple([value(item) for value in values_of]) for item in items]
        return tuple(column.name for column in columns), values

    def fields(self, item: Any, version: Microversion = LOWEST) -> Output:
        names, (values,) = self.rows([item], version)
        return names, values


def _make_key_column(name: str, position: int) -> Column:
    return Column(name, itemgetter(position))


def _make_field_column(name: str) -> Column:
    return Column(name, lambda item: item.get(name, ''))


def group_by_consumer(holdings: Iterable[Holding]) -> dict[str, dict[str, Any]]:
    """Return the allocations of a provider by consumer, in the form of Placement's API."""
    records: dict[str, dict[str, Any]] = {}
    for holding in holdings:
        records[holding.consumer_uuid] = {'resources': dict(holding.resources)}
        if holding.consumer_generation is not None:
            records[holding.consumer_uuid]['consumer_generation'] = holding.consumer_generation
    return records


def list_candidates(
    listed: Iterable[Candidate],
    summaries: Mapping[str, ProviderSummary],
    version: Microversion,
    *,
    long: bool,
) -> Output:
    """Return a row for each provider of each candidate; long ones with groups and tree."""
    columns = CANDIDATE + CANDIDATE_TREE if long else CANDIDATE
    return columns.rows(_number_rows(listed, summaries, 1), version)


def list_claimed(
    granted: Iterable[Candidate],
    summaries: Mapping[str, ProviderSummary],
    names: Mapping[str, str],
    version: Microversion,
) -> Output:
    """Return a row for each claimed provider, with number 0, and for those of the alternates."""
    items = [(*item, names.get(item[1], '')) for item in _number_rows(granted, summaries, 0)]
    return CLAIMED.rows(items, version)


def list_relocated(
    shown: Read[Consumer], names: Mapping[str, str], version: Microversion
) -> Output:
    """Return the allocations of a consumer, with the names of the providers."""
    items = [
        (uuid, Facts(dict(resources), format_amounts), shown, names.get(uuid, ''))
        for uuid, resources in shown.value.allocations.items()
    ]
    return RELOCATED.rows(items, version)


def _number_rows(
    listed: Iterable[Candidate], summaries: Mapping[str, ProviderSummary], first: int
) -> list[tuple[int, str, Resources, Candidate, ProviderSummary]]:
    return [
        (number, uuid, resources, candidate, summaries[uuid])
        for number, candidate in enumerate(listed, first)
        for uuid, resources in candidate.allocations.items()
    ]


def _show_groups(item: Any) -> Facts:
    """Return the groups of a request that a provider serves; the first has no name."""
    _, uuid, _, candidate, *_ = item
    groups = [group for group, providers in candidate.mappings.items() if uuid in providers]
    return Facts(groups, lambda groups: ', '.join(filter(None, groups)))


def _format_usage(item: Any) -> str:
    resources = item[4].resources.items()
    return ','.join(f'{name}={used}/{capacity}' for name, (used, capacity) in resources)


def list_usage_by_type(usages: Iterable[Usage]) -> Output:
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
USAGE = Columns(_make_key_column('resource_class', 0), _make_key_column('usage', 1))
_OWNER = Columns(
    Column('project_id', lambda item: item[2].value.project_id, Microversion(1, 12)),
    Column('user_id', lambda item: item[2].value.user_id, Microversion(1, 12)),
    Column('consumer_type', lambda item: item[2].value.type or 'unknown', Microversion(1, 38)),
)
_GENERATION = Column('generation', lambda item: item[2].generations[item[0]])
#: Items are (provider UUID, resources, read consumer). osc-placement prints resources as Python
#: does.
ALLOCATION = (
    Columns(
        _make_key_column('resource_provider', 0),
        _GENERATION,
        Column('resources', lambda item: dict(item[1])),
    )
    + _OWNER
)
#: Items are (provider UUID, resources, read consumer, name of the provider).
RELOCATED = (
    Columns(
        _make_key_column('resource_provider', 0),
        _make_key_column('name', 3),
        _GENERATION,
        _make_key_column('resources', 1),
    )
    + _OWNER
)
#: Items are (number, provider UUID, resources, candidate, summary of the provider).
_CANDIDATE = Columns(
    _make_key_column('#', 0),
    Column('allocation', lambda item: ','.join(f'{name}={n}' for name, n in item[2].items())),
    _make_key_column('resource provider', 1),
)
_OF_PROVIDER = Columns(
    Column('inventory used/capacity', _format_usage),
    Column('traits', lambda item: ','.join(item[4].traits), Microversion(1, 17)),
)
CANDIDATE = _CANDIDATE + _OF_PROVIDER
CANDIDATE_TREE = Columns(
    Column('groups', _show_groups, Microversion(1, 34)),
    Column('parent_provider_uuid', lambda item: item[4].parent_provider_uuid, Microversion(1, 29)),
    Column('root_provider_uuid', lambda item: item[4].root_provider_uuid, Microversion(1, 29)),
)
#: Items have the name of the provider too.
CLAIMED = _CANDIDATE + Columns(_make_key_column('name', 5)) + _OF_PROVIDER + CANDIDATE_TREE
#: Items are :class:`placementclient.insight.diff.Difference`.
DIFFERENCE = Columns(
    *map(Column, ('change', 'kind', 'name', 'uuid', 'field')),
    Column('before', lambda item: Facts(item.before)),
    Column('after', lambda item: Facts(item.after)),
)
#: Items are :class:`placementclient.model.consumers.Holding`.
HOLDING = Columns(
    Column('consumer', attrgetter('consumer_uuid')),
    Column('resources', lambda holding: Facts(dict(holding.resources), format_amounts)),
    Column('consumer_generation', since=Microversion(1, 28)),
)
