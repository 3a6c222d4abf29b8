# SPDX-License-Identifier: Apache-2.0
"""Room for new servers of a flavor: the fewest moves that make it, or the proof that none do."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.insight.drain.cloud import DrainCloud, Occupants
from placementclient.insight.drain.departures import MoveState
from placementclient.insight.drain.moves import PACE, Pace, ServerMove
from placementclient.insight.drain.plan import DrainVerdict
from placementclient.insight.drain.problem import ServersByKind, build_problem, group_by_kind
from placementclient.insight.drain.proof import EFFORT, pack_servers
from placementclient.insight.drain.room import RoomProblem
from placementclient.insight.drain.room_search import (
    FewestMoves,
    RoomResult,
    find_fewest_moves,
    find_ordered_moves,
)
from placementclient.model.consumers import sum_resources
from placementclient.model.findings import Finding
from placementclient.optimize import cpsat
from placementclient.placing.requests import Request


class NewServers(NamedTuple):
    """New servers of one flavor."""

    flavor: str
    request: Request
    server_count: int


@dataclass(frozen=True, slots=True)
class RoomDecision:
    """The moves after which new servers have room.

    :param fitting_now: how many of them have room without any move
    :param bound: the fewest moves that there can be
    :param leaving: the servers that have to leave, if the verdict depends on their requests
    :param unsettled: the findings about those of them that cannot move
    """

    verdict: DrainVerdict
    fitting_now: int
    moves: Sequence[ServerMove] = ()
    bound: int = 0
    leaving: Sequence[ServerMove] = ()
    unsettled: Sequence[Finding] = ()


def decide_room(
    cloud: DrainCloud,
    chosen: Collection[str],
    new: NewServers,
    pace: Pace = PACE,
    effort: float = EFFORT,
    *,
    is_certain: bool = False,
) -> RoomDecision:
    """Decide after which moves new servers have room on some hosts.

    :param is_certain: whether the servers ask for no less than the strict requests
    :param chosen: the UUIDs of the hosts
    :param pace: how many servers move at the same time
    :param effort: how long to search for what the packing by best fit does not find, in seconds
    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    kind, others = cloud.find_kind_of_request(new.request), set(cloud.hosts).difference(chosen)
    servers = [ServerMove('', '', {}, {})] * new.server_count
    packing = pack_servers(build_problem(cloud, {kind: servers}, others), effort)
    if packing.is_complete:
        return RoomDecision(DrainVerdict.YES, packing.placed_count)
    occupants = cloud.find_occupants(cloud.hosts)
    if not _are_free_amounts_enough(cloud, new, occupants.offloaded):
        return RoomDecision(DrainVerdict.NO, packing.placed_count)

    def build_room_problem(kinds: ServersByKind) -> RoomProblem:
        problem = build_problem(cloud, {kind: (), **kinds}, ())
        return RoomProblem(problem, kind, new.server_count, chosen, occupants.offloaded)

    # Of alike servers, those come first that Nova moves live.
    states = {s.server: cloud.find_departure(s.server).state for s in occupants.servers}
    servers = sorted(occupants.servers, key=lambda s: states[s.server] is MoveState.COLD)
    movable = (s for s in servers if states[s.server] is not MoveState.CANNOT_MOVE)
    kinds = group_by_kind(movable, cloud.find_kind_by_strict_request)
    strict = find_ordered_moves(build_room_problem(kinds), cloud.snapshot, pace, effort)
    lax = FewestMoves(strict.bound)
    least = group_by_kind(servers, cloud.find_kind_by_lax_request)
    if not is_certain and least != kinds and (strict.bound is None or strict.bound > 1):
        lax = find_fewest_moves(build_room_problem(least), cpsat.Budget(effort))
    return _combine_strict_and_lax(cloud, packing.placed_count, occupants, strict, lax)


def _are_free_amounts_enough(
    cloud: DrainCloud, new: NewServers, offloaded: Iterable[ServerMove]
) -> bool:
    """Return True if the free amounts of all providers together are enough for new servers."""
    free = sum_resources(part for server in offloaded for part in server.before.values())
    for state in cloud.snapshot.providers.values():
        for name in state.inventories:
            free[name] += max(0, state.free(name))
    return all(free[name] >= new.server_count * n for name, n in new.request.totals.items())


def _combine_strict_and_lax(
    cloud: DrainCloud, fitting_now: int, occupants: Occupants, strict: RoomResult, lax: FewestMoves
) -> RoomDecision:
    """Return the decision from the moves for strict requests and those for lax requests.

    :param fitting_now: how many new servers have room without any move
    """
    if lax.bound is None:
        return RoomDecision(DrainVerdict.NO, fitting_now)
    bound = max(1, lax.bound)
    if strict.bound is None:
        stuck = {
            server.server
            for server in lax.leaving
            if cloud.find_departure(server.server).state is MoveState.CANNOT_MOVE
        }
        unsettled = [finding for finding in occupants.unsettled if finding.subject in stuck]
        return RoomDecision(DrainVerdict.DEPENDS, fitting_now, (), bound, lax.leaving, unsettled)
    if strict.moves is None:
        return RoomDecision(DrainVerdict.UNDETERMINED, fitting_now, (), bound)
    is_fewest = len(strict.moves) == strict.bound
    verdict = DrainVerdict.YES if is_fewest else DrainVerdict.UNDETERMINED
    return RoomDecision(verdict, fitting_now, strict.moves, bound)
