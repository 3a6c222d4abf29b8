# SPDX-License-Identifier: Apache-2.0
"""Servers that may move to make room for new servers, and what each host may take."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from placementclient.insight.drain.groups import AlikeHosts, add_options
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.numbers import HostNumber, KindNumber, Piece, RoomIndex
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import PackingProblem
from placementclient.model.consumers import Allocations
from placementclient.placing.requests import Pool

#: Up to how many servers that leave a host are counted.
MOST_LEAVING = 4


class AlikeServers(NamedTuple):
    """Servers of one kind on one host that hold the same amounts.

    :param kind: ``None`` if they can leave without another place
    :param local: what each takes of the room of the host, as pairs of the index and the amount
    :param shared: the amounts that each takes of sharing providers
    :param host: the one they are on
    """

    host: HostNumber
    kind: KindNumber | None
    local: tuple[tuple[int, int], ...]
    shared: tuple[tuple[Pool, int], ...]
    servers: tuple[ServerMove, ...] = ()


class RoomHost(NamedTuple):
    """A host whose servers may move.

    :param emptied: the host once all servers that may move have left, with the options of each kind
    :param room: its present free amounts, then the further servers that each server group allows
    """

    emptied: AlikeHosts
    room: Sequence[int]


class RoomProblem:
    """Servers that may move to make room, and new servers of one kind.

    :param problem: has the servers that may move, and all hosts
    :param chosen: the UUIDs of the hosts that may receive new servers
    :param offloaded: servers that can leave without another place
    :ivar movable: the servers that may move and find room on another host
    :param new_kind: the kind of the new servers
    """

    def __init__(
        self,
        problem: PackingProblem,
        new_kind: KindNumber,
        new_count: int,
        chosen: Collection[str],
        offloaded: Iterable[ServerMove],
    ) -> None:
        self.problem, self.new_kind, self.new_count = problem, new_kind, new_count
        self.chosen = set(problem.find_host_numbers(chosen))
        #: The server groups, which have places behind the rooms of a host.
        kinds = problem.servers.keys() | {new_kind}
        self._names = sorted({name for kind in kinds for name in problem.requests[kind].limits})
        may_move = list(self._group_alike_servers(offloaded))
        self.hosts = list(self._build_room_hosts(may_move))
        # Other servers only make the model larger.
        self.movable = list(self._find_movable_servers(may_move))

    def _group_alike_servers(self, offloaded: Iterable[ServerMove]) -> Iterator[AlikeServers]:
        """Yield the servers that may move, equal ones of a host together."""
        problem = self.problem
        groups = defaultdict[AlikeServers, list[ServerMove]](list)
        loads: list[tuple[KindNumber | None, Iterable[ServerMove]]] = [*problem.servers.items()]
        for kind, servers in (*loads, (None, offloaded)):
            limits = self.find_server_groups(kind)
            for server in servers:
                for host in problem.find_host_numbers([server.source]):
                    width = problem.shapes[problem.hosts[host].shape].width
                    places = tuple((width + self._names.index(name), 1) for name in limits)
                    local = *sorted(problem.list_local_amounts(host, server.before)), *places
                    shared = tuple(sorted(problem.list_shared_amounts(server.before)))
                    groups[AlikeServers(host, kind, local, shared)].append(server)
        for alike, servers in groups.items():
            yield alike._replace(servers=tuple(servers))

    def bound_moves(self) -> int:
        """Return a lower bound for the number of moves that make room for the new servers."""
        # The fewest moves off the hosts so far, by the new servers that they make room for.
        fewest, by_host = {0: 0}, _group_by_host(self.movable)
        for host in self.chosen:
            steps, before = (0, *self._bound_leaving_by_arrivals(host, by_host[host])), fewest
            fewest = {}
            for placed, moves in before.items():
                for more, leaving in enumerate(steps):
                    total = min(placed + more, self.new_count)
                    fewest[total] = min(fewest.get(total, moves + leaving), moves + leaving)
        return fewest.get(self.new_count, 0)

    def _bound_leaving_by_arrivals(
        self, host: HostNumber, on_host: Iterable[AlikeServers]
    ) -> list[int]:
        """Return how many servers at least leave a host before one new server fits, two, and so on.

        The list ends where no number is enough. The numbers are lower bounds: where the servers go
        does not count.

        :param on_host: the servers on the host that may move
        """
        group, room = self.hosts[host]
        fit = self.problem.find_shape_fit(self.new_kind, group.shape)
        pooled = self.problem.shapes[group.shape].pooled_totals
        needs = [(at, n) for at, n in fit.fixed.items() if at not in pooled] if fit else []
        frees: list[tuple[int, ...]] = []
        for alike in on_host:
            local = dict(alike.local)
            frees += [tuple(local.get(at, 0) for at, _ in needs)] * len(alike.servers)
        frees.sort(reverse=True)
        counts: list[int] = []
        for new in range(1, self.new_count + 1):
            lacking = tuple(max(0, new * n - room[at]) for at, n in needs)
            fewest = _bound_leaving_servers(lacking, frees)
            if fewest is None:
                break
            counts.append(fewest)
        return counts

    def find_server_groups(self, kind: KindNumber | None) -> Sequence[str]:
        """Return the anti-affinity groups of a kind of servers.

        :param kind: its number; ``None``: no kind, and so no groups
        """
        return () if kind is None else self.problem.requests[kind].limits

    def _build_room_hosts(self, may_move: Iterable[AlikeServers]) -> Iterator[RoomHost]:
        """Yield each host, with the options on it once all servers that may move have left it."""
        problem, by_host = self.problem, _group_by_host(may_move)
        pools = Counter(problem.pools)
        for alike in may_move:
            pools.update({pool: n * len(alike.servers) for pool, n in alike.shared})
        emptied = replace(problem, pools=pools)
        for number in problem.host_numbers:
            host = problem.hosts[number]
            limits = (problem.limits[name] - host.members.get(name, 0) for name in self._names)
            room = [*host.room, *limits]
            most = list(room)
            for alike in by_host[number]:
                for at, amount in alike.local:
                    most[at] += amount * len(alike.servers)
            group = AlikeHosts(host.shape, tuple(max(0, free) for free in most), [number])
            width = problem.shapes[host.shape].width
            places = {name: width + at for at, name in enumerate(self._names)}
            for kind in problem.servers.keys() | {self.new_kind}:
                if (fit := problem.find_shape_fit(kind, host.shape)) is not None:
                    add_options(emptied, group, kind, fit, places)
            yield RoomHost(group, room)

    def _find_movable_servers(self, may_move: Sequence[AlikeServers]) -> Iterator[AlikeServers]:
        """Yield the servers that find room on another host, now or once others have moved."""
        packing, waiting = Packing(self.problem), may_move
        while waiting:
            targets = defaultdict[KindNumber | None, set[HostNumber]](set)
            for host in self.problem.host_numbers:
                for piece in self.hosts[host].emptied.options:
                    if self.has_room(packing, host, piece):
                        targets[piece.kind].add(host)
            movable, others = list[AlikeServers](), list[AlikeServers]()
            for alike in waiting:
                can_move = alike.kind is None or targets[alike.kind] - {alike.host}
                (movable if can_move else others).append(alike)
            yield from movable
            for alike in movable:
                for server in alike.servers:
                    groups = self.find_server_groups(alike.kind)
                    packing.occupy_host(server.source, server.before, groups, -1)
            waiting = others if movable else []

    def list_amounts(
        self, host: HostNumber, piece: Piece
    ) -> Iterator[tuple[RoomIndex | Pool, int]]:
        """Yield the amounts that a server of a piece takes of its host and of sharing providers."""
        group = self.hosts[host].emptied
        pooled = self.problem.shapes[group.shape].pooled_totals
        yield from ((RoomIndex(host, at), n) for at, n in group.needs[piece] if at not in pooled)
        yield from self.list_shared_amounts(host, piece)

    def find_free_amount(self, place: RoomIndex | Pool) -> int:
        """Return the free amount of a class of a host's provider, or of a sharing provider."""
        if isinstance(place, RoomIndex):
            return self.hosts[place.host].room[place.at]
        return self.problem.pools[place]

    def build_allocations(self, host: HostNumber, piece: Piece) -> Allocations:
        """Return the allocations of a server as a piece on a host."""
        option = self.hosts[host].emptied.options[piece]
        return self.problem.hosts[host].build_allocations(self.problem.requests[piece.kind], option)

    def list_shared_amounts(self, host: HostNumber, piece: Piece) -> Sequence[tuple[Pool, int]]:
        """Return the amounts that a piece on a host takes of sharing providers."""
        # Amounts alone do not say which provider they are from.
        has_places = bool(self.hosts[host].emptied.options[piece].places)
        return (
            self.problem.list_shared_amounts(self.build_allocations(host, piece))
            if has_places
            else ()
        )

    def has_room(self, packing: Packing, host: HostNumber, piece: Piece) -> bool:
        """Return True if a host has room for a piece beside the servers that have not left.

        :param packing: has the present room of all hosts
        """
        members, room = packing.members[host], packing.room[host]
        return (
            all(room[at] >= n for at, n in self._list_local_amounts(host, piece))
            and all(packing.pools[pool] >= n for pool, n in self.list_shared_amounts(host, piece))
            and all(
                members[name] < self.problem.limits[name]
                for name in self.find_server_groups(piece.kind)
            )
        )

    def _list_local_amounts(self, host: HostNumber, piece: Piece) -> Iterator[tuple[int, int]]:
        """Yield the amounts that a piece takes of a host itself, by index into its room."""
        group = self.hosts[host].emptied
        pooled = self.problem.shapes[group.shape].pooled_totals
        return ((at, n) for at, n in group.options[piece].local if at not in pooled)


