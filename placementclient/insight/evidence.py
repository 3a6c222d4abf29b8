# SPDX-License-Identifier: Apache-2.0
"""The proof that allocations may be freed: the record of a server that is gone, or elsewhere.

That a list lacks a consumer, and that Nova finds no server, prove nothing: lists skip projects,
cells and pages, and other services have consumers too.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.insight.amounts import (
    UnknownAmounts,
    count_pcpu_as_vcpu,
    sum_requested_amounts,
)
from placementclient.model.consumers import Consumer, Resources, sum_resources
from placementclient.model.servers import Server, ServerMigration, normalize_time
from placementclient.model.services import BaremetalNode, Hypervisor
from placementclient.placing.topology import Topology

#: A time before all others: whoever changed then has not changed since anything.
NEVER = ''
#: A time as :func:`normalize_time` writes it: one that is later is also greater as text.
Moment = str
#: The classes that servers of Nova hold, beside the custom ones of flavors and nodes.
_CLASSES = {'VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB', 'VGPU', 'MEM_ENCRYPTION_CONTEXT'}
_CLASS_PREFIXES = ('NET_', 'PCI_', 'CUSTOM_PCI_')
UNKNOWN = 'no list has a record of it'
_NODE = 'a node of Ironic still has it: see openstack baremetal node list --fields instance_uuid'
_NO_TASKS = 'its list does not say its task or its status: GET /servers/detail has them'
_NO_TIME = 'its list does not say when Nova has changed it: GET /servers/detail has updated'
#: The allocations are younger than the record by which they were judged.
CHANGED = 'changed since'
_CHANGED = f'{CHANGED} its record in the list'
_NO_HOST = 'its own host in Placement is not known'
_MOVED = 'its newest migration did not end on the host that Nova names'
_NOTHING = 'it holds nothing on its own host'
_LIST_DELETED = (
    ': give the deleted servers as one more --servers: openstack server list --all-projects '
    '--deleted --long -f json'
)
_BY_WORD = (
    'If you know that it is gone, give your word: placement resource provider audit --fix --gone {}'
)
_BY_HAND = (
    'Find out where it runs: openstack server show {0}, openstack server migration list --server '
    '{0}. Then free what it has on other hosts: placement resource provider allocation unset {0} '
    '--provider HOST'
)
_SHELVED = (
    'If openstack server show {0} has SHELVED_OFFLOADED and no host: placement resource provider '
    'allocation delete {0}'
)
_ADVICE = {'left-by-migration': _BY_WORD, 'left-by-shelving': _SHELVED}
_LACKING = 'its server holds less of it on its own host'
_IGNORED = '--ignore-consumer names it'
_STAYED = 'no migration shows that it has left'


class NovaRecords(NamedTuple):
    """The records of Nova, and the word of the operator, that decide which allocations may go.

    :param migrations: the migrations of servers; ``None`` if they are not known
    :param hypervisors: the compute nodes; ``None`` if they are not known
    :param gone: the UUIDs of consumers that are gone by the word of the operator
    :param ignored: the UUIDs of consumers that are no servers of Nova by the word of the operator
    :param nodes: the nodes of Ironic, which name their servers
    """

    migrations: Sequence[ServerMigration] | None = None
    hypervisors: Sequence[Hypervisor] | None = None
    gone: Collection[str] = ()
    ignored: Collection[str] = ()
    nodes: Sequence[BaremetalNode] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The allocations of a consumer that may be freed, and the reason why others may not.

    :param freed: the UUIDs of the providers on which the consumer needs nothing
    :param unproved: those on which the consumer seems to need nothing, without a proof
    :param held: the amounts by provider that the server needs, as its own host has too little
    :param reason: why the others are not freed
    :param is_under_way: whether a migration in progress needs the allocations
    :param proof: why the consumer needs nothing on those that are freed
    """

    freed: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    held: Mapping[str, Resources] = field(default_factory=dict)
    reason: str = ''
    is_under_way: bool = False
    proof: str = ''


