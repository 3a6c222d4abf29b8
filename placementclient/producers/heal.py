"""Read the hosts of servers, and plan the allocations that the servers should have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from placementclient.api import allocation, resource_provider
from placementclient.changes.plan import ChangePlan, ChangeSet, plan_of
from placementclient.changes.results import Note
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.servers import ServerDetail
from placementclient.model.services import Port
from placementclient.model.snapshots import Snapshot
from placementclient.producers.healed import healed
from placementclient.reading.capture import capture, capture_any


class Healing:
    """Plans, and plans again for the servers of a host that changes at the same time.

    :param migrating: the UUIDs of the servers of which a migration is not over
    :param is_chosen: whether the operator has chosen the servers; otherwise they are all
    :param is_current: asks Nova, just before a write, whether a server is still as it was listed:
        nothing would ever delete the allocations of one that is gone; ``None`` if Nova cannot say
    :param ports: those that ask for something
    :ivar notes: the servers that are left as they are
    """

    def __init__(
        self,
        client: Client,
        servers: Sequence[ServerDetail],
        migrating: Collection[str],
        *,
        is_chosen: bool = False,
        is_current: Callable[[ServerDetail], bool] | None = None,
        ports: Iterable[Port] = (),
    ) -> None:
        self._client, self._migrating = client, migrating
        self._servers = {server.uuid: server for server in servers}
        self._is_chosen, self._is_current = is_chosen, is_current
        self._plan = ChangePlan('', ())
        self._ports: dict[str, list[Port]] = {}
        for port in ports:
            self._ports.setdefault(port.server_uuid, []).append(port)
        self.notes: list[Note] = []

    def plan(self, roots: Sequence[str] = ()) -> ChangePlan:
        """Plan the allocations that servers should have.

        :param roots: the UUIDs of the roots of the trees to plan again; none: all
        """
        if roots:
            return self._planned(self._servers_of(roots))
        everything = None if self._is_chosen else capture(self._client, workers=4)
        self._plan = self._planned(list(self._servers.values()), everything)
        return self._plan

    def check(self, tree: ChangeSet) -> ChangeSet | None:
        """Return the change set without the servers that Nova has deleted or changed."""
        is_current = self._is_current or (lambda server: True)
        gone = {uuid for uuid in tree.after.consumers if not is_current(self._servers[uuid])}
        reason = 'Nova has deleted or changed the server since the list'
        self.notes += [Note(f'consumer {uuid}', 'failed', reason) for uuid in sorted(gone)]
        if gone >= tree.after.consumers.keys():
            return None
        return replace(tree, before=_without(tree.before, gone), after=_without(tree.after, gone))

    def _servers_of(self, roots: Sequence[str]) -> list[ServerDetail]:
        """Return the servers that the change set of some trees was about."""
        trees = filter(None, map(self._plan.tree, roots))
        failed = {note.object for note in self.notes}
        uuids = dict.fromkeys(uuid for tree in trees for uuid in tree.after.consumers)
        return [self._servers[uuid] for uuid in uuids if f'consumer {uuid}' not in failed]

    def _planned(
        self, servers: Sequence[ServerDetail], there: Snapshot | None = None
    ) -> ChangePlan:
        there = there or self._read(servers)
        types = self._client.microversion >= TYPED
        after, notes = healed(there, servers, self._migrating, types=types, ports=self._ports)
        self.notes += notes
        return plan_of('resource provider allocation heal', there, after)

    def _read(self, servers: Sequence[ServerDetail]) -> Snapshot:
        """Read the trees of the hosts, and the allocations of the servers wherever they are."""
        nodes = {server.node for server in servers if server.node}
        found = [
            provider.uuid
            for node in sorted(nodes)
            for provider in resource_provider.list(self._client, name=node)
        ]
        trees = capture_any(self._client, found)
        held = [allocation.show(self._client, server.uuid).value for server in servers]
        consumers = [*trees.consumers.values(), *(each for each in held if each.allocations)]
        return Snapshot(trees.providers.values(), consumers, trees.origin)


def _without(snapshot: Snapshot, consumer_uuids: Collection[str]) -> Snapshot:
    consumers = (
        consumer for uuid, consumer in snapshot.consumers.items() if uuid not in consumer_uuids
    )
    return Snapshot(snapshot.providers.values(), consumers, snapshot.origin)
