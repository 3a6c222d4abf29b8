"""A snapshot and the lists of other services, prepared for the checks of an audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

from placementclient.insight import healing
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.findings import Finding
from placementclient.model.nova import INSTANCE, MIGRATION
from placementclient.model.repairs import Remedy
from placementclient.model.servers import Flavor, Server, ServerMigration, same_host
from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    NetworkAgent,
    Port,
    hosts_of_cells_down,
)
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.server_request import Scheduling
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology

#: The reason to skip a server that may be new, or just be moving.
CHANGED = 'changed by Nova less than 10 minutes before the snapshot, or since'
#: Makes a finding of a check, which gives it its kind and severity.
fault = partial(Finding, '')


class MissingFields(Exception):
    """The records of a list lack what a check compares; the message is a sentence."""


class Answers(NamedTuple):
    """Lists of other services; ``None`` for a list that the audit does not have.

    :param servers: all servers, by UUID
    :param flavors: all flavors, those of single projects too
    :param limits: the names of the resources with a registered limit
    :param ports: the ports of servers that are bound and ask for resources
    :param subnets: the number of IPv4 addresses of each segment of a routed network
    """

    servers: Mapping[str, Server] | None = None
    migrations: Sequence[ServerMigration] | None = None
    services: Sequence[ComputeService] | None = None
    hypervisors: Sequence[Hypervisor] | None = None
    flavors: Sequence[Flavor] | None = None
    limits: Sequence[str] | None = None
    nodes: Sequence[BaremetalNode] | None = None
    ports: Sequence[Port] | None = None
    agents: Sequence[NetworkAgent] | None = None
    subnets: Mapping[str, int] | None = None
    scheduling: Scheduling = Scheduling()


class Cloud:
    """A Placement, its trees, and its consumers as servers and migrations.

    :param unsettled: the UUIDs of servers that have changed since the snapshot, or just before
    :ivar servers: by UUID; empty if they are not known
    """

    def __init__(
        self,
        snapshot: Snapshot,
        answers: Answers = Answers(),  # noqa: B008 (immutable)
        unsettled: Collection[str] = (),
    ) -> None:
        self.snapshot, self.answers, self._unsettled = snapshot, answers, unsettled
        self.topology = Topology(snapshot)
        self.servers, migrations = answers.servers or {}, answers.migrations or ()
        self.migrating = {m.server_uuid for m in migrations if not m.is_over}
        self.migration_of_consumer = {m.uuid: m for m in migrations if m.uuid}
        self.migrations_of = defaultdict[str, list[ServerMigration]](list)
        for migration in migrations:
            self.migrations_of[migration.server_uuid].append(migration)
        self._roots_by_short = defaultdict[str, list[str]](list)
        for uuid in self.topology.trees:
            self._roots_by_short[self.name(uuid).partition('.')[0]].append(uuid)

    def has(self, name: str) -> bool:
        """Return True if the audit has a list, by the name of its option."""
        return getattr(self.answers, name) is not None

    @cached_property
    def hosts_of_cells_down(self) -> list[str]:
        """Return the names of the hosts whose cells do not answer, so that no list has them."""
        return hosts_of_cells_down(self.answers.services or ())

    def subjects(self) -> set[str]:
        """Return all possible subjects of a finding: names of providers, UUIDs of consumers, …"""
        states = self.snapshot.providers.values()
        return {
            *(state.name for state in states),
            *(aggregate for state in states for aggregate in state.aggregates),
            *self.snapshot.consumers,
            *self.servers,
            *(flavor.name for flavor in self.answers.flavors or ()),
            *(name for state in states for name in state.inventories),
        }

    def states(self) -> Iterator[ProviderState]:
        """Return all providers, tree by tree."""
        return chain.from_iterable(self.topology.trees.values())

    def finding(
        self,
        state: ProviderState,
        facts: Mapping[str, Any],
        remedy: Remedy | None,
        reason: str = '',
        passed_over: str = '',
    ) -> Finding:
        """Return a finding about a provider and its tree."""
        root = state.provider.root_uuid
        return fault(state.name, facts, (root,), remedy, reason, passed_over)

    def name(self, provider_uuid: str) -> str:
        return self.snapshot.providers[provider_uuid].name

    def roots_of(self, consumer: Consumer) -> tuple[str, ...]:
        """Return the roots of all trees with allocations of a consumer, shared ones included."""
        states = filter(None, map(self.snapshot.providers.get, consumer.allocations))
        return tuple(sorted({state.provider.root_uuid for state in states}))

    def hosts_of(self, consumer: Consumer) -> dict[str, list[str]]:
        """Return the usage of a consumer in each tree, without shared providers: by root."""
        hosts: dict[str, list[str]] = {}
        for uuid in sorted(consumer.allocations):
            state = self.snapshot.providers.get(uuid)
            if state is not None and not is_sharing(state):
                hosts.setdefault(state.provider.root_uuid, []).append(uuid)
        return hosts

    @cached_property
    def unlisted(self) -> list[tuple[ProviderState, Resources]]:
        """Return the usage of providers that no consumer accounts for."""
        pairs = ((state, self.snapshot.unlisted(state.uuid)) for state in self.states())
        return [(state, usage) for state, usage in pairs if usage]

    @cached_property
    def cases(self) -> Mapping[str, list[Case]]:
        """The consumers with a fault, by the check that finds it, in the order of UUIDs."""
        cases = defaultdict[str, list[Case]](list)
        for _, consumer in sorted(self.snapshot.consumers.items()):
            case = Case(self, consumer)
            if check := _situation(case):
                cases[check].append(case)
        return cases

    @cached_property
    def heals(self) -> Mapping[str, list[healing.Heal]]:
        """The servers that lack allocations, their owner or port resources, by that kind."""
        heals = defaultdict[str, list[healing.Heal]](list)
        detailed = [server for server in self.servers.values() if server.is_detailed]
        for heal in healing.heals(self.snapshot, detailed, self.migrating):
            heals[heal.lacks].append(heal)
        return heals

    def host_roots(self, names: Sequence[str]) -> list[str]:
        """Return the roots of all trees with one of a host's names; see :meth:`named`."""
        shorts = dict.fromkeys(name.partition('.')[0] for name in names)
        return self.named([u for s in shorts for u in self._roots_by_short.get(s, ())], names)

    def passed_over(self, consumer_uuid: str) -> str:
        """Return the reason to skip a server at this moment, or an empty string."""
        if consumer_uuid in self._unsettled:
            return CHANGED
        server = self.servers.get(consumer_uuid)
        return healing.under_way(server, self.migrating) if server else ''

    def named(self, root_uuids: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return the roots that a host's names fit: those with an exact name, or all similar."""
        exact = [uuid for uuid in root_uuids if self.name(uuid) in names]
        return exact or [
            uuid for uuid in root_uuids if any(same_host(self.name(uuid), name) for name in names)
        ]


class Case:
    """A consumer: a server with its migrations, or a migration.

    :ivar hosts: the providers that it uses, without shared ones, by the root of each host
    """

    def __init__(self, cloud: Cloud, consumer: Consumer) -> None:
        self.cloud, self.consumer = cloud, consumer
        self.server = cloud.servers.get(consumer.uuid)
        self.migration = cloud.migration_of_consumer.get(consumer.uuid)
        self.migrations = cloud.migrations_of.get(consumer.uuid, [])
        self.hosts = cloud.hosts_of(consumer)

    @property
    def elsewhere(self) -> list[str]:
        """The roots that are not the server's host, if one of them is its host."""
        home = self.cloud.named(list(self.hosts), self.server.hosts if self.server else ())
        return [root for root in self.hosts if root not in home] if len(home) == 1 else []

    def came_from(self, root_uuid: str) -> bool:
        """Return True if the server was evacuated from a host, and the evacuation is over."""
        return any(
            m.type == 'evacuation'
            and m.is_over
            and not m.has_failed
            and self.cloud.named([root_uuid], m.sources)
            for m in self.migrations
        )


def _situation(case: Case) -> str:
    """Return the check that finds a consumer; empty if nothing is odd, or not known to be."""
    cloud = case.cloud
    if case.migration is not None:
        return 'left-by-migration' if case.migration.is_over else ''
    # Types that Nova does not give are of other services, whose consumers are no servers.
    is_server = case.consumer.type in (None, INSTANCE)
    is_migration = case.consumer.type == MIGRATION and cloud.has('migrations')
    if cloud.has('servers') and not case.server and (is_server or is_migration):
        return 'orphan'
    if case.server and case.server.is_offloaded:
        return 'left-by-shelving'
    if len(case.hosts) < 2:
        return ''
    if any(not migration.is_over for migration in case.migrations):
        return 'in-migration'
    if not (cloud.has('servers') and cloud.has('migrations')):
        return 'on-several-trees'
    if case.elsewhere and all(map(case.came_from, case.elsewhere)):
        return 'left-by-evacuation'
    return 'doubled'
