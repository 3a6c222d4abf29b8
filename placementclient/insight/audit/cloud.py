# SPDX-License-Identifier: Apache-2.0
"""A snapshot and the lists of other services, prepared for the checks of an audit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import os_resource_classes

from placementclient.insight import healing
from placementclient.insight.evidence import (
    NEVER,
    EvidenceJudge,
    NovaRecords,
    Verdict,
    is_nova_class,
)
from placementclient.model.consumers import Allocations, Consumer, Resources
from placementclient.model.findings import Finding
from placementclient.model.network import NetworkAgent, Port
from placementclient.model.nova import INSTANCE, MIGRATION
from placementclient.model.repairs import Remedy
from placementclient.model.servers import Flavor, Server, ServerMigration, is_same_host
from placementclient.model.services import (
    BaremetalNode,
    ComputeService,
    Hypervisor,
    find_hosts_of_cells_down,
    find_names_of_several_hosts,
)
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova.images import Images
from placementclient.nova.ratios import ConfiguredRatio
from placementclient.nova.server_request import RequestBuilder
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology

#: The reason to skip a server that may be new, or just be moving.
CHANGED = 'changed in Nova after the snapshot, or up to 10 minutes before'
#: Makes a finding of a check, which gives it its kind and severity.
make_finding = partial(Finding, '')


class MissingFields(Exception):
    """A check cannot run, as lists of other services are missing, or fields of their records."""


class CloudLists(NamedTuple):
    """Lists of other services; ``None`` for a list that the audit does not have.

    A check runs only if the audit has all lists that it needs: :attr:`checks.Check.needs`. So for a
    check, ``lists.agents or ()`` is empty only if Neutron has no agents.

    :param servers: all servers, by UUID
    :param flavors: all flavors, those of single projects too
    :param limits: the names of the resources with a registered limit
    :param ports: the ports of servers that are bound and ask for resources
    :param gone: the UUIDs of consumers that are gone by the word of the operator
    :param ignored: the UUIDs of consumers that are not of Nova by the word of the operator
    :param is_nova_asked: whether Nova will be asked for each server before something is freed
    :param ratios: those of the files of nova-computes, by the UUID of the root and the class
    :param images: those of servers, as far as they are known
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
    images: Images = Images()
    scheduling: RequestBuilder = RequestBuilder()
    gone: Collection[str] = ()
    ignored: Collection[str] = ()
    is_nova_asked: bool = False
    ratios: Mapping[str, Mapping[str, ConfiguredRatio]] = MappingProxyType({})

    def has_list(self, name: str) -> bool:
        """Return True if the audit has a list, by the name of its option."""
        return self._asdict()[name] is not None


