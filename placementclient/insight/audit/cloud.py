"""A snapshot as an audit sees it, with what the compute service knows beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from placementclient.insight import healing
from placementclient.insight.audit.answers import Answers
from placementclient.insight.topology import Topology, is_sharing
from placementclient.model.consumers import Consumer
from placementclient.model.servers import Server, ServerMigration, same_host
from placementclient.model.snapshots import ProviderState, Snapshot

#: Why a server is passed over that may be new, or just be moving.
CHANGED = 'changed by Nova less than 10 minutes before the snapshot, or since'


class Cloud:
    """A Placement, its trees, and its consumers as servers and migrations.

    :param servers: all servers by UUID; ``None`` if they are not known
    :param migrations: all migrations; ``None`` if they are not known
    :param unsettled: the UUIDs of servers that have changed since the snapshot, or just before
    :param answers: what the other services say
    """

    def __init__(
        self,
        snapshot: Snapshot,
        servers: Mapping[str, Server] | None = None,
        migrations: Sequence[ServerMigration] | None = None,
        unsettled: Collection[str] = (),
        answers: Answers = Answers(),  # noqa: B008 (immutable)
    ) -> None:
        self.snapshot = snapshot
        self.topology = Topology(snapshot)
        self.servers, self.migrations, self.answers = servers, migrations, answers
        self.migrating = {m.server_uuid for m in migrations or () if not m.is_over}
        self._unsettled = frozenset(unsettled)
        self.migration_of_consumer = {m.uuid: m for m in migrations or () if m.uuid}
        self._migrations_of: dict[str, list[ServerMigration]] = {}
        for migration in migrations or ():
            self._migrations_of.setdefault(migration.server_uuid, []).append(migration)
        self._roots_by_short: dict[str, list[str]] = {}
        for uuid in self.topology.trees:
            self._roots_by_short.setdefault(self.name(uuid).partition('.')[0], []).append(uuid)

    def has(self, name: str) -> bool:
        """Return True if a list is known, by the name of its option."""
        if name in ('servers', 'migrations'):
            return getattr(self, name) is not None
        return getattr(self.answers, name) is not None

    def subjects(self) -> set[str]:
        """Return all that a finding may be about: names of providers, UUIDs of consumers, …"""
        states = self.snapshot.providers.values()
        return {
            *(state.name for state in states),
            *(aggregate for state in states for aggregate in state.aggregates),
            *self.snapshot.consumers,
            *(self.servers or ()),
            *(flavor.name for flavor in self.answers.flavors or ()),
            *(name for state in states for name in state.inventories),
        }

    def states(self) -> Iterator[ProviderState]:
        """All providers, tree by tree."""
        for states in self.topology.trees.values():
            yield from states

    def root_of(self, state: ProviderState) -> str:
        """The UUID of the root of a provider's tree."""
        return self.topology.root_of[state.uuid]

    def name(self, provider_uuid: str) -> str:
        """The name of a provider."""
        return self.snapshot.providers[provider_uuid].name

    def roots_of(self, consumer: Consumer) -> list[str]:
        """The roots of all trees that a consumer holds something on; sharing ones too."""
        roots = self.topology.root_of
        return sorted({roots[uuid] for uuid in consumer.allocations if uuid in roots})

    def hosts_of(self, consumer: Consumer) -> dict[str, list[str]]:
        """Return the usage of a consumer in each tree without shared parts: providers by root."""
        hosts: dict[str, list[str]] = {}
        for uuid in sorted(consumer.allocations):
            state = self.snapshot.providers.get(uuid)
            if state is not None and not is_sharing(state):
                hosts.setdefault(self.root_of(state), []).append(uuid)
        return hosts

    def migrations_of(self, server_uuid: str) -> list[ServerMigration]:
        """The migrations of a server."""
        return self._migrations_of.get(server_uuid, [])

    def host_roots(self, names: Sequence[str]) -> list[str]:
        """The roots of all trees that have one of a host's names, as :meth:`named`."""
        shorts = dict.fromkeys(name.partition('.')[0] for name in names)
        return self.named([u for s in shorts for u in self._roots_by_short.get(s, ())], names)

    def passed_over(self, server: Server) -> str:
        """Return the reason to say nothing of a server at this moment; empty if there is none."""
        if server.uuid in self._unsettled:
            return CHANGED
        if server.detail is not None:
            return healing.under_way(server.detail, self.migrating)
        if server.task is not None:
            return f'it is under way: {server.task}'
        return 'a migration is not over' if server.uuid in self.migrating else ''

    def named(self, root_uuids: Sequence[str], names: Sequence[str]) -> list[str]:
        """The roots that have one of a host's names; where one has it exactly, no other."""
        exact = [uuid for uuid in root_uuids if self.name(uuid) in names]
        return exact or [
            uuid for uuid in root_uuids if any(same_host(self.name(uuid), name) for name in names)
        ]
