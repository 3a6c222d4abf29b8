# SPDX-License-Identifier: Apache-2.0
"""The deviations of the live state of a tree from its change. Pure.

A deviation is an error if the change is incomplete or wrong, and information if others may have
changed something since. The inspector makes a warning of a change that should be begun and is not.
"""

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from placementclient.changes import phases
from placementclient.changes.operations import merge_names
from placementclient.changes.phases import InventoryPart
from placementclient.model.consumers import Allocations, sum_parts
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import COMPUTE_PREFIX
from placementclient.model.plans import Change, ConsumerChange, ProviderChange
from placementclient.model.snapshots import ProviderState, Snapshot


def find_changed_input(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield changes of others to the input of an unapplied change."""
    for provider_change in change.providers:
        if not provider_change.is_created and provider_change.uuid not in live.providers:
            yield _make_missing_deviation(change, provider_change, is_damage=False)
    for part in phases.list_moving_parts(change, live):
        provider = live.providers.get(part.change.uuid)
        if provider and not part.change.is_created and part.live != part.before:
            planned = 'what the plan starts from'
            yield _make_inventory_deviation(change, part, part.before, planned, is_damage=False)


def find_deviations(
    change: Change, live: Snapshot, *, is_strict: bool = False
) -> Iterator[Finding]:
    """Yield the deviations of a tree from its change, which is made, wholly or in part.

    :param is_strict: whether another inventory of a class that moves is an error in any case, as
        right after the request
    """
    yield from find_inventory_deviations(change, live, is_strict=is_strict)
    for provider in change.providers:
        state = live.providers.get(provider.uuid)
        if state is not None and provider.after is not None:
            yield from _compare_position(change, provider, state)
            yield from _compare_names(change, provider, state)
    for consumer in change.consumers:
        yield from _compare_consumer(change, consumer, live)


def find_inventory_deviations(
    change: Change, live: Snapshot, *, is_strict: bool = False
) -> Iterator[Finding]:
    """Yield the deviations of inventories, and the providers that are missing, or still exist."""
    local = {provider.uuid for provider in change.list_local_providers()}
    created = {provider.uuid for provider in change.list_created()}
    is_whole = local - created <= live.providers.keys()
    for provider in change.providers:
        state = live.providers.get(provider.uuid)
        if provider.after is None:
            if state is not None:
                yield _make_deviation(change, 'exists', f'{provider.name} still exists')
        elif state is not None:
            yield from _compare_inventories(
                change, provider, state, provider.uuid in local, is_strict
            )
        else:
            # It is damage only while the hosts exist: a host takes its children along.
            yield _make_missing_deviation(
                change, provider, is_damage=provider.is_created and is_whole
            )


def find_retained_traits(change: Change, live: Snapshot) -> Iterator[Finding]:
    """Yield the providers that are missing, or have a trait that the change removes."""
    for provider in change.providers:
        if provider.uuid not in live.providers:
            yield _make_missing_deviation(change, provider, is_damage=True)
        elif retained := sorted(provider.lost_traits & live.providers[provider.uuid].traits):
            yield _make_deviation(change, 'trait', f'{provider.name} has the trait {retained[0]}')


def adopt_live_values(change: Change, live: Snapshot) -> Change:
    """Return a change with the live values, before and after, in everything that it does not set.

    Only what it sets can then deviate from it.
    """
    before, after = dict(change.before.providers), dict(change.after.providers)
    for uuid in after.keys() & live.providers.keys():
        old, new = before.get(uuid) or ProviderState(after[uuid].provider), after[uuid]
        after[uuid] = _with_live_values(old, new, live.providers[uuid])
        if uuid in before:
            before[uuid] = _with_live_values(new, old, live.providers[uuid])
    return replace(
        change,
        before=Snapshot(before.values(), change.before.consumers.values()),
        after=Snapshot(after.values(), change.after.consumers.values()),
    )


def _with_live_values(
    start: ProviderState, end: ProviderState, live: ProviderState
) -> ProviderState:
    """Return the end of a change of a provider, with the live values of what does not change."""
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


def _compare_position(
    change: Change, provider: ProviderChange, live: ProviderState
) -> Iterator[Finding]:
    """Compare a name and a parent that the change sets."""
    sides = provider.content_before.position, provider.state.position, live.position
    for kind, was, expected, now in zip(('name', 'parent'), *sides, strict=True):
        if was != expected != now:
            message = f'the {kind} of {provider.name} is {now}, not {expected}'
            yield _make_deviation(change, kind, message, is_damage=now == was)


def _compare_inventories(
    change: Change,
    provider: ProviderChange,
    live: ProviderState,
    is_local: bool,
    is_strict: bool,
) -> Iterator[Finding]:
    """Compare the inventories of a provider."""
    for name in sorted({*live.inventories, *provider.content_after.inventories}):
        part = phases.make_inventory_part(provider, name, live)
        if part.live != part.after:
            # It is back where the plan removed it, missing where the plan put it, or has the
            # values of before the plan.
            is_undone = (part.live is None) != (part.after is None) or part.live == part.before
            # Other plans change a sharing provider too.
            is_moved = is_local and part.before != part.after
            # Any other value is damage only right after the request: later, others may set it.
            is_damage = is_moved and (is_strict or is_undone)
            planned = 'that of the plan'
            yield _make_inventory_deviation(change, part, part.after, planned, is_damage=is_damage)


def _make_inventory_deviation(
    change: Change, part: InventoryPart, expected: Inventory | None, planned: str, is_damage: bool
) -> Finding:
    """Return the deviation from an inventory; ``planned`` has the words for the expected one."""
    inventory = f'the inventory of {part.resource_class} on {part.change.name}'
    message = f'{inventory} is not {planned}: {_describe_difference(part.live, expected)}'
    return _make_deviation(change, 'inventory', message, is_damage=is_damage)


def _describe_difference(live: Inventory | None, planned: Inventory | None) -> str:
    """Return the fields that differ, with both values."""
    if live is None or planned is None:
        return 'it is not there' if live is None else 'it should not exist'
    fields, desired = live.as_fields(), planned.as_fields()
    return ', '.join(
        f'{field} {fields[field]} instead of {desired[field]}'
        for field in fields
        if fields[field] != desired[field]
    )


def _compare_names(
    change: Change, provider: ProviderChange, live: ProviderState
) -> Iterator[Finding]:
    """Compare traits and aggregates: those that the plan changes, and those of others.

    Nova sets and takes its own traits, whatever a plan was made on.
    """
    for kind, names, before, after in phases.list_name_sets(provider, live):
        changed = before ^ after
        of_nova = {name for name in names ^ after if name.startswith(COMPUTE_PREFIX)}
        for name in sorted((names ^ after) - (of_nova - changed)):
            message = f'{provider.name} {"has" if name in names else "lacks"} the {kind} {name}'
            yield _make_deviation(change, kind, message, is_damage=name in changed)


def _compare_consumer(
    change: Change, consumer_change: ConsumerChange, live: Snapshot
) -> Iterator[Finding]:
    """Compare the allocations and the owner of a consumer."""
    consumer, desired = live.consumers.get(consumer_change.uuid), consumer_change.after.allocations
    allocations = consumer.allocations if consumer else {}
    if allocations != desired:
        kind, message, is_damage = _judge_allocations(change, consumer_change, allocations, live)
        yield _make_deviation(
            change, kind, f'consumer {consumer_change.uuid} {message}', is_damage=is_damage
        )
    if consumer and desired and not ConsumerChange(consumer_change.after, consumer).keeps_owner:
        message = f'consumer {consumer_change.uuid} has another project, user or type than before'
        # No reshape changes the owner of a consumer; a reshape could lose its type.
        is_undone = ConsumerChange(consumer_change.before, consumer).keeps_owner
        is_damage = is_undone or (consumer.type is None and consumer_change.after.type is not None)
        yield _make_deviation(change, 'owner', message, is_damage=is_damage)


def _judge_allocations(
    change: Change, consumer: ConsumerChange, allocated: Allocations, live: Snapshot
) -> tuple[str, str, bool]:
    """Return the kind of a deviation, what is wrong, and whether it is damage."""
    desired = consumer.after.allocations
    if not allocated:
        is_new = not consumer.before.allocations
        return 'gone', 'has gone since', is_new
    if sum_parts(allocated.values()) != sum_parts(desired.values()):
        # A consumer with other amounts was resized since, unless amounts that had to move are left.
        is_damage = _retains_moved_class(consumer, allocated)
        return 'amount', 'has other amounts than the plan gave it', is_damage
    names = {provider.uuid: provider.name for provider in change.providers}
    names |= {uuid: state.name for uuid, state in live.providers.items()}
    moved = [uuid for uuid in allocated if allocated[uuid] != desired.get(uuid)]
    places = sorted(names.get(uuid, uuid) for uuid in moved)
    # A consumer without allocations in the trees was migrated since.
    is_damage = any(provider.uuid in allocated for provider in change.list_local_providers())
    return 'misplaced', f'is not where the plan put it, but on {", ".join(places)}', is_damage


def _retains_moved_class(consumer: ConsumerChange, allocated: Allocations) -> bool:
    """Return True if a consumer still has a class where the plan took it away."""
    return any(
        name in allocated.get(uuid, {})
        for uuid, resources in consumer.before.allocations.items()
        for name in resources
        if name not in consumer.after.allocations.get(uuid, {})
    )


def _make_missing_deviation(
    change: Change, provider: ProviderChange, *, is_damage: bool
) -> Finding:
    """Return the deviation that a provider does not exist."""
    return _make_deviation(
        change, 'missing', f'{provider.name} does not exist', is_damage=is_damage
    )


def _make_deviation(change: Change, kind: str, message: str, *, is_damage: bool = True) -> Finding:
    """Return a deviation: an error if it is damage, else information."""
    severity = Severity.ERROR if is_damage else Severity.INFO
    return Finding(kind, change.root_provider_name, reason=message, severity=severity)
