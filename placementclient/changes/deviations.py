# SPDX-License-Identifier: Apache-2.0
"""The deviations of the live state of a tree from its change. Pure.

A deviation is damage, an error, if the change is incomplete or a part of it was undone. It is
information if others may have set the value since: they may do that.
"""

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from placementclient.changes import phases
from placementclient.changes.operations import merge_names
from placementclient.changes.phases import ComparedInventory
from placementclient.model.consumers import Allocations, sum_resources
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import COMPUTE_PREFIX
from placementclient.model.plans import Change, ConsumerChange, ProviderChange
from placementclient.model.snapshots import ProviderState, Snapshot


def find_input_differences(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield each provider that a change starts from and is gone, and each differing inventory.

    Of the inventories, those that the change moves are compared with their state before it.
    """
    for provider in change.providers:
        if not provider.is_created and provider.uuid not in live.providers:
            yield _make_missing_provider_deviation(change, provider, is_damage=False)
    for inventory in phases.compare_moving_inventories(change, live):
        provider = inventory.provider
        is_there = provider.uuid in live.providers and not provider.is_created
        if is_there and inventory.live != inventory.before:
            planned = 'what the plan starts from'
            yield _make_inventory_deviation(
                change, inventory, inventory.before, planned, is_damage=False
            )


def find_deviations(
    change: Change, live: Snapshot, *, is_strict: bool = False
) -> Iterator[Finding]:
    """Yield the deviations of a state from a change that is made, wholly or in part.

    :param is_strict: whether nobody can have written since the change, as right after its request
    """
    yield from find_inventory_deviations(change, live, is_strict=is_strict)
    for provider in change.providers:
        state = live.providers.get(provider.uuid)
        if state is not None and provider.after is not None:
            yield from _find_position_deviations(change, provider, state)
            yield from _find_trait_and_aggregate_deviations(change, provider, state)
    for consumer in change.consumers:
        yield from _find_consumer_deviations(change, consumer, live)


def find_inventory_deviations(
    change: Change, live: Snapshot, *, is_strict: bool = False
) -> Iterator[Finding]:
    """Yield the deviations of inventories, and the providers that are missing, or still exist.

    :param is_strict: whether nobody can have written since the change, as right after its request
    """
    local = {provider.uuid for provider in change.list_local_providers()}
    created = {provider.uuid for provider in change.list_created_providers()}
    is_whole = local - created <= live.providers.keys()
    for provider in change.providers:
        state = live.providers.get(provider.uuid)
        if provider.after is None:
            if state is not None:
                yield _make_deviation(change, 'exists', f'{provider.name} still exists')
        elif state is not None:
            yield from _find_provider_inventory_deviations(
                change, provider, state, provider.uuid in local, is_strict
            )
        else:
            # It is damage only while the hosts exist: a host takes its children along.
            yield _make_missing_provider_deviation(
                change, provider, is_damage=provider.is_created and is_whole
            )


def find_trait_deviations(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield a deviation for each provider that is missing, or has a trait that should be gone."""
    for provider in change.providers:
        if provider.uuid not in live.providers:
            yield _make_missing_provider_deviation(change, provider, is_damage=True)
        elif retained := sorted(provider.lost_traits & live.providers[provider.uuid].traits):
            yield _make_deviation(change, 'trait', f'{provider.name} has the trait {retained[0]}')


def adopt_live_values(change: Change, live: Snapshot) -> Change:
    """Return a change with live values, before and after, in all that the change does not set.

    Only values that the change sets can then deviate from it.
    """
    before, after = dict(change.before.providers), dict(change.after.providers)
    for uuid in after.keys() & live.providers.keys():
        old, new = before.get(uuid) or ProviderState(after[uuid].provider), after[uuid]
        after[uuid] = _adopt_provider_values(old, new, live.providers[uuid])
        if uuid in before:
            before[uuid] = _adopt_provider_values(new, old, live.providers[uuid])
    return replace(
        change,
        before=Snapshot(before.values(), change.before.consumers.values()),
        after=Snapshot(after.values(), change.after.consumers.values()),
    )


def _adopt_provider_values(
    start: ProviderState, end: ProviderState, live: ProviderState
) -> ProviderState:
    """Return the end of a change of a provider, with live values in all that does not change."""
    inventories = dict(live.inventories)
    for name in {**start.inventories, **end.inventories}:
        was, desired = start.inventories.get(name), end.inventories.get(name)
        now = live.inventories.get(name)
        if was == desired:
            continue
        if desired is None:
            inventories.pop(name, None)
        elif was is None or now is None:
            inventories[name] = desired
        else:
            fields, old = desired.as_fields(), was.as_fields()
            changed = {key: value for key, value in fields.items() if value != old[key]}
            inventories[name] = now.with_fields(changed)
    return structs.replace(
        end,
        inventories=inventories,
        traits=merge_names(start.traits, end.traits, live.traits),
        aggregates=merge_names(start.aggregates, end.aggregates, live.aggregates),
    )


def _find_position_deviations(
    change: Change, provider: ProviderChange, live: ProviderState
) -> Iterator[Finding]:
    """Yield the deviations of a name and a parent that the change sets."""
    sides = provider.content_before.position, provider.state.position, live.position
    for kind, was, expected, now in zip(('name', 'parent'), *sides, strict=True):
        if was != expected != now:
            message = f'the {kind} of {provider.name} is {now}, not {expected}'
            yield _make_deviation(change, kind, message, is_damage=now == was)


def _find_provider_inventory_deviations(
    change: Change,
    provider: ProviderChange,
    live: ProviderState,
    is_local: bool,
    is_strict: bool,
) -> Iterator[Finding]:
    """Yield the deviations of the inventories of a provider.

    :param is_local: whether it is in a tree of the change
    :param is_strict: whether nobody can have written since the change, as right after its request
    """
    for name in sorted({*live.inventories, *provider.content_after.inventories}):
        inventory = phases.compare_inventory(provider, name, live)
        if inventory.live != inventory.after:
            # Other plans change a sharing provider in another tree too.
            is_damage = is_local and _is_inventory_damaged(inventory, is_strict)
            planned = 'that of the plan'
            yield _make_inventory_deviation(
                change, inventory, inventory.after, planned, is_damage=is_damage
            )


def _is_inventory_damaged(inventory: ComparedInventory, is_strict: bool) -> bool:
    """Return whether an inventory that differs from the plan is damage.

    =============================================  ===========  ===========
    live inventory                                 strict       later
    =============================================  ===========  ===========
    of a class that the change does not set        information  information
    as before; missing; back where it was removed  damage       damage
    with other values                              damage       information
    =============================================  ===========  ===========

    :param is_strict: whether nobody can have written since the change, as right after its request
    """
    if inventory.before == inventory.after:
        return False
    is_there, is_planned = inventory.live is not None, inventory.after is not None
    return is_strict or inventory.live == inventory.before or is_there != is_planned


def _make_inventory_deviation(
    change: Change,
    inventory: ComparedInventory,
    expected: Inventory | None,
    expected_in_words: str,
    is_damage: bool,
) -> Finding:
    """Return the deviation of an inventory from the expected one.

    :param expected: ``None``: it should not exist
    :param expected_in_words: such as ``as planned``
    :param is_damage: whether the deviation is an error, not information
    """
    name = f'the inventory of {inventory.resource_class} on {inventory.provider.name}'
    message = f'{name} is not {expected_in_words}: {_describe_difference(inventory.live, expected)}'
    return _make_deviation(change, 'inventory', message, is_damage=is_damage)


def _describe_difference(live: Inventory | None, planned: Inventory | None) -> str:
    """Return the fields in which two inventories differ, with both values; ``None``: missing."""
    if live is None or planned is None:
        return 'it is not there' if live is None else 'it should not exist'
    fields, desired = live.as_fields(), planned.as_fields()
    return ', '.join(
        f'{field} {fields[field]} instead of {desired[field]}'
        for field in fields
        if fields[field] != desired[field]
    )


def _find_trait_and_aggregate_deviations(
    change: Change, provider: ProviderChange, live: ProviderState
) -> Iterator[Finding]:
    """Yield the deviations of traits and aggregates, except traits that Nova sets by itself.

    Those that the plan does not change are information.
    """
    for kind, before, after, names in phases.compare_traits_and_aggregates(provider, live):
        changed = before ^ after
        of_nova = {name for name in names ^ after if name.startswith(COMPUTE_PREFIX)}
        for name in sorted((names ^ after) - (of_nova - changed)):
            message = f'{provider.name} {"has" if name in names else "lacks"} the {kind} {name}'
            yield _make_deviation(change, kind, message, is_damage=name in changed)


def _find_consumer_deviations(
    change: Change, consumer: ConsumerChange, live: Snapshot
) -> Iterator[Finding]:
    current, planned = live.consumers.get(consumer.uuid), consumer.after
    allocations = current.allocations if current else {}
    if allocations != planned.allocations:
        yield _make_allocation_deviation(change, consumer, allocations, live)
    if current and planned.allocations and not ConsumerChange(planned, current).keeps_owner:
        message = f'consumer {consumer.uuid} has another project, user or type than before'
        # No reshape changes the owner of a consumer; a reshape could lose its type.
        is_undone = ConsumerChange(consumer.before, current).keeps_owner
        is_damage = is_undone or (current.type is None and planned.type is not None)
        yield _make_deviation(change, 'owner', message, is_damage=is_damage)


def _make_allocation_deviation(
    change: Change, consumer: ConsumerChange, allocated: Allocations, live: Snapshot
) -> Finding:
    """Return the deviation of a consumer that has other allocations than planned."""
    name, planned = f'consumer {consumer.uuid}', consumer.after.allocations
    if not allocated:
        # Others may end a consumer, but not one that only the change begins.
        is_damage = not consumer.before.allocations
        return _make_deviation(change, 'gone', f'{name} has gone since', is_damage=is_damage)
    if sum_resources(allocated.values()) != sum_resources(planned.values()):
        # A consumer with other amounts was resized since, unless amounts that had to move are left.
        is_damage = _retains_moved_class(consumer, allocated)
        message = f'{name} has other amounts than the plan gave it'
        return _make_deviation(change, 'amount', message, is_damage=is_damage)
    names = {provider.uuid: provider.name for provider in change.providers}
    names |= {uuid: state.name for uuid, state in live.providers.items()}
    moved = [uuid for uuid in allocated if allocated[uuid] != planned.get(uuid)]
    places = ', '.join(sorted(names.get(uuid, uuid) for uuid in moved))
    # A consumer without allocations in the trees was migrated since.
    is_damage = any(provider.uuid in allocated for provider in change.list_local_providers())
    message = f'{name} is not where the plan put it, but on {places}'
    return _make_deviation(change, 'misplaced', message, is_damage=is_damage)


def _retains_moved_class(consumer: ConsumerChange, allocated: Allocations) -> bool:
    """Return True if a consumer still has a class where the plan took it away."""
    return any(
        name in allocated.get(uuid, {})
        for uuid, resources in consumer.before.allocations.items()
        for name in resources
        if name not in consumer.after.allocations.get(uuid, {})
    )


def _make_missing_provider_deviation(
    change: Change, provider: ProviderChange, *, is_damage: bool
) -> Finding:
    return _make_deviation(
        change, 'missing', f'{provider.name} does not exist', is_damage=is_damage
    )


def _make_deviation(change: Change, kind: str, message: str, *, is_damage: bool = True) -> Finding:
    """Return a deviation as a finding of a kind: an error if it is damage, else information."""
    severity = Severity.ERROR if is_damage else Severity.INFO
    return Finding(kind, change.root_provider_name, reason=message, severity=severity)
