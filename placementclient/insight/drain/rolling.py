# SPDX-License-Identifier: Apache-2.0
"""Batches of hosts that are emptied one after the other, and come back empty."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from msgspec import structs

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, schedule_waves
from placementclient.insight.drain.numbers import KindNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.insight.drain.problem import build_problem, group_by_kind
from placementclient.insight.drain.proof import EFFORT, pack_servers
from placementclient.model.findings import Finding, Severity
from placementclient.model.inventories import Inventory
from placementclient.model.nova import DISABLED
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.requests import Request

HostBatch = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RollingDrain:
    """The result of a rolling drain.

    :param order: the batches that can be emptied, in their order
    :param blocked: a finding for each batch that no order empties, with its servers without a
        place; an error if it is proved that the batch can never be empty
    """

    order: list[HostBatch] = field(default_factory=list)
    moves: list[ServerMove] = field(default_factory=list)
    blocked: list[Finding] = field(default_factory=list)
    unsettled: list[Finding] = field(default_factory=list)

    @property
    def verdict(self) -> DrainVerdict:
        """The answer to the question if all batches can be emptied."""
        if any(batch.is_error for batch in self.blocked):
            return DrainVerdict.NO
        if self.blocked:
            return DrainVerdict.UNDETERMINED
        return DrainVerdict.DEPENDS if self.unsettled else DrainVerdict.YES


def split_into_batches(
    cloud: DrainCloud, hosts: Sequence[str], size: int | None
) -> list[HostBatch]:
    """Return the hosts in batches.

    :param size: the number of hosts in a batch; ``None``: hosts with the same smallest aggregate
        are a batch, and a host in no aggregate is one alone
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


def plan_rolling(
    cloud: DrainCloud,
    batches: Iterable[HostBatch],
    pace: Pace = PACE,
    effort: float = EFFORT,
) -> RollingDrain:
    """Find an order of the batches, and the new places of the servers for each.

    It tries a blocked batch again after another one was emptied and is in use again.

    :param effort: how long to search for what the packing by best fit does not find, in seconds
    """
    waiting = list(batches)
    hosts = dict.fromkeys(chain.from_iterable(waiting))
    search = _RollingSearch(cloud, hosts, pace)
    rolling = RollingDrain(unsettled=[f for f in search.unsettled if f.roots[0] in hosts])
    limit = 0.0
    while waiting:
        blocked = []
        for batch in waiting:
            first = rolling.moves[-1].wave + 1 if rolling.moves else 1
            moves = search.empty_batch(batch, first, limit)
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
        severity = Severity.ERROR if can_never_be_empty(cloud, batch, effort) else Severity.WARNING
        names = ', '.join(cloud.snapshot.providers[uuid].name for uuid in batch)
        facts = {'servers': search.find_moves(batch, 0)[1]}
        rolling.blocked.append(Finding('blocked', names, facts, batch, severity=severity))
    return rolling


