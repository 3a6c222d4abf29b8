# SPDX-License-Identifier: Apache-2.0
"""The order of moves that make room: each has room on both hosts while it is under way."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from placementclient.insight.drain.moves import Ledger, Pace, ServerMove, schedule_waves
from placementclient.insight.drain.numbers import HostPiece, KindNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.room import RoomProblem
from placementclient.insight.drain.room_model import Rearrangement, list_leaving_servers
from placementclient.model.consumers import Allocations
from placementclient.model.snapshots import Snapshot

#: How many moves are tried in search for an order of one set of moves.
MOST_STEPS = 2_000


class OrderedMoves(NamedTuple):
    """The moves of a solution in an order in which each has room.

    :param moves: ``None`` if none was found
    :param is_cut: whether the search ended before it had tried all orders
    """

    moves: list[ServerMove] | None
    is_cut: bool = False


def order_moves(
    room: RoomProblem, change: Rearrangement, snapshot: Snapshot, pace: Pace
) -> OrderedMoves:
    """Return the moves of a solution in waves, or one by one, so that each has room when it begins.

    :param change: the solution
    :param pace: how many servers move at the same time
    """
    pieces = change.coming.keys() | change.new.keys()
    if not all(room.hosts[host].emptied.options[piece].places for host, piece in pieces):
        # There are too many options to tell which one it is.
        return OrderedMoves(None)
    search = _OrderSearch(room, change)
    moves = search.find_order()
    if moves is None:
        return OrderedMoves(None, is_cut=search.steps_left < 0)
    new = [
        room.build_allocations(*arrival)
        for arrival, count in change.new.items()
        for _ in range(count)
    ]
    return OrderedMoves(
        _schedule_move_groups([moves], new, Ledger(snapshot), pace)
        or _schedule_move_groups([[move] for move in moves], new, Ledger(snapshot), pace)
    )


def _schedule_move_groups(
    groups: Sequence[Sequence[ServerMove]], new: Sequence[Allocations], ledger: Ledger, pace: Pace
) -> list[ServerMove] | None:
    """Return groups of moves one after the other, each in waves; ``None`` if that is impossible.

    :param new: the allocations of the new servers, which need room after the moves
    :param pace: how many servers move at the same time
    """
    planned = list[ServerMove]()
    for group in groups:
        waves = schedule_waves(group, ledger, pace, planned[-1].wave + 1 if planned else 1)
        if waves is None:
            return None
        planned += waves
    for allocations in new:
        if not ledger.can_allocate(allocations):
            return None
        ledger.add_allocations(allocations)
    return planned


class _OrderSearch:
    """Searches for an order of the moves of a solution in which each has room when it begins.

    :ivar steps_left: how many moves may still be tried; below 0 there may be an order
    """

    def __init__(self, room: RoomProblem, change: Rearrangement) -> None:
        self._room, self._change, self.steps_left = room, change, MOST_STEPS
        self._packing = Packing(room.problem)
        #: The servers that wait for their moves, by the number of their kind.
        self._waiting = defaultdict[KindNumber, list[ServerMove]](list)

    def find_order(self) -> list[ServerMove] | None:
        """Return the moves in an order in which each has room; ``None`` if none was found."""
        moves = list[ServerMove]()
        for alike, servers in list_leaving_servers(self._room, self._change):
            if alike.kind is None:
                moves += servers
            else:
                self._waiting[alike.kind] += servers
        # Servers that need no other place free room at once.
        for server in moves:
            self._packing.occupy_host(server.source, server.before, (), -1)
        others = self._order_arrivals(Counter(self._change.coming))
        return None if others is None else moves + others

    def _order_arrivals(self, coming: Counter[HostPiece]) -> list[ServerMove] | None:
        """Return moves that fill free places, each with room when it begins; ``None``: none found.

        :param coming: the number of servers still to come, by host and piece
        """
        if not coming:
            return []
        hosts = self._room.problem.hosts
        wanted = Counter({hosts[host].uuid: count for (host, _), count in coming.items()})
        for arrival in [key for key in coming if self._room.has_room(self._packing, *key)]:
            target, kind = hosts[arrival.host].uuid, arrival.piece.kind
            after, waiting = self._room.build_allocations(*arrival), self._waiting[kind]
            later = +(coming - Counter([arrival]))
            sources = {server.source: server for server in waiting if server.source != target}
            # First those off hosts to which others want to come.
            for server in sorted(sources.values(), key=lambda server: -wanted[server.source]):
                self.steps_left -= 1
                if self.steps_left < 0:
                    return None
                move = server._replace(target=target, after=after)
                self._move_server(move, kind)
                waiting.remove(server)
                rest = self._order_arrivals(later)
                if rest is not None:
                    return [move, *rest]
                self._move_server(move, kind, -1)
                waiting.append(server)
        return None

    def _move_server(self, move: ServerMove, kind: KindNumber, sign: int = 1) -> None:
        """Take the room of a move on its target and free that on its source; -1: undo this."""
        groups = self._room.find_server_groups(kind)
        if move.target is not None:
            self._packing.occupy_host(move.target, move.after, groups, sign)
        self._packing.occupy_host(move.source, move.before, groups, -sign)
