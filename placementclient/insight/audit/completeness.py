"""Signs that the lists of Nova are incomplete, so that nothing may be deleted because of them."""

from typing import NamedTuple

from placementclient.insight.audit.cloud import Cloud
from placementclient.model.nova import MIGRATION
from placementclient.placing.providers import is_sharing

#: A list that lacks more than one in so many of the consumers is taken for incomplete.
_LACKING = 10


class MissingRecords(NamedTuple):
    """The records that are missing in the lists of servers and migrations.

    :param orphans: the number of consumers that are not in it
    :param consumers: the number of consumers that are or may be servers
    :param hosts: the names of the hosts with such consumers only
    :param resized: the number of servers with a resize to confirm, of which no migration is listed
    """

    orphans: int
    consumers: int
    hosts: tuple[str, ...] = ()
    resized: int = 0

    @property
    def is_of_servers(self) -> bool:
        return bool(self.hosts) or self.orphans * _LACKING > self.consumers


def shortfall(cloud: Cloud, earlier: Cloud | None = None) -> MissingRecords | None:
    """Return the missing records; ``None`` if the lists look complete, or there are none.

    A list that lacks servers is rather that of a single project or cell, or of another cloud, or
    cut off. One of migrations that lacks some may lack that of a consumer without a type, too.

    :param earlier: another reading; what is in its lists is not missing
    """
    listed = cloud.snapshot.consumers.keys() & cloud.servers.keys()
    orphans, resized = _orphans(cloud), _resized(cloud)
    if earlier is not None:
        orphans, resized = orphans & _orphans(earlier), resized & _resized(earlier)
    hosts = []
    for root, states in cloud.topology.trees.items():
        users = {
            consumer.uuid
            for state in states
            if not is_sharing(state)
            for consumer in cloud.snapshot.consumers_on(state.uuid)
        }
        if users & orphans and users.isdisjoint(listed):
            hosts.append(cloud.name(root))
    lacking = MissingRecords(len(orphans), len(orphans | listed), tuple(hosts), len(resized))
    return lacking if lacking.is_of_servers or lacking.resized else None


def _orphans(cloud: Cloud) -> set[str]:
    cases = cloud.cases['orphan']
    return {case.consumer.uuid for case in cases if case.consumer.type != MIGRATION}


def _resized(cloud: Cloud) -> set[str]:
    """Return the UUIDs of the resized servers of which no migration waits."""
    servers = cloud.servers.values() if cloud.has('migrations') else ()
    return {s.uuid for s in servers if s.is_resized and s.uuid not in cloud.migrating}
