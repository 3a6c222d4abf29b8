"""Odd situations of consumers, as far as the lists of Nova show."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.consumers import Consumer
from placementclient.model.nova import INSTANCE, MIGRATION
from placementclient.model.servers import ServerMigration

_EVACUATION = 'evacuation'


class Situation(enum.Enum):
    """An odd situation of a consumer."""

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
class Case:
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
        """The root of the host that the server is on, as far as Nova's name for it shows."""
        server = (self.cloud.servers or {}).get(self.consumer.uuid)
        named = self.cloud.named(list(self.hosts), server.hosts if server else ())
        return named[0] if len(named) == 1 else None

    @property
    def elsewhere(self) -> list[str]:
        """The roots of the hosts that it is not on; none, if it is not known where it is."""
        home = self.home
        return [root for root in self.hosts if root != home] if home else []

    def came_from(self, root_uuid: str) -> bool:
        """Return whether it was evacuated from a host, and that is over."""
        return any(
            m.type == _EVACUATION
            and m.is_over
            and not m.has_failed
            and self.cloud.named([root_uuid], m.sources)
            for m in self.migrations
        )


def situation(cloud: Cloud, consumer: Consumer) -> Situation | None:
    """Return the odd situation of a consumer; ``None`` if there is none, or none is known."""
    case = Case(cloud, consumer)
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


def _is_orphan(case: Case) -> bool:
    consumer, cloud = case.consumer, case.cloud
    if cloud.servers is None or consumer.uuid in cloud.servers:
        return False
    if consumer.type == MIGRATION:
        return cloud.migrations is not None
    # Types that Nova does not give are of other services, whose consumers are no servers.
    return consumer.type in (None, INSTANCE)
