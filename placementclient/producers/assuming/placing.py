"""Future servers, each at a place that Placement would grant."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import held
from placementclient.model.consumers import Allocations
from placementclient.model.snapshots import Snapshot
from placementclient.producers.assuming.assumptions import NewServers


def placed(
    snapshot: Snapshot, servers: NewServers, roots: Sequence[str] | None = None
) -> list[Allocations]:
    """Return the allocations of each server that has room; hosts get one server each in turn.

    :param roots: the roots of the trees that they may be on, in order; ``None``: any, by name
    """
    cloud = DrainCloud(snapshot)
    cloud.hosts = list(cloud.topology.trees if roots is None else roots)
    asked = [requests.known(snapshot, each, {}) for each in servers.shape.requests(snapshot)]
    problem = cloud.problem(asked, ())
    found: list[Allocations] = []
    for request in asked:
        admitted = set(map(id, problem.shapes(request)))
        hosts = deque(host for host in problem.hosts if id(host.shape) in admitted)
        while hosts and len(found) < servers.count:
            host = hosts.popleft()
            if option := problem.option(request, host):
                problem.place(request, host, option)
                found.append(held(request, host, option))
                hosts.append(host)
    return found
