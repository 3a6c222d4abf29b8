"""The hosts of a snapshot and their servers, for a drain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.client import errors
from placementclient.insight.drain import requests
from placementclient.insight.drain.departures import GONE, Departure, departure
from placementclient.insight.drain.packing import PackingProblem, TargetHost
from placementclient.insight.selecting import ProviderSelector
from placementclient.model.consumers import Allocations, Consumer, gained
from placementclient.model.findings import Finding, Severity
from placementclient.model.nova import COMPUTE_NODE, DISABLED, MIGRATION
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import HostProvider, is_sharing
from placementclient.placing.requests import Request
from placementclient.placing.shapes import Pool, Shape
from placementclient.placing.topology import Topology


class MovingServer(NamedTuple):
    """A server that has to move.

    :param host: the UUID of the root of its host
    """

    uuid: str
    host: str
    allocations: Allocations


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Facts of Nova about servers that Placement does not have.

    :param requests: what servers ask for, by their UUIDs; of the others only their allocations are
        known
    :param least: the same without what they may not ask for, if that differs
    :param states: the states of servers, in small letters, by their UUIDs
    :param consumers: the UUIDs of all servers; ``None`` if they are not known
    :param zones: the availability zones by the name of the host
    :param limits: how many servers of a server group one host may have, by its name
    :param groups: the server groups by the UUID of the server
    """

    requests: Mapping[str, Request] = field(default_factory=dict)
    least: Mapping[str, Request] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    consumers: Collection[str] | None = None
    zones: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def departure(self, server_uuid: str) -> Departure:
        return departure(self.states.get(server_uuid))


def zone(name: str) -> str:
    """Return the aggregates of a host that represent its availability zone."""
    return f'zone {name}'


