"""The values that the operations of a change have written before. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from placementclient.changes.operations import (
    CreateProvider,
    Operation,
    Reshape,
    SetAllocations,
    SetInventories,
    UpdateProvider,
)
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.inventories import Inventory


class OwnValues:
    """The values that operations have written on the way, of each provider and consumer."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        #: By provider and class: before and after each write that changed the inventory.
        self._steps: dict[tuple[str, str], list[tuple[Inventory | None, Inventory | None]]]
        self._steps = defaultdict(list)
        self.positions: dict[str, set[tuple[str, str | None]]] = defaultdict(set)
        self.consumers: dict[str, list[tuple[Allocations, object]]] = defaultdict(list)
        for operation in operations:
            self._learn(operation)

    def _learn(self, operation: Operation) -> None:
        match operation:
            case CreateProvider():
                position = operation.name, operation.parent_provider_uuid
                self.positions[operation.uuid].add(position)
            case UpdateProvider():
                self.positions[operation.uuid].add(operation.after)
            case SetInventories():
                self._learn_inventories(operation)
            case SetAllocations():
                for consumer in operation.after:
                    self.consumers[consumer.uuid].append(held_by(consumer))
            case Reshape():
                for change in operation.inventories:
                    self._learn_inventories(change)
                for moved in operation.consumers:
                    owner = (moved.project_id, moved.user_id, moved.type)
                    self.consumers[moved.uuid].append((moved.after, owner))

    def _learn_inventories(self, change: SetInventories) -> None:
        for name in {**change.before, **change.after}:
            step = change.before.get(name), change.after.get(name)
            if step[0] != step[1]:
                self._steps[change.provider_uuid, name].append(step)

    def without(self, uuid: str, name: str, found: Inventory | None) -> Inventory | None:
        """Return an inventory as it would be if none of the operations had been sent.

        The other fields of an inventory that an operation wrote may be of others: they stay.
        """
        for before, after in reversed(self._steps[uuid, name]):
            if found == after:
                found = before
        return found


def held_by(consumer: Consumer | None) -> tuple[Allocations, object]:
    """All that counts of a consumer; nothing of one that holds nothing."""
    if consumer is None or not consumer.allocations:
        return {}, None
    return consumer.allocations, (consumer.project_id, consumer.user_id, consumer.type)
