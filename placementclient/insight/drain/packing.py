"""Servers to be packed into hosts, and the packing by best-fit decreasing."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from placementclient.insight.drain.requests import Request
from placementclient.insight.drain.shapes import Pool, Pools, Shape, Way, Ways


@dataclass(slots=True)
class Host:
    """A host that servers may go to.

    :param providers: the UUIDs of those that serve it, in the order of the shape
    :param room: what is free, as :class:`Shape` counts it
    :param members: how many servers of each server group are there
    """

    uuid: str
    name: str
    shape: Shape
    providers: tuple[str, ...]
    room: list[int]
    members: Counter[str] = field(default_factory=Counter)


class Placed(NamedTuple):
    """A server of a kind that has a place.

    :param host: its number
    """

    host: int
    way: Way


class Problem:
    """Kinds of servers, hosts, and which kind can go where.

    :param kinds: each with the number of servers
    :param pools: what sharing providers have free; a packing takes of it
    :param limits: how many servers of a server group a host may have, by the group's name
    """

    def __init__(
        self,
        kinds: Iterable[tuple[Request, int]],
        hosts: Sequence[Host],
        pools: Pools,
        limits: dict[str, int] | None = None,
    ) -> None:
        self.kinds: list[Request] = []
        self.wanted: list[int] = []
        for request, number in kinds:
            self.kinds.append(request)
            self.wanted.append(number)
        self.hosts, self.pools, self.limits = hosts, dict(pools), limits or {}
        #: The numbers of the hosts of each shape.
        self.by_shape: dict[Shape, list[int]] = {}
        for number, host in enumerate(hosts):
            self.by_shape.setdefault(host.shape, []).append(number)
        # By identity: a strict request takes long to hash.
        self._options: dict[tuple[int, int], list[list[int]] | None] = {}
        self._only: dict[tuple[int, int], Way | None] = {}
        self._kept: list[Request] = []
        self._by_aggregate: dict[str, list[Shape]] = {}
        for shape in self.by_shape:
            for name in shape.bins[0].aggregates:
                self._by_aggregate.setdefault(name, []).append(shape)

    def copy(self) -> Problem:
        """Return the same, of which room can be taken."""
        hosts = [
            replace(each, room=list(each.room), members=Counter(each.members))
            for each in self.hosts
        ]
        kinds = zip(self.kinds, self.wanted, strict=True)
        return Problem(kinds, hosts, self.pools, self.limits)

    def shapes(self, request: Request) -> list[Shape]:
        """Return the shapes whose hosts a request admits."""
        named = [each for each in request.root_member_of if len(each) == 1]
        # Where each rack has an aggregate there are as many shapes as racks.
        few = (self._by_aggregate.get(*each, []) for each in named)
        candidates = min(few, key=len, default=self.by_shape)
        return [shape for shape in candidates if self.options(request, shape) is not None]

    def options(self, request: Request, shape: Shape) -> list[list[int]] | None:
        """Return what :meth:`Shape.options` does."""
        key = id(request), id(shape)
        if key not in self._options:
            self._kept.append(request)
            self._options[key] = shape.options(request)
        return self._options[key]

    def ways(self, request: Request, shape: Shape, room: Sequence[int]) -> Ways:
        """Return what looks for ways on a host that has this room."""
        options = self.options(request, shape)
        assert options is not None
        return Ways(request, shape, options, room, self.pools)

    def way(self, request: Request, host: Host) -> Way | None:
        """Return a way to serve a request on a host, whose shape it admits, as it is now."""
        for name in request.limits:
            if host.members[name] >= self.limits[name]:
                return None
        key = id(request), id(host.shape)
        only = self._only.get(key)
        if only is None:
            way = self.ways(request, host.shape, host.room).first()
            if way and self._is_only(request, host.shape):
                self._only[key] = way
            return way
        room = host.room
        for place, amount in only.local:
            if room[place] < amount:
                return None
        return only

    def _is_only(self, request: Request, shape: Shape) -> bool:
        """Return whether there is never another way on the hosts of a shape."""
        options = self.options(request, shape) or []
        if request.is_lax:
            return not shape.pooled
        return all(
            len(each) == 1 and shape.bins[each[0]].pool is None for each in options
        )

    def place(self, request: Request, host: Host, way: Way, number: int = 1) -> None:
        """Take what some servers hold from a host and from sharing providers; -1 gives it back."""
        for place, amount in way.local:
            host.room[place] -= number * amount
        for pool, amount in way.shared:
            self.pools[pool] -= number * amount
        for name in request.limits:
            host.members[name] += number


class Filler:
    """Puts servers on the fullest host that has room, and keeps the hosts in that order.

    :param problem: whose hosts it fills
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._scale, self._out = _scale(problem), set[int]()
        self._lists = {
            shape: sorted((self._score(problem.hosts[number]), number) for number in numbers)
            for shape, numbers in problem.by_shape.items()
        }

    def size(self, request: Request) -> float:
        """Return how large a server is: what part of a usual host it takes, of all classes."""
        return sum(n * self._scale.get(name, 0) for name, n in request.totals.items())

    def take(self, number: int) -> None:
        """Leave a host out until it is given back."""
        host = self.problem.hosts[number]
        found = self._lists[host.shape]
        del found[bisect_left(found, (self._score(host), number))]
        self._out.add(number)

    def is_listed(self, number: int) -> bool:
        """Return whether a host is not left out."""
        return number not in self._out

    def give(self, number: int) -> None:
        """Fill a host again that was left out."""
        host = self.problem.hosts[number]
        self._out.discard(number)
        insort(self._lists[host.shape], (self._score(host), number))

    def fill(self, request: Request, number: int) -> list[Placed]:
        """Put servers of one kind on hosts: as many as have room one after the other.

        :param number: how many there are
        """
        placed: list[Placed] = []
        cursors = {shape: -1 for shape in self.problem.shapes(request)}
        nearest: dict[Shape, tuple[tuple[int, float], Way]] = {}
        for shape in list(cursors):
            self._advance(request, shape, cursors, nearest)
        while nearest and len(placed) < number:
            shape = min(nearest, key=lambda shape: nearest[shape][0])
            way: Way | None = nearest[shape][1]
            _, at = self._lists[shape].pop(cursors[shape])
            host = self.problem.hosts[at]
            if way and way.shared:
                # Others may have taken it since.
                way = self.problem.way(request, host)
            while way is not None and len(placed) < number:
                self.problem.place(request, host, way)
                placed.append(Placed(at, way))
                way = self.problem.way(request, host)
            self.give(at)
            # Who comes before this place had no room, and has none now.
            self._advance(request, shape, cursors, nearest)
        return placed

    def free(self, request: Request, placed: Iterable[Placed]) -> None:
        """Give back what servers of one kind have taken."""
        for at, way in placed:
            self.take(at)
            self.problem.place(request, self.problem.hosts[at], way, -1)
            self.give(at)

    def _advance(
        self,
        request: Request,
        shape: Shape,
        cursors: dict[Shape, int],
        nearest: dict[Shape, tuple[tuple[int, float], Way]],
    ) -> None:
        """Find the next host of a shape that has room."""
        nearest.pop(shape, None)
        found, hosts = self._lists[shape], self.problem.hosts
        local = self._fixed(request, shape)
        start = cursors[shape]
        if start < 0:
            start = bisect_left(found, (self._least(request, shape), -1))
        for place in range(start, len(found)):
            score, number = found[place]
            host = hosts[number]
            if local is not None:
                room = host.room
                if any(room[at] < amount for at, amount in local):
                    continue
            way = self.problem.way(request, host)
            if way is not None:
                cursors[shape] = place
                nearest[shape] = (_strangeness(request, shape), score), way
                return
        cursors[shape] = len(found)

    def _fixed(self, request: Request, shape: Shape) -> list[tuple[int, int]] | None:
        """Return what a server takes on each host of a shape, if it is the same on each."""
        options = self.problem.options(request, shape)
        assert options is not None
        if request.is_lax:
            return list(shape.sum_of(request).local)
        found = []
        for each, part in zip(options, request.parts, strict=True):
            if len(each) == 1 and shape.bins[each[0]].pool is None:
                found += [(shape.rooms[each[0], name], n) for name, n in part.resources]
        return found

    def _least(self, request: Request, shape: Shape) -> float:
        """Return the least score of a host of a shape that has room."""
        local = self._fixed(request, shape) or ()
        by_place: dict[int, int] = {}
        for place, amount in local:
            by_place[place] = by_place.get(place, 0) + amount
        names = {place: name for (_, name), place in shape.rooms.items()}
        own = len(shape.rooms)
        sizes = (n * self._scale.get(names[at], 0) for at, n in by_place.items() if at < own)
        return sum(sizes) - 1e-6

    def _score(self, host: Host) -> float:
        room, scale = host.room, self._scale
        rooms = host.shape.rooms.items()
        return sum(max(0, room[at]) * scale.get(name, 0) for (_, name), at in rooms)


