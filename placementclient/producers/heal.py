# SPDX-License-Identifier: Apache-2.0
"""Allocations for servers that lack them, with the right owner."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from msgspec import structs

from placementclient.api import allocation, resource_provider
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.insight.healing import UNKNOWN, Ports, find_heals
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding, Severity
from placementclient.model.network import Port
from placementclient.model.plans import Change
from placementclient.model.servers import Server
from placementclient.model.shortfalls import explain_refusal
from placementclient.model.snapshots import Snapshot
from placementclient.producers.producer import StateProducer
from placementclient.reading.capture import capture, capture_named_trees


class HealProducer(StateProducer):
    """Plans the allocations that servers lack.

    :param migrating: the UUIDs of the servers with a migration in progress
    :param is_chosen: whether the operator has chosen the servers; otherwise they are all servers
    :param is_current: asks Nova, just before a write, whether a server is still as it was listed:
        nothing would ever delete the allocations of a deleted one; ``None`` if Nova cannot be asked
    :param ports: those that ask for resources
    :param amounts: whether to compare the amounts on the host with the flavor
    :param shared_names: the names that several hosts of Nova have, in different cells
    :param notes: findings to report with its own: hosts or cells of Nova are not known
    """

    command = 'resource provider allocation heal'
    has_notes = True

    def __init__(
        self,
        client: Client,
        servers: Sequence[Server],
        migrating: Collection[str],
        *,
        is_chosen: bool = False,
        is_current: Callable[[Server], bool] | None = None,
        ports: Iterable[Port] = (),
        amounts: bool = False,
        shared_names: Collection[str] = (),
        notes: Iterable[Finding] = (),
    ) -> None:
        super().__init__(client)
        self.notes += notes
        self._migrating = migrating
        self._amounts, self._shared_names = amounts, shared_names
        self._servers = {server.uuid: server for server in servers}
        self._is_chosen, self._is_current = is_chosen, is_current
        self._ports: dict[str, list[Port]] = {}
        for port in ports:
            self._ports.setdefault(port.server_uuid, []).append(port)

    def read_live_state(self) -> Snapshot:
        """Read the trees of the hosts, and all allocations of the servers."""
        if not self._is_chosen:
            return capture(self.client, workers=4)
        nodes = {server.node for server in self._servers.values() if server.node}
        providers = [
            provider.uuid
            for node in sorted(nodes)
            for provider in resource_provider.list(self.client, name=node)
        ]
        trees = capture_named_trees(self.client, providers)
        consumers = (allocation.show(self.client, uuid).value for uuid in self._servers)
        using = (consumer for consumer in consumers if consumer.allocations)
        return Snapshot(trees.providers.values(), [*trees.consumers.values(), *using], trees.origin)

    def make_desired_state(self, live: Snapshot) -> Snapshot:
        """Return the snapshot with the missing allocations, and note the other servers."""
        types = self.client.microversion >= TYPED
        after, notes = heal_servers(
            live,
            list(self._servers.values()),
            self._migrating,
            types=types,
            ports=self._ports,
            amounts=self._amounts,
            shared_names=self._shared_names,
        )
        self.notes += notes
        return after

    def select_writable(self, change: Change) -> Change | None:
        """Return the change without the servers that Nova has deleted or changed since.

        ``None``: no server is left.
        """
        is_current = self._is_current or (lambda _: True)
        gone = {uuid for uuid in change.after.consumers if not is_current(self._servers[uuid])}
        reason = 'Nova has deleted or changed the server since the list'
        self.notes += [
            Finding('failed', f'consumer {uuid}', reason=reason) for uuid in sorted(gone)
        ]
        if gone >= change.after.consumers.keys():
            return None
        if not gone:
            return change
        return replace(
            change,
            before=_drop_consumers(change.before, gone),
            after=_drop_consumers(change.after, gone),
        )


def _drop_consumers(snapshot: Snapshot, consumer_uuids: Collection[str]) -> Snapshot:
    consumers = (c for c in snapshot.consumers.values() if c.uuid not in consumer_uuids)
    return Snapshot(snapshot.providers.values(), consumers, snapshot.origin)


def heal_servers(
    snapshot: Snapshot,
    servers: Sequence[Server],
    migrating: Collection[str],
    *,
    types: bool = True,
    ports: Ports = MappingProxyType({}),
    amounts: bool = False,
    shared_names: Collection[str] = (),
) -> tuple[Snapshot, list[Finding]]:
    """Return the snapshot with the missing allocations of servers, and notes on the other servers.

    :param snapshot: younger than the list of servers, with the whole trees of their hosts
    :param migrating: the UUIDs of the servers with a migration in progress
    :param types: whether the service stores the types of consumers
    :param ports: by the UUID of the server, the ports that ask for resources
    :param amounts: whether to compare the amounts on the host with the flavor
    :param shared_names: the names that several hosts of Nova have, in different cells
    """
    consumers, notes = dict(snapshot.consumers), list[Finding]()
    healing = defaultdict[str, Counter[str]](Counter)
    for heal in find_heals(
        snapshot, servers, migrating, ports, amounts=amounts, shared_names=shared_names
    ):
        uuid, healthy = heal.server.uuid, heal.consumer
        if healthy is None:
            severity = Severity.ERROR if heal.state == UNKNOWN else Severity.WARNING
            name, reason = f'consumer {uuid}', heal.reason
            notes.append(Finding(heal.state, name, reason=reason, severity=severity))
            continue
        added = _compute_added_amounts(consumers.get(uuid), healthy)
        if lacking := _explain_missing_room(snapshot, added, healthy, healing):
            notes.append(Finding('failed', f'consumer {uuid}', reason=lacking))
            continue
        for provider_uuid, resources in added.items():
            healing[provider_uuid].update(resources)
        consumers[uuid] = healthy if types else structs.replace(healthy, type=None)
    return Snapshot(snapshot.providers.values(), consumers.values(), snapshot.origin), notes


def _compute_added_amounts(before: Consumer | None, after: Consumer) -> dict[str, dict[str, int]]:
    """Return the amounts that a consumer gains, by provider UUID and class.

    :param before: ``None``: it does not exist yet
    """
    allocated = before.allocations if before else {}
    added: dict[str, dict[str, int]] = {}
    for uuid, resources in after.allocations.items():
        for name, amount in resources.items():
            if (more := amount - allocated.get(uuid, {}).get(name, 0)) > 0:
                added.setdefault(uuid, {})[name] = more
    return added


def _explain_missing_room(
    snapshot: Snapshot,
    added: Mapping[str, Mapping[str, int]],
    consumer: Consumer,
    healing: Mapping[str, Mapping[str, int]],
) -> str:
    """Return the reason why a consumer has no room for the added amounts; empty if it has.

    :param added: by provider and class, the amounts that the consumer gains
    :param healing: by provider and class, the amounts that the servers healed before gain
    """
    for uuid, resources in added.items():
        for name, more in resources.items():
            amount, taken = consumer.allocations[uuid][name], healing[uuid].get(name, 0)
            if reason := explain_refusal(snapshot.providers[uuid], name, amount, more, taken):
                return reason
    return ''
