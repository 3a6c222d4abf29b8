# SPDX-License-Identifier: Apache-2.0
"""The hosts of a snapshot and their servers, for a drain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.insight.drain import departures, requests
from placementclient.insight.drain.departures import GONE, Departure, Hindrance, MoveState
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.nova_facts import NovaFacts, make_cell_alias
from placementclient.insight.drain.numbers import KindNumber
from placementclient.insight.selecting import ProviderSelector
from placementclient.model.consumers import Consumer, sum_gains
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import COMPUTE_NODE, INSTANCE, MIGRATION
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request
from placementclient.placing.topology import Topology

#: The kind of the findings on servers that Nova has on a host and that hold nothing there.
ABSENT = 'absent'


class Occupants(NamedTuple):
    """The consumers of hosts.

    :param offloaded: shelved servers, which free their allocations and need no place
    :param unsettled: findings on servers (those without allocations on their host have the kind
        :data:`ABSENT`), other consumers, and providers with unknown consumers that no plan can
        move; the fact ``command`` is the command after which a plan can. A server
        that Nova cannot move yet is among ``servers``, too.
    """

    servers: list[ServerMove]
    offloaded: list[ServerMove]
    unsettled: list[Finding]


class DrainCloud:
    """The hosts of a snapshot: the trees with a nova-compute, or all trees if there is none.

    :param keep_free: the percentage of each class to leave free on each host
    :param audit: the command that audits this cloud
    """

    def __init__(
        self,
        snapshot: Snapshot,
        nova_facts: NovaFacts | None = None,
        keep_free: float = 0,
        audit: str = 'placement resource provider audit',
    ) -> None:
        self.snapshot, self.topology = snapshot, Topology(snapshot)
        self.nova_facts = nova_facts or NovaFacts()
        self._keep_free, self._audit = keep_free, audit
        #: The requests of servers, by number; and the numbers.
        self.requests: list[Request] = []
        self._numbers: dict[Request, KindNumber] = {}
        roots = snapshot.roots()
        computes = [root for root in roots if COMPUTE_NODE in root.traits]
        #: The UUIDs of the roots of all hosts, in the order of their names.
        self.hosts = [root.uuid for root in computes or roots if self._is_host(root)]
        #: The numbers of strict requests by the host and the allocations.
        self._strict: dict[object, KindNumber] = {}
        self._departures: dict[str, Departure] = {}

    @cached_property
    def rare_traits(self) -> frozenset[str]:
        """The traits that only some hosts have."""
        sets = [
            frozenset().union(*(state.traits for state in self.topology.trees[uuid]))
            for uuid in self.hosts
        ]
        return frozenset().union(*sets) - frozenset.intersection(*sets) if sets else frozenset()

    def with_snapshot(self, snapshot: Snapshot) -> DrainCloud:
        """Return the cloud with another snapshot; each kind of servers keeps its number."""
        cloud = DrainCloud(snapshot, self.nova_facts, self._keep_free, self._audit)
        cloud.requests, cloud._numbers = self.requests, self._numbers
        return cloud

    @cached_property
    def without_servers(self) -> DrainCloud:
        """The cloud with the same hosts, and no servers."""
        occupants = self.find_occupants(self.hosts)
        leaving = (*occupants.servers, *occupants.offloaded)
        servers = {move.server: move.before for move in leaving}
        gains = sum_gains((allocations, {}) for allocations in servers.values())
        states = (
            replace(state, usages=Counter(state.usages) + gains[state.uuid])
            for state in self.snapshot.providers.values()
        )
        others = (
            consumer for uuid, consumer in self.snapshot.consumers.items() if uuid not in servers
        )
        return self.with_snapshot(Snapshot(states, others, self.snapshot.origin))

    def _is_host(self, root: ProviderState) -> bool:
        """Return True if a provider of a tree has inventory and is no sharing provider."""
        return any(
            state.inventories and not is_sharing(state) for state in self.topology.trees[root.uuid]
        )

    def select_hosts(self, arguments: Sequence[str], selection: ProviderSelector) -> list[str]:
        """Return the UUIDs of the roots of the selected hosts; by default of all.

        :param arguments: names, UUIDs or patterns
        :param selection: the conditions that one provider of a host has to meet
        :raises errors.PlacementError: if there is none, or an argument names no host
        """
        has_conditions = selection != ProviderSelector()
        if not (arguments or has_conditions):
            return list(self.hosts)
        roots = dict.fromkeys(
            uuid for argument in arguments for uuid in self._find_named_hosts(argument)
        )
        if has_conditions:
            states = [state for uuid in self.hosts for state in self.snapshot.tree(uuid)]
            roots |= dict.fromkeys(match.provider.root_uuid for match in selection.select(states))
        return list(roots)

    def _find_named_hosts(self, argument: str) -> list[str]:
        """Return the UUIDs of the roots that an argument names, without sharing providers.

        :raises errors.NoSuchProvider: if there is no such root
        """
        providers = self.snapshot.providers
        roots = self.snapshot.root_uuids([argument])
        hosts = [uuid for uuid in roots if uuid in self.hosts or not is_sharing(providers[uuid])]
        if not hosts:
            storage = ', '.join(providers[uuid].name for uuid in roots)
            raise errors.NoSuchProvider(f'{storage} is storage that others share, not a host')
        return hosts

    def find_occupants(self, hosts: Iterable[str]) -> Occupants:
        """Return the servers of hosts, and what else uses them and cannot move.

        :param hosts: the UUIDs of their roots
        """
        occupants = Occupants([], [], [])
        for uuid in hosts:
            absent = self.nova_facts.absent.get(uuid, ())
            named = {unmovable.subject for unmovable in absent}
            for consumer in self.snapshot.consumers_in(uuid):
                if consumer.uuid not in named:
                    self._add_consumer(occupants, consumer, uuid)
            for unmovable in absent:
                occupants.unsettled.append(self._make_unsettled_finding(unmovable, uuid, ABSENT))
            for state in self.topology.trees[uuid]:
                if unlisted := self.snapshot.unlisted_usages(state.uuid):
                    amounts = ', '.join(f'{name}={n}' for name, n in unlisted.items())
                    reason = f'{amounts} of it is used by consumers without a record'
                    command = f'{self._audit} --subject {state.reference}'
                    unmovable = Hindrance(state.name, reason, command)
                    occupants.unsettled.append(self._make_unsettled_finding(unmovable, uuid))
        return occupants

    def _add_consumer(self, occupants: Occupants, consumer: Consumer, root_uuid: str) -> None:
        """Add a consumer on a host to the lists to which it belongs.

        :param occupants: its lists get the consumer
        :param root_uuid: of the host
        """
        if unmovable := self._explain_unmovable(consumer, root_uuid):
            occupants.unsettled.append(self._make_unsettled_finding(unmovable, root_uuid))
            return
        leaving = self.find_departure(consumer.uuid)
        if leaving.state is MoveState.CANNOT_MOVE:
            command = leaving.command.format(server=consumer.uuid)
            unmovable = Hindrance(consumer.uuid, leaving.reason, command)
            occupants.unsettled.append(self._make_unsettled_finding(unmovable, root_uuid))
        move = ServerMove(consumer.uuid, root_uuid, consumer.allocations, {})
        if leaving.needs_place:
            occupants.servers.append(move)
        elif leaving.state is not MoveState.CANNOT_MOVE:
            occupants.offloaded.append(move)

    def find_servers_by_host(self, hosts: Iterable[str]) -> dict[str, list[ServerMove]]:
        """Return the servers of each host that need a place elsewhere if the host is emptied.

        :param hosts: the UUIDs of their roots, which are the keys of the result, too
        """
        by_host: dict[str, list[ServerMove]] = {uuid: [] for uuid in hosts}
        for server in self.find_occupants(by_host).servers:
            by_host[server.source].append(server)
        return by_host

    def find_departure(self, server_uuid: str) -> Departure:
        """Return the command that moves a server off its host, or why there is none."""
        if known := self.nova_facts.departures.get(server_uuid):
            return known
        if server_uuid not in self._departures:
            restrictions = self.nova_facts.restrictions
            if server_uuid in restrictions:
                restricted = restrictions[server_uuid]
            else:
                allocations = self.snapshot.consumers[server_uuid].allocations
                restricted = departures.find_restriction(self.snapshot, allocations)
            state = self.nova_facts.states.get(server_uuid, '')
            self._departures[server_uuid] = departures.choose_departure(state, restricted)
        return self._departures[server_uuid]

    def _make_unsettled_finding(
        self, unmovable: Hindrance, root_uuid: str, kind: str = 'unsettled'
    ) -> Finding:
        host = self.snapshot.providers[root_uuid].name
        facts = {'host': host, 'reason': unmovable.reason, 'command': unmovable.command}
        return Finding(kind, unmovable.subject, facts, (root_uuid,), severity=Severity.WARNING)

    def _explain_unmovable(self, consumer: Consumer, root_uuid: str) -> Hindrance | None:
        """Return why a consumer on a host is no server that a plan can move; ``None`` if it is one.

        :param root_uuid: of the host
        """
        states = list(map(self.snapshot.providers.get, consumer.allocations))
        roots = {s.provider.root_uuid for s in states if s is not None and not is_sharing(s)}
        if None in states:
            reason = 'holds something on a provider that is not in the snapshot'
            return Hindrance(consumer.uuid, reason)
        if root_uuid not in roots:
            reason = 'is on another host, and uses storage that this one shares'
            return Hindrance(consumer.uuid, reason)
        migrations = self.nova_facts.migrations or {}
        if migration := migrations.get(consumer.uuid):
            return departures.explain_migration_allocations(consumer.uuid, migration, self._audit)
        if consumer.type not in (None, INSTANCE, MIGRATION):
            return Hindrance(consumer.uuid, f'is no server, but a consumer of type {consumer.type}')
        if reason := self._explain_migration_or_leak(consumer, roots):
            return Hindrance(consumer.uuid, reason, f'{self._audit} --subject {consumer.uuid}')
        return None

    def _explain_migration_or_leak(self, consumer: Consumer, root_uuids: Collection[str]) -> str:
        """Return why a consumer may be a migration or have leaked allocations; empty: neither.

        :param root_uuids: of the hosts on which the consumer has allocations
        """
        nova_facts = self.nova_facts
        if consumer.type == MIGRATION:
            return 'is a migration: under way, waiting to be confirmed, or over'
        if len(root_uuids) > 1:
            return 'has allocations on several hosts: it is migrating, or some are leaked'
        if nova_facts.consumers is not None and consumer.uuid not in nova_facts.consumers:
            either = 'a migration, or ' if nova_facts.migrations is None else ''
            return f'is no server that Nova knows: {either}a leaked allocation'
        is_gone = nova_facts.states.get(consumer.uuid) in GONE
        return 'is on no host: a leaked allocation' if is_gone else ''

    def find_kind_by_strict_request(self, server: ServerMove) -> KindNumber:
        """Return the number of the kind of a server by its strict request."""
        if (requested := self.nova_facts.requests.get(server.server)) is not None:
            return self.find_kind_of_request(requested, server.source)
        allocations = dict(sorted(server.before.items()))
        key = server.source, tuple((uuid, *part.items()) for uuid, part in allocations.items())
        if key not in self._strict:
            root = self.snapshot.providers[server.source]
            request = requests.build_strict_request(self.snapshot, root, allocations)
            self._strict[key] = self.find_kind_of_request(request, server.source)
        return self._strict[key]

    def find_kind_by_lax_request(self, server: ServerMove) -> KindNumber:
        """Return the number of the kind of a server by its lax request."""
        nova_facts = self.nova_facts
        request = nova_facts.least.get(server.server) or nova_facts.requests.get(server.server)
        return self.find_kind_of_request(
            request or requests.build_lax_request(self.snapshot, server.before), server.source
        )

    def find_kind_of_request(self, request: Request, root_uuid: str | None = None) -> KindNumber:
        """Return the number of the kind of servers with a request.

        :param root_uuid: the present host, in whose cell the servers stay
        """
        if root_uuid is not None and self.nova_facts.cells is not None:
            name = self.nova_facts.cells.get(self.snapshot.providers[root_uuid].name, '')
            members = *request.root_member_of, frozenset({make_cell_alias(name)})
            request = request._replace(root_member_of=members)
        if request not in self._numbers:
            self._numbers[request] = KindNumber(len(self.requests))
            self.requests.append(request)
        return self._numbers[request]

    def list_free_amounts(self, state: ProviderState, *, is_new: bool = False) -> list[int]:
        """Return the free amounts of a provider that a drain may use, sorted by class.

        :param is_new: whether to count the provider of a new host, without usage
        """
        return [
            inventory.capacity
            - (0 if is_new else state.used(name))
            - ceil(inventory.capacity * self._keep_free / 100)
            for name, inventory in sorted(state.inventories.items())
        ]
