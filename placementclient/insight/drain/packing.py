# SPDX-License-Identifier: Apache-2.0
"""Servers to pack into hosts, and best-fit decreasing."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from placementclient.insight.drain.moves import ServerMove
from placementclient.model.consumers import Allocations
from placementclient.placing.options import OptionSearch
from placementclient.placing.requests import Request
from placementclient.placing.shapes import HostOption, Pools, Shape

#: A request, and the servers that have it. Equal ones are one object: they take long to hash.
Load = tuple[Request, Sequence[ServerMove]]


def by_request(
    servers: Iterable[ServerMove], request: Callable[[ServerMove], Request]
) -> list[Load]:
    """Return servers by their requests."""
    kinds: dict[int, tuple[Request, list[ServerMove]]] = {}
    for server in servers:
        requested = request(server)
        kinds.setdefault(id(requested), (requested, []))[1].append(server)
    return list(kinds.values())


@dataclass(slots=True)
class TargetHost:
    """A host that may receive servers.

    :param providers: the UUIDs of those that serve it, in the order of the shape
    :param room: the free amounts, as :class:`Shape` counts them
    :param members: the number of servers of each server group
    """

    uuid: str
    shape: Shape
    providers: tuple[str, ...]
    room: list[int]
    members: Counter[str] = field(default_factory=Counter)

    def allocations(self, request: Request, option: HostOption) -> Allocations:
        """Return the allocations of a server by an option."""
        allocations: dict[str, dict[str, int]] = {}
        for part, place in zip(request.parts, option.places, strict=True):
            for name, amount in part.resources:
                resources = allocations.setdefault(self.providers[place], {})
                resources[name] = resources.get(name, 0) + amount
        return {uuid: dict(sorted(allocations[uuid].items())) for uuid in sorted(allocations)}


class Placed(NamedTuple):
    """The place of a server: the number of its host, and the option there."""

    host: int
    option: HostOption


class PackingProblem:
    """Kinds of servers, and the hosts that each kind may use.

    :param pools: the free amounts of sharing providers; a packing uses them up
    :param limits: how many servers of a server group a host may have, by the group's name
    """

    def __init__(
        self,
        servers: Iterable[Load],
        hosts: Sequence[TargetHost],
        pools: Pools,
        limits: Mapping[str, int],
    ) -> None:
        self.hosts, self.pools, self.limits = hosts, Counter(pools), limits
        self._set(servers)
        #: The numbers of the hosts of each shape.
        self.by_shape: dict[Shape, list[int]] = {}
        for number, host in enumerate(hosts):
            self.by_shape.setdefault(host.shape, []).append(number)
        # By identity: a strict request takes long to hash.
        self._suitable: dict[tuple[int, int], list[list[int]] | None] = {}
        self._only: dict[tuple[int, int], HostOption | None] = {}
        self._retained: list[Request] = []
        self._by_aggregate: dict[str, list[Shape]] = {}
        for shape in self.by_shape:
            for name in shape.bins[0].aggregates:
                self._by_aggregate.setdefault(name, []).append(shape)

    def _set(self, servers: Iterable[Load]) -> None:
        pairs = list(servers)
        self.kinds = [request for request, _ in pairs]
        self.servers = [servers for _, servers in pairs]
        self.counts = [len(servers) for servers in self.servers]

    def of(self, servers: Iterable[Load]) -> PackingProblem:
        """Return the problem of other servers, which takes the same room."""
        problem = copy(self)
        problem._set(servers)
        return problem

    def copy(self) -> PackingProblem:
        """Return a copy with room of its own."""
        problem = copy(self)
        problem.hosts = [
            replace(host, room=list(host.room), members=Counter(host.members))
            for host in self.hosts
        ]
        problem.pools = Counter(self.pools)
        return problem

    def shapes(self, request: Request) -> list[Shape]:
        """Return the shapes of the hosts that can serve a request."""
        # Where each rack has an aggregate there are as many shapes as racks.
        single = [name for names in request.root_member_of if len(names) == 1 for name in names]
        few: list[Collection[Shape]] = [self._by_aggregate.get(name, []) for name in single]
        candidates = min(few, key=len, default=self.by_shape)
        return [shape for shape in candidates if self.suitable(request, shape) is not None]

    def suitable(self, request: Request, shape: Shape) -> list[list[int]] | None:
        """Return the result of :meth:`Shape.suitable`."""
        key = id(request), id(shape)
        if key not in self._suitable:
            self._retained.append(request)
            self._suitable[key] = shape.suitable(request)
        return self._suitable[key]

    def option_search(self, request: Request, shape: Shape, room: Sequence[int]) -> OptionSearch:
        """Return the search for options on a host with some room."""
        suitable = self.suitable(request, shape)
        assert suitable is not None
        return OptionSearch(request, shape, suitable, room, self.pools)

    def option(self, request: Request, host: TargetHost) -> HostOption | None:
        """Return an option to serve a request on a suitable host, with its present room."""
        for name in request.limits:
            if host.members[name] >= self.limits[name]:
                return None
        key = id(request), id(host.shape)
        only = self._only.get(key)
        if only is None:
            option = self.option_search(request, host.shape, host.room).first()
            if option and self.is_only(request, host.shape):
                self._only[key] = option
            return option
        room = host.room
        for place, amount in only.local:
            if room[place] < amount:
                return None
        return only

    def is_only(self, request: Request, shape: Shape) -> bool:
        """Return whether the hosts of a shape have at most one option."""
        suitable = self.suitable(request, shape) or []
        if request.is_lax:
            return not shape.pooled
        return all(len(places) == 1 and shape.bins[places[0]].pool is None for places in suitable)

    def fixed(self, request: Request, shape: Shape) -> dict[int, int]:
        """Return the least amounts of each room that a server uses with any option."""
        if request.is_lax:
            return dict(shape.sum_of(request).local)
        fixed: dict[int, int] = {}
        for places, part in zip(self.suitable(request, shape) or (), request.parts, strict=True):
            if len(places) == 1 and shape.bins[places[0]].pool is None:
                for name, amount in part.resources:
                    for at in {shape.rooms[places[0], name], shape.totals[name]}:
                        fixed[at] = fixed.get(at, 0) + amount
        return fixed

    def place(
        self, request: Request, host: TargetHost, option: HostOption, number: int = 1
    ) -> None:
        """Use the room of some servers on a host and on sharing providers; -1 frees it."""
        for place, amount in option.local:
            host.room[place] -= number * amount
        for pool, amount in option.shared:
            self.pools[pool] -= number * amount
        for name in request.limits:
            host.members[name] += number


@dataclass(frozen=True, slots=True)
class Packing:
    """The places of servers, by kind, and the most servers that can have one.

    :param problem: with the room that is left
    """

    problem: PackingProblem
    placed: Sequence[Sequence[Placed]]
    bound: int

    @property
    def count(self) -> int:
        return sum(map(len, self.placed))

    @property
    def total(self) -> int:
        return sum(self.problem.counts)

    @property
    def is_exact(self) -> bool:
        """Return whether it is proved that no more servers can have a place."""
        return self.count >= self.bound

    @property
    def is_complete(self) -> bool:
        return self.count == self.total

    def moves(self) -> Iterator[ServerMove]:
        """Return the move of each server that has a place."""
        for kind, request in enumerate(self.problem.kinds):
            for server, place in zip(self.problem.servers[kind], self.placed[kind], strict=False):
                host = self.problem.hosts[place.host]
                after = host.allocations(request, place.option)
                yield server._replace(target=host.uuid, after=after)

    def left(self) -> list[ServerMove]:
        """Return the servers that have no place."""
        pairs = zip(self.problem.servers, self.placed, strict=True)
        return [server for servers, placed in pairs for server in servers[len(placed) :]]


class Filler:
    """Packs servers by best fit: onto the host with the least room of the scarcest class."""

    def __init__(self, problem: PackingProblem) -> None:
        self.problem = problem
        self._scale = _scale(problem)
        #: The hosts of each shape and class, sorted by room; ``''``: the room of all classes.
        self._lists: dict[Shape, dict[str, list[_Rank]]] = {}
        for shape, numbers in problem.by_shape.items():
            names = [
                name
                for name, place in shape.totals.items()
                if name in self._scale and place not in shape.pooled
            ]
            self._lists[shape] = {
                name: sorted(self._rank(name, number) for number in numbers)
                for name in names or ['']
            }

    def take(self, number: int) -> None:
        """Exclude a host until :meth:`give`."""
        for name, ranks in self._lists[self.problem.hosts[number].shape].items():
            del ranks[bisect_left(ranks, self._rank(name, number))]

    def give(self, number: int) -> None:
        """Allow a host again."""
        for name, ranks in self._lists[self.problem.hosts[number].shape].items():
            insort(ranks, self._rank(name, number))

    def fill(self, kinds: Sequence[Request], counts: Sequence[int]) -> list[list[Placed]]:
        """Put servers on hosts, the largest first.

        :return: the places of the servers of each kind; fewer if it finds none
        """
        placed: list[list[Placed]] = [[] for _ in kinds]
        for kind in sorted(range(len(kinds)), key=lambda kind: -self._size(kinds[kind])):
            placed[kind] = self._fill(kinds[kind], counts[kind])
        return placed

    def _size(self, request: Request) -> float:
        """Return the size of a server as its share of an average host, over all classes."""
        return sum(n * self._scale.get(name, 0) for name, n in request.totals.items())

    def _fill(self, request: Request, number: int) -> list[Placed]:
        placed: list[Placed] = []
        scans = [self._candidates(request, shape) for shape in self.problem.shapes(request)]
        heads = {scan: head for scan in scans if (head := next(scan, None))}
        while heads and len(placed) < number:
            scan = min(heads, key=lambda scan: heads[scan][:2])
            _, (_, _, at), first = heads[scan]
            host = self.problem.hosts[at]
            # Earlier servers may have used up the shared inventory.
            option = self.problem.option(request, host) if first.shared else first
            self.take(at)
            while option is not None and len(placed) < number:
                self.problem.place(request, host, option)
                placed.append(Placed(at, option))
                option = self.problem.option(request, host)
            self.give(at)
            if head := next(scan, None):
                heads[scan] = head
            else:
                del heads[scan]
        return placed

    def free(self, request: Request, placed: Iterable[Placed]) -> None:
        """Free the places of servers of one kind."""
        for at, option in placed:
            self.take(at)
            self.problem.place(request, self.problem.hosts[at], option, -1)
            self.give(at)

    def _candidates(
        self, request: Request, shape: Shape
    ) -> Iterator[tuple[int, _Rank, HostOption]]:
        """Yield the hosts of a shape with room for a server, the fullest first, each until full."""
        needed = dict(shape.sum_of(request).local)
        lists = self._lists[shape]
        starts = {
            name: bisect_left(ranks, (needed.get(shape.totals.get(name, -1), 0), 0.0, -1))
            for name, ranks in lists.items()
        }
        # The fewest hosts have room for it.
        scarcest = max(starts, key=lambda name: (starts[name], name))
        ranks, place = lists[scarcest], starts[scarcest]
        local = list(self.problem.fixed(request, shape).items())
        strangeness = _strangeness(request, shape)
        while place < len(ranks):
            host = self.problem.hosts[ranks[place][2]]
            room = host.room
            for at, amount in local:
                if room[at] < amount:
                    break
            else:
                option = self.problem.option(request, host)
                if option is not None:
                    yield strangeness, ranks[place], option
                    continue
            place += 1

    def _room(self, number: int) -> float:
        """Return the room of a host in units of an average host, over all classes."""
        host = self.problem.hosts[number]
        room, scale, score = host.room, self._scale, 0.0
        for (_, name), at in host.shape.rooms.items():
            if name in scale and room[at] > 0:
                score += room[at] * scale[name]
        return score

    def _rank(self, name: str, number: int) -> _Rank:
        host = self.problem.hosts[number]
        of_class = host.room[host.shape.totals[name]] if name else 0
        return of_class, self._room(number), number


#: The room of a class, the room of all classes in average hosts, and the host.
_Rank = tuple[int, float, int]


def _strangeness(request: Request, shape: Shape) -> int:
    """Return how many traits and aggregates a root has that a request does not name."""
    # A flavor may forbid them: a server prefers a host like its own.
    if request.is_lax:
        return 0
    root = shape.bins[0]
    named = frozenset().union(*request.root_required, *request.root_member_of)
    return len(root.traits - named) + len(root.aggregates - named)


def _scale(problem: PackingProblem) -> dict[str, float]:
    """Return the share of an average host's room that one unit of each class is."""
    classes = {name for request in problem.kinds for name in request.totals}
    sums = dict.fromkeys(classes, 0)
    counts = dict.fromkeys(classes, 0)
    for shape, numbers in problem.by_shape.items():
        for (_, name), place in shape.rooms.items():
            if name in classes:
                counts[name] += len(numbers)
                sums[name] += sum(max(0, problem.hosts[at].room[place]) for at in numbers)
    return {name: counts[name] / sums[name] if sums[name] else 1.0 for name in classes}
