# SPDX-License-Identifier: Apache-2.0
"""The fewest moves of servers after which new servers have room, with a proof.

CP-SAT decides which servers leave their hosts, which hosts they go to, and where the new servers
fit: the fewest moves in any order are a lower bound. Only then an order is searched in which each
server has room on both hosts while it moves.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from placementclient.insight.drain.moves import Pace, ServerMove
from placementclient.insight.drain.room import RoomProblem
from placementclient.insight.drain.room_model import Rearrangement, RoomModel, list_leaving_servers
from placementclient.insight.drain.room_order import OrderedMoves, order_moves
from placementclient.model.snapshots import Snapshot
from placementclient.optimize import cpsat

#: The largest model, in variables.
LARGEST = 200_000
#: How many sets of moves are tried for each number of moves, in search for one with an order.
MOST_ORDERS = 50


class FewestMoves(NamedTuple):
    """The fewest moves after which new servers have room, in any order.

    :param bound: the fewest moves that there can be; ``None`` if no number suffices
    :param solution: ``None`` if none was found
    :param leaving: the servers that leave their hosts in the solution
    """

    bound: int | None
    solution: Rearrangement | None = None
    leaving: Sequence[ServerMove] = ()


class RoomResult(NamedTuple):
    """The moves after which new servers have room, in an order in which each has room.

    :param moves: ``None`` if none were found
    :param bound: the fewest moves that there can be; ``None`` if no number suffices
    """

    moves: Sequence[ServerMove] | None
    bound: int | None


def find_ordered_moves(
    room: RoomProblem, snapshot: Snapshot, pace: Pace, effort: float
) -> RoomResult:
    """Return the fewest moves that make room in some order, and that order.

    :param pace: how many servers move at the same time
    :param effort: how long to search, in seconds
    :raises errors.PlacementError: if OR-tools is not installed
    """
    budget = cpsat.Budget(effort)
    fewest = find_fewest_moves(room, budget)
    if fewest.solution is None or fewest.bound is None:
        return RoomResult(None, fewest.bound)
    # Most solutions have an order.
    ordered = order_moves(room, fewest.solution, snapshot, pace)
    is_relaxed = any(host.emptied.is_relaxed for host in room.hosts)
    if ordered.moves is not None or is_relaxed or len(fewest.leaving) > fewest.bound:
        return RoomResult(ordered.moves, fewest.bound)
    # The bound is proved, but this solution has no order: try the others, then those with more
    # moves. In all of them a server moves once. With servers that move twice, one move more than
    # the fewest may be enough, whatever has no order: the bound is no higher than that.
    for count in range(fewest.bound, sum(len(alike.servers) for alike in room.movable) + 1):
        ordered = _find_ordered_solution(room, count, snapshot, pace, budget)
        if ordered.moves is not None or ordered.is_cut:
            return RoomResult(ordered.moves, min(count, fewest.bound + 1))
    return RoomResult(None, fewest.bound + 1)


def find_fewest_moves(room: RoomProblem, budget: cpsat.Budget) -> FewestMoves:
    """Return the fewest moves after which new servers have room, in any order."""
    options = sum(len(host.emptied.options) for host in room.hosts)
    if len(room.movable) + options > LARGEST:
        return FewestMoves(0)
    least, variables = room.bound_moves(), RoomModel(room)
    variables.model.add(variables.move_count >= least)
    variables.model.minimize(variables.move_count)
    solved = budget.solve(variables.model)
    if not solved.is_feasible:
        return FewestMoves(None if solved.status == 'INFEASIBLE' else least)
    solution = variables.read_solution(solved.solver)
    leaving = [server for _, servers in list_leaving_servers(room, solution) for server in servers]
    bound = ceil(solved.solver.best_objective_bound - 1e-6)
    return FewestMoves(max(least, bound), solution, leaving)


def _find_ordered_solution(
    room: RoomProblem, count: int, snapshot: Snapshot, pace: Pace, budget: cpsat.Budget
) -> OrderedMoves:
    """Return the moves of the first solution, out of those with so many moves, that has an order.

    :param count: the number of moves
    :param pace: how many servers move at the same time
    """
    variables = RoomModel(room)
    variables.model.add(variables.move_count == count)
    for _ in range(MOST_ORDERS):
        solved = budget.solve(variables.model)
        if not solved.is_feasible:
            return OrderedMoves(None, is_cut=solved.status != 'INFEASIBLE')
        solution = variables.read_solution(solved.solver)
        ordered = order_moves(room, solution, snapshot, pace)
        if ordered.moves is not None or ordered.is_cut:
            return ordered
        variables.exclude_solution(solution)
    return OrderedMoves(None, is_cut=True)
