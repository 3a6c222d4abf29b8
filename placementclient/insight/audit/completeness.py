"""Signs that the lists of Nova are incomplete, so that nothing may be deleted because of them."""

from placementclient.client.wording import counted, listed
from placementclient.insight.audit.cloud import Cloud
from placementclient.model.nova import MIGRATION
from placementclient.placing.providers import is_sharing

#: A list is incomplete if it lacks more than one in this many consumers.
_LACKING = 10


def shortfalls(cloud: Cloud, earlier: Cloud | None = None) -> dict[str, str]:
    """Return a sentence about each list that looks incomplete, by the name of its option.

    A list that lacks servers is rather that of a single project or cell, or of another cloud, or
    cut off. One of migrations that lacks some may lack that of a consumer without a type, too.

    :param earlier: another reading; what is in its lists is not missing
    """
    listed_consumers = cloud.snapshot.consumers.keys() & cloud.servers.keys()
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
        if users & orphans and users.isdisjoint(listed_consumers):
            hosts.append(cloud.name(root))
    sentences = {}
    if resized:
        sentences['migrations'] = (
            'The list of migrations does not look complete: it lacks those of '
            f'{counted(len(resized), "server")} with a resize to confirm. Nothing is deleted '
            'by it: list the migrations of all cells, and all pages'
        )
    consumers = len(orphans | listed_consumers)
    if hosts or len(orphans) * _LACKING > consumers:
        of_hosts = f', and all of {listed(hosts, 3)}' if hosts else ''
        sentences['servers'] = (
            f'The list of servers does not look complete: it lacks {len(orphans)} of '
            f'{counted(consumers, "consumer")}{of_hosts}. Nothing is deleted by it: list the '
            'servers of all projects and cells. If it is complete, check each consumer with '
            'openstack server show, and delete what it holds with resource provider allocation '
            'delete'
        )
    return sentences


def _orphans(cloud: Cloud) -> set[str]:
    cases = cloud.cases['orphan']
    return {case.consumer.uuid for case in cases if case.consumer.type != MIGRATION}


def _resized(cloud: Cloud) -> set[str]:
    """Return the UUIDs of the resized servers of which no migration waits."""
    servers = cloud.servers.values() if cloud.has('migrations') else ()
    return {s.uuid for s in servers if s.is_resized and s.uuid not in cloud.migrating}
