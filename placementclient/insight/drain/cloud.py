# SPDX-License-Identifier: Apache-2.0
"""The hosts of a snapshot and their servers, for a drain."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.basis import errors
from placementclient.insight.drain import departures, requests
from placementclient.insight.drain.departures import (
    GONE,
    Departure,
    MoveState,
    Obstacle,
    Restriction,
    audit_of,
)
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.packing import Load, PackingProblem, TargetHost
from placementclient.insight.selecting import ProviderSelector
from placementclient.model.consumers import Consumer, gained
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import COMPUTE_NODE, DISABLED, INSTANCE, MIGRATION
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import HostProvider, is_sharing
from placementclient.placing.requests import Pool, Request
from placementclient.placing.shapes import Shape
from placementclient.placing.topology import Topology


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Facts of Nova about servers that Placement does not have.

    :param requests: the requests of servers, by their UUIDs; of the others only their allocations
        are known
    :param least: the same without uncertain parts, if that differs
    :param states: the states of servers, in small letters, by their UUIDs
    :param consumers: the UUIDs of all servers; ``None`` if they are not known
    :param zones: the availability zones by the name of the host
    :param limits: how many servers of a server group one host may have, by its name
    :param groups: the server groups by the UUID of the server
    :param restrictions: why Nova does not live-migrate servers whose flavor is known; ``None``: it
        does
    :param migrations: by the UUID of the consumer that holds the old host; ``None`` if they are
        not known
    :param cells: the cells of Nova by the name of the host; ``None``: all hosts are in one
    :param aggregates: the names of aggregates by UUID
    """

    requests: Mapping[str, Request] = field(default_factory=dict)
    least: Mapping[str, Request] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    consumers: Collection[str] | None = None
    zones: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    restrictions: Mapping[str, Restriction | None] = field(default_factory=dict)
    migrations: Mapping[str, ServerMigration] | None = None
    cells: Mapping[str, str] | None = None
    aggregates: Mapping[str, str] = field(default_factory=dict)


class Occupants(NamedTuple):
    """The consumers of hosts.

    :param offloaded: shelved servers, which free their allocations and need no place
    :param unsettled: the servers, other consumers, or providers with unknown consumers that no plan
        can move; ``command`` among the facts is the one after which a plan moves it. A server that
        Nova does not move yet is among ``servers``, too.
    """

    servers: list[ServerMove]
    offloaded: list[ServerMove]
    unsettled: list[Finding]


def zone(name: str) -> str:
    """Return the name for an availability zone among the aggregates of a host."""
    return f'zone {name}'


def cell(name: str) -> str:
    """Return the name for a cell among the aggregates of a host."""
    return f'cell {name}'


def affinity(name: str) -> str:
    """Return the name for an affinity group, which keeps its servers on their host."""
    return f'affinity group {name}'


