# SPDX-License-Identifier: Apache-2.0
"""Inventories, traits and aggregates of a plan are those of the specification."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from placementclient.model.inventories import Inventory, InventoryFields
from placementclient.model.nova import COMPUTE_PREFIX, DISABLED
from placementclient.model.plans import ProviderChange
from placementclient.model.specifications import ProviderSpec
from placementclient.planner.invariants.checked_change import Amounts, CheckedChange


def check_contents(checked: CheckedChange) -> Iterator[str]:
    """Yield a fault for each inventory, trait and aggregate that differs from the specification."""
    net, origins = Amounts(int), defaultdict[tuple[str, str], list[Inventory]](list)
    for move in checked.change.moves:
        source = checked.by_name.get(move.from_provider)
        target = checked.by_name.get(move.to_provider)
        if source and target:  # else the check of the moves reports it
            net[source.uuid, move.resource_class] -= move.amount
            net[target.uuid, move.to_resource_class] += move.amount
            if inventory := source.content_before.inventories.get(move.resource_class):
                origins[target.uuid, move.to_resource_class].append(inventory)
    for provider in checked.change.providers:
        for name in sorted(
            {*provider.content_before.inventories, *provider.content_after.inventories}
        ):
            key = provider.uuid, name
            yield from _check_inventory(checked, provider, name, net.get(key), origins[key])
    yield from _check_traits_and_aggregates(checked)


def _check_inventory(
    checked: CheckedChange,
    provider: ProviderChange,
    name: str,
    net: int | None,
    origins: Sequence[Inventory],
) -> Iterator[str]:
    """Yield the faults of an inventory that changes otherwise than moves and specification say.

    :param net: by how much moves change the total; ``None``: no move concerns it
    :param origins: the inventories that are moved into it
    :param name: the class of the inventory
    """
    before = provider.content_before.inventories.get(name)
    after = provider.content_after.inventories.get(name)
    entries = checked.find_entries(provider)
    stated = [entry.inventories[name] for entry in entries if name in entry.inventories]
    is_left_out = not all(entry.can_have_class(name) for entry in entries)
    if net is None and not stated:
        is_wrong = after is not None if is_left_out else after != before
        if is_wrong:
            yield f'{name} of {provider.name} changes, the specification does not name it'
        return
    total = (before.total if before else 0) + (net or 0)
    if after is None:
        if total or any('total' in fields for fields in stated):
            yield f'{provider.name} is to have no {name}, against the specification'
        return
    if is_left_out:
        yield f'{provider.name} is to have {name}, against the specification'
    yield from _check_fields(
        provider.name, name, after, stated, _list_allowed_values(before, after, origins, total)
    )


def _check_fields(
    provider: str,
    name: str,
    after: Inventory,
    stated: Sequence[InventoryFields],
    allowed: Mapping[str, Set[object]],
) -> Iterator[str]:
    """Yield a fault for each field of an inventory whose value the specification does not explain.

    :param stated: the fields that entries of the specification give
    :param allowed: by field, the values that need no statement
    :param provider: its name
    :param name: the class of the inventory
    """
    for field, value in after.as_fields().items():
        values = {
            stated_value
            for fields in stated
            for stated_field, stated_value in fields.items()
            if stated_field == field
        }
        if value not in (values or allowed[field]):
            yield f'the {field} of {name} on {provider} is {value}, and nothing says so'


def _list_allowed_values(
    before: Inventory | None, after: Inventory, origins: Sequence[Inventory], total: int
) -> dict[str, set[object]]:
    """Return by field the values that an inventory may have if the specification does not state it.

    :param origins: the inventories that are moved into it
    :param total: its amount after all moves
    :param before: ``None``: the inventory is new
    :param after: the planned inventory: its total bounds ``max_unit``; it may reserve less
    """
    models = [*origins, *([before] if before else [])] or [Inventory(after.total)]
    allowed: dict[str, set[object]] = {
        field: {getattr(model, field) for model in models} for field in after.as_fields()
    }
    # It may keep the largest unit of what is moved into it, as far as its total allows.
    if origins:
        allowed['max_unit'].add(min(max(origin.max_unit for origin in origins), after.total))
    # A largest unit that was the whole inventory follows its total.
    if before and before.max_unit == before.total:
        allowed['max_unit'] = {after.total}
    # A new inventory may reserve nothing. Of one that was there, the target of a move may reserve
    # some instead, or the total is below what was reserved.
    if before is None:
        allowed['reserved'].add(0)
    elif after.reserved < before.reserved:
        allowed['reserved'].add(after.reserved)
    return allowed | {'total': {total}}


def _check_traits_and_aggregates(checked: CheckedChange) -> Iterator[str]:
    """Yield a fault for each provider with other traits or aggregates than specified."""
    gained, lost = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for move, source, name in checked.moves:
        target = checked.find_provider(name)
        if target is not None and target is not source:
            moved = source.content_before.traits.intersection(move.traits)
            gained[target.uuid] |= moved
            lost[source.uuid] |= moved
    for provider in checked.change.providers:
        entries = checked.find_entries(provider)
        before, after = provider.content_before, provider.content_after
        gains = gained[provider.uuid].union(
            *(_list_stated_traits(provider, entry) for entry in entries)
        )
        loses = lost[provider.uuid] | _list_traits_to_remove(before.traits, entries)
        expected = (before.traits - loses) | gains
        # A trait that the provider both loses and gains may be there afterwards or not.
        uncertain = loses & gains
        if (after.traits ^ expected) - uncertain:
            yield f'{provider.name} has other traits than the specification gives it'
        is_whole = any('aggregates' in entry.whole for entry in entries)
        retained = frozenset[str]() if is_whole else before.aggregates
        if after.aggregates != retained.union(*(entry.aggregates for entry in entries)):
            yield f'{provider.name} has other aggregates than the specification gives it'


def _list_stated_traits(provider: ProviderChange, entry: ProviderSpec) -> set[str]:
    """Return the traits that an entry gives a provider; whole ones disable no existing host."""
    is_whole = 'traits' in entry.whole and not provider.is_created
    return {*entry.traits} - {DISABLED if is_whole else ''}


def _list_traits_to_remove(present: Set[str], entries: Iterable[ProviderSpec]) -> set[str]:
    """Return the traits that entries with ``whole: [traits]`` leave out; ``COMPUTE_`` ones stay."""
    return {
        trait
        for entry in entries
        if 'traits' in entry.whole
        for trait in present - {*entry.traits}
        if not trait.startswith(COMPUTE_PREFIX)
    }
