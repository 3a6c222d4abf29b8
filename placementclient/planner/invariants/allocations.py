# SPDX-License-Identifier: Apache-2.0
"""Allocations of a plan: amounts are conserved, and every place has room."""

from collections import defaultdict
from collections.abc import Iterator

from placementclient.model.plans import ConsumerChange, PlannedRow, ProviderChange
from placementclient.model.specifications import Addition
from placementclient.planner.invariants.checked_change import Amounts, CheckedChange


def check_allocations(checked: CheckedChange) -> Iterator[str]:
    """Yield a fault for each amount that changes without a row, and each inventory without room."""
    moved, faults = _sum_moved_amounts(checked)
    yield from faults
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


def _sum_moved_amounts(checked: CheckedChange) -> tuple[dict[str, Amounts], list[str]]:
    """Return by consumer the amounts that rows give (negative: take), and the faults of the rows.

    Amounts are by the provider's UUID and the class.
    """
    moved, faults = defaultdict[str, Amounts](lambda: Amounts(int)), list[str]()
    moves = {
        (move.from_provider, move.resource_class, move.to_provider, move.to_resource_class)
        for move in checked.change.moves
    }
    additions = _index_added_amounts(checked)
    for row in checked.change.reasons:
        amounts = moved[row.consumer_uuid]
        source = checked.by_name.get(row.from_provider or '')
        target = checked.by_name.get(row.to_provider or '')
        if row.from_provider is None or row.to_provider is None:
            if target is None or not _take_addition(row, additions):
                faults.append(
                    f'no addition gives {row.consumer_uuid} {row.amount} {row.resource_class}'
                )
            else:
                amounts[target.uuid, row.resource_class] += row.amount
            continue
        if source is None or target is None:
            faults.append(f'a row of {row.consumer_uuid} names a provider that is not in the plan')
            continue
        if row.amount <= 0:
            faults.append(f'a row of {row.consumer_uuid} moves {row.amount}')
        move = row.from_provider, row.resource_class, row.to_provider, row.to_resource_class
        if row.is_move and move not in moves:
            faults.append(
                f'no move leads {row.resource_class} of {row.consumer_uuid} from '
                f'{row.from_provider} to {row.to_provider} as {row.to_resource_class}'
            )
        amounts[source.uuid, row.resource_class] -= row.amount
        amounts[target.uuid, row.to_resource_class] += row.amount
    return moved, faults


def _index_added_amounts(checked: CheckedChange) -> dict[tuple[str, str, str], int]:
    """Return the amounts that additions give, by consumer UUID, provider name and class."""
    return {
        (uuid, provider.name, name): amount
        for provider in checked.change.providers
        for entry in checked.find_entries(provider)
        if isinstance(entry, Addition)
        for uuid, resources in entry.consumers.items()
        for name, amount in resources.items()
    }


def _take_addition(row: PlannedRow, additions: dict[tuple[str, str, str], int]) -> bool:
    """Return whether an addition gives the amount of a row, and remove the addition."""
    amount = additions.pop((row.consumer_uuid, row.to_provider or '', row.resource_class), None)
    is_renamed = row.resource_class != row.to_resource_class
    return row.from_provider is None and not is_renamed and amount == row.amount


def _check_consumer(
    checked: CheckedChange, consumer: ConsumerChange, moved_by_rows: Amounts
) -> Iterator[str]:
    """Yield the faults in the change of one consumer.

    :param moved_by_rows: what rows give the consumer (negative: take), by provider UUID and class
    """
    gains = {(uuid, name): gain for uuid, name, gain in consumer.gains() if gain}
    if gains != {key: amount for key, amount in moved_by_rows.items() if amount}:
        yield f'what {consumer.uuid} is to hold is not what it holds and its rows move'
    if not consumer.keeps_owner:
        yield f'{consumer.uuid} is to get another project, user or type'
    if consumer.before.generation is None:
        yield f'{consumer.uuid} has no generation'
    # The service checks all allocations of the request, not only those that change.
    for provider_uuid, resources in consumer.after.allocations.items():
        provider = checked.by_uuid.get(provider_uuid)
        for name, amount in resources.items():
            inventory = provider.content_after.inventories.get(name) if provider else None
            if amount <= 0 or (provider and not (inventory and inventory.admits(amount))):
                yield f'{consumer.uuid} is to hold {amount} {name} of {provider_uuid}'


def _check_capacities(
    checked: CheckedChange, provider: ProviderChange, gains: Amounts
) -> Iterator[str]:
    """Yield a fault for each changed inventory that lacks room for its usage and gains.

    :param gains: of all consumers, by provider UUID and class
    """
    before, after, names = provider.content_before, provider.content_after, checked.names
    for name in before.inventories.keys() | after.inventories.keys():
        used_before, capacity = before.used(name), after.capacity(name)
        used = used_before + gains.get((provider.uuid, name), 0)
        if used == used_before and name not in provider.changed_classes:
            continue
        # An inventory that was over its capacity may stay so far over it, if it gains nothing.
        tolerated = 0
        if used <= used_before and name in after.inventories:
            tolerated = max(0, used_before - before.capacity(name))
        # The specification alone changes this inventory; no allocation moves to or from it.
        is_stated = used == used_before and name in names.stated and name not in names.moved
        is_short = used > capacity + tolerated and not is_stated
        if is_short or capacity < 0:
            yield f'{provider.name} has room for {capacity} {name}, {used} will be in use'
