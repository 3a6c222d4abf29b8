"""Additions: allocations that Placement never had, removed on the way back."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient.model.plans import Label, PlannedRow
from placementclient.planner import infeasibility
from placementclient.planner.infeasibility import Cause
from placementclient.planner.layout.target_state import TargetState, Where


def refusals(target_state: TargetState) -> Iterator[Cause]:
    """Return the reasons why the service would refuse the additions: units and capacity."""
    tree = target_state.name
    needs: dict[Where, int] = {}
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
                    ((target.name, *inventory.units),),
                )
    for where, need in needs.items():
        target = target_state.providers[where.provider_uuid]
        room = target.inventories[where.resource_class].capacity
        if need > room:
            yield infeasibility.SHORTFALL(
                tree, (target.name,), where.resource_class, need, room, mapped=True
            )


def rows(target_state: TargetState) -> Iterator[PlannedRow]:
    """Return the rows of what consumers get, and of what they lose; the operator said so."""
    names = {uuid: target.name for uuid, target in target_state.providers.items()}
    for changes, is_added in ((target_state.added, True), (target_state.removed, False)):
        for consumer_uuid, amounts in changes.items():
            for (provider_uuid, name), amount in amounts.items():
                at = names[provider_uuid]
                origin, target = (None, at) if is_added else (at, None)
                yield PlannedRow(consumer_uuid, name, amount, origin, target, name, Label.MAPPED)
