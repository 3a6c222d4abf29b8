"""Additions: allocations that Placement never had, removed on the way back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from placementclient.model.consumers import Consumer
from placementclient.planner import infeasibility
from placementclient.planner.infeasibility import Cause
from placementclient.planner.plan.plan import Label, PlannedRow
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import TargetState, Where
from placementclient.planner.target.transfers import Assignment, Transfer


def refusals(overlay: SnapshotOverlay, target_state: TargetState) -> Iterator[Cause]:
    """Return the reasons of the service against the additions: capacity, and all it writes."""
    tree = target_state.root.name
    needs: dict[Where, int] = {}
    for consumer_uuid in {**target_state.added, **target_state.removed}:
        yield from _kept(overlay, target_state, overlay.consumer(consumer_uuid))
    for consumer_uuid, amounts in target_state.added.items():
        for where, amount in amounts.items():
            needs[where] = needs.get(where, 0) + amount
            target = target_state.providers[where.provider_uuid]
            inventory = target.inventories[where.resource_class]
            if not inventory.admits(amount):
                yield infeasibility.BAD_AMOUNT(
                    tree,
                    consumer_uuid,
                    where.resource_class,
                    amount,
                    ((target.name, inventory.min_unit, inventory.max_unit, inventory.step_size),),
                )
    for where, need in needs.items():
        target = target_state.providers[where.provider_uuid]
        room = target.inventories[where.resource_class].capacity
        if need > room:
            yield infeasibility.SHORTFALL(
                tree, (target.name,), where.resource_class, need, room, mapped=True
            )


def _kept(
    overlay: SnapshotOverlay, target_state: TargetState, consumer: Consumer
) -> Iterator[Cause]:
    """Return the holdings of a consumer of which nothing may move."""
    held = {
        Where(provider_uuid, name): amount
        for provider_uuid, resources in consumer.allocations.items()
        for name, amount in resources.items()
    }
    roots = target_state.written_in(consumer.uuid) if target_state.apart else {''}
    movable = [where for where in held if target_state.may_move(where, consumer.uuid)]
    for root in sorted(roots):
        if any(root in ('', target_state.root_of(where)) for where in movable):
            continue
        for where, amount in held.items():
            provider_uuid, name = where
            state = target_state.providers.get(provider_uuid) or overlay.state(provider_uuid)
            inventory = state.inventories.get(name) if state else None
            if not state or not inventory or inventory.admits(amount):
                continue
            if not root or not _may_differ(overlay, target_state, root, where, held):
                tree = target_state.root.name
                yield infeasibility.UNACCEPTABLE(tree, consumer.uuid, state.name, name, amount)


def _may_differ(
    overlay: SnapshotOverlay,
    target_state: TargetState,
    root_uuid: str,
    where: Where,
    held: Mapping[Where, int],
) -> bool:
    """Return whether an order of several trees may make right what a consumer has at a place.

    :param root_uuid: of the tree in which the consumer is written
    :param held: all that it holds
    """
    if where in target_state.places or any(
        flow.destination == where for flow in target_state.flows if flow.origin in held
    ):
        return True
    present = overlay.state(where.provider_uuid)
    inventory = present.inventories.get(where.resource_class) if present else None
    is_foreign = target_state.root_of(where) not in ('', root_uuid)
    return is_foreign and inventory is not None and inventory.admits(held[where])


def assign(target_state: TargetState, assignment: Assignment) -> None:
    """Give the consumers what is added, and take what is removed; the operator said so."""
    names = {uuid: target.name for uuid, target in target_state.providers.items()}
    for consumer_uuid, amounts in target_state.added.items():
        for where, amount in amounts.items():
            name = where.resource_class
            to = names[where.provider_uuid]
            row = PlannedRow(consumer_uuid, name, amount, None, to, name, Label.MAPPED)
            assignment.rows.append(row)
            assignment.transfers.append(Transfer(consumer_uuid, None, where, amount))
    for consumer_uuid, amounts in target_state.removed.items():
        for where, amount in amounts.items():
            name = where.resource_class
            origin = names[where.provider_uuid]
            row = PlannedRow(consumer_uuid, name, amount, origin, None, name, Label.MAPPED)
            assignment.rows.append(row)
            assignment.transfers.append(Transfer(consumer_uuid, where, None, amount))