def explain_retained_allocations(
    verdict: Verdict, consumer_uuid: str, kind: str, *, is_asked: bool = True
) -> str:
    """Return the reason why a verdict frees nothing, and the command for the operator.

    :param kind: the ID of the check that has found the consumer
    :param is_asked: whether Nova was asked for the server, or will be
    """
    if verdict.is_under_way:
        return verdict.reason
    if verdict.reason == UNKNOWN:
        deleted = '' if is_asked else _LIST_DELETED
        return f'{verdict.reason}{deleted}. {_BY_WORD.format(consumer_uuid)}'
    advice = _ADVICE.get(kind, _BY_HAND)
    return f'{verdict.reason}. {advice.format(consumer_uuid)}'


class EvidenceJudge:
    """Judges consumers by the records of Nova.

    :param is_asked: whether Nova was asked for the server just now; a record of a list counts only
        if its consumer has not changed since
    :param is_presumed: whether to take a server for settled if its list does not say it, as Nova
        will be asked
    :param topology: of the snapshot with the consumers
    """

    def __init__(
        self,
        topology: Topology,
        records: NovaRecords,
        *,
        is_asked: bool = False,
        is_presumed: bool = False,
    ) -> None:
        self._topology, self._records = topology, records
        self._is_asked, self._is_presumed = is_asked or is_presumed, is_presumed
        migrations = records.migrations or ()
        self._by_uuid = {m.uuid: m for m in migrations if m.uuid}
        self._of_server: dict[str, list[ServerMigration]] = {}
        for migration in migrations:
            self._of_server.setdefault(migration.server_uuid, []).append(migration)
        hypervisors = records.hypervisors or ()
        self._has_uuids = any(hypervisor.uuid for hypervisor in hypervisors)
        self._by_node = defaultdict[str | None, list[Hypervisor]](list)
        self._by_host = defaultdict[str | None, list[Hypervisor]](list)
        for hypervisor in hypervisors:
            self._by_node[hypervisor.node].append(hypervisor)
            self._by_host[hypervisor.host or hypervisor.node].append(hypervisor)
        self._on_nodes = {node.instance_uuid for node in records.nodes or ()}
        self._providers: dict[str, Set[str]] = {}

    def find_migration(self, consumer_uuid: str) -> ServerMigration | None:
        """Return the migration whose allocations a consumer holds, or ``None``."""
        return self._by_uuid.get(consumer_uuid)

    def judge_consumer(
        self,
        consumer: Consumer,
        holding: Consumer | None,
        server: Server | None,
        find_change_time: Callable[[str], Moment | None],
    ) -> Verdict:
        """Return the allocations of a consumer that may be freed, and why the others may not.

        :param holding: the consumer of its server: itself, unless it is a migration
        :param server: the latest record of its server, also of a deleted one
        :param find_change_time: returns when Placement has changed a consumer last
        """
        # The first that applies decides. A migration in progress needs its allocations, whatever
        # the operator says. Then that word comes before records, and --ignore-consumer
        # before --gone: in doubt, nothing is freed. Only a settled record tells the right host.
        uuid, everything = consumer.uuid, tuple(consumer.allocations)
        migration = self._by_uuid.get(uuid)
        if migration is not None and not migration.is_over:
            return Verdict(reason=migration.retention_reason, is_under_way=True)
        if uuid in self._records.ignored:
            return Verdict(reason=_IGNORED)
        if uuid in self._records.gone:
            return Verdict(everything, proof='--gone names it')
        if server is None:
            return Verdict(everything) if self._is_presumed else Verdict(reason=UNKNOWN)
        if server.is_deleted:
            if uuid in self._on_nodes:
                return Verdict(reason=_NODE)
            return Verdict(everything, proof='its server is deleted')
        if reason := self.explain_movement(server):
            return Verdict(reason=reason, is_under_way=True)
        if reason := self._explain_unsettled(server, find_change_time(server.uuid)):
            return Verdict(reason=reason)
        if server.is_offloaded:
            return Verdict(everything, proof='its server is shelved, and on no host')
        return self._judge_other_hosts(consumer, holding, server, find_change_time(uuid))

    def _judge_other_hosts(
        self, consumer: Consumer, holding: Consumer | None, server: Server, changed: Moment | None
    ) -> Verdict:
        """Judge the allocations beside the host that Nova names, of a server that does not move.

        :param holding: the consumer of the server; ``None`` if it has no allocations
        :param changed: when Placement has changed the consumer last
        """
        own = self.find_own_host(server)
        if own is None:
            return Verdict(reason=_NO_HOST)
        if self._of_server.get(server.uuid) and own not in self._find_left_roots_by_end(
            self._find_newest_migration(server.uuid)
        ):
            return Verdict(reason=_MOVED)
        if holding is None or self.find_serving_uuids(own).isdisjoint(holding.allocations):
            return Verdict(reason=_NOTHING)
        return self._judge_by_amounts(consumer, holding, server, own, changed)

    def _judge_by_amounts(
        self,
        consumer: Consumer,
        holding: Consumer,
        server: Server,
        own: str,
        changed: Moment | None,
    ) -> Verdict:
        """Judge each allocation beside the own host by the amounts that the server lacks there.

        :param holding: the consumer of the server
        :param own: the UUID of the root of its host
        :param changed: when Placement has changed the consumer last
        """
        freed, unproved, held = list[str](), list[str](), dict[str, Resources]()
        is_migration = consumer.uuid != server.uuid
        for provider_uuid, amounts in consumer.allocations.items():
            state = self._topology.snapshot.providers.get(provider_uuid)
            if state is None or (
                not is_migration and provider_uuid in self.find_serving_uuids(own)
            ):
                continue
            if lacking := self._find_lacking_amounts(amounts, holding, server, own):
                held[provider_uuid] = lacking
            elif is_migration or self._has_left_host(server.uuid, own, provider_uuid, changed):
                freed.append(provider_uuid)
            else:
                unproved.append(provider_uuid)
        reason = _STAYED if unproved else _LACKING if held else ''
        proof = f'its server is on {server.host or server.node} now' if freed else ''
        return Verdict(tuple(freed), tuple(unproved), held, reason, proof=proof)

    def explain_movement(self, server: Server) -> str:
        """Return the reason in Nova's records why a server may be moving now; empty if none."""
        for migration in self._of_server.get(server.uuid, ()):
            if not migration.is_over:
                return migration.retention_reason
        return server.departure_reason

    def _explain_unsettled(self, server: Server, changed: Moment | None) -> str:
        """Return why the record of a server does not decide what may be freed; empty if it does.

        :param changed: when Placement has changed the consumer last
        """
        if server.is_settled is None and not self._is_presumed:
            return _NO_TASKS
        if server.is_settled is False:
            return f'its status is {server.status or server.vm_state}'
        if self._is_asked:
            return ''
        updated = normalize_time(server.updated)
        if updated is None:
            return _NO_TIME
        return '' if changed is not None and changed <= updated else _CHANGED

    def find_own_host(self, server: Server) -> str | None:
        """Return the UUID of the root of the host that Nova names; ``None`` if it is not known."""
        return self._find_root(server.host or None, server.node or None, by_hypervisor_only=True)

    def _find_root(
        self, host: str | None, node: str | None, *, by_hypervisor_only: bool = False
    ) -> str | None:
        """Return the UUID of the root of a host, by its hypervisor, else by its exact name.

        A host that Nova has removed has no hypervisor, but its root has its name.

        :param node: the name of the hypervisor; ``None``: the only one of the host
        :param by_hypervisor_only: whether not to look for the name if hypervisors have UUIDs
        """
        if self._has_uuids:
            named = self._by_node.get(node, ()) if node else self._by_host.get(host, ())
            uuids = [h.uuid for h in named if host is None or h.host in (None, host)]
            if len(uuids) == 1 and uuids[0] in self._topology.trees:
                return uuids[0]
            if by_hypervisor_only:
                return None
        state = self._topology.snapshot.find_by_name(node or host or '')
        return state.uuid if state and state.uuid in self._topology.trees else None

    def find_serving_uuids(self, root_uuid: str) -> Set[str]:
        """Return the UUIDs of the providers of a host, and of sharing ones that serve it."""
        if root_uuid not in self._providers:
            states = self._topology.list_serving_providers(root_uuid)
            self._providers[root_uuid] = frozenset(state.uuid for state in states)
        return self._providers[root_uuid]

    def _find_lacking_amounts(
        self, amounts: Resources, holding: Consumer, server: Server, own_root: str
    ) -> Resources:
        """Return those of the amounts of whose class a server holds too little on its own host.

        :param amounts: held for the server on another provider
        :param holding: the consumer with the server's own allocations
        :param own_root: the UUID of the root of its host
        """
        serving = self.find_serving_uuids(own_root)
        there = [held for uuid, held in holding.allocations.items() if uuid in serving]
        present = count_pcpu_as_vcpu(sum_resources(there))
        needed = dict(count_pcpu_as_vcpu(amounts))
        # The flavor decides if it is known: a server may hold more elsewhere than it needs.
        with suppress(UnknownAmounts):
            requested = count_pcpu_as_vcpu(sum_requested_amounts(server))
            needed.update({name: n for name, n in requested.items() if n and name in needed})
        return {
            name: held
            for name, held in amounts.items()
            if present[_replace_pcpu_with_vcpu(name)] < needed[_replace_pcpu_with_vcpu(name)]
        }

    def _find_newest_migration(self, server_uuid: str) -> ServerMigration | None:
        """Return the newest migration of a server; ``None``: none, or nobody knows which."""
        migrations = self._of_server.get(server_uuid, [])
        if len(migrations) < 2:
            return migrations[0] if migrations else None
        if any(m.created_at is None for m in migrations):
            return None
        *_, before, newest = sorted(migrations, key=lambda m: m.created_at or '')
        return newest if before.created_at != newest.created_at else None

    def _find_left_roots_by_end(
        self, migration: ServerMigration | None
    ) -> dict[str | None, str | None]:
        """Return the UUID of the root that a migration left, by that of the root where it ended.

        A migration that failed may have ended on either of its hosts.
        """
        if migration is None:
            return {}
        source = self._find_root(migration.source_compute, migration.source_node)
        target = self._find_root(migration.dest_compute, migration.dest_node)
        if migration.has_failed:
            return {source: target, target: source}
        return {source: target} if migration.has_returned else {target: source}

    def _has_left_host(
        self, server_uuid: str, own: str, provider_uuid: str, changed: Moment | None
    ) -> bool:
        """Return True if the newest migration led from the host of a provider to the own host.

        :param own: the UUID of the root of the own host
        :param changed: when Placement has changed the consumer last; the migration ended no earlier
        """
        newest = self._find_newest_migration(server_uuid)
        if newest is None:
            return False
        ended = newest.ended_at
        other = self._find_left_roots_by_end(newest).get(own)
        is_there = other not in (None, own) and provider_uuid in self.find_serving_uuids(other)
        return is_there and ended is not None and changed is not None and changed <= ended


def is_nova_class(resource_class: str) -> bool:
    """Return True if servers of Nova may hold a class even if no known flavor or node names it."""
    return resource_class in _CLASSES or resource_class.startswith(_CLASS_PREFIXES)


def _replace_pcpu_with_vcpu(name: str) -> str:
    """Return ``VCPU`` for ``PCPU``, and another class as it is."""
    return 'VCPU' if name == 'PCPU' else name
