"""The inventories of a target state: moves from sources to targets."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from placementclient.model.inventories import Inventory
from placementclient.planner.infeasibility import Cause
from placementclient.planner.layout.target_state import (
    InventoryFlow,
    InventoryKey,
    Target,
    TargetState,
)


def move_inventories(target_state: TargetState) -> list[Cause]:
    """Change the inventories to their target state, find targets, and return why that fails."""
    moved = dict(_take_off_sources(target_state))
    reserving = _give_to_targets(target_state, moved)
    return [*_state_rest(target_state), *_check_reserved(target_state, moved, reserving)]


def _take_off_sources(target_state: TargetState) -> Iterator[tuple[InventoryKey, Inventory]]:
    """Take what moves off the sources; yields what they had."""
    by_origin: dict[InventoryKey, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        by_origin.setdefault(flow.origin, []).append(flow)
    for origin, flows in by_origin.items():
        source_uuid, name = origin
        source = target_state.providers[source_uuid]
        before = source.inventories[name]
        left = before.total - sum(flow.amount for flow in flows)
        targets: dict[InventoryKey, Target] = {}
        for flow in flows:
            target_uuid = flow.destination.provider_uuid
            is_renamed = left > 0 and target_uuid == source_uuid
            provider = target_state.providers[target_uuid].name
            targets[flow.destination] = Target(flow.destination, provider, only_mapped=is_renamed)
        if left > 0:
            targets[origin] = Target(origin, source.name, stays=True)
            source.inventories[name] = replace(before, total=left)
        else:
            del source.inventories[name]
        target_state.targets[origin] = list(targets.values())
        yield origin, before


def _give_to_targets(
    target_state: TargetState, moved: Mapping[InventoryKey, Inventory]
) -> set[InventoryKey]:
    """Give the targets what moves, with what the specification leaves out filled in."""
    reserving: set[InventoryKey] = set()
    received: dict[InventoryKey, list[InventoryFlow]] = {}
    for flow in target_state.flows:
        received.setdefault(flow.destination, []).append(flow)
    for (target_uuid, name), flows in received.items():
        target = target_state.providers[target_uuid]
        present = target.inventories.get(name)
        origins = [moved[flow.origin] for flow in flows]
        stated = target.stated.pop(name, {})
        if 'reserved' in stated:
            reserving.update(flow.origin for flow in flows)
            now = present.reserved if present else 0
            _release(target_state, flows, int(stated['reserved']) - now)
        total = sum(flow.amount for flow in flows) + (present.total if present else 0)
        total = int(stated.get('total', total))
        base = present or Inventory(
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
    for source_uuid, name in dict.fromkeys(flow.origin for flow in flows):
        inventories = target_state.providers[source_uuid].inventories
        left = inventories.get(name)
        released = min(amount, left.reserved) if left else 0
        if left is not None and released > 0:
            inventories[name] = replace(left, reserved=left.reserved - released)
            amount -= released


def _state_rest(target_state: TargetState) -> Iterator[Cause]:
    """Apply the stated inventories that nothing is moved into."""
    for target in target_state.providers.values():
        for name, stated in target.stated.items():
            present = target.inventories.get(name)
            if present is None and 'total' in stated:
                # All of it moves, and it is to be there again: as it was, but for what is stated.
                present = target.inventories_before.get(name) or Inventory(int(stated['total']))
            if present is None:
                tree = target_state.name
                yield Cause('no-total', tree, resource_class=name, provider=target.name)
                continue
            target.inventories[name] = present.with_fields(stated)


def _check_reserved(
    target_state: TargetState,
    moved: Mapping[InventoryKey, Inventory],
    reserving: set[InventoryKey],
) -> Iterator[Cause]:
    """Nothing that was reserved is lost without a word."""
    for key, before in moved.items():
        source, name = target_state.providers[key.provider_uuid], key.resource_class
        left = source.inventories.get(name)
        if left is not None and left.reserved <= left.total:
            continue
        total = left.total if left else 0
        if total < before.reserved and key not in reserving:
            yield Cause(
                'reserved-unplaced',
                target_state.name,
                provider=source.name,
                reserved=before.reserved,
                resource_class=name,
                left=total,
            )
        elif left is not None and 'reserved' not in source.stated.get(name, {}):
            source.inventories[name] = replace(left, reserved=left.total)
