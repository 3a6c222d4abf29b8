"""Servers that are to come: each gets a place that Placement would grant."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from placementclient.insight.candidates.matching import Matcher
from placementclient.insight.candidates.requirements import requirements
from placementclient.insight.candidates.snapshot_index import SnapshotIndex
from placementclient.insight.capacity.totals import slots
from placementclient.insight.topology import Topology
from placementclient.model.consumers import Allocations, Resources
from placementclient.model.requests import CandidateRequest
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.producers.assuming.assumptions import NewServers


def placed(
    snapshot: Snapshot, servers: NewServers, roots: Sequence[str] | None = None
) -> list[Allocations]:
    """Return what each server holds, as far as there is room: hosts get one each, in turn.

    :param roots: the roots of the trees that they may be on, in order; ``None``: any, by name
    """
    request = servers.shape.request(snapshot)
    asked, parts = requirements(request), _parts(request)
    topology = Topology(snapshot)
    states = dict(snapshot.providers)
    held: list[Allocations] = []
    hosts = deque(topology.trees if roots is None else roots)
    while hosts and len(held) < servers.count:
        root = hosts.popleft()
        pool = [states[uuid] for uuid in _pool(topology, root)]
        if not all(any(_grants(state, part) for state in pool) for part in parts):
            # Most hosts of a full cloud end here, which costs little.
            continue
        found = Matcher(SnapshotIndex(Snapshot(pool, ())), asked).allocation(root)
        if found is None:
            continue
        for uuid, resources in found.items():
            states[uuid] = _with_used(states[uuid], resources)
        held.append(found)
        hosts.append(root)
    return held


def _parts(request: CandidateRequest) -> list[Resources]:
    """Return what single providers have to grant: a class of the common group, a whole group."""
    common = [{name: amount} for name, amount in request.common.resources.items()]
    return [*common, *(group.resources for group in request.groups.values())]


def _grants(state: ProviderState, resources: Resources) -> bool:
    return all(slots(state, name, amount) for name, amount in resources.items())


def _pool(topology: Topology, root: str) -> list[str]:
    """Return the UUIDs of a tree, and of the whole trees of what shares with it."""
    sharing = {topology.root_of[state.uuid] for state in topology.reached(root)}
    return [state.uuid for each in (root, *sharing - {root}) for state in topology.trees[each]]


def _with_used(state: ProviderState, resources: Resources) -> ProviderState:
    used = {name: state.used(name) + amount for name, amount in resources.items()}
    return replace(state, usages={**state.usages, **used})
