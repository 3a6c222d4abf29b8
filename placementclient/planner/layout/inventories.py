"""The inventories of a target state: moves from sources to targets."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.planner.infeasibility import Cause
from placementclient.planner.layout.target_state import (
    InventoryFlow,
    Place,
    TargetProvider,
    TargetState,
    Where,
)


def find_places(target_state: TargetState) -> None:
    """Find the possible places for each class that moves off a provider."""
    for origin, flows in _by_origin(target_state).items():
        source = target_state.providers[origin.provider_uuid]
        left = source.inventories[origin.resource_class].total > sum(flow.amount for flow in flows)
        places: dict[Where, Place] = {}
        for flow in flows:
            target = target_state.providers[flow.target]
            is_renamed = left and target is source
            places[flow.destination] = Place(flow.destination, target.name, only_mapped=is_renamed)
        if left:
            places[origin] = Place(origin, source.name, stays=True)
        target_state.places[origin] = list(places.values())


def move_inventories(target_state: TargetState) -> list[Cause]:
    """Change the inventories to their target state.

    :returns: why that is impossible, if it is
    """
    moved = dict(_take_off_sources(target_state))
    reserving = _give_to_targets(target_state, moved)
    return [*_state_rest(target_state), *_check_reserved(target_state, moved, reserving)]


def _by_origin(target_state: TargetState) -> dict[Where, list[InventoryFlow]]:
    flows: dict[Where, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        flows.setdefault(flow.origin, []).append(flow)
    return flows


def _take_off_sources(target_state: TargetState) -> Iterator[tuple[Where, Inventory]]:
    """Take what moves off the sources; yields what they had."""
    for origin, flows in _by_origin(target_state).items():
        source = target_state.providers[origin.provider_uuid]
        before = source.inventories[origin.resource_class]
        left = before.total - sum(flow.amount for flow in flows)
        if left > 0:
            source.inventories[origin.resource_class] = replace(before, total=left)
        else:
            del source.inventories[origin.resource_class]
        yield origin, before


def _give_to_targets(target_state: TargetState, moved: Mapping[Where, Inventory]) -> set[Where]:
    """Give the targets what moves, with what the specification leaves out filled in."""
    reserving: set[Where] = set()
    received: dict[Where, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        received.setdefault(flow.destination, []).append(flow)
    for (target_uuid, name), flows in received.items():
        target = target_state.providers[target_uuid]
        there = target.inventories.get(name)
        origins = [moved[flow.origin] for flow in flows]
        stated = target.stated.pop(name, {})
        if 'reserved' in stated:
            reserving.update(flow.origin for flow in flows)
            now = there.reserved if there else 0
            _release(target_state, flows, int(stated['reserved']) - now)
        total = sum(flow.amount for flow in flows) + (there.total if there else 0)
        total = int(stated.get('total', total))
        base = there or Inventory(
            total,
            min_unit=origins[0].min_unit,
            max_unit=min(max(origin.max_unit for origin in origins), total),
            step_size=origins[0].step_size,
            allocation_ratio=origins[0].allocation_ratio,
        )
        target.inventories[name] = base.with_fields({'total': total, **stated})
    return reserving


def _release(target_state: TargetState, flows: list[InventoryFlow], amount: int) -> None:
    """Let sources reserve no more than their targets leave them to."""
    for origin in dict.fromkeys(flow.origin for flow in flows):
        inventories = target_state.providers[origin.provider_uuid].inventories
        left = inventories.get(origin.resource_class)
        released = min(amount, left.reserved) if left else 0
        if left is not None and released > 0:
            inventories[origin.resource_class] = replace(left, reserved=left.reserved - released)
            amount -= released


def _state_rest(target_state: TargetState) -> Iterator[Cause]:
    """Apply the stated inventories that nothing is moved into."""
    for target in target_state.providers.values():
        before = target.before.inventories if target.before else {}
        for name, stated in target.stated.items():
            there = target.inventories.get(name)
            if there is None and 'total' in stated:
                # All of it moves, and it is to be there again: as it was, but for what is stated.
                there = before.get(name) or Inventory(int(stated['total']))
            if there is None:
                yield Cause(
                    'no-total', target_state.name, resource_class=name, provider=target.name
                )
                continue
            target.inventories[name] = there.with_fields(stated)
            if Where(target.uuid, name) not in target_state.places:
                yield from _overfull(target_state.name, target, name)


def _overfull(tree: str, target: TargetProvider, name: str) -> Iterator[Cause]:
    """An inventory that is made smaller than what is in use, of which nothing moves."""
    before = target.before.inventories.get(name) if target.before else None
    if target.before and before:
        used, room = target.before.used(name), target.inventories[name].capacity
        if room < min(used, before.capacity):
            yield Cause(
                'overfull', tree, provider=target.name, room=room, resource_class=name, used=used
            )


def _check_reserved(
    target_state: TargetState, moved: Mapping[Where, Inventory], reserving: set[Where]
) -> Iterator[Cause]:
    """Nothing that was reserved is lost without a word."""
    for where, before in moved.items():
        source = target_state.providers[where.provider_uuid]
        left = source.inventories.get(where.resource_class)
        if left is not None and left.reserved <= left.total:
            continue
        kept = left.total if left else 0
        if kept < before.reserved and where not in reserving:
            yield Cause(
                'reserved-unplaced',
                target_state.name,
                provider=source.name,
                reserved=before.reserved,
                resource_class=where.resource_class,
                left=kept,
            )
        elif left is not None and 'reserved' not in source.stated.get(where.resource_class, {}):
            source.inventories[where.resource_class] = replace(left, reserved=left.total)
