# SPDX-License-Identifier: Apache-2.0
"""Servers that may move to make room for new servers, and what each host may take."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from placementclient.insight.drain.groups import HostGroup, add_options
from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.numbers import HostNumber, HostRoom, KindNumber, Piece
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import Problem
from placementclient.model.consumers import Allocations
from placementclient.placing.requests import Pool

#: Up to how many servers that leave a host are counted.
MOST_LEAVING = 4


class AlikeServers(NamedTuple):
    """Servers that are alike on one host, by its number.

    :param kind: the number of their request; ``None`` if they can leave without another place
    :param local: the amounts that each takes of the rooms of the host
    """

    host: HostNumber
    kind: KindNumber | None
    local: tuple[tuple[int, int], ...]
    shared: tuple[tuple[Pool, int], ...]
    servers: tuple[ServerMove, ...] = ()


class RoomHost(NamedTuple):
    """A host of servers that may move.

    :param emptied: the host once all of these have left, with the options of each kind
    :param room: its present free amounts, then the servers that each server group allows
    """

    emptied: HostGroup
    room: Sequence[int]


class RoomProblem:
    """Servers that may move, and new servers of one kind.

    :param problem: with the servers that may move
    :param new: the number of the request of the new servers
    :param number: how many there are
    :param chosen: the hosts that may receive them
    :param offloaded: servers that can leave without another place
    """

    def __init__(
        self,
        problem: Problem,
        new: KindNumber,
        number: int,
        chosen: Collection[str],
        offloaded: Iterable[ServerMove],
    ) -> None:
        self.problem, self.new, self.number = problem, new, number
        self.chosen = set(problem.find_host_numbers(chosen))
        #: The server groups, which have places behind the rooms of a host.
        kinds = problem.servers.keys() | {new}
        self._names = sorted({name for kind in kinds for name in problem.requests[kind].limits})
        self.residents = list(self._find_residents(offloaded))
        self.hosts = list(self._find_hosts())
        self.residents = list(self._find_movable())

    def _find_residents(self, offloaded: Iterable[ServerMove]) -> Iterator[AlikeServers]:
        """Yield the servers that may move, equal ones of a host together."""
        problem = self.problem
        alike = defaultdict[AlikeServers, list[ServerMove]](list)
        loads: list[tuple[KindNumber | None, Iterable[ServerMove]]] = [*problem.servers.items()]
        for kind, servers in (*loads, (None, offloaded)):
            groups = self.find_groups(kind)
            for server in servers:
                for host in problem.find_host_numbers([server.source]):
                    width = problem.shapes[problem.hosts[host].shape].width
                    places = tuple((width + self._names.index(name), 1) for name in groups)
                    local = *sorted(problem.list_local_amounts(host, server.before)), *places
                    shared = tuple(sorted(problem.list_shared_amounts(server.before)))
                    alike[AlikeServers(host, kind, local, shared)].append(server)
        for resident, servers in alike.items():
            yield resident._replace(servers=tuple(servers))

    def count_fewest_moves(self) -> int:
        """Return a lower bound for the number of moves that make room for the new servers."""
        fewest, on = {0: 0}, self._group_by_host()
        for number in self.chosen:
            stairs, before = (0, *self._find_stairs(number, on[number])), fewest
            fewest = {}
            for new, moves in before.items():
                for more, leaving in enumerate(stairs):
                    total = min(new + more, self.number)
                    fewest[total] = min(fewest.get(total, moves + leaving), moves + leaving)
        return fewest.get(self.number, 0)

    def _find_stairs(self, number: HostNumber, residents: Iterable[AlikeServers]) -> list[int]:
        """Return the least servers that leave a host before one new server fits, two, and so on.

        The list ends where no number is enough. The numbers are lower bounds: where the servers go
        does not count.
        """
        group, room = self.hosts[number]
        fit = self.problem.find_shape_fit(self.new, group.shape)
        pooled = self.problem.shapes[group.shape].pooled
        needs = [(at, n) for at, n in fit.fixed.items() if at not in pooled] if fit else []
        frees: list[tuple[int, ...]] = []
        for resident in residents:
            local = dict(resident.local)
            frees += [tuple(local.get(at, 0) for at, _ in needs)] * len(resident.servers)
        frees.sort(reverse=True)
        stairs: list[int] = []
        for new in range(1, self.number + 1):
            lacking = tuple(max(0, new * n - room[at]) for at, n in needs)
            fewest = _count_fewest(lacking, frees)
            if fewest is None:
                break
            stairs.append(fewest)
        return stairs

    def find_groups(self, kind: KindNumber | None) -> Sequence[str]:
        """Return the anti-affinity groups of a kind of servers."""
        return () if kind is None else self.problem.requests[kind].limits

    def _group_by_host(self) -> Mapping[HostNumber, Sequence[AlikeServers]]:
        """Return the servers that may move by the numbers of their hosts."""
        on = defaultdict[HostNumber, list[AlikeServers]](list)
        for resident in self.residents:
            on[resident.host].append(resident)
        return on

    def _find_hosts(self) -> Iterator[RoomHost]:
        """Yield each host, with the options on it once all servers that may move have left."""
        problem, on, pools = self.problem, self._group_by_host(), Counter[Pool]()
        for resident in self.residents:
            pools.update({pool: n * len(resident.servers) for pool, n in resident.shared})
        emptied = replace(problem, pools=pools + Counter(problem.pools))
        for number in problem.host_numbers:
            host = problem.hosts[number]
            limits = (problem.limits[name] - host.members.get(name, 0) for name in self._names)
            room = [*host.room, *limits]
            most = list(room)
            for resident in on[number]:
                for at, amount in resident.local:
                    most[at] += amount * len(resident.servers)
            group = HostGroup(host.shape, tuple(max(0, free) for free in most), [number])
            width = problem.shapes[host.shape].width
            places = {name: width + at for at, name in enumerate(self._names)}
            for kind in problem.servers.keys() | {self.new}:
                if (fit := problem.find_shape_fit(kind, host.shape)) is not None:
                    add_options(emptied, group, kind, fit, places)
            yield RoomHost(group, room)

    def _find_movable(self) -> Iterator[AlikeServers]:
        """Yield the residents that find room on another host, now or once others have moved."""
        packing, waiting = Packing(self.problem), self.residents
        while waiting:
            targets = defaultdict[KindNumber | None, set[HostNumber]](set)
            for number in self.problem.host_numbers:
                for piece in self.hosts[number].emptied.options:
                    if self.has_room(packing, number, piece):
                        targets[piece.kind].add(number)
            movable, others = list[AlikeServers](), list[AlikeServers]()
            for resident in waiting:
                can_move = resident.kind is None or targets[resident.kind] - {resident.host}
                (movable if can_move else others).append(resident)
            yield from movable
            for resident in movable:
                for server in resident.servers:
                    groups = self.find_groups(resident.kind)
                    packing.occupy_host(server.source, server.before, groups, -1)
            waiting = others if movable else []

    def list_needs(self, number: HostNumber, piece: Piece) -> Iterator[tuple[HostRoom | Pool, int]]:
        """Yield the amounts that a piece on a host takes of that and of sharing providers."""
        group = self.hosts[number].emptied
        pooled = self.problem.shapes[group.shape].pooled
        yield from ((HostRoom(number, at), n) for at, n in group.needs[piece] if at not in pooled)
        yield from self.list_shared_amounts(number, piece)

    def find_free(self, room: HostRoom | Pool) -> int:
        """Return a free amount of a host, or of a class of a sharing provider."""
        if isinstance(room, HostRoom):
            return self.hosts[room.host].room[room.at]
        return self.problem.pools[room]

    def build_allocations(self, number: HostNumber, piece: Piece) -> Allocations:
        """Return the allocations of a server as a piece on a host."""
        option = self.hosts[number].emptied.options[piece]
        return self.problem.hosts[number].build_allocations(
            self.problem.requests[piece.kind], option
        )

    def list_shared_amounts(self, number: HostNumber, piece: Piece) -> Sequence[tuple[Pool, int]]:
        """Return the amounts that a piece on a host takes of sharing providers."""
        # Amounts alone do not say which provider they are from.
        has_places = bool(self.hosts[number].emptied.options[piece].places)
        return (
            self.problem.list_shared_amounts(self.build_allocations(number, piece))
            if has_places
            else ()
        )

    def has_room(self, packing: Packing, number: HostNumber, piece: Piece) -> bool:
        """Return True if a host has room for a piece beside the servers that have not left."""
        members, room = packing.members[number], packing.room[number]
        return (
            all(room[at] >= n for at, n in self._list_local_amounts(number, piece))
            and all(packing.pools[pool] >= n for pool, n in self.list_shared_amounts(number, piece))
            and all(
                members[name] < self.problem.limits[name] for name in self.find_groups(piece.kind)
            )
        )

    def _list_local_amounts(self, number: HostNumber, piece: Piece) -> Iterator[tuple[int, int]]:
        """Yield the amounts that a piece takes of a host itself, by index into its room."""
        group = self.hosts[number].emptied
        pooled = self.problem.shapes[group.shape].pooled
        return ((at, n) for at, n in group.options[piece].local if at not in pooled)


def _count_fewest(lacking: tuple[int, ...], frees: Sequence[tuple[int, ...]]) -> int | None:
    """Return a lower bound for the servers that free what is lacking; ``None``: not even all do."""
    least = _count_by_class(lacking, frees)
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


def _count_by_class(lacking: tuple[int, ...], frees: Sequence[tuple[int, ...]]) -> int | None:
    """Return the bound of :func:`_count_fewest` for the class that needs the most servers."""
    least = 0
    for at, needed in enumerate(lacking):
        amounts = sorted((freed[at] for freed in frees), reverse=True)
        totals = list(accumulate(amounts, initial=0))
        if totals[-1] < needed:
            return None
        least = max(least, next(n for n, total in enumerate(totals) if total >= needed))
    return least
