# SPDX-License-Identifier: Apache-2.0
"""Allocations of a plan: amounts are conserved, and every place has room."""

from collections import defaultdict
from collections.abc import Iterator

from placementclient.model.plans import ConsumerChange, PlannedRow, ProviderChange
from placementclient.model.specifications import Addition
from placementclient.planner.invariants.checked_change import Amounts, CheckedChange


def check_allocations(checked: CheckedChange) -> Iterator[str]:
    """Yield the faults of allocations: amounts that no row moves, and places without room."""
    moved = defaultdict[str, Amounts](lambda: Amounts(int))
    yield from _sum_rows(checked, moved)
    gains = Amounts(int)
    for amounts in moved.values():
        for key, amount in amounts.items():
            gains[key] += amount
    for consumer in checked.change.consumers:
        yield from _check_consumer(checked, consumer, moved.pop(consumer.uuid, Amounts(int)))
    for uuid, amounts in moved.items():
        if any(amounts.values()):
            yield f'{uuid} has rows, but is not among the consumers'
    for provider in checked.change.providers:
        yield from _check_capacities(checked, provider, gains)


def _sum_rows(checked: CheckedChange, moved: dict[str, Amounts]) -> Iterator[str]:
    """Add the amounts of all rows to ``moved``, and yield the faults of the rows.

    :param moved: by consumer, the amounts that it gains or loses
    """
    moves = {
        (move.from_provider, move.resource_class, move.to_provider, move.to_resource_class)
        for move in checked.change.moves
    }
    additions = _list_additions(checked)
    for row in checked.change.reasons:
        amounts = moved[row.consumer_uuid]
        if row.from_provider is None or row.to_provider is None:
            yield from _check_addition_row(checked, row, additions, amounts)
            continue
        source = checked.by_name.get(row.from_provider)
        target = checked.by_name.get(row.to_provider)
        if source is None or target is None:
            yield f'a row of {row.consumer_uuid} names a provider that is not in the plan'
            continue
        if row.amount <= 0:
            yield f'a row of {row.consumer_uuid} moves {row.amount}'
        move = row.from_provider, row.resource_class, row.to_provider, row.to_resource_class
        if row.is_move and move not in moves:
            yield (
                f'no move leads {row.resource_class} of {row.consumer_uuid} from '
                f'{row.from_provider} to {row.to_provider} as {row.to_resource_class}'
            )
        amounts[source.uuid, row.resource_class] -= row.amount
        amounts[target.uuid, row.to_resource_class] += row.amount


def _list_additions(checked: CheckedChange) -> dict[tuple[str, str, str], int]:
    """Return the amounts that additions give, by consumer UUID, provider name and class."""
    return {
        (uuid, provider.name, name): amount
        for provider in checked.change.providers
        for entry in checked.find_entries(provider)
        if isinstance(entry, Addition)
        for uuid, resources in entry.consumers.items()
        for name, amount in resources.items()
    }


def _check_addition_row(
    checked: CheckedChange,
    row: PlannedRow,
    additions: dict[tuple[str, str, str], int],
    amounts: Amounts,
) -> Iterator[str]:
    """Yield a fault for a row without a source that no addition explains; remove the used addition.

    :param amounts: the amounts that the consumer gains, to which that of the row is added
    """
    name, is_renamed = row.to_provider, row.resource_class != row.to_resource_class
    amount = additions.pop((row.consumer_uuid, name or '', row.resource_class), None)
    if row.from_provider is not None or is_renamed or amount != row.amount:
        yield f'no addition gives {row.consumer_uuid} {row.amount} {row.resource_class}'
        return
    uuid = checked.by_name[name or ''].uuid
    amounts[uuid, row.resource_class] += amount


def _check_consumer(
    checked: CheckedChange, consumer: ConsumerChange, moved: Amounts
) -> Iterator[str]:
    """Yield the faults in the change of one consumer.

    :param moved: the amounts that its rows move
    """
    gains = {(uuid, name): gain for uuid, name, gain in consumer.gains() if gain}
    if gains != {key: amount for key, amount in moved.items() if amount}:
        yield f'what {consumer.uuid} is to hold is not what it holds and its rows move'
    if not consumer.keeps_owner:
        yield f'{consumer.uuid} is to get another project, user or type'
    if consumer.before.generation is None:
        yield f'{consumer.uuid} has no generation'
    # The service checks all allocations of the request, not only those that change.
    for provider_uuid, resources in consumer.after.allocations.items():
        change = checked.by_uuid.get(provider_uuid)
        for name, amount in resources.items():
            inventory = change.content_after.inventories.get(name) if change else None
            if amount <= 0 or (change and not (inventory and inventory.admits(amount))):
                yield f'{consumer.uuid} is to hold {amount} {name} of {provider_uuid}'


def _check_capacities(
    checked: CheckedChange, change: ProviderChange, gains: Amounts
) -> Iterator[str]:
    """Yield a fault for each changed inventory of a provider that is too small for its usage.

    :param gains: by provider and class, the amounts that rows add to the usage
    """
    before, after, names = change.content_before, change.content_after, checked.names
    for name in before.inventories.keys() | after.inventories.keys():
        used_before, capacity = before.used(name), after.capacity(name)
        used = used_before + gains.get((change.uuid, name), 0)
        if used == used_before and name not in change.changed_classes:
            continue
        # An inventory that was over its capacity may stay so far over it, if it gains nothing.
        tolerated = 0
        if used <= used_before and name in after.inventories:
            tolerated = max(0, used_before - before.capacity(name))
        # The specification alone changes this inventory; no allocation moves to or from it.
        is_stated = used == used_before and name in names.stated and name not in names.moved
        is_short = used > capacity + tolerated and not is_stated
        if is_short or capacity < 0:
            yield f'{change.name} has room for {capacity} {name}, {used} will be in use'
