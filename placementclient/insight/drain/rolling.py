"""Batches of hosts that are emptied one after the other, and come back empty."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.exact import EFFORT, pack
from placementclient.insight.drain.fleet import Fleet
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, waves
from placementclient.insight.drain.plan import DrainVerdict, offloaded
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request

Batch = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rolling:
    """The result of a rolling drain.

    :param order: the batches that can be emptied, in their order
    :param moves: in the order of their waves
    :param blocked: the batches, as roots, that cannot be emptied whenever their turn comes, with
        the servers that find no place; an error where these have none wherever all others are
    """

    order: list[Batch] = field(default_factory=list)
    moves: list[ServerMove] = field(default_factory=list)
    blocked: list[Finding] = field(default_factory=list)
    unsettled: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> DrainVerdict:
        """Return whether all batches can be emptied."""
        if any(batch.severity is Severity.ERROR for batch in self.blocked):
            return DrainVerdict.NO
        if self.blocked:
            return DrainVerdict.UNDETERMINED
        return DrainVerdict.DEPENDS if self.unsettled else DrainVerdict.YES


def batches(cloud: DrainCloud, hosts: Sequence[str], size: int | None) -> list[Batch]:
    """Return the hosts in batches.

    :param size: so many hosts are a batch; ``None``: the hosts of the smallest aggregate of each
        are; a host in none is a batch alone
    """
    if size is not None:
        return [tuple(hosts[start : start + size]) for start in range(0, len(hosts), size)]
    members = {name: len(found) for name, found in cloud.topology.members.items()}
    found: dict[str, list[str]] = {}
    for uuid in hosts:
        aggregates = cloud.snapshot.providers[uuid].aggregates
        rack = min(aggregates, key=lambda name: (members[name], name), default=uuid)
        found.setdefault(rack, []).append(uuid)
    return list(map(tuple, found.values()))


def roll(
    cloud: DrainCloud, batches: Iterable[Batch], pace: Pace = PACE, effort: float = EFFORT
) -> Rolling:
    """Find an order of the batches, and the new places of the servers for each.

    A batch that is blocked comes again when another one is empty and back.

    :param effort: how long to search for what the packing by best fit does not find, in seconds
    """
    waiting = list(batches)
    fleet = Fleet(cloud, cloud.hosts)
    hosts = {uuid for batch in waiting for uuid in batch}
    rolling = Rolling(unsettled=cloud.servers(hosts)[1])
    ledger = Ledger(cloud.snapshot)
    limit = 0.0
    while waiting:
        blocked = [
            candidate
            for candidate in waiting
            if not _empty(fleet, rolling, candidate, ledger, pace, limit)
        ]
        if len(blocked) == len(waiting):
            if limit:
                break
            # Only now: the packing by best fit is a thousand times faster.
            limit = effort
            continue
        waiting, limit = blocked, 0.0
    for batch in waiting:
        is_proved = is_never(cloud, batch, effort)
        names = ', '.join(cloud.snapshot.providers[uuid].name for uuid in batch)
        facts = {'servers': [server.uuid for server in fleet.without(batch)]}
        severity = Severity.ERROR if is_proved else Severity.WARNING
        rolling.blocked.append(Finding(names, batch, facts, kind='blocked', severity=severity))
    return rolling


def _empty(
    fleet: Fleet, rolling: Rolling, batch: Batch, ledger: Ledger, pace: Pace, effort: float
) -> bool:
    """Empty a batch, and return whether that is possible.

    :param effort: how long to search beyond the packing by best fit
    """
    servers = fleet.servers(batch)
    fleet.take(batch)
    trial = fleet.attempt(servers)
    moves: Sequence[ServerMove] = trial.moves
    is_taken = not trial.left
    if trial.left:
        fleet.undo(trial)
        moves = ()
        if effort:
            packed = fleet.pack(servers, batch, effort)
            moves = list(packed.moves()) if packed.packing.is_complete else ()
    first = rolling.moves[-1].wave + 1 if rolling.moves else 1
    leaving = [*offloaded(fleet.cloud, batch), *moves]
    ordered = waves(leaving, ledger, pace, first)
    if ordered is not None and len(moves) == len(servers):
        fleet.commit(ordered, is_taken=is_taken)
        rolling.moves.extend(ordered)
        rolling.order.append(batch)
        fleet.give(batch)
        return True
    if is_taken:
        fleet.undo(trial)
    fleet.give(batch)
    return False


def is_never(cloud: DrainCloud, emptied: Collection[str], effort: float = EFFORT) -> bool:
    """Return whether it is proved that hosts can never be empty, wherever all servers are."""
    servers, out = cloud.servers(cloud.hosts)[0], set(emptied)
    leaving = (cloud.lax(server) for server in servers if server.host in out)
    everybody = (requests.lax(cloud.snapshot, server.allocations) for server in servers)
    return not (
        _may_fit(cloud.vacated, leaving, out, effort)
        and _may_fit(_loosened(cloud), everybody, out, effort)
    )


def _may_fit(
    cloud: DrainCloud, moving: Iterable[Request], out: Collection[str], effort: float
) -> bool:
    """Return whether it is not disproved that servers which hold nothing yet have places."""
    distinct: dict[Request, Request] = {}
    fresh = (request._replace(shared=()) for request in moving)
    homeless = [distinct.setdefault(request, request) for request in fresh]
    return pack(cloud.problem(homeless, out), effort).bound >= len(homeless)


def _loosened(cloud: DrainCloud) -> DrainCloud:
    """Return a cloud without servers in which each of them may stay where it is.

    Units count for nothing, nor do disabled hosts. A host that is over its capacity has room for
    what its servers have.
    """
    states = []
    for state in cloud.vacated.snapshot.providers.values():
        inventories = {}
        for name, free in zip(sorted(state.inventories), cloud.room(state), strict=True):
            used = state.used(name)
            allocated = cloud.snapshot.providers[state.uuid].used(name) - used
            most = state.free(name) if is_sharing(state) else max(free, allocated)
            inventories[name] = Inventory(used + most, min_unit=0)
        states.append(replace(state, inventories=inventories, traits=state.traits - {DISABLED}))
    return DrainCloud(Snapshot(states, cloud.vacated.snapshot.consumers.values()))
