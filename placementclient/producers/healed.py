"""Servers with the allocations that they should have, as their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from types import MappingProxyType

from placementclient.changes.results import Note
from placementclient.insight.healing import Ports, disowned, missing, short_of_ports
from placementclient.model.consumers import Consumer
from placementclient.model.servers import ServerDetail
from placementclient.model.snapshots import Snapshot


def healed(
    snapshot: Snapshot,
    servers: Sequence[ServerDetail],
    migrating: Collection[str],
    *,
    types: bool = True,
    ports: Ports = MappingProxyType({}),
) -> tuple[Snapshot, list[Note]]:
    """Return the snapshot with the servers healed, and notes on the servers left as they are.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers of which a migration is not over
    :param types: whether the service stores the types of consumers
    :param ports: the ports that ask for something, by the UUID of the server
    """
    room = _HostRoom(snapshot)
    consumers, notes = dict(snapshot.consumers), list[Note]()
    for heal in (
        *missing(snapshot, servers, migrating, ports),
        *disowned(snapshot, servers, migrating),
        *short_of_ports(snapshot, servers, migrating, ports),
    ):
        uuid, wanted = heal.server.uuid, heal.consumer
        if wanted is None:
            notes.append(Note(f'consumer {uuid}', heal.state.value, heal.reason))
        elif uuid not in consumers and (lacking := room.lacking(wanted)):
            notes.append(Note(f'consumer {uuid}', 'failed', lacking))
        else:
            consumers[uuid] = wanted if types else replace(wanted, type=None)
    return Snapshot(snapshot.providers.values(), consumers.values(), snapshot.origin), notes


class _HostRoom:
    """The capacity that is left on hosts, while servers get their allocations one by one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._gained: dict[str, Counter[str]] = defaultdict(Counter)

    def lacking(self, consumer: Consumer) -> str:
        """Return what its host lacks for a consumer, as a clause; if nothing, take the room."""
        for uuid, resources in consumer.allocations.items():
            state = self._snapshot.providers[uuid]
            for name, amount in resources.items():
                inventory = state.inventories[name]
                free = inventory.capacity - state.used(name) - self._gained[uuid][name]
                if amount > free:
                    return f'{state.name} has no room: {amount} {name} needed, {max(free, 0)} free'
                if not inventory.admits(amount):
                    return f'{state.name} does not grant {amount} {name} at once'
        for uuid, resources in consumer.allocations.items():
            self._gained[uuid].update(resources)
        return ''