class DrainCloud:
    """The hosts of a snapshot: the trees with a nova-compute, or all trees if there is none.

    :param keep_free: the percentage of each class to leave free on each host
    """

    def __init__(
        self, snapshot: Snapshot, knowledge: Knowledge | None = None, keep_free: float = 0
    ) -> None:
        self.snapshot, self.topology = snapshot, Topology(snapshot)
        self.knowledge = knowledge or Knowledge()
        self._keep_free = keep_free
        roots = snapshot.roots()
        computes = [root for root in roots if COMPUTE_NODE in root.traits]
        #: The UUIDs of the roots of all hosts, in the order of their names.
        self.hosts = [root.uuid for root in computes or roots if self._is_host(root)]
        #: Requests by themselves, and by their input.
        self._distinct: dict[object, Request] = {}
        self._departures: dict[str, Departure] = {}

    @cached_property
    def rare(self) -> frozenset[str]:
        """The traits that only some hosts have."""
        sets = [
            frozenset().union(*(state.traits for state in self.tree(uuid))) for uuid in self.hosts
        ]
        return frozenset().union(*sets) - frozenset.intersection(*sets) if sets else frozenset()

    def on(self, snapshot: Snapshot) -> DrainCloud:
        """Return the cloud with another snapshot."""
        return DrainCloud(snapshot, self.knowledge, self._keep_free)

    @cached_property
    def vacated(self) -> DrainCloud:
        """Return the cloud without any servers."""
        occupants = self.occupants(self.hosts)
        leaving = (*occupants.servers, *occupants.offloaded)
        servers = {move.server: move.before for move in leaving}
        gains = gained((allocations, {}) for allocations in servers.values())
        states = (
            replace(state, usages=Counter(state.usages) + gains[state.uuid])
            for state in self.snapshot.providers.values()
        )
        others = (
            consumer for uuid, consumer in self.snapshot.consumers.items() if uuid not in servers
        )
        return self.on(Snapshot(states, others, self.snapshot.origin))

    def _is_host(self, root: ProviderState) -> bool:
        return any(state.inventories and not is_sharing(state) for state in self.tree(root.uuid))

    def selected(self, arguments: Sequence[str], selection: ProviderSelector) -> list[str]:
        """Return the UUIDs of the roots of the selected hosts; by default of all.

        :param arguments: names, UUIDs or patterns
        :param selection: the conditions that one provider of a host has to meet
        :raises errors.PlacementError: if there is none, or an argument names no host
        """
        has_conditions = selection != ProviderSelector()
        if not (arguments or has_conditions):
            return list(self.hosts)
        roots = dict.fromkeys(uuid for argument in arguments for uuid in self._called(argument))
        if has_conditions:
            states = [state for uuid in self.hosts for state in self.snapshot.tree(uuid)]
            roots |= dict.fromkeys(match.provider.root_uuid for match in selection.selected(states))
        return list(roots)

    def _called(self, argument: str) -> list[str]:
        """Return the roots of the hosts that an argument names, without shared storage."""
        providers = self.snapshot.providers
        roots = self.snapshot.root_uuids([argument])
        hosts = [uuid for uuid in roots if uuid in self.hosts or not is_sharing(providers[uuid])]
        if not hosts:
            storage = ', '.join(providers[uuid].name for uuid in roots)
            raise errors.NoSuchProvider(f'{storage} is storage that others share, not a host')
        return hosts

    def tree(self, root_uuid: str) -> list[ProviderState]:
        return self.topology.trees[root_uuid]

    def occupants(self, hosts: Iterable[str]) -> Occupants:
        """Return the servers of hosts, and the consumers and unlisted usage that cannot move."""
        servers, offloaded, unsettled = occupants = Occupants([], [], [])
        for uuid in hosts:
            for consumer in self.snapshot.consumers_in(uuid):
                obstacle = self._obstacle(consumer, uuid)
                if obstacle is None:
                    leaving = self.departure(consumer.uuid)
                    is_stuck = leaving.state is MoveState.CANNOT_MOVE
                    if leaving.needs_place or not is_stuck:
                        move = ServerMove(consumer.uuid, uuid, consumer.allocations, {})
                        (servers if leaving.needs_place else offloaded).append(move)
                    if is_stuck:
                        command = leaving.command.format(server=consumer.uuid)
                        obstacle = Obstacle(consumer.uuid, leaving.reason, command)
                if obstacle:
                    unsettled.append(self._unsettled(obstacle, uuid))
            for state in self.tree(uuid):
                if unlisted := self.snapshot.unlisted(state.uuid):
                    amounts = ', '.join(f'{name}={n}' for name, n in unlisted.items())
                    reason = f'{amounts} of it is used by consumers without a record'
                    obstacle = Obstacle(state.name, reason, audit_of(state.reference))
                    unsettled.append(self._unsettled(obstacle, uuid))
        return occupants

    def departure(self, server_uuid: str) -> Departure:
        """Return how a server leaves its host."""
        if server_uuid not in self._departures:
            restrictions = self.knowledge.restrictions
            if server_uuid in restrictions:
                restricted = restrictions[server_uuid]
            else:
                allocations = self.snapshot.consumers[server_uuid].allocations
                restricted = departures.restriction(self.snapshot, allocations)
            state = self.knowledge.states.get(server_uuid, '')
            self._departures[server_uuid] = departures.departure(state, restricted)
        return self._departures[server_uuid]

    def _unsettled(self, obstacle: Obstacle, root_uuid: str) -> Finding:
        host = self.snapshot.providers[root_uuid].name
        facts = {'host': host, 'reason': obstacle.reason, 'command': obstacle.command}
        return Finding(
            'unsettled', obstacle.subject, facts, (root_uuid,), severity=Severity.WARNING
        )

    def _obstacle(self, consumer: Consumer, root_uuid: str) -> Obstacle | None:
        """Return why a consumer is no server on a host; ``None``: it is one."""
        states = list(map(self.snapshot.providers.get, consumer.allocations))
        roots = {s.provider.root_uuid for s in states if s is not None and not is_sharing(s)}
        if None in states:
            reason = 'holds something on a provider that is not in the snapshot'
            return Obstacle(consumer.uuid, reason)
        if root_uuid not in roots:
            reason = 'is on another host, and uses storage that this one shares'
            return Obstacle(consumer.uuid, reason)
        migrations = self.knowledge.migrations or {}
        if migration := migrations.get(consumer.uuid):
            return departures.migration_obstacle(consumer.uuid, migration)
        if consumer.type not in (None, INSTANCE, MIGRATION):
            return Obstacle(consumer.uuid, f'is no server, but a consumer of type {consumer.type}')
        if reason := self._leftover(consumer, roots):
            return Obstacle(consumer.uuid, reason, departures.audit_of(consumer.uuid))
        return None

    def _leftover(self, consumer: Consumer, roots: Collection[str]) -> str:
        """Return why a consumer may be a migration or leaked; an empty string: it is a server."""
        knowledge = self.knowledge
        if consumer.type == MIGRATION:
            return 'is a migration'
        if len(roots) > 1:
            return 'holds something on several hosts: a migration, or a leaked allocation'
        if knowledge.consumers is not None and consumer.uuid not in knowledge.consumers:
            either = 'a migration, or ' if knowledge.migrations is None else ''
            return f'is no server that Nova knows: {either}a leaked allocation'
        is_gone = knowledge.states.get(consumer.uuid) in GONE
        return 'is on no host: a leaked allocation' if is_gone else ''

    def strict(self, server: ServerMove) -> Request:
        """Return a request that is certainly sufficient for a server; equal ones are one object."""
        if (requested := self.knowledge.requests.get(server.server)) is not None:
            return self._in_cell(requested, server)
        allocations = dict(sorted(server.before.items()))
        key = server.source, tuple((uuid, *part.items()) for uuid, part in allocations.items())
        if key not in self._distinct:
            root = self.snapshot.providers[server.source]
            request = requests.strict(self.snapshot, root, allocations)
            self._distinct[key] = self._in_cell(request, server)
        return self._distinct[key]

    def lax(self, server: ServerMove) -> Request:
        """Return a request that is certainly necessary for a server; equal ones are one object."""
        knowledge = self.knowledge
        request = knowledge.least.get(server.server) or knowledge.requests.get(server.server)
        return self._in_cell(request or requests.lax(self.snapshot, server.before), server)

    def _in_cell(self, request: Request, server: ServerMove) -> Request:
        """Return a request for the hosts of the server's cell; equal ones are one object."""
        if (cells := self.knowledge.cells) is not None:
            name = cells.get(self.snapshot.providers[server.source].name, '')
            members = *request.root_member_of, frozenset({cell(name)})
            request = request._replace(root_member_of=members)
        return self._distinct.setdefault(request, request)

    def problem(
        self, kinds: Sequence[Load], emptied: Collection[str], spare: Sequence[str] = ()
    ) -> PackingProblem:
        """Return the possible target hosts for servers.

        :param spare: hosts, for each of which an empty one like it is added
        """
        out, requests = set(emptied), [request for request, _ in kinds]
        targets = [uuid for uuid in self.hosts if uuid not in out]
        is_lax = any(request.is_lax for request in requests)
        pools = self._pools(targets, kinds if is_lax else ())
        roots = [*((uuid, False) for uuid in targets), *((uuid, True) for uuid in spare)]
        hosts = list(self._targets(roots, pools, requests))
        return PackingProblem(kinds, hosts, pools, self.knowledge.limits)

    def _pools(self, targets: Iterable[str], leaving: Iterable[Load]) -> dict[Pool, int]:
        """Return the free amounts of sharing providers, with those that leaving servers free."""
        pools = {
            (state.uuid, name): state.free(name)
            for state in self.snapshot.providers.values()
            if is_sharing(state)
            for name in state.inventories
        }
        left = [
            (pool, amount * len(servers))
            for request, servers in leaving
            for pool, amount in request.shared
        ]
        if not left:
            return pools
        serving = defaultdict[str, set[str]](set)
        for root in targets:
            for state in self.topology.serving(root):
                for name in state.inventories:
                    serving[name].add(state.uuid)
        for (uuid, name), amount in left:
            if (uuid, name) in pools and serving[name] - {uuid}:
                pools[uuid, name] += amount
        return pools

    def _targets(
        self,
        roots: Iterable[tuple[str, bool]],
        pools: Mapping[Pool, int],
        requests: Collection[Request],
    ) -> Iterator[TargetHost]:
        """Yield the hosts to move to: equal hosts share a shape, and new hosts are empty."""
        topology, groups = self.topology, self.knowledge.groups
        shapes: dict[tuple[HostProvider, ...], Shape] = {}
        trees = {tree for request in requests for tree in request.trees}
        # For lax requests only the traits and aggregates count that some request names.
        is_lax = any(request.is_lax for request in requests)
        named = frozenset({DISABLED, *_names(tuple(requests))}) if is_lax else None
        for root_uuid, is_new in roots:
            bins = tuple(self._bins(root_uuid, trees, named, is_new=is_new))
            if bins not in shapes:
                shapes[bins] = Shape(bins)
            states = [state for state in self.tree(root_uuid) if not is_sharing(state)]
            room = [free for state in states for free in self.room(state, is_new=is_new)]
            members: Counter[str] = Counter()
            if groups and not is_new:
                for consumer in self.snapshot.consumers_in(root_uuid):
                    members.update(groups.get(consumer.uuid, ()))
            serving = tuple(state.uuid for state in topology.serving(root_uuid))
            shape = shapes[bins]
            yield TargetHost(root_uuid, shape, serving, shape.sums(room, pools), members)

    def _bins(
        self, root_uuid: str, trees: Collection[str], named: frozenset[str] | None, *, is_new: bool
    ) -> list[HostProvider]:
        """Return the providers of a host with the traits and aggregates that are named."""
        root, *others = self.topology.host(root_uuid, trees)
        name = self.snapshot.providers[root_uuid].name
        zones, cells = self.knowledge.zones, self.knowledge.cells or {}
        places = {zone(zones[name])} if name in zones else set()
        places |= {cell(cells[name])} if name in cells else set()
        if places:
            root = root._replace(aggregates=root.aggregates | places)
        if is_new:
            root = root._replace(traits=root.traits - {DISABLED})
        if named is None:
            return [root, *others]
        return [
            provider._replace(
                traits=provider.traits & named, aggregates=provider.aggregates & named
            )
            for provider in (root, *others)
        ]

    def room(self, state: ProviderState, *, is_new: bool = False) -> list[int]:
        """Return the free amount of each class of a provider that a drain may use."""
        return [
            inventory.capacity
            - (0 if is_new else state.used(name))
            - ceil(inventory.capacity * self._keep_free / 100)
            for name, inventory in sorted(state.inventories.items())
        ]


def _names(request: object) -> Iterator[str]:
    """Yield all names in a request."""
    if isinstance(request, str):
        yield request
    elif isinstance(request, tuple | frozenset):
        for part in request:
            yield from _names(part)
