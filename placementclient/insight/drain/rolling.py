# SPDX-License-Identifier: Apache-2.0
"""Batches of hosts that are emptied one after the other, and come back empty."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from msgspec import structs

from placementclient.insight.drain import requests
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.moves import PACE, Ledger, Pace, ServerMove, schedule_waves
from placementclient.insight.drain.numbers import KindNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.insight.drain.problem import ServersByKind, build_problem, group_by_kind
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
    :param moves: of all servers, in the order of their waves
    :param unsettled: the findings about consumers that no plan can move
    """

    order: Sequence[HostBatch]
    moves: Sequence[ServerMove]
    blocked: Sequence[Finding]
    unsettled: Sequence[Finding]

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
    :param pace: how many servers move at the same time
    """
    waiting = list(batches)
    hosts = dict.fromkeys(chain.from_iterable(waiting))
    search = _RollingSearch(cloud, hosts, pace)
    order: dict[HostBatch, None] = {}
    # The search comes last: the packing by best fit is a thousand times faster.
    while emptied := search.empty_batches(waiting) or search.empty_batches(waiting, effort):
        order |= dict.fromkeys(emptied)
        waiting = [batch for batch in waiting if batch not in order]
    blocked = []
    for batch in waiting:
        severity = Severity.ERROR if can_never_be_empty(cloud, batch, effort) else Severity.WARNING
        names = ', '.join(cloud.snapshot.providers[uuid].name for uuid in batch)
        _, stuck = search.find_moves(batch)
        facts = {'servers': stuck}
        blocked.append(Finding('blocked', names, facts, batch, severity=severity))
    unsettled = [finding for finding in search.unsettled if finding.roots[0] in hosts]
    return RollingDrain([*order], search.moves, blocked, unsettled)


class _RollingSearch:
    """The present places of all servers, and the room on all hosts, while batches are emptied.

    Four structures agree whenever no batch is being emptied: ``_on`` (the servers of each host),
    ``_kinds`` (their requests), ``_packing`` (the room) and ``_ledger`` (the usage).

    :ivar moves: those of all batches so far
    """

    def __init__(self, cloud: DrainCloud, hosts: Iterable[str], pace: Pace) -> None:
        self._cloud, self._pace, self._ledger = cloud, pace, Ledger(cloud.snapshot)
        self.moves: list[ServerMove] = []
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
            server.server: cloud.find_kind_by_strict_request(server) for server in occupants.servers
        }
        self._problem = build_problem(cloud, self._group_by_strict_kind(occupants.servers), ())
        self._packing = Packing(self._problem)
        self._packing.rank_hosts(self._problem.host_numbers, self._problem.servers)

    def _group_by_strict_kind(self, servers: Iterable[ServerMove]) -> ServersByKind:
        return group_by_kind(servers, lambda server: self._kinds[server.server])

    def empty_batches(self, batches: Iterable[HostBatch], effort: float = 0) -> list[HostBatch]:
        """Empty one batch after the other, and return those that can be emptied.

        :param effort: how long to search for each beyond best fit, in seconds; 0: not at all
        """
        return [batch for batch in batches if self._empty_batch(batch, effort)]

    def find_moves(self, batch: HostBatch, effort: float = 0) -> tuple[list[ServerMove], list[str]]:
        """Return the moves of the servers of a batch, and the UUIDs of those that find no place.

        :param effort: of the exact search, if the quick one leaves servers over; 0: quick alone
        """
        leaving = (server for uuid in batch for server in self._on[uuid].values())
        servers, packing = self._group_by_strict_kind(leaving), self._packing
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

    def _empty_batch(self, batch: HostBatch, effort: float) -> bool:
        """Empty a batch, and return True if all of its servers have a place and an order.

        :param effort: how long to search beyond best fit, in seconds; 0: not at all
        """
        moves, stuck = self.find_moves(batch, effort)
        if stuck:
            return False
        moves = [*(server for uuid in batch for server in self._offloaded[uuid]), *moves]
        first_wave = self.moves[-1].wave + 1 if self.moves else 1
        planned = schedule_waves(moves, self._ledger, self._pace, first_wave)
        if planned is None:
            return False
        ends = {uuid for move in planned for uuid in (move.source, move.target) if uuid}
        with self._packing.rerank_hosts(self._problem.find_host_numbers(ends)):
            for move in planned:
                self._record_move(move)
        self.moves += planned
        return True

    def _record_move(self, move: ServerMove) -> None:
        """Record a move in the room and the servers of its hosts; the ledger has it already.

        A shelved server, which has no target, only frees its room.
        """
        if move.target is None:
            self._packing.occupy_host(move.source, move.before, (), -1)
            return
        request = self._cloud.requests[self._kinds[move.server]]
        self._packing.occupy_host(move.source, move.before, request.limits, -1)
        self._packing.occupy_host(move.target, move.after, request.limits)
        shared = requests.find_shared_amounts(self._cloud.snapshot, move.after)
        if shared != request.shared:
            self._kinds[move.server] = self._cloud.find_kind_of_request(
                request._replace(shared=shared)
            )
        del self._on[move.source][move.server]
        moved = ServerMove(move.server, move.target, move.after, {})
        self._on[move.target][move.server] = moved


def can_never_be_empty(cloud: DrainCloud, emptied: Collection[str], effort: float = EFFORT) -> bool:
    """Return True if it is proved that hosts can never be empty, wherever all servers are.

    :param emptied: the UUIDs of the hosts
    :param effort: how long to search beyond best fit, in seconds
    """
    servers = cloud.find_occupants(cloud.hosts).servers
    leaving = [server for server in servers if server.source in set(emptied)]
    lax = [cloud.requests[cloud.find_kind_by_lax_request(server)] for server in leaving]
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
    :param emptied: the UUIDs of the hosts that receive no servers
    :param effort: how long to search beyond best fit, in seconds
    """
    kinds = defaultdict[KindNumber, list[ServerMove]](list)
    for server, request in zip(servers, requested, strict=True):
        kinds[cloud.find_kind_of_request(request._replace(shared=()))].append(server)
    packing = pack_servers(build_problem(cloud, kinds, emptied), effort)
    return packing.bound >= packing.server_count


def _loosen_inventories(cloud: DrainCloud) -> DrainCloud:
    """Return a cloud without servers, in which every provider has all the room it can ever need.

    That is the larger of two amounts: once a server came, Placement has granted all within the free
    amount; until then the provider holds no more than its present allocations, even if these exceed
    its capacity. No limits of units and no disabled hosts count.
    """
    states = []
    for state in cloud.without_servers.snapshot.providers.values():
        inventories = {}
        for name, free in zip(
            sorted(state.inventories), cloud.list_free_amounts(state), strict=True
        ):
            used = state.used(name)
            allocated = cloud.snapshot.providers[state.uuid].used(name) - used
            most = max(state.free(name) if is_sharing(state) else free, allocated)
            inventories[name] = Inventory(used + most, min_unit=0)
        states.append(
            structs.replace(state, inventories=inventories, traits=state.traits - {DISABLED})
        )
    return DrainCloud(Snapshot(states, cloud.without_servers.snapshot.consumers.values()))
