"""Signs that a list of servers lacks some, so that nothing can be deleted by it."""

from __future__ import annotations

from typing import NamedTuple

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.audit.consumers import Situation, situation
from placementclient.insight.topology import is_sharing
from placementclient.model.nova import MIGRATION

#: A list that lacks more than one in so many of the consumers is taken for incomplete.
_LACKING = 10


class Shortfall(NamedTuple):
    """What a list of servers lacks.

    :param orphans: the number of consumers that are not in it
    :param consumers: the number of consumers that are or may be servers
    :param hosts: the names of the hosts on which there are such consumers and none is in it
    """

    orphans: int
    consumers: int
    hosts: tuple[str, ...]


def shortfall(cloud: Cloud) -> Shortfall | None:
    """Return what the list of servers lacks; ``None`` if it looks complete, or there is none.

    It is rather the list of a single project or cell, or of another cloud, or cut off.
    """
    consumers = cloud.snapshot.consumers.values()
    listed = {each.uuid for each in consumers if each.uuid in (cloud.servers or ())}
    orphans = {
        each.uuid
        for each in consumers
        if each.type != MIGRATION and situation(cloud, each) is Situation.ORPHAN
    }
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
    count = len(orphans) + len(listed)
    if hosts or len(orphans) * _LACKING > count:
        return Shortfall(len(orphans), count, tuple(hosts))
    return None
