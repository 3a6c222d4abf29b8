# SPDX-License-Identifier: Apache-2.0
"""The model of CP-SAT for servers that move to make room for new ones, in any order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.numbers import HostNumber, HostPiece, KindNumber, RoomIndex
from placementclient.insight.drain.room import AlikeServers, RoomProblem
from placementclient.optimize import cpsat
from placementclient.placing.requests import Pool

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

T = TypeVar('T')


class Rearrangement(NamedTuple):
    """A solution: the numbers of servers that leave their hosts, come to others, and are new.

    :param leaving: by the index of the alike servers in :attr:`RoomProblem.movable`
    :param coming: the moved servers that a host receives, by host and piece
    :param new: the new servers that a host receives, by host and piece
    """

    leaving: Mapping[int, int]
    coming: Mapping[HostPiece, int]
    new: Mapping[HostPiece, int]


class RoomModel:
    """The numbers of servers that leave, come and are new, as the variables of a model of CP-SAT.

    :ivar model: without a limit for the moves and without an objective
    :ivar move_count: the number of servers that leave
    :raises errors.PlacementError: if OR-tools is not installed
    """

    def __init__(self, room: RoomProblem) -> None:
        self._room = room
        self.model = cpsat.load_cp_model(
            'Where new servers have no room, the fewest moves'
        ).CpModel()
        self._leaving = [
            self.model.new_int_var(0, len(alike.servers), '') for alike in room.movable
        ]
        self._coming = self._add_arrivals(room.problem.host_numbers, room.problem.server_counts)
        self._new = self._add_arrivals(sorted(room.chosen), {room.new_kind: room.new_count})
        self.move_count = sum(self._leaving)
        self._limit_taken_amounts()
        self._require_places()

    def _add_arrivals(
        self, hosts: Iterable[HostNumber], counts: Mapping[KindNumber, int]
    ) -> dict[HostPiece, cp_model.IntVar]:
        """Return a new variable for each piece on some hosts: the number of servers that arrive.

        :param counts: the most servers of each kind
        """
        arrivals = {}
        for host in hosts:
            group = self._room.hosts[host].emptied
            for piece in group.options:
                if piece.kind in counts:
                    most = min(counts[piece.kind], group.count_fitting_servers(piece))
                    arrivals[HostPiece(host, piece)] = self.model.new_int_var(0, most, '')
        return arrivals

    def _limit_taken_amounts(self) -> None:
        """Limit what servers take of a host or pool to what is free and what others free."""
        takes = defaultdict[RoomIndex | Pool, list['cp_model.LinearExpr']](list)
        frees = defaultdict[RoomIndex | Pool, list['cp_model.LinearExpr']](list)
        for arrival, count in (*self._coming.items(), *self._new.items()):
            for room, amount in self._room.list_amounts(*arrival):
                takes[room].append(amount * count)
        for alike, count in zip(self._room.movable, self._leaving, strict=True):
            for at, amount in alike.local:
                frees[RoomIndex(alike.host, at)].append(amount * count)
            for pool, amount in alike.shared:
                frees[pool].append(amount * count)
        for room, terms in takes.items():
            free = self._room.find_free_amount(room)
            limit = self.model.add(sum(terms) <= free + sum(frees[room]))
            if free < 0:
                # More is used than there is: that may stay so, if nothing comes.
                is_used = self.model.new_bool_var('')
                limit.only_enforce_if(is_used)
                self.model.add(sum(terms) == 0).only_enforce_if(~is_used)

    def _require_places(self) -> None:
        """Require that all new servers have a place, and each that leaves, unless it needs none."""
        leaving = defaultdict[KindNumber, list['cp_model.IntVar']](list)
        coming = defaultdict[KindNumber, list['cp_model.IntVar']](list)
        for alike, count in zip(self._room.movable, self._leaving, strict=True):
            if alike.kind is not None:
                leaving[alike.kind].append(count)
        for arrival, count in self._coming.items():
            coming[arrival.piece.kind].append(count)
        for kind in dict.fromkeys((*leaving, *coming)):
            self.model.add(sum(coming[kind]) == sum(leaving[kind]))
        self.model.add(sum(self._new.values()) == self._room.new_count)

    def read_solution(self, solver: cp_model.CpSolver) -> Rearrangement:
        """Return how many servers leave, come and are new in a solution, without zeros."""

        def read_positive(variables: Mapping[T, cp_model.IntVar]) -> dict[T, int]:
            values = {key: int(solver.value(variable)) for key, variable in variables.items()}
            return {key: value for key, value in values.items() if value}

        leaving = dict(enumerate(self._leaving))
        return Rearrangement(
            read_positive(leaving), read_positive(self._coming), read_positive(self._new)
        )

    def exclude_solution(self, change: Rearrangement) -> None:
        """Exclude a solution, so that the next one has other moves."""
        counts = [(self._leaving[index], count) for index, count in change.leaving.items()]
        counts += [(self._coming[arrival], count) for arrival, count in change.coming.items()]
        is_fewer = []
        for variable, count in counts:
            is_fewer.append(self.model.new_bool_var(''))
            self.model.add(variable < count).only_enforce_if(is_fewer[-1])
        self.model.add_bool_or(is_fewer)


def list_leaving_servers(
    room: RoomProblem, change: Rearrangement
) -> Iterator[tuple[AlikeServers, Sequence[ServerMove]]]:
    """Yield the servers that leave their hosts in a solution, equal ones of a host together."""
    for index, count in change.leaving.items():
        yield room.movable[index], room.movable[index].servers[:count]
