"""Faults of consumers: who should not hold what it holds, or not there."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.findings import Fault
from placementclient.model.consumers import Consumer
from placementclient.model.nova import INSTANCE, MIGRATION
from placementclient.model.repairs import FreeAllocations, LookAtMigrations
from placementclient.model.servers import ServerMigration

_EVACUATION = 'evacuation'
#: Why something is not freed that seems to be superfluous.
_NEEDED = 'a migration may still need it: openstack server migration list --server has its state'
_MIGRATION = (
    'nothing is taken from a migration: see with openstack server migration list that it is over'
)


class Situation(enum.Enum):
    """What is odd about a consumer."""

    #: Nova knows neither a server nor a migration of that UUID.
    ORPHAN = enum.auto()
    #: The server is shelved and on no host, and nothing is done with it.
    LEFT_BY_SHELVING = enum.auto()
    #: It is a migration's, which is over.
    LEFT_BY_MIGRATION = enum.auto()
    #: On several hosts, while a migration is under way.
    IN_MIGRATION = enum.auto()
    #: On the host that it was evacuated from, too.
    LEFT_BY_EVACUATION = enum.auto()
    #: On several hosts, and no migration explains it.
    DOUBLED = enum.auto()
    #: On several hosts, and it is not known whether a migration explains it.
    ON_SEVERAL_TREES = enum.auto()


@dataclass(frozen=True, slots=True)
class _Case:
    """A consumer, with what decides its situation."""

    cloud: Cloud
    consumer: Consumer

    @property
    def migration(self) -> ServerMigration | None:
        """The migration whose consumer it is."""
        return self.cloud.migration_of_consumer.get(self.consumer.uuid)

    @property
    def migrations(self) -> list[ServerMigration]:
        """The migrations of the server that it is."""
        return self.cloud.migrations_of(self.consumer.uuid)

    @property
    def server(self) -> str:
        """The UUID of the server that it is, or that its migration moves."""
        return self.migration.server_uuid if self.migration else self.consumer.uuid

    @property
    def is_offloaded(self) -> bool:
        """True if it is a server that is shelved and on no host."""
        server = (self.cloud.servers or {}).get(self.consumer.uuid)
        return server is not None and server.is_offloaded

    @property
    def hosts(self) -> dict[str, list[str]]:
        """The providers that it uses, but for what is shared, by the root of each host."""
        return self.cloud.hosts_of(self.consumer)

    @property
    def home(self) -> str | None:
        """The root of the host that the server is on, as far as Nova's name for it tells."""
        server = (self.cloud.servers or {}).get(self.consumer.uuid)
        named = self.cloud.named(list(self.hosts), server.hosts if server else ())
        return named[0] if len(named) == 1 else None

    @property
    def elsewhere(self) -> list[str]:
        """The roots of the hosts that it is not on; none, if it is not known where it is."""
        home = self.home
        return [root for root in self.hosts if root != home] if home else []

    def came_from(self, root_uuid: str) -> bool:
        """Whether it was evacuated from a host, and that is over."""
        return any(
            m.type == _EVACUATION
            and m.is_over
            and not m.has_failed
            and self.cloud.named([root_uuid], m.sources)
            for m in self.migrations
        )


def situation(cloud: Cloud, consumer: Consumer) -> Situation | None:
    """What is odd about a consumer; ``None`` if nothing is, or nothing is known."""
    case = _Case(cloud, consumer)
    if case.migration is not None:
        return Situation.LEFT_BY_MIGRATION if case.migration.is_over else None
    if _is_orphan(case):
        return Situation.ORPHAN
    if case.is_offloaded:
        return Situation.LEFT_BY_SHELVING
    if len(case.hosts) < 2:
        return None
    if any(not migration.is_over for migration in case.migrations):
        return Situation.IN_MIGRATION
    if cloud.servers is None or cloud.migrations is None:
        return Situation.ON_SEVERAL_TREES
    if case.elsewhere and all(map(case.came_from, case.elsewhere)):
        return Situation.LEFT_BY_EVACUATION
    return Situation.DOUBLED


def _is_orphan(case: _Case) -> bool:
    consumer, cloud = case.consumer, case.cloud
    if cloud.servers is None or consumer.uuid in cloud.servers:
        return False
    if consumer.type == MIGRATION:
        return cloud.migrations is not None
    # Types that Nova does not give are of other services, whose consumers are no servers.
    return consumer.type in (None, INSTANCE)


