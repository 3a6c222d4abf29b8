"""Allocations of a plan: amounts are conserved, and every place has room."""

from collections.abc import Iterator

from placementclient.model.plans import PlannedRow, ProviderChange
from placementclient.planner.invariants.subject import Amounts, Subject, add, amounts_of


def faults(subject: Subject) -> Iterator[str]:
    """Check that the rows account for all changes of allocations."""
    yield from _conservation(subject)
    yield from _capacities(subject)


def _conservation(subject: Subject) -> Iterator[str]:
    moves: dict[str, Amounts] = {}
    yield from _moved(subject, moves)
    for consumer in subject.tree.consumers:
        expected = amounts_of(consumer.before.allocations)
        for where, amount in moves.pop(consumer.uuid, {}).items():
            add(expected, where, amount)
        after = amounts_of(consumer.after.allocations)
        if {where: amount for where, amount in expected.items() if amount} != after:
            yield f'what {consumer.uuid} is to hold is not what it holds and its rows move'
        if any(amount <= 0 for amount in after.values()):
            yield f'{consumer.uuid} is to hold an amount that is none'
        if not consumer.keeps_owner:
            yield f'{consumer.uuid} is to get another project, user or type'
        if consumer.before.generation is None:
            yield f'{consumer.uuid} has no generation'
    for uuid, sums in moves.items():
        if any(sums.values()):
            yield f'{uuid} has rows, but is not among the consumers'


def _moved(subject: Subject, moves: dict[str, Amounts]) -> Iterator[str]:
    """Sum up what the rows move of each consumer, or add to it."""
    added: set[tuple[str, str, str]] = set()
    for row in subject.tree.rows:
        if row.from_provider is None or row.to_provider is None:
            yield from _added(subject, row, moves, added)
            continue
        source = subject.by_name.get(row.from_provider)
        target = subject.by_name.get(row.to_provider)
        if source is None or target is None:
            yield f'a row of {row.consumer_uuid} names a provider that is not in the plan'
            continue
        if row.amount <= 0:
            yield f'a row of {row.consumer_uuid} moves {row.amount}'
        renamed = row.resource_class, row.to_resource_class
        stays = source is target and renamed[0] == renamed[1]
        if subject.backwards:
            renamed = renamed[::-1]
        if not stays and renamed not in subject.names.renamed:
            yield f'no move makes {row.resource_class} {row.to_resource_class}'
        sums = moves.setdefault(row.consumer_uuid, {})
        add(sums, (source.uuid, row.resource_class), -row.amount)
        add(sums, (target.uuid, row.to_resource_class), row.amount)


def _added(
    subject: Subject,
    row: PlannedRow,
    moves: dict[str, Amounts],
    added: set[tuple[str, str, str]],
) -> Iterator[str]:
    """Nothing is added, nor taken back, that the specification does not name, and once."""
    nowhere, name = row.from_provider, row.to_provider
    if subject.backwards:
        nowhere, name = name, nowhere
    change = subject.by_name.get(name or '')
    key = (row.consumer_uuid, name or '', row.resource_class)
    if (
        nowhere is not None
        or change is None
        or row.resource_class != row.to_resource_class
        or key in added
        or not _is_addition(subject, change, row)
    ):
        yield f'no addition gives {row.consumer_uuid} {row.amount} {row.resource_class}'
        return
    added.add(key)
    amount = -row.amount if subject.backwards else row.amount
    add(moves.setdefault(row.consumer_uuid, {}), (change.uuid, row.resource_class), amount)


def _is_addition(subject: Subject, change: ProviderChange, row: PlannedRow) -> bool:
    """Return whether an addition gives a consumer this amount of this provider."""
    return any(
        subject.named(addition.name, change.root_provider_uuid) in (change.name, change.uuid)
        and addition.consumers[row.consumer_uuid].get(row.resource_class) == row.amount
        for addition in subject.names.additions_for(row.consumer_uuid)
    )


def _capacities(subject: Subject) -> Iterator[str]:
    """No place gets more than it has room for, or an amount that its units refuse."""
    gained: Amounts = {}
    for consumer in subject.tree.consumers:
        before, after = (amounts_of(side.allocations) for side in consumer)
        for where in before.keys() | after.keys():
            difference = after.get(where, 0) - before.get(where, 0)
            if difference:
                add(gained, where, difference)
            # The service judges all that is written, not only what changes.
            if where in after and (difference > 0 or where[0] in subject.by_uuid):
                yield from _units(subject, consumer.uuid, where, after[where])
    for change in subject.tree.providers:
        yield from _room(subject, change, gained)
    for provider_uuid, _ in gained:
        if provider_uuid not in subject.by_uuid:
            yield f'allocations change on {provider_uuid}, which is not in the plan'


def _units(
    subject: Subject, consumer_uuid: str, where: tuple[str, str], amount: int
) -> Iterator[str]:
    change = subject.by_uuid.get(where[0])
    inventory = change.content_after.inventories.get(where[1]) if change else None
    if inventory is None:
        yield f'{consumer_uuid} gets {where[1]} of {where[0]}, which will have none'
    elif not inventory.admits(amount):
        yield f'{consumer_uuid} gets {amount} {where[1]}, which {where[0]} does not admit'


def _room(subject: Subject, change: ProviderChange, gained: Amounts) -> Iterator[str]:
    before, after = change.content_before.inventories, change.content_after.inventories
    names = subject.names
    for name in before.keys() | after.keys():
        was = change.content_before.used(name)
        used = was + gained.get((change.uuid, name), 0)
        room = after[name].capacity if name in after else 0
        over = was - (before[name].capacity if name in before else 0)
        over = max(over, subject.overcommitted.get((change.uuid, name), 0))
        is_changed = before.get(name) != after.get(name) or used != was
        excess = max(0, over) if used <= was and name in after else 0
        # The specification alone changes this inventory; no allocation moves to or from it.
        is_stated = used == was and name in names.stated and name not in names.moved
        if is_changed and ((used > room + excess and not is_stated) or room < 0):
            yield f'{change.name} has room for {room} {name}, {used} will be in use'
