# SPDX-License-Identifier: Apache-2.0
"""The values that the operations of a change have written so far. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from placementclient.changes import operations as ops
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.inventories import Inventory, InventoryKey
from placementclient.model.snapshots import Snapshot


class ConsumerValues(NamedTuple):
    """The allocations and the owner of a consumer; no owner if it has no allocations."""

    allocations: Allocations
    owner: tuple[str | None, ...] | None


class WrittenValues:
    """The values that operations have written so far, by provider and consumer.

    :param operations: those that were sent; ``None``: they are not known
    """

    def __init__(self, operations: Iterable[ops.Operation] | None) -> None:
        #: Each inventory before and after each write that changed it.
        self._steps = defaultdict[InventoryKey, list[tuple[Inventory | None, Inventory | None]]](
            list
        )
        #: The names and parents that were written, by the UUID of the provider.
        self.positions = defaultdict[str, set[tuple[str, str | None]]](set)
        #: The values that were written, by the UUID of the consumer.
        self.consumers = defaultdict[str, list[ConsumerValues]](list)
        #: The UUIDs of the providers that were made, moved or deleted, or got inventories.
        self.providers = set[str]()
        self.is_complete = operations is not None
        for operation in operations or ():
            self._add_operation(operation)

    def _add_operation(self, operation: ops.Operation) -> None:
        match operation:
            case ops.CreateProvider():
                position = operation.name, operation.parent_provider_uuid
                self.positions[operation.uuid].add(position)
                self.providers.add(operation.uuid)
            case ops.UpdateProvider():
                self.positions[operation.uuid].add(operation.after)
                self.providers.add(operation.uuid)
            case ops.DeleteProvider():
                self.providers.add(operation.uuid)
            case ops.SetInventories():
                self._add_inventories(operation)
            case ops.SetAllocations():
                for consumer in operation.after:
                    self.consumers[consumer.uuid].append(get_compared_values(consumer))
            case ops.Reshape():
                for change in operation.inventories:
                    self._add_inventories(change)
                for moved in operation.consumers:
                    self.consumers[moved.uuid].append(get_compared_values(moved.after))

    def _add_inventories(self, change: ops.SetInventories) -> None:
        self.providers.add(change.provider_uuid)
        for name in {**change.before, **change.after}:
            step = change.before.get(name), change.after.get(name)
            if step[0] != step[1]:
                self._steps[InventoryKey(change.provider_uuid, name)].append(step)

    def compute_inventory_without_writes(
        self, uuid: str, name: str, live: Inventory | None
    ) -> Inventory | None:
        """Return an inventory as it would be if none of the operations had been sent.

        A value that others have set since stays.

        :param live: the inventory as it is; ``None``: there is none
        """
        for before, after in reversed(self._steps[InventoryKey(uuid, name)]):
            if live == after:
                live = before
        return live


def is_request_lost(operation: ops.Operation, live: Snapshot) -> bool:
    """Return whether a write of allocations was not done: one of its consumers is as before."""
    return isinstance(operation, ops.SetAllocations) and any(
        consumer.allocations
        and get_compared_values(live.consumers.get(consumer.uuid)) == get_compared_values(consumer)
        for consumer in operation.before
    )


def find_repeated_writes(operations: Iterable[ops.Operation]) -> Iterator[str]:
    """Yield the writes that were sent again because another client had undone them.

    :param operations: those of one run, in one direction, in the order in which they were made
    """
    written: set[tuple[str, object]] = set()
    for operation in operations:
        writes = dict.fromkeys(_list_writes(operation))
        yield from (text for text, value in writes if (text, value) in written)
        written.update(writes)


def _list_writes(operation: ops.Operation) -> Iterator[tuple[str, object]]:
    """Yield each part that an operation changes, as text, with its new value."""
    match operation:
        case ops.CreateProvider(uuid, name):
            yield f'the provider {name}', uuid
        case ops.UpdateProvider(uuid, _, after):
            yield f'the name or the parent of {after.name}', (uuid, after)
        case ops.SetTraits(uuid, before, after):
            yield from ((f'the trait {name} of {uuid}', name in after) for name in before ^ after)
        case ops.SetAggregates(uuid, before, after):
            changed = before ^ after
            yield from ((f'the aggregate {name} of {uuid}', name in after) for name in changed)
        case ops.SetInventories():
            yield from _list_inventory_writes(operation)
        case ops.SetAllocations(_, consumers):
            yield from map(_describe_consumer_write, consumers)
        case ops.Reshape(inventories, moved):
            yield from (write for change in inventories for write in _list_inventory_writes(change))
            yield from (_describe_consumer_write(change.after) for change in moved)


def _list_inventory_writes(change: ops.SetInventories) -> Iterator[tuple[str, object]]:
    """Yield each inventory that an operation changes, as text, with its new value."""
    for name in {**change.before, **change.after}:
        inventory = change.after.get(name)
        if inventory != change.before.get(name):
            yield f'the inventory of {name} of {change.provider_uuid}', inventory


def _describe_consumer_write(consumer: Consumer) -> tuple[str, str]:
    """Return a text that names a consumer's allocations, and one with the written values."""
    return f'the allocations of {consumer.uuid}', str(get_compared_values(consumer))


def get_compared_values(consumer: Consumer | None) -> ConsumerValues:
    """Return the values by which consumers are compared; those of ``None`` have no allocations."""
    if consumer is None or not consumer.allocations:
        return ConsumerValues({}, None)
    return ConsumerValues(consumer.allocations, consumer.owner)
