# SPDX-License-Identifier: Apache-2.0
"""Placement's rules for the operations of a change: what it would refuse, and why."""

from collections import Counter
from collections.abc import Iterator, Sequence

from placementclient.changes import operations as ops
from placementclient.changes.simulation import simulate
from placementclient.model.consumers import Consumer
from placementclient.model.snapshots import Snapshot


def refusals(snapshot: Snapshot, operations: Sequence[ops.Operation]) -> Iterator[str]:
    """Return what Placement would refuse of operations that are sent one after the other."""
    for number, operation in enumerate(operations):
        after = simulate(snapshot, [operation])
        for reason in _refusals(snapshot, after, operation):
            yield f'{number}: {type(operation).__name__}: {reason}'
        snapshot = after


def _refusals(before: Snapshot, after: Snapshot, operation: ops.Operation) -> Iterator[str]:
    match operation:
        case ops.CreateProvider(uuid, name, parent) | ops.UpdateProvider(uuid, _, (name, parent)):
            yield from _of_position(before, uuid, name, parent)
        case ops.DeleteProvider(uuid, name):
            if before.consumers_on(uuid) or any(before.children(uuid)):
                yield f'{name} is in use'
        case ops.SetInventories():
            yield from _of_inventories(after, operation)
        case ops.SetAllocations(_, consumers):
            yield from _of_allocations(before, after, consumers)
        case ops.Reshape(inventories, changes):
            yield from _of_allocations(before, after, [change.after for change in changes])
            for change in inventories:
                yield from _of_inventories(after, change)


def _of_position(before: Snapshot, uuid: str, name: str, parent: str | None) -> Iterator[str]:
    holder = before.find_by_name(name)
    if holder is not None and holder.uuid != uuid:
        yield f'the name {name} is taken'
    if parent is not None and parent not in before.providers:
        yield f'{name} has no parent'


def _of_inventories(after: Snapshot, change: ops.SetInventories) -> Iterator[str]:
    state = after.providers[change.provider_uuid]
    for name in change.before.keys() - change.after.keys():
        if state.used(name):
            yield f'{name} of {state.name} is in use'


def _of_allocations(
    before: Snapshot, after: Snapshot, consumers: Sequence[Consumer]
) -> Iterator[str]:
    """Judge all that some consumers hold afterwards: units, and capacity where more is used."""
    held = Counter[tuple[str, str]]()
    for consumer in consumers:
        for uuid, resources in consumer.allocations.items():
            for name, amount in resources.items():
                held[uuid, name] += amount
                inventory = after.providers[uuid].inventories.get(name)
                if inventory is None or not inventory.admits(amount):
                    yield f'{after.providers[uuid].name} does not admit {amount} {name}'
    for uuid, name in held:
        used = after.providers[uuid].used(name)
        was = before.providers[uuid].used(name) if uuid in before.providers else 0
        if used > after.providers[uuid].capacity(name) and used > was:
            yield f'{after.providers[uuid].name} has no room: {used} {name}'
