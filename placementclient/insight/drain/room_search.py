# SPDX-License-Identifier: Apache-2.0
"""The fewest moves of servers after which new servers have room, with a proof.

CP-SAT decides which servers leave their hosts, which hosts they go to, and where the new servers
fit. Only then an order is searched in which each server has room on both hosts while it moves: the
fewest moves without an order in mind are a lower bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from placementclient.insight.drain.moves import Ledger, Pace, ServerMove, schedule_waves
from placementclient.insight.drain.numbers import HostNumber, HostPiece, HostRoom, KindNumber, Piece
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.room import AlikeServers, RoomProblem
from placementclient.model.consumers import Allocations
from placementclient.model.snapshots import Snapshot
from placementclient.optimize import cpsat
from placementclient.placing.requests import Pool

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

T = TypeVar('T')

#: The largest model, in variables.
LARGEST = 200_000
#: How many sets of moves are tried for each number of moves, in search for one with an order.
MOST_ORDERS = 50
#: How many moves are tried in search for an order of one set of moves.
MOST_STEPS = 2_000


class Rearrangement(NamedTuple):
    """Servers that leave, and the numbers of servers that come to hosts, and of new ones.

    The keys are the numbers of a resident, and of a host with a piece of it.
    """

    leaving: Mapping[int, int]
    coming: Mapping[HostPiece, int]
    new: Mapping[HostPiece, int]


class RoomResult(NamedTuple):
    """The moves after which the new servers have room.

    :param moves: ``None`` if none were found
    :param bound: the fewest moves that there can be; ``None`` if no number suffices
    :param leaving: the servers that leave their hosts without an order in mind
    """

    moves: Sequence[ServerMove] | None
    bound: int | None
    leaving: Sequence[ServerMove] = ()


class RoomSearch:
    """Searches for the fewest moves after which new servers have room."""

    def __init__(self, room: RoomProblem) -> None:
        self._room = room
        #: How many moves may still be tried in search for an order; below 0 there may be one.
        self._steps = MOST_STEPS
        self._model: cp_model.CpModel
        self._leave: list[cp_model.IntVar] = []
        self._come: dict[HostPiece, cp_model.IntVar] = {}
        self._add: dict[HostPiece, cp_model.IntVar] = {}

    def search(self, snapshot: Snapshot, pace: Pace, effort: float) -> RoomResult:
        """Return the fewest moves that have an order.

        :raises errors.PlacementError: if OR-tools is not installed
        """
        budget = cpsat.Budget(effort)
        result, change = self._find_fewest_moves(budget)
        if change is None or result.bound is None:
            return result
        if (moves := self._plan_moves(change, snapshot, pace)) is not None:
            return result._replace(moves=moves)
        fewest, most = result.bound, sum(len(resident.servers) for resident in self._room.residents)
        is_relaxed = any(host.emptied.is_relaxed for host in self._room.hosts)
        if is_relaxed or len(result.leaving) > fewest:
            return result
        for number in range(fewest, most + 1):
            moves, is_done = self._find_ordered_moves(number, snapshot, pace, budget)
            # Servers that move more than once may need no more than one move more.
            bound = min(number, fewest + 1)
            if moves is not None or not is_done:
                return result._replace(moves=moves, bound=bound)
        return result._replace(bound=fewest + 1)

    def find_fewest_moves(self, effort: float) -> RoomResult:
        """Return the fewest moves, whatever their order."""
        return self._find_fewest_moves(cpsat.Budget(effort))[0]

    def _find_fewest_moves(self, budget: cpsat.Budget) -> tuple[RoomResult, Rearrangement | None]:
        """Return the fewest moves whatever their order, and the solution of the model."""
        options = sum(len(host.emptied.options) for host in self._room.hosts)
        size = len(self._room.residents) + options
        if size > LARGEST:
            return RoomResult(None, 0), None
        least = self._room.count_fewest_moves()
        self._build_model()
        self._model.add(sum(self._leave) >= least)
        self._model.minimize(sum(self._leave))
        solved = budget.solve(self._model)
        if not solved.is_feasible:
            return RoomResult(None, None if solved.status == 'INFEASIBLE' else least), None
        change = self._read_solution(solved.solver)
        leaving = [server for _, server in self._list_leaving(change)]
        bound = ceil(solved.solver.best_objective_bound - 1e-6)
        return RoomResult(None, max(least, bound), leaving), change

    def _find_ordered_moves(
        self, number: int, snapshot: Snapshot, pace: Pace, budget: cpsat.Budget
    ) -> tuple[list[ServerMove] | None, bool]:
        """Return so many moves that have an order; without any, whether that is proved."""
        self._build_model()
        self._model.add(sum(self._leave) == number)
        for _ in range(MOST_ORDERS):
            solved = budget.solve(self._model)
            if not solved.is_feasible:
                return None, solved.status == 'INFEASIBLE'
            change = self._read_solution(solved.solver)
            if (moves := self._plan_moves(change, snapshot, pace)) is not None:
                return moves, True
            if self._steps < 0:
                break
            self._exclude_solution(change)
        return None, False

    def _build_model(self) -> None:
        """Build the model of CP-SAT: servers that leave, come, and are new."""
        reason = 'Where new servers have no room, the fewest moves'
        self._model = model = cpsat.load(reason).CpModel()
        takes: dict[HostRoom | Pool, list[cp_model.LinearExpr]] = defaultdict(list)
        frees: dict[HostRoom | Pool, list[cp_model.LinearExpr]] = defaultdict(list)
        by_kind: dict[KindNumber, list[cp_model.LinearExpr]] = defaultdict(list)
        self._leave, self._come, self._add = [], {}, {}
        for resident in self._room.residents:
            leave = model.new_int_var(0, len(resident.servers), '')
            self._leave.append(leave)
            for at, amount in resident.local:
                frees[HostRoom(resident.host, at)].append(amount * leave)
            for pool, amount in resident.shared:
                frees[pool].append(amount * leave)
            if resident.kind is not None:
                by_kind[resident.kind].append(-leave)
        for number, piece, variable in self._list_arrivals():
            for key, amount in self._room.list_needs(number, piece):
                takes[key].append(amount * variable)
        for arrival, variable in self._come.items():
            by_kind[arrival.piece.kind].append(variable)
        for terms in by_kind.values():
            model.add(sum(terms) == 0)
        for key, terms in takes.items():
            self._limit_amounts(self._room.find_free(key), terms, frees[key])
        model.add(sum(self._add.values()) == self._room.number)

    def _list_arrivals(self) -> Iterator[tuple[HostNumber, Piece, cp_model.IntVar]]:
        """Yield the number of servers of each piece that come to each host, and of new ones."""
        problem, model = self._room.problem, self._model
        for number in problem.host_numbers:
            group = self._room.hosts[number].emptied
            for piece in group.options:
                if piece.kind in problem.servers:
                    most = min(problem.counts[piece.kind], group.count_fitting_servers(piece))
                    self._come[HostPiece(number, piece)] = model.new_int_var(0, most, '')
                    yield number, piece, self._come[HostPiece(number, piece)]
                if piece.kind == self._room.new and number in self._room.chosen:
                    most = min(self._room.number, group.count_fitting_servers(piece))
                    self._add[HostPiece(number, piece)] = model.new_int_var(0, most, '')
                    yield number, piece, self._add[HostPiece(number, piece)]

    def _limit_amounts(
        self, free: int, takes: Sequence[cp_model.LinearExpr], frees: Sequence[cp_model.LinearExpr]
    ) -> None:
        """Limit the amounts that servers take to the free amounts and those that others free."""
        if free >= 0:
            self._model.add(sum(takes) <= free + sum(frees))
            return
        # More is used than there is: that may stay so, if nothing comes.
        is_used = self._model.new_bool_var('')
        self._model.add(sum(takes) <= free + sum(frees)).only_enforce_if(is_used)
        self._model.add(sum(takes) == 0).only_enforce_if(~is_used)

    def _read_solution(self, solver: cp_model.CpSolver) -> Rearrangement:
        """Return how many servers leave, come and are new in the solution, without zeros."""

        def positive(variables: Mapping[T, cp_model.IntVar]) -> dict[T, int]:
            values = {key: int(solver.value(variable)) for key, variable in variables.items()}
            return {key: value for key, value in values.items() if value}

        return Rearrangement(
            positive(dict(enumerate(self._leave))), positive(self._come), positive(self._add)
        )

    def _exclude_solution(self, change: Rearrangement) -> None:
        """Exclude a solution, so that the next one has other moves."""
        fewer = []
        pairs = [(self._leave[number], n) for number, n in change.leaving.items()]
        for variable, n in (*pairs, *((self._come[key], n) for key, n in change.coming.items())):
            fewer.append(self._model.new_bool_var(''))
            self._model.add(variable < n).only_enforce_if(fewer[-1])
        self._model.add_bool_or(fewer)

    def _list_leaving(self, change: Rearrangement) -> Iterator[tuple[AlikeServers, ServerMove]]:
        """Yield the servers that leave, each with its resident."""
        for number, n in change.leaving.items():
            for server in self._room.residents[number].servers[:n]:
                yield self._room.residents[number], server

    def _plan_moves(
        self, change: Rearrangement, snapshot: Snapshot, pace: Pace
    ) -> list[ServerMove] | None:
        """Return the moves of a solution in waves, or one by one; ``None`` if there is no order."""
        pieces = change.coming.keys() | change.new.keys()
        if not all(self._room.hosts[host].emptied.options[piece].places for host, piece in pieces):
            # There are too many options to tell which one it is.
            return None
        moves = self._order_moves(change)
        if moves is None:
            return None
        new = [(self._room.build_allocations(*key), n) for key, n in change.new.items()]
        for groups in ([moves], [[move] for move in moves]):
            ledger, planned = Ledger(snapshot), list[ServerMove]()
            for group in groups:
                first = planned[-1].wave + 1 if planned else 1
                planned += schedule_waves(group, ledger, pace, first) or ()
            if len(planned) == len(moves) and all(
                _add_if_admitted(ledger, allocations) for allocations, n in new for _ in range(n)
            ):
                return planned
        return None

    def _order_moves(self, change: Rearrangement) -> list[ServerMove] | None:
        """Return the moves of a solution so that each has room when it begins."""
        packing, waiting = (
            Packing(self._room.problem),
            defaultdict[KindNumber, list[ServerMove]](list),
        )
        moves, self._steps = list[ServerMove](), MOST_STEPS
        for resident, server in self._list_leaving(change):
            if resident.kind is not None:
                waiting[resident.kind].append(server)
                continue
            moves.append(server)
            packing.occupy_host(server.source, server.before, (), -1)
        moving = self._arrange_moves(packing, Counter(change.coming), waiting)
        return None if moving is None else [*moves, *moving]

    def _arrange_moves(
        self,
        packing: Packing,
        coming: Counter[HostPiece],
        waiting: Mapping[KindNumber, list[ServerMove]],
    ) -> list[ServerMove] | None:
        """Return the moves to come, in order; ``None`` without one, or after too many steps."""
        if not coming:
            return []
        hosts = self._room.problem.hosts
        targets = Counter({hosts[host].uuid: n for (host, _), n in coming.items()})
        for arrival in [key for key in coming if self._room.has_room(packing, *key)]:
            target, kind = hosts[arrival.host].uuid, arrival.piece.kind
            after, groups = self._room.build_allocations(*arrival), self._room.find_groups(kind)
            later = +(coming - Counter([arrival]))
            sources = {server.source: server for server in waiting[kind] if server.source != target}
            # First those off hosts to which others want to come.
            for server in sorted(sources.values(), key=lambda server: -targets[server.source]):
                self._steps -= 1
                if self._steps < 0:
                    return None
                packing.occupy_host(target, after, groups)
                packing.occupy_host(server.source, server.before, groups, -1)
                waiting[kind].remove(server)
                moves = self._arrange_moves(packing, later, waiting)
                if moves is not None:
                    return [server._replace(target=target, after=after), *moves]
                packing.occupy_host(target, after, groups, -1)
                packing.occupy_host(server.source, server.before, groups)
                waiting[kind].append(server)
        return None


def _add_if_admitted(ledger: Ledger, allocations: Allocations) -> bool:
    """Add allocations to a ledger if Placement would accept them; return True if so."""
    is_admitted = ledger.admits(allocations)
    if is_admitted:
        ledger.add(allocations)
    return is_admitted