class Cloud:
    """The snapshot of a Placement with the lists of other services, as the checks read them.

    :param unsettled: the UUIDs of servers that have changed since the snapshot, or just before
    :ivar servers: those that are not deleted, by UUID; empty if they are not known
    :ivar deleted: the UUIDs of servers whose record says that they are gone
    """

    def __init__(
        self,
        snapshot: Snapshot,
        lists: CloudLists = CloudLists(),  # noqa: B008 (immutable)
        unsettled: Collection[str] = (),
    ) -> None:
        self.snapshot, self.lists, self._unsettled = snapshot, lists, unsettled
        self.topology = Topology(snapshot)
        listed, migrations = lists.servers or {}, lists.migrations or ()
        self.servers = {uuid: server for uuid, server in listed.items() if not server.is_deleted}
        self.deleted = listed.keys() - self.servers.keys()
        self.migrating = {m.server_uuid for m in migrations if not m.is_over}
        self.migration_of_consumer = {m.uuid: m for m in migrations if m.uuid}
        self.migrations_of = defaultdict[str, list[ServerMigration]](list)
        for migration in migrations:
            self.migrations_of[migration.server_uuid].append(migration)
        self._roots_by_short = defaultdict[str, list[str]](list)
        for uuid in self.topology.trees:
            self._roots_by_short[self.get_name(uuid).partition('.')[0]].append(uuid)

    @cached_property
    def hosts_of_cells_down(self) -> list[str]:
        """The names of the hosts in cells that do not answer, so that no list has them."""
        return find_hosts_of_cells_down(self.lists.services or ())

    @cached_property
    def nova_records(self) -> NovaRecords:
        """The records of Nova and the word of the operator that decide which allocations may go."""
        lists = self.lists
        return NovaRecords(
            lists.migrations, lists.hypervisors, lists.gone, lists.ignored, lists.nodes
        )

    @cached_property
    def judge(self) -> EvidenceJudge:
        """Judges which allocations may be freed, by the records of Nova."""
        return EvidenceJudge(self.topology, self.nova_records, is_presumed=self.lists.is_nova_asked)

    @cached_property
    def nova_classes(self) -> set[str]:
        """The resource classes that flavors or nodes name, and those in use that are Nova's own."""
        flavors = [*(self.lists.flavors or ()), *(s.flavor for s in self.servers.values())]
        keys = {key for flavor in flavors if flavor for key in flavor.extra_specs}
        requested = {key.partition(':')[2] for key in keys if key.startswith('resources')}
        nodes = filter(None, (node.resource_class for node in self.lists.nodes or ()))
        reported = {name for state in self.list_providers() for name in state.inventories}
        return {
            *requested,
            *map(os_resource_classes.normalize_name, nodes),
            *filter(is_nova_class, reported),
        }

    @property
    def has_migration_uuids(self) -> bool:
        """True if the list of migrations shows which consumers are migrations."""
        migrations = self.lists.migrations
        return migrations is not None and (not migrations or any(m.uuid for m in migrations))

    def list_subjects(self) -> set[str]:
        """Return all names and UUIDs that can be the subject of a finding."""
        states = self.snapshot.providers.values()
        return {
            *(state.name for state in states),
            *(aggregate for state in states for aggregate in state.aggregates),
            *self.snapshot.consumers,
            *self.servers,
            *(flavor.name for flavor in self.lists.flavors or ()),
            *(name for state in states for name in state.inventories),
        }

    def list_providers(self) -> Iterator[ProviderState]:
        return chain.from_iterable(self.topology.trees.values())

    def make_finding(
        self,
        state: ProviderState,
        facts: Mapping[str, object],
        remedy: Remedy | None = None,
        reason: str = '',
        passed_over: str = '',
    ) -> Finding:
        """Return a finding about a provider, which concerns the tree of its root.

        :param remedy: the next step for the operator, if there is one
        :param reason: why there is no remedy, or why not to follow it at once
        :param passed_over: why the audit only counts the provider's server now, without a finding
        """
        root = state.provider.root_uuid
        return make_finding(state.name, facts, (root,), remedy, reason, passed_over)

    def get_name(self, provider_uuid: str) -> str:
        return self.snapshot.providers[provider_uuid].name

    def insert_provider_names(self, allocations: Allocations) -> dict[str, dict[str, int]]:
        """Return allocations by the names of their providers in place of the UUIDs."""
        return {
            self.get_name(uuid) if uuid in self.snapshot.providers else uuid: dict(resources)
            for uuid, resources in sorted(allocations.items())
        }

    def find_roots(self, consumer: Consumer) -> tuple[str, ...]:
        """Return the UUIDs of the roots of all trees with allocations of a consumer."""
        states = filter(None, map(self.snapshot.providers.get, consumer.allocations))
        return tuple(sorted({state.provider.root_uuid for state in states}))

    def list_servers_on_one_host(self) -> Iterator[tuple[Server, Consumer, str]]:
        """Yield the servers with allocations on exactly one host, and the UUID of its root."""
        for server in self.servers.values():
            consumer = self.snapshot.consumers.get(server.uuid)
            # A snapshot of some trees lacks the providers of other allocations.
            if not consumer or consumer.allocations.keys() - self.snapshot.providers.keys():
                continue
            if len(roots := list(self.find_providers_by_root(consumer))) == 1:
                yield server, consumer, roots[0]

    def find_providers_by_root(self, consumer: Consumer) -> dict[str, list[str]]:
        """Return the providers of a consumer's allocations, by root, without sharing providers."""
        hosts: dict[str, list[str]] = {}
        for uuid in sorted(consumer.allocations):
            state = self.snapshot.providers.get(uuid)
            if state is not None and not is_sharing(state):
                hosts.setdefault(state.provider.root_uuid, []).append(uuid)
        return hosts

    @cached_property
    def unlisted_usage(self) -> list[tuple[ProviderState, Resources]]:
        """The providers with usage that no consumer accounts for, each with that usage."""
        pairs = (
            (state, self.snapshot.unlisted_usages(state.uuid)) for state in self.list_providers()
        )
        return [(state, usage) for state, usage in pairs if usage]

    @cached_property
    def consumers_by_check(self) -> Mapping[str, list[AuditedConsumer]]:
        """The consumers that checks report, by the ID of the check, in the order of UUIDs."""
        by_check = defaultdict[str, list[AuditedConsumer]](list)
        for _, consumer in sorted(self.snapshot.consumers.items()):
            audited = AuditedConsumer(self, consumer)
            for check in _find_check_ids(audited):
                by_check[check].append(audited)
        return by_check

    @cached_property
    def heals(self) -> Mapping[str, list[healing.Heal]]:
        """The servers that lack something in Placement, by :attr:`healing.Heal.lacks`."""
        heals = defaultdict[str, list[healing.Heal]](list)
        detailed = [server for server in self.servers.values() if server.is_detailed]
        shared = find_names_of_several_hosts(self.lists.hypervisors or ())
        for heal in healing.find_heals(
            self.snapshot, detailed, self.migrating, shared_names=shared
        ):
            heals[heal.lacks].append(heal)
        return heals

    @cached_property
    def unhealable_servers(self) -> Mapping[str, healing.Heal]:
        """By UUID the servers without allocations that cannot be healed, each with the reason."""
        heals = self.heals['allocations']
        return {heal.server.uuid: heal for heal in heals if heal.state == healing.UNKNOWN}

    def find_host_roots(self, names: Sequence[str]) -> list[str]:
        """Return the UUIDs of the roots with one of a host's names exactly, or else a similar one.

        :param names: the names that Nova has for the host
        """
        shorts = dict.fromkeys(name.partition('.')[0] for name in names)
        return self.select_named_roots(
            [u for s in shorts for u in self._roots_by_short.get(s, ())], names
        )

    def find_skip_reason(self, consumer_uuid: str) -> str:
        """Return the reason not to judge a server at this moment; empty if there is none.

        :param consumer_uuid: of the server
        """
        if consumer_uuid in self._unsettled:
            return CHANGED
        server = self.servers.get(consumer_uuid)
        return healing.explain_movement(server, self.migrating) if server else ''

    def select_named_roots(self, root_uuids: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return those of the UUIDs whose roots have one of a host's names, or else a similar one.

        :param names: the names that Nova has for the host
        """
        exact = [uuid for uuid in root_uuids if self.get_name(uuid) in names]
        return exact or [
            uuid
            for uuid in root_uuids
            if any(is_same_host(self.get_name(uuid), name) for name in names)
        ]


class AuditedConsumer:
    """A consumer as Nova knows it: a server with its migrations, or a migration.

    :ivar hosts: the providers of its allocations, by root, without sharing providers
    """

    def __init__(self, cloud: Cloud, consumer: Consumer) -> None:
        self.cloud, self.consumer = cloud, consumer
        self.server = cloud.servers.get(consumer.uuid)
        self.migration = cloud.migration_of_consumer.get(consumer.uuid)
        self.migrations = cloud.migrations_of.get(consumer.uuid, [])
        self.hosts = cloud.find_providers_by_root(consumer)

    @property
    def hosts_beside_named_one(self) -> list[str]:
        """The UUIDs of the hosts with its allocations, without the one that Nova names.

        Empty if Nova names none of these hosts, or several.
        """
        home = self.cloud.select_named_roots(
            list(self.hosts), self.server.host_names if self.server else ()
        )
        return [root for root in self.hosts if root not in home] if len(home) == 1 else []

    def get_root_uuid(self, provider_uuid: str) -> str:
        return self.cloud.snapshot.providers[provider_uuid].provider.root_uuid

    def was_evacuated_from(self, root_uuid: str) -> bool:
        """Return True if the server was evacuated from a host, and the evacuation is over."""
        return any(
            m.type == 'evacuation'
            and m.is_over
            and not m.has_failed
            and self.cloud.select_named_roots([root_uuid], m.source_names)
            for m in self.migrations
        )

    @cached_property
    def verdict(self) -> Verdict:
        """The allocations that may be freed as of the snapshot, and why others may not."""
        server = self.migration.server_uuid if self.migration else self.consumer.uuid
        holding = self.cloud.snapshot.consumers.get(server)
        record = (self.cloud.lists.servers or {}).get(server)
        return self.cloud.judge.judge_consumer(self.consumer, holding, record, lambda _: NEVER)

    @property
    def is_orphan(self) -> bool:
        """True if it is known to be gone, or holds classes of Nova and is no server of Nova."""
        cloud, uuid = self.cloud, self.consumer.uuid
        if uuid in cloud.lists.gone or uuid in cloud.deleted:
            return True
        # Types that Nova does not give are of other services, whose consumers are no servers.
        is_server = self.consumer.type in (None, INSTANCE)
        is_migration = self.consumer.type == MIGRATION and cloud.lists.has_list('migrations')
        is_unknown = (
            cloud.lists.has_list('servers') and not self.server and (is_server or is_migration)
        )
        return is_unknown and not self.classes.isdisjoint(cloud.nova_classes)

    @property
    def skip_reason(self) -> str:
        """The reason not to judge the server at this moment; empty if there is none."""
        return self.verdict.reason if self.server and self.verdict.is_under_way else ''

    @property
    def classes(self) -> set[str]:
        """The resource classes of its allocations."""
        return {name for held in self.consumer.allocations.values() for name in held}


def _find_check_ids(audited: AuditedConsumer) -> Iterator[str]:
    """Yield the IDs of the checks that report a consumer."""
    cloud = audited.cloud
    if audited.migration is not None:
        if audited.migration.is_over:
            yield 'left-by-migration'
    elif audited.consumer.uuid in cloud.lists.ignored:
        return
    elif audited.is_orphan:
        yield 'orphan'
    elif audited.server and audited.server.is_offloaded:
        yield 'left-by-shelving'
    elif len(audited.hosts) > 1 and any(not migration.is_over for migration in audited.migrations):
        yield 'in-migration'
    elif cloud.lists.has_list('servers') and cloud.lists.has_list('migrations'):
        if audited.server:
            yield from _find_server_check_ids(audited)
    elif len(audited.hosts) > 1:
        yield 'on-several-trees'


def _find_server_check_ids(audited: AuditedConsumer) -> Iterator[str]:
    """Yield the IDs of the checks that report a server that is not migrating."""
    if len(audited.hosts) == 1:
        serving = audited.cloud.judge.find_serving_uuids(*audited.hosts)
        if audited.consumer.allocations.keys() <= serving:
            return
    verdict = audited.verdict
    superfluous = (*verdict.freed, *verdict.unproved)
    if verdict.held:
        yield 'held-elsewhere'
    elif not superfluous and len(audited.hosts) > 1:
        superfluous = tuple(audited.hosts_beside_named_one or audited.hosts)
    if superfluous:
        sources = map(audited.get_root_uuid, superfluous)
        is_evacuated = all(map(audited.was_evacuated_from, sources))
        yield 'left-by-evacuation' if is_evacuated else 'doubled'