def _strangeness(request: Request, shape: Shape) -> int:
    """Return how many traits and aggregates a root has that a request does not name.

    A flavor may forbid them: where there is a choice, a server goes to a host like its own.
    """
    if request.is_lax:
        return 0
    root = shape.bins[0]
    named = frozenset().union(*request.root_required, *request.root_member_of)
    return len(root.traits - named) + len(root.aggregates - named)


def _scale(problem: Problem) -> dict[str, float]:
    """Return for each class that is asked for what part of a usual host's room a unit is."""
    asked = {name for request in problem.kinds for name in request.totals}
    sums = dict.fromkeys(asked, 0)
    counts = dict.fromkeys(asked, 0)
    for shape, numbers in problem.by_shape.items():
        for (_, name), place in shape.rooms.items():
            if name in asked:
                counts[name] += len(numbers)
                sums[name] += sum(max(0, problem.hosts[at].room[place]) for at in numbers)
    return {name: counts[name] / sums[name] if sums[name] else 1.0 for name in asked}


def fill(problem: Problem) -> list[list[Placed]]:
    """Put the servers on hosts, the largest first, and take their room.

    :return: the places of the servers of each kind; fewer than there are if it finds none
    """
    filler = Filler(problem)
    order = sorted(range(len(problem.kinds)), key=lambda k: -filler.size(problem.kinds[k]))
    placed: list[list[Placed]] = [[] for _ in problem.kinds]
    for kind in order:
        placed[kind] = filler.fill(problem.kinds[kind], problem.wanted[kind])
    return placed