class DrainCloud:
    """The hosts of a snapshot: the trees with a nova-compute, or all trees if there is none.

    :param keep_free: what part of each class is to be left free on each host, in percent
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
        self._strict: dict[object, Request] = {}
        self._lax: dict[object, Request] = {}

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
        leaving = (*self.servers(self.hosts)[0], *self.shelved(self.hosts))
        servers = {server.uuid: server.allocations for server in leaving}
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

    def servers(self, hosts: Iterable[str]) -> tuple[list[MovingServer], list[Finding]]:
        """Return the servers of hosts that need a new place, and the consumers that cannot move.

        A server that Nova does not move yet is among both. The subject of such a finding is the
        consumer, or the provider if the consumer is not known; ``command`` among its facts is the
        one after which a plan can move it, empty if there is none.
        """
        servers, unsettled = dict[str, MovingServer](), dict[tuple[str, str], Finding]()
        for uuid in hosts:
            name = self.snapshot.providers[uuid].name
            for consumer in self.snapshot.consumers_in(uuid):
                reason, command = self._reason(consumer, uuid), ''
                leaving = self.knowledge.departure(consumer.uuid)
                if reason is None and leaving.needs_place:
                    servers[consumer.uuid] = MovingServer(consumer.uuid, uuid, consumer.allocations)
                    reason = leaving.obstacle
                    command = leaving.command.format(server=consumer.uuid, host='')
                if reason:
                    key = consumer.uuid, uuid
                    unsettled[key] = _unsettled(consumer.uuid, uuid, name, reason, command)
            for state in self.tree(uuid):
                if unlisted := self.snapshot.unlisted(state.uuid):
                    amounts = ', '.join(f'{kind}={n}' for kind, n in unlisted.items())
                    reason = f'{amounts} of it is used by consumers without a record'
                    unsettled[state.uuid, uuid] = _unsettled(state.name, uuid, name, reason)
        return list(servers.values()), list(unsettled.values())

    def shelved(self, hosts: Iterable[str]) -> list[MovingServer]:
        """Return the shelved servers of hosts, which free their allocations and need no place."""
        return [
            MovingServer(consumer.uuid, uuid, consumer.allocations)
            for uuid in hosts
            for consumer in self.snapshot.consumers_in(uuid)
            if not self.knowledge.departure(consumer.uuid).needs_place
            and self._reason(consumer, uuid) is None
        ]

    def _reason(self, consumer: Consumer, root_uuid: str) -> str | None:
        """Return why a consumer is no server on a host; ``None``: it is one."""
        roots: set[str] = set()
        for uuid in consumer.allocations:
            state = self.snapshot.providers.get(uuid)
            if state is None:
                return 'holds something on a provider that is not in the snapshot'
            if not is_sharing(state):
                roots.add(state.provider.root_uuid)
        if root_uuid not in roots:
            return 'is on another host, and uses storage that this one shares'
        if len(roots) > 1:
            return 'holds something on several hosts: a migration, or a leaked allocation'
        if consumer.type == MIGRATION:
            return 'is a migration'
        consumers = self.knowledge.consumers
        if consumers is not None and consumer.uuid not in consumers:
            return 'is no server that Nova knows: a migration, or a leaked allocation'
        if self.knowledge.states.get(consumer.uuid) in GONE:
            return 'is on no host: a leaked allocation'
        return None

    def strict(self, server: MovingServer) -> Request:
        """Return a request that is certainly sufficient for a server; equal ones are one object."""
        if (requested := self.knowledge.requests.get(server.uuid)) is not None:
            return self._strict.setdefault(requested, requested)
        allocated = tuple(
            sorted(
                (uuid, tuple(resources.items())) for uuid, resources in server.allocations.items()
            )
        )
        key = server.host, allocated
        if key not in self._strict:
            root = self.snapshot.providers[server.host]
            request = requests.strict(self.snapshot, root, dict(sorted(server.allocations.items())))
            self._strict[key] = self._strict.setdefault(request, request)
        return self._strict[key]

    def lax(self, server: MovingServer) -> Request:
        """Return a request that is certainly necessary for a server; equal ones are one object."""
        least = self.knowledge.least.get(server.uuid) or self.knowledge.requests.get(server.uuid)
        if least is not None:
            return self._strict.setdefault(least, least)
        request = requests.lax(self.snapshot, server.allocations)
        return self._lax.setdefault(request, request)

    def problem(
        self,
        servers: Iterable[Request],
        emptied: Collection[str],
        spare: Sequence[str] = (),
    ) -> PackingProblem:
        """Return the possible target hosts, and the number of servers of each kind.

        :param servers: the request of each
        :param spare: hosts, for each of which an empty one like it is added
        """
        moving = list(servers)
        kinds = {id(request): request for request in moving}
        counts = Counter(map(id, moving))
        out = set(emptied)
        targets = [uuid for uuid in self.hosts if uuid not in out]
        is_lax = any(request.is_lax for request in kinds.values())
        pools = self._pools(targets, moving if is_lax else ())
        builder = _HostBuilder(self, pools, kinds.values(), is_lax=is_lax)
        hosts = [builder.host(uuid) for uuid in targets]
        hosts += [builder.host(uuid, is_new=True) for uuid in spare]
        return PackingProblem(
            ((request, counts[key]) for key, request in kinds.items()),
            hosts,
            pools,
            dict(self.knowledge.limits),
        )

    def _pools(self, targets: Iterable[str], leaving: Iterable[Request]) -> dict[Pool, int]:
        """Return what sharing providers have free.

        :param targets: the hosts that servers may go to
        :param leaving: servers that may go to other storage, so that there may be more
        """
        pools = {
            (state.uuid, name): state.free(name)
            for state in self.snapshot.providers.values()
            if is_sharing(state)
            for name in state.inventories
        }
        left = [holding for request in leaving for holding in request.shared]
        if not left:
            return pools
        serving: dict[str, set[str]] = {}
        for root in targets:
            for state in self.topology.serving(root):
                for name in state.inventories:
                    serving.setdefault(name, set()).add(state.uuid)
        for uuid, name, amount in left:
            if (uuid, name) in pools and serving.get(name, set()) - {uuid}:
                pools[uuid, name] += amount
        return pools

    def room(self, state: ProviderState, *, is_new: bool = False) -> list[int]:
        """Return the free amount of each class of a provider that a drain may use.

        :param is_new: whether nothing of it is used yet
        """
        return [
            inventory.capacity
            - (0 if is_new else state.used(name))
            - ceil(inventory.capacity * self._keep_free / 100)
            for name, inventory in sorted(state.inventories.items())
        ]


def _unsettled(subject: str, root_uuid: str, host: str, reason: str, command: str = '') -> Finding:
    facts = {'host': host, 'reason': reason, 'command': command}
    return Finding(subject, (root_uuid,), facts, kind='unsettled', severity=Severity.WARNING)


class _HostBuilder:
    """Makes hosts, those that are alike with one shape."""

    def __init__(
        self,
        cloud: DrainCloud,
        pools: Mapping[Pool, int],
        requests: Collection[Request],
        *,
        is_lax: bool,
    ) -> None:
        self._cloud, self._pools = cloud, pools
        self._shapes: dict[tuple[HostProvider, ...], Shape] = {}
        #: The UUIDs by which requests name trees.
        self._trees = {tree for request in requests for tree in request.trees}
        #: The traits and aggregates that some request names; ``None``: all count.
        self._named = frozenset(_named(requests)) if is_lax else None

    def host(self, root_uuid: str, *, is_new: bool = False) -> TargetHost:
        """Return a host with what it has free.

        :param is_new: return another one, which is like it and empty
        """
        cloud = self._cloud
        states = cloud.tree(root_uuid)
        bins = self._bins(root_uuid)
        if is_new:
            bins[0] = bins[0]._replace(traits=bins[0].traits - {DISABLED})
        shape = self._shapes.get(tuple(bins)) or Shape(bins)
        self._shapes[shape.bins] = shape
        room = [
            free
            for state in states
            if not is_sharing(state)
            for free in cloud.room(state, is_new=is_new)
        ]
        members: Counter[str] = Counter()
        if cloud.knowledge.groups and not is_new:
            for consumer in cloud.snapshot.consumers_in(root_uuid):
                members.update(cloud.knowledge.groups.get(consumer.uuid, ()))
        return TargetHost(
            root_uuid,
            states[0].name,
            shape,
            tuple(state.uuid for state in cloud.topology.serving(root_uuid)),
            shape.sums(room, self._pools),
            members,
        )

    def _bins(self, root_uuid: str) -> list[HostProvider]:
        bins = list(self._cloud.topology.host(root_uuid, self._trees))
        name = self._cloud.knowledge.zones.get(self._cloud.tree(root_uuid)[0].name)
        if name is not None:
            bins[0] = bins[0]._replace(aggregates=bins[0].aggregates | {zone(name)})
        if (named := self._named) is None:
            return bins
        return [
            provider._replace(
                traits=provider.traits & named, aggregates=provider.aggregates & named
            )
            for provider in bins
        ]


def _named(relevant: Iterable[Request]) -> Iterator[str]:
    yield DISABLED
    for request in relevant:
        sets = [*request.covering, *request.root_required, *request.root_member_of]
        sets += [request.root_forbidden, *(traits for traits, _ in request.ancestors)]
        for part in request.parts:
            sets += [*part.required, *part.member_of, part.forbidden, part.forbidden_member_of]
        for names in sets:
            yield from names