def _group_by_host(
    servers: Iterable[AlikeServers],
) -> Mapping[HostNumber, Sequence[AlikeServers]]:
    by_host = defaultdict[HostNumber, list[AlikeServers]](list)
    for alike in servers:
        by_host[alike.host].append(alike)
    return by_host


def _bound_leaving_servers(
    lacking: tuple[int, ...], frees: Sequence[tuple[int, ...]]
) -> int | None:
    """Return a lower bound for the number of servers that have to leave to free some amounts.

    :param lacking: the amount to free at each index
    :param frees: of each server, the amount that it frees at each index
    :return: ``None`` if even all servers free too little
    """
    least = _bound_by_single_amounts(lacking, frees)
    if least is None:
        return None
    level = {(lacking, 0)}
    for number in range(min(len(frees), MOST_LEAVING) + 1):
        if any(not any(left) for left, _ in level):
            return number
        level = {
            (tuple(max(0, n - freed) for n, freed in zip(left, frees[at], strict=True)), at + 1)
            for left, first in level
            for at in range(first, len(frees))
            if at == first or frees[at] != frees[at - 1]
        }
    return max(MOST_LEAVING + 1, least)


def _bound_by_single_amounts(
    lacking: tuple[int, ...], frees: Sequence[tuple[int, ...]]
) -> int | None:
    """Return a lower bound for the number of servers that leave: the most that one amount needs.

    ``None`` if even all servers free too little. :func:`_bound_leaving_servers` is more exact.
    """
    least = 0
    for at, needed in enumerate(lacking):
        amounts = sorted((freed[at] for freed in frees), reverse=True)
        totals = list(accumulate(amounts, initial=0))
        if totals[-1] < needed:
            return None
        least = max(least, next(n for n, total in enumerate(totals) if total >= needed))
    return least
