# SPDX-License-Identifier: Apache-2.0
"""Allocations of a plan: amounts are conserved, and every place has room."""

from collections import defaultdict
from collections.abc import Iterator

from placementclient.model.plans import ConsumerChange, PlannedRow, ProviderChange
from placementclient.model.specifications import Addition
from placementclient.planner.invariants.subject import Amounts, Subject


def check_allocations(subject: Subject) -> Iterator[str]:
    """Check that the rows account for all changes of allocations, and that every place has room."""
    moved = defaultdict[str, Amounts](lambda: Amounts(int))
    yield from _sum_rows(subject, moved)
    gains = Amounts(int)
    for amounts in moved.values():
        for key, amount in amounts.items():
            gains[key] += amount
    for consumer in subject.tree.consumers:
        yield from _check_consumer(subject, consumer, moved.pop(consumer.uuid, Amounts(int)))
    for uuid, amounts in moved.items():
        if any(amounts.values()):
            yield f'{uuid} has rows, but is not among the consumers'
    for change in subject.tree.providers:
        yield from _check_capacities(subject, change, gains)


def _sum_rows(subject: Subject, moved: dict[str, Amounts]) -> Iterator[str]:
    """Add the rows of each consumer to ``moved``, by inventory; yield the faults of rows."""
    moves = {
        (move.from_provider, move.resource_class, move.to_provider, move.to_resource_class)
        for move in subject.tree.moves
    }
    additions = _list_additions(subject)
    for row in subject.tree.reasons:
        amounts = moved[row.consumer_uuid]
        if row.from_provider is None or row.to_provider is None:
            yield from _check_addition_row(subject, row, additions, amounts)
            continue
        source = subject.by_name.get(row.from_provider)
        target = subject.by_name.get(row.to_provider)
        if source is None or target is None:
            yield f'a row of {row.consumer_uuid} names a provider that is not in the plan'
            continue
        if row.amount <= 0:
            yield f'a row of {row.consumer_uuid} moves {row.amount}'
        move = row.from_provider, row.resource_class, row.to_provider, row.to_resource_class
        if row.moves and move not in moves:
            yield (
                f'no move leads {row.resource_class} of {row.consumer_uuid} from '
                f'{row.from_provider} to {row.to_provider} as {row.to_resource_class}'
            )
        amounts[source.uuid, row.resource_class] -= row.amount
        amounts[target.uuid, row.to_resource_class] += row.amount


def _list_additions(subject: Subject) -> dict[tuple[str, str, str], int]:
    """Return the added amounts by consumer UUID, provider name and class."""
    return {
        (uuid, change.name, name): amount
        for change in subject.tree.providers
        for entry in subject.find_entries(change)
        if isinstance(entry, Addition)
        for uuid, resources in entry.consumers.items()
        for name, amount in resources.items()
    }


def _check_addition_row(
    subject: Subject,
    row: PlannedRow,
    additions: dict[tuple[str, str, str], int],
    amounts: Amounts,
) -> Iterator[str]:
    """Check that rows give each addition once, and nothing else."""
    name, is_renamed = row.to_provider, row.resource_class != row.to_resource_class
    amount = additions.pop((row.consumer_uuid, name or '', row.resource_class), None)
    if row.from_provider is not None or is_renamed or amount != row.amount:
        yield f'no addition gives {row.consumer_uuid} {row.amount} {row.resource_class}'
        return
    uuid = subject.by_name[name or ''].uuid
    amounts[uuid, row.resource_class] += amount


def _check_consumer(subject: Subject, consumer: ConsumerChange, moved: Amounts) -> Iterator[str]:
    gains = {(uuid, name): gain for uuid, name, gain in consumer.gains() if gain}
    if gains != {key: amount for key, amount in moved.items() if amount}:
        yield f'what {consumer.uuid} is to hold is not what it holds and its rows move'
    if not consumer.keeps_owner:
        yield f'{consumer.uuid} is to get another project, user or type'
    if consumer.before.generation is None:
        yield f'{consumer.uuid} has no generation'
    # The service checks all allocations of the request, not only those that change.
    for provider_uuid, resources in consumer.after.allocations.items():
        change = subject.by_uuid.get(provider_uuid)
        for name, amount in resources.items():
            inventory = change.content_after.inventories.get(name) if change else None
            if amount <= 0 or (change and not (inventory and inventory.admits(amount))):
                yield f'{consumer.uuid} is to hold {amount} {name} of {provider_uuid}'


def _check_capacities(subject: Subject, change: ProviderChange, gains: Amounts) -> Iterator[str]:
    before, after, names = change.content_before, change.content_after, subject.names
    for name in before.inventories.keys() | after.inventories.keys():
        used = before.used(name) + gains.get((change.uuid, name), 0)
        excess = 0
        if used <= before.used(name) and name in after.inventories:
            excess = max(0, before.used(name) - before.capacity(name))
        is_same = used == before.used(name)
        # The specification alone changes this inventory; no allocation moves to or from it.
        is_stated = is_same and name in names.stated and name not in names.moved
        is_short = used > after.capacity(name) + excess and not is_stated
        is_changed = not is_same or name in change.changed_classes
        if is_changed and (is_short or after.capacity(name) < 0):
            yield f'{change.name} has room for {after.capacity(name)} {name}, {used} will be in use'
