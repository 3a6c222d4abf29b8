# SPDX-License-Identifier: Apache-2.0
"""The size of a change in numbers, and a row for each part of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from placementclient.basis.wording import format_count
from placementclient.model.consumers import UNKNOWN_TYPE, Allocations, Consumer, sum_resources
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.model.outcomes import ChangeRow
from placementclient.model.plans import (
    Change,
    ConsumerChange,
    ProviderChange,
    find_changed_consumers,
)
from placementclient.model.providers import Provider, make_temporary_name
from placementclient.model.snapshots import ProviderState, Snapshot


def summarize_changes(changes: Iterable[Change]) -> str:
    """Return the numbers of changed providers and consumers, a sentence without full stop."""
    providers, consumers = Counter[str](), Counter[str]()
    for change in changes:
        providers.update(filter(None, map(_choose_provider_verb, change.providers)))
        consumers.update(map(_choose_consumer_verb, change.consumers))
    clauses = (
        _describe_verb_counts('provider', providers, ('create', 'change', 'delete')),
        _describe_verb_counts('allocation', consumers, ('move', 'change', 'add', 'free')),
    )
    return '; '.join(filter(None, clauses)) or 'Nothing to change'


def _choose_provider_verb(change: ProviderChange) -> str:
    """Return ``create``, ``change`` or ``delete``; empty for a provider that does not change."""
    if change.before is None:
        return 'create'
    return 'delete' if change.after is None else 'change' if change.is_changed else ''


def _describe_verb_counts(noun: str, numbers: Counter[str], verbs: Iterable[str]) -> str:
    """Return ``2 providers to create, 1 to change``, without the verbs whose number is 0."""
    first, *others = [verb for verb in verbs if numbers[verb]] or ['']
    if not first:
        return ''
    rest = (f', {numbers[verb]} to {verb}' for verb in others)
    return f'{format_count(numbers[first], noun)} to {first}{"".join(rest)}'


def _choose_consumer_verb(change: ConsumerChange) -> str:
    """Return ``change`` if the consumer holds the same classes of the same providers as before.

    Else the sums of the classes over all providers tell: ``add`` if some grow and none shrinks,
    ``free`` if some shrink and none grows, otherwise ``move``.
    """
    held, desired = (
        {(uuid, name) for uuid, part in consumer.allocations.items() for name in part}
        for consumer in (change.before, change.after)
    )
    if held == desired:
        return 'change'
    gained = sum_resources(change.after.allocations.values())
    gained.subtract(sum_resources(change.before.allocations.values()))
    signs = {amount > 0 for amount in gained.values() if amount}
    return 'move' if len(signs) != 1 else 'add' if signs.pop() else 'free'


#: A provider before it is made, and after it is gone.
_EMPTY = ProviderState(Provider('', '', 0))


def list_change_rows(before: Snapshot, after: Snapshot) -> Iterator[ChangeRow]:
    """Yield a row for each part of a change: providers in tree order, then consumers."""
    names = {
        state.uuid: state.name for side in (before, after) for state in side.providers.values()
    }
    for uuid in before.providers.keys() - after.providers.keys():
        if after.find_by_name(names[uuid]):
            # The rows give the name to the new provider.
            names[uuid] = make_temporary_name(names[uuid], uuid)
    walked = [state for side in (after, before) for state in side.walk()]
    for uuid in dict.fromkeys(state.uuid for state in walked):
        yield from _list_provider_rows(before.providers.get(uuid), after.providers.get(uuid), names)
    for pair in find_changed_consumers(before, after):
        yield from _list_consumer_rows(pair, names)


def _list_consumer_rows(pair: ConsumerChange, names: Mapping[str, str]) -> Iterator[ChangeRow]:
    name = f'consumer {pair.uuid}'
    was, desired = _find_differing_allocations(
        pair.before.allocations, pair.after.allocations, names
    )
    if was != desired:
        yield ChangeRow(name, 'allocations', was or None, desired or None)
    if not pair.keeps_owner and pair.before.allocations and pair.after.allocations:
        yield ChangeRow(
            name, 'owner', _make_owner_fields(pair.before), _make_owner_fields(pair.after)
        )


def _list_provider_rows(
    before: ProviderState | None, after: ProviderState | None, names: Mapping[str, str]
) -> Iterator[ChangeRow]:
    state = after or before
    assert state is not None
    name = names[state.uuid]
    parents = [_get_parent_name(state, names) for state in (before, after)]
    if before is None:
        yield ChangeRow(name, 'create', None, {'parent': parents[1]})
    elif after is None:
        yield ChangeRow(name, 'delete', {'parent': parents[0]}, None)
    else:
        if before.name != name:
            yield ChangeRow(before.name, 'name', before.name, name)
        if parents[0] != parents[1]:
            yield ChangeRow(name, 'parent', *parents)
    was, desired = before or _EMPTY, after or _EMPTY
    for kind in sorted({*was.inventories, *desired.inventories}):
        yield from _list_inventory_rows(
            name, kind, was.inventories.get(kind), desired.inventories.get(kind)
        )
    yield from _list_trait_or_aggregate_rows(name, 'traits', was.traits, desired.traits)
    yield from _list_trait_or_aggregate_rows(name, 'aggregates', was.aggregates, desired.aggregates)


def _get_parent_name(state: ProviderState | None, names: Mapping[str, str]) -> str | None:
    parent = state.provider.parent_provider_uuid if state else None
    return names.get(parent, parent) if parent else None


def _list_trait_or_aggregate_rows(
    provider: str, kind: str, before: frozenset[str], after: frozenset[str]
) -> Iterator[ChangeRow]:
    """Yield a row for the traits or the aggregates of a provider, if they change.

    :param provider: its name
    :param kind: ``traits`` or ``aggregates``
    """
    if before != after:
        yield ChangeRow(
            provider, kind, sorted(before - after) or None, sorted(after - before) or None
        )


def _list_inventory_rows(
    provider: str, name: str, before: Inventory | None, after: Inventory | None
) -> Iterator[ChangeRow]:
    """Yield a row for each changed field of an inventory, or one row if it comes or goes.

    :param provider: its name
    :param name: the resource class
    :param before: ``None``: there is no inventory before
    :param after: ``None``: there is no inventory after
    """
    if before is None or after is None:
        if before is not after:
            fields = (list_non_default_fields(side) if side else None for side in (before, after))
            yield ChangeRow(provider, name, *fields)
        return
    was, desired = before.as_fields(), after.as_fields()
    for field in was:
        if was[field] != desired[field]:
            yield ChangeRow(provider, f'{name}:{field}', was[field], desired[field])


def list_non_default_fields(inventory: Inventory) -> dict[str, int | float]:
    """Return the fields of an inventory, by name, that differ from the defaults of Placement."""
    default = Inventory(inventory.total).as_fields()
    fields = inventory.as_fields()
    # A driver without a max_unit sets it to the total.
    default['max_unit'] = inventory.total if inventory.max_unit == inventory.total else UNLIMITED
    return {
        name: value for name, value in fields.items() if name == 'total' or value != default[name]
    }


def _find_differing_allocations(
    before: Allocations, after: Allocations, names: Mapping[str, str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Return the allocations that differ, before and after, by the names of providers."""
    differing = [uuid for uuid in {**before, **after} if before.get(uuid) != after.get(uuid)]
    sides = (
        {names.get(uuid, uuid): dict(side[uuid]) for uuid in differing if uuid in side}
        for side in (before, after)
    )
    first, second = sides
    return first, second


def _make_owner_fields(consumer: Consumer) -> dict[str, str | None]:
    return {
        'project_id': consumer.project_id,
        'user_id': consumer.user_id,
        'type': consumer.type or UNKNOWN_TYPE,
    }


def describe_row(row: ChangeRow) -> str:
    """Return a clause about a changed value: ``object: part is one value, not the other``."""
    return (
        f'{row.object}: {row.change} is {format_value(row.before)}, not {format_value(row.after)}'
    )


def format_value(value: object) -> str:
    """Return a value as text for a sentence."""
    if isinstance(value, Inventory):
        return ', '.join(
            f'{field} {amount}' for field, amount in list_non_default_fields(value).items()
        )
    return 'nothing' if value in (None, {}) else str(value)
