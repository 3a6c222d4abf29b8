"""A cloud with the faults fixed that an audit found, as far as that is safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from placementclient.model.consumers import Consumer
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved, Repair
from placementclient.model.snapshots import ProviderState, Snapshot


def repaired(there: Snapshot, repairs: Mapping[int, Repair]) -> tuple[Snapshot, dict[int, str]]:
    """Return the snapshot with repairs made, and the reasons against those that are not, by number.

    A repair that is made already changes nothing.

    :param there: has the whole trees of all that is repaired, as they are now
    :param repairs: each only while things are as they were judged
    """
    states, consumers = dict(there.providers), dict(there.consumers)
    reasons: dict[int, str] = {}
    for number, repair in repairs.items():
        if isinstance(repair, FreeAllocations):
            uuid = repair.consumer.uuid
            now = there.consumers.get(uuid, Consumer(uuid))
            if now.allocations.keys().isdisjoint(repair.provider_uuids):
                continue
            if _held(now) != _held(repair.consumer):
                reasons[number] = f'What consumer {uuid} holds has changed since'
                continue
            consumers[uuid] = _without(consumers[uuid], repair)
        elif repair.provider_uuid in states:
            states[repair.provider_uuid] = _of_provider(states[repair.provider_uuid], repair)
        else:
            reasons[number] = f'There is no provider {repair.provider_name} any more'
    holding = (consumer for consumer in consumers.values() if consumer.allocations)
    return Snapshot(states.values(), holding, there.origin), reasons


def _held(consumer: Consumer) -> tuple[object, object]:
    return consumer.allocations, consumer.generation


def _without(consumer: Consumer, repair: FreeAllocations) -> Consumer:
    left = {
        uuid: resources
        for uuid, resources in consumer.allocations.items()
        if uuid not in repair.provider_uuids
    }
    return replace(consumer, allocations=left)


def _of_provider(state: ProviderState, repair: AddTrait | LowerReserved) -> ProviderState:
    if isinstance(repair, AddTrait):
        return replace(state, traits=state.traits | {repair.trait})
    name = repair.resource_class
    inventory = state.inventories.get(name)
    if inventory is None or inventory.reserved <= inventory.total:
        return state
    return replace(
        state,
        inventories={**state.inventories, name: replace(inventory, reserved=inventory.total)},
    )
