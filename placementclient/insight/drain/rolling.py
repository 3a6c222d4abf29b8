# SPDX-License-Identifier: Apache-2.0
"""Batches of hosts that are emptied one after the other, and come back empty."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from msgspec.structs import replace

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.exact import EFFORT, pack
from placementclient.insight.drain.fleet import Fleet
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, waves
from placementclient.insight.drain.packing import by_request
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request

HostBatch = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rolling:
    """The result of a rolling drain.

    :param order: the batches that can be emptied, in their order
    :param blocked: the batches, as roots, that cannot be emptied whenever their turn comes, with
        the servers that find no place; an error where these have none wherever all others are
    """

    order: list[HostBatch] = field(default_factory=list)
    moves: list[ServerMove] = field(default_factory=list)
    blocked: list[Finding] = field(default_factory=list)
    unsettled: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> DrainVerdict:
        """Return whether all batches can be emptied."""
        if any(batch.is_error for batch in self.blocked):
            return DrainVerdict.NO
        if self.blocked:
            return DrainVerdict.UNDETERMINED
        return DrainVerdict.DEPENDS if self.unsettled else DrainVerdict.YES


def batches(cloud: DrainCloud, hosts: Sequence[str], size: int | None) -> list[HostBatch]:
    """Return the hosts in batches.

    :param size: so many hosts are a batch; ``None``: the hosts of the smallest aggregate of each
        are; a host in none is a batch alone
    """
    if size is not None:
        return [tuple(hosts[start : start + size]) for start in range(0, len(hosts), size)]
    members = cloud.topology.members
    racks: dict[str, list[str]] = {}
    for uuid in hosts:
        aggregates = cloud.snapshot.providers[uuid].aggregates
        rack = min(aggregates, key=lambda name: (len(members[name]), name), default=uuid)
        racks.setdefault(rack, []).append(uuid)
    return list(map(tuple, racks.values()))


def roll(
    cloud: DrainCloud, batches: Iterable[HostBatch], pace: Pace = PACE, effort: float = EFFORT
) -> Rolling:
    """Find an order of the batches, and the new places of the servers for each.

    A batch that is blocked comes again when another one is empty and back.

    :param effort: how long to search for what the packing by best fit does not find, in seconds
    """
    waiting = list(batches)
    hosts = dict.fromkeys(chain.from_iterable(waiting))
    fleet, ledger = Fleet(cloud, {**hosts, **dict.fromkeys(cloud.hosts)}), Ledger(cloud.snapshot)
    rolling = Rolling(unsettled=[f for f in fleet.unsettled if f.roots[0] in hosts])
    limit = 0.0
    while waiting:
        blocked = []
        for batch in waiting:
            first = rolling.moves[-1].wave + 1 if rolling.moves else 1
            moves = _moves(fleet, batch, ledger, pace, first, limit)
            if moves is None:
                blocked.append(batch)
            else:
                rolling.moves.extend(moves)
                rolling.order.append(batch)
        if len(blocked) < len(waiting):
            waiting, limit = blocked, 0.0
        elif limit:
            break
        else:
            # Only now: the packing by best fit is a thousand times faster.
            limit = effort
    for batch in waiting:
        is_proved = is_never(cloud, batch, effort)
        names = ', '.join(cloud.snapshot.providers[uuid].name for uuid in batch)
        facts = {'servers': [server.server for server in fleet.without(batch)]}
        severity = Severity.ERROR if is_proved else Severity.WARNING
        rolling.blocked.append(Finding('blocked', names, facts, batch, severity=severity))
    return rolling


def _moves(
    fleet: Fleet, batch: HostBatch, ledger: Ledger, pace: Pace, first: int, effort: float
) -> list[ServerMove] | None:
    """Empty a batch, and return the moves from a first wave on; ``None`` if it is impossible."""
    servers, moves = fleet.servers(batch), None
    with fleet.excluding(batch):
        packing = fleet.attempt(servers)
        is_taken = packing.is_complete
        if not is_taken:
            fleet.undo(packing)
            packing = fleet.search(servers, batch, effort) if effort else packing
        if packing.is_complete:
            offloaded = [server for uuid in batch for server in fleet.offloaded.get(uuid, ())]
            moves = waves([*offloaded, *packing.moves()], ledger, pace, first)
        if moves is not None:
            fleet.commit(moves, is_taken=is_taken)
        elif is_taken:
            fleet.undo(packing)
    return moves


def is_never(cloud: DrainCloud, emptied: Collection[str], effort: float = EFFORT) -> bool:
    """Return whether it is proved that hosts can never be empty, wherever all servers are."""
    servers = cloud.occupants(cloud.hosts).servers
    leaving = [server for server in servers if server.source in set(emptied)]

    def amounts(server: ServerMove) -> Request:
        return requests.lax(cloud.snapshot, server.before)

    return not (
        _may_fit(cloud.vacated, leaving, cloud.lax, emptied, effort)
        and _may_fit(_loosened(cloud), servers, amounts, emptied, effort)
    )


def _may_fit(
    cloud: DrainCloud,
    servers: Iterable[ServerMove],
    request: Callable[[ServerMove], Request],
    emptied: Collection[str],
    effort: float,
) -> bool:
    """Return False if it is proved that servers without allocations have no place."""
    distinct: dict[Request, Request] = {}

    def fresh(server: ServerMove) -> Request:
        requested = request(server)._replace(shared=())
        return distinct.setdefault(requested, requested)

    packing = pack(cloud.problem(by_request(servers, fresh), emptied), effort)
    return packing.bound >= packing.total


def _loosened(cloud: DrainCloud) -> DrainCloud:
    """Return a cloud without servers, with room for each server on its present host."""
    # Without limits of units and without disabled hosts. A host over its capacity has room for its
    # own servers.
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