class _RollingSearch:
    """The present places of all servers, and the room on all hosts, while batches are emptied."""

    def __init__(self, cloud: DrainCloud, hosts: Iterable[str], pace: Pace) -> None:
        self._cloud, self._pace, self._ledger = cloud, pace, Ledger(cloud.snapshot)
        occupants = cloud.find_occupants(dict.fromkeys((*hosts, *cloud.hosts)))
        self.unsettled = occupants.unsettled
        #: The servers on each host, by its UUID and theirs; and those that are shelved.
        self._on = defaultdict[str, dict[str, ServerMove]](dict)
        self._offloaded = defaultdict[str, list[ServerMove]](list)
        for server in occupants.offloaded:
            self._offloaded[server.source].append(server)
        for server in occupants.servers:
            self._on[server.source][server.server] = server
        self._kinds = {
            server.server: cloud.number_strict_request(server) for server in occupants.servers
        }
        self._problem = build_problem(cloud, self._group_by_kind(occupants.servers), ())
        self._packing = Packing(self._problem)
        self._packing.rank_hosts(self._problem.host_numbers, self._problem.servers)

    def _group_by_kind(self, servers: Iterable[ServerMove]) -> dict[KindNumber, list[ServerMove]]:
        return group_by_kind(servers, lambda server: self._kinds[server.server])

    def find_moves(self, batch: HostBatch, effort: float) -> tuple[list[ServerMove], list[str]]:
        """Return the moves of the servers of a batch, and the servers that find no place.

        :param effort: how long to search beyond best fit; 0: not at all
        """
        leaving = (server for uuid in batch for server in self._on[uuid].values())
        servers, packing = self._group_by_kind(leaving), self._packing
        waiting = [server for kind in servers for server in servers[kind]]
        places = packing.find_places({kind: len(servers[kind]) for kind in servers}, batch)
        moves = list(self._problem.list_moves(servers, places))
        if len(moves) < len(waiting) and effort:
            hosts = [
                host._replace(room=tuple(packing.room[number]), members=packing.members[number])
                for number, host in enumerate(self._problem.hosts)
                if host.uuid not in batch
            ]
            pools = dict(packing.pools)
            problem = replace(self._problem, servers=servers, hosts=hosts, pools=pools)
            moves = list(pack_servers(problem, effort).list_moves())
        moved = {move.server for move in moves}
        return moves, [server.server for server in waiting if server.server not in moved]

    def empty_batch(
        self, batch: HostBatch, first_wave: int, effort: float
    ) -> list[ServerMove] | None:
        """Empty a batch and return its moves; ``None`` if it cannot be emptied now."""
        moves, stuck = self.find_moves(batch, effort)
        if stuck:
            return None
        moves = [*(server for uuid in batch for server in self._offloaded[uuid]), *moves]
        planned = schedule_waves(moves, self._ledger, self._pace, first_wave)
        ends = {uuid for move in planned or () for uuid in (move.source, move.target) if uuid}
        with self._packing.rerank_hosts(self._problem.find_host_numbers(ends)):
            for move in planned or ():
                self._apply_move(move)
        return planned

    def _apply_move(self, move: ServerMove) -> None:
        kind = self._kinds.get(move.server)
        request = Request(()) if kind is None else self._cloud.requests[kind]
        self._packing.occupy_host(move.source, move.before, request.limits, -1)
        if move.target is None:
            return
        self._packing.occupy_host(move.target, move.after, request.limits)
        shared = requests.find_shared_amounts(self._cloud.snapshot, move.after)
        if shared != request.shared:
            self._kinds[move.server] = self._cloud.number_request(request._replace(shared=shared))
        del self._on[move.source][move.server]
        moved = ServerMove(move.server, move.target, move.after, {})
        self._on[move.target][move.server] = moved


def can_never_be_empty(cloud: DrainCloud, emptied: Collection[str], effort: float = EFFORT) -> bool:
    """Return True if it is proved that hosts can never be empty, wherever all servers are."""
    servers = cloud.find_occupants(cloud.hosts).servers
    leaving = [server for server in servers if server.source in set(emptied)]
    lax = [cloud.requests[cloud.number_lax_request(server)] for server in leaving]
    amounts = [requests.build_lax_request(cloud.snapshot, server.before) for server in servers]
    return not (
        _can_fit_all(cloud.without_servers, leaving, lax, emptied, effort)
        and _can_fit_all(_loosen_inventories(cloud), servers, amounts, emptied, effort)
    )


def _can_fit_all(
    cloud: DrainCloud,
    servers: Sequence[ServerMove],
    requested: Sequence[Request],
    emptied: Collection[str],
    effort: float,
) -> bool:
    """Return False if it is proved that not all servers with some requests have a place.

    :param requested: the request of each server
    """
    kinds = defaultdict[KindNumber, list[ServerMove]](list)
    for server, request in zip(servers, requested, strict=True):
        kinds[cloud.number_request(request._replace(shared=()))].append(server)
    packing = pack_servers(build_problem(cloud, kinds, emptied), effort)
    return packing.bound >= packing.server_count


def _loosen_inventories(cloud: DrainCloud) -> DrainCloud:
    """Return a cloud without servers, with room for each server on its present host."""
    # Without limits of units and without disabled hosts. A host over its capacity has room for its
    # own servers.
    states = []
    for state in cloud.without_servers.snapshot.providers.values():
        inventories = {}
        for name, free in zip(
            sorted(state.inventories), cloud.list_free_amounts(state), strict=True
        ):
            used = state.used(name)
            allocated = cloud.snapshot.providers[state.uuid].used(name) - used
            most = state.free(name) if is_sharing(state) else max(free, allocated)
            inventories[name] = Inventory(used + most, min_unit=0)
        states.append(
            structs.replace(state, inventories=inventories, traits=state.traits - {DISABLED})
        )
    return DrainCloud(Snapshot(states, cloud.without_servers.snapshot.consumers.values()))