def orphan(cloud: Cloud) -> Iterator[Fault]:
    """A consumer of which the compute service knows nothing."""

    def doubt(case: _Case) -> str:
        if case.consumer.type == MIGRATION:
            return _MIGRATION
        if case.migrations:
            return _NEEDED
        if case.consumer.type != INSTANCE and cloud.migrations is None:
            return 'it may be a migration: give the list of migrations too, with --migrations'
        return ''

    return _in(cloud, Situation.ORPHAN, lambda case: list(case.consumer.allocations), doubt)


def left_by_shelving(cloud: Cloud) -> Iterator[Fault]:
    """A server that is shelved and on no host, and still holds what it had on one."""
    servers = cloud.servers or {}
    faults = _in(
        cloud, Situation.LEFT_BY_SHELVING, lambda case: list(case.consumer.allocations), _unsettled
    )
    for fault in faults:
        yield replace(fault, passed_over=cloud.passed_over(servers[fault.subject]))


def left_by_migration(cloud: Cloud) -> Iterator[Fault]:
    """A migration that is over, and still holds what it had on its source."""

    def superfluous(case: _Case) -> list[str]:
        # Where it failed, the server may still be where the migration holds something.
        failed = case.migration is not None and case.migration.has_failed
        return [] if failed else list(case.consumer.allocations)

    return _in(cloud, Situation.LEFT_BY_MIGRATION, superfluous, lambda case: _MIGRATION)


def in_migration(cloud: Cloud) -> Iterator[Fault]:
    """A server on several hosts, one of which it is about to leave."""
    return _in(cloud, Situation.IN_MIGRATION, lambda case: [], lambda case: '')


def left_by_evacuation(cloud: Cloud) -> Iterator[Fault]:
    """A server that still holds what it had on the host that it was evacuated from."""
    return _in(cloud, Situation.LEFT_BY_EVACUATION, _elsewhere, _unsettled)


def doubled(cloud: Cloud) -> Iterator[Fault]:
    """A server that holds something on hosts where it is not, and no migration says why."""
    return _in(cloud, Situation.DOUBLED, _elsewhere, _unsettled)


def on_several_trees(cloud: Cloud) -> Iterator[Fault]:
    """A consumer on several hosts; without servers and migrations nobody can say why."""
    return _in(cloud, Situation.ON_SEVERAL_TREES, lambda case: [], lambda case: '')


def _elsewhere(case: _Case) -> list[str]:
    return [uuid for root in case.elsewhere for uuid in case.hosts[root]]


def _unsettled(case: _Case) -> str:
    """Why a migration may still need what the server has elsewhere."""
    return _NEEDED if any(m.has_failed or not m.is_over for m in case.migrations) else ''


def _in(
    cloud: Cloud,
    sought: Situation,
    superfluous: Callable[[_Case], list[str]],
    doubt: Callable[[_Case], str],
) -> Iterator[Fault]:
    """The consumers in a situation.

    :param superfluous: the providers that a consumer should hold nothing of
    :param doubt: why it is not safe to take that from it; empty: it is safe
    """
    for uuid, consumer in sorted(cloud.snapshot.consumers.items()):
        if situation(cloud, consumer) is not sought:
            continue
        case = _Case(cloud, consumer)
        providers, reason = superfluous(case), doubt(case)
        yield Fault(
            uuid,
            tuple(cloud.roots_of(consumer)),
            _evidence(case),
            FreeAllocations(consumer, tuple(providers))
            if providers
            else LookAtMigrations(case.server),
            reason if providers else '',
        )


def _evidence(case: _Case) -> dict[str, Any]:
    cloud, consumer = case.cloud, case.consumer
    held = {
        cloud.name(uuid) if uuid in cloud.snapshot.providers else uuid: dict(resources)
        for uuid, resources in sorted(consumer.allocations.items())
    }
    server = (cloud.servers or {}).get(consumer.uuid)
    involved = [case.migration] if case.migration else case.migrations
    return {
        'type': consumer.type,
        'holds': held,
        **({'host': server.hosts[0]} if server and server.hosts else {}),
        **(
            {'migrations': [{'uuid': m.uuid, 'type': m.type, 'status': m.status} for m in involved]}
            if involved
            else {}
        ),
    }
