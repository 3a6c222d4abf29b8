# SPDX-License-Identifier: Apache-2.0
"""The room of hosts while servers come to them and leave them, by best fit."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from placementclient.insight.drain.moves import ServerMove
from placementclient.insight.drain.numbers import HostNumber, KindNumber, ShapeNumber
from placementclient.insight.drain.problem import PackingProblem, ServerPlace, ShapeFit
from placementclient.model.consumers import Allocations
from placementclient.placing.shapes import HostOption

#: The name of the room of all classes, where hosts of a shape have no sum of their own to compare.
_ALL_CLASSES = ''
#: The room of a class, the room of all classes in average hosts, and the host.
_Rank = tuple[int, float, HostNumber]
#: The places of the servers of each kind.
Places = dict[KindNumber, list[ServerPlace]]


class Packing:
    """The places of servers, and the room that they leave.

    :meth:`fill_hosts` and :meth:`find_places` use the hosts that :meth:`rank_hosts` ranked before.
    Nothing else has to be called in an order. An exception ends the packing: the ranking is not
    restored.

    :ivar room: the free amounts of each host, in the order of :attr:`TargetHost.room`
    :ivar members: the number of servers of each server group on each host
    :ivar pools: the free amounts of sharing providers
    :ivar places: the places of the servers of the problem
    :ivar bound: the most servers of the problem that can have a place
    """

    def __init__(self, problem: PackingProblem) -> None:
        self.problem = problem
        self.room = [list(host.room) for host in problem.hosts]
        self.members = [Counter(host.members) for host in problem.hosts]
        self.pools = Counter(problem.pools)
        self.places: Places = defaultdict(list)
        self.bound = self.server_count
        #: The share of an average host that one unit is, by class.
        self._scale: dict[str, float] = {}
        #: The same share, with the index into the room, of each shape.
        self._weights: dict[ShapeNumber, list[tuple[int, float]]] = {}
        #: The hosts of each shape, sorted by the room of each class.
        self._ranks: dict[ShapeNumber, dict[str, list[_Rank]]] = {}

    @property
    def server_count(self) -> int:
        return sum(self.problem.server_counts.values())

    @property
    def placed_count(self) -> int:
        """The number of servers of the problem that have a place."""
        return sum(map(len, self.places.values()))

    @property
    def is_exact(self) -> bool:
        """True if it is proved that no more servers can have a place."""
        return self.placed_count >= self.bound

    @property
    def is_complete(self) -> bool:
        """True if every server of the problem has a place."""
        return self.placed_count == self.server_count

    def list_moves(self) -> Iterator[ServerMove]:
        return self.problem.list_moves(self.problem.servers, self.places)

    def list_unplaced(self) -> list[ServerMove]:
        """Return the servers of the problem that have no place."""
        servers, places = self.problem.servers, self.places
        return [server for kind in servers for server in servers[kind][len(places[kind]) :]]

    def rank_hosts(self, hosts: Iterable[HostNumber], kinds: Iterable[KindNumber]) -> None:
        """Set the hosts that :meth:`fill_hosts` uses, sorted by their room for kinds of servers."""
        problem, by_shape = self.problem, defaultdict[ShapeNumber, list[HostNumber]](list)
        for number in hosts:
            by_shape[problem.hosts[number].shape].append(number)
        self._scale = self._calculate_scale(by_shape, kinds)
        self._ranks, self._weights = {}, {}
        for shape, numbers in by_shape.items():
            totals, pooled = problem.shapes[shape].totals, problem.shapes[shape].pooled_totals
            rooms = problem.shapes[shape].rooms.items()
            self._weights[shape] = [
                (at, self._scale[name]) for (_, name), at in rooms if name in self._scale
            ]
            names = [
                name for name, at in totals.items() if name in self._scale and at not in pooled
            ]
            self._ranks[shape] = {name: [] for name in names or [_ALL_CLASSES]}
            for number in numbers:
                for ranks, rank in self._list_ranking_entries(number):
                    ranks.append(rank)
            for ranks in self._ranks[shape].values():
                ranks.sort()

    def _calculate_scale(
        self, by_shape: Mapping[ShapeNumber, Iterable[HostNumber]], kinds: Iterable[KindNumber]
    ) -> dict[str, float]:
        """Return by class the share of an average host's free amount that one unit takes."""
        classes = {name for kind in kinds for name in self.problem.requests[kind].totals}
        sums, counts = dict.fromkeys(classes, 0), dict.fromkeys(classes, 0)
        for shape, numbers in by_shape.items():
            for (_, name), place in self.problem.shapes[shape].rooms.items():
                if name in classes:
                    rooms = [max(0, self.room[number][place]) for number in numbers]
                    counts[name] += len(rooms)
                    sums[name] += sum(rooms)
        return {name: counts[name] / sums[name] if sums[name] else 1.0 for name in classes}

    @contextmanager
    def rerank_hosts(self, hosts: Iterable[HostNumber]) -> Iterator[None]:
        """Take hosts out of the ranking while the block changes their room."""
        numbers = list(hosts)
        for number in numbers:
            for ranks, rank in self._list_ranking_entries(number):
                del ranks[bisect_left(ranks, rank)]
        yield
        for number in numbers:
            for ranks, rank in self._list_ranking_entries(number):
                insort(ranks, rank)

    def fill_hosts(self, counts: Mapping[KindNumber, int]) -> Places:
        """Put servers on the ranked hosts, the largest first.

        :param counts: the number of servers of each kind
        :return: their places; fewer if there is no room
        """
        # The size of a server: the sum of its shares of an average host, of all classes.
        amounts = {kind: self.problem.requests[kind].totals.items() for kind in counts}
        sizes = {k: sum(n * self._scale.get(name, 0) for name, n in amounts[k]) for k in amounts}
        places: Places = {kind: [] for kind in counts}
        for kind in sorted(counts, key=lambda kind: -sizes[kind]):
            places[kind] = self._place_servers_of_kind(kind, counts[kind])
        return places

    def find_places(self, counts: Mapping[KindNumber, int], excluded: Iterable[str]) -> Places:
        """Return places that servers could have beside their present ones; the room stays as it is.

        :param excluded: the UUIDs of hosts that receive none
        :param counts: the number of servers of each kind
        """
        with self.rerank_hosts(self.problem.find_host_numbers(excluded)):
            places = self.fill_hosts(counts)
            with self.rerank_hosts({place.host for placed in places.values() for place in placed}):
                for kind, placed in places.items():
                    for number, option in placed:
                        self.place_servers(kind, number, option, -1)
        return places

    def _place_servers_of_kind(self, kind: KindNumber, count: int) -> list[ServerPlace]:
        """Put so many servers of a kind on the ranked hosts, and return their places.

        Each host is filled before the next one, which is the fullest with room among all shapes;
        first those of the shapes with the fewest traits and aggregates that others may need.
        """
        placed: list[ServerPlace] = []
        if not count:
            return placed
        fits = self.problem.find_shape_fits(kind, self._ranks)
        scans = {shape: self._find_hosts(kind, shape, fit) for shape, fit in fits}
        heads = {shape: head for shape, scan in scans.items() if (head := next(scan, None))}
        while heads and len(placed) < count:
            shape = min(heads, key=lambda shape: heads[shape][:2])
            _, (_, _, at), first = heads[shape]
            # Earlier servers may have used up the shared inventory.
            option = self.find_option(kind, at) if first.shared else first
            with self.rerank_hosts([at]):
                while option is not None and len(placed) < count:
                    self.place_servers(kind, at, option)
                    placed.append(ServerPlace(at, option))
                    option = self.find_option(kind, at)
            if head := next(scans[shape], None):
                heads[shape] = head
            else:
                del heads[shape]
        return placed

    def _find_hosts(
        self, kind: KindNumber, shape: ShapeNumber, fit: ShapeFit
    ) -> Iterator[tuple[int, _Rank, HostOption]]:
        """Yield the hosts of a shape with room for a server, the fullest first.

        No host is left out, and one may be yielded again while it has room. Between two hosts the
        caller may place servers, but on hosts of this shape only on the last one.

        :param kind: of the server
        :param fit: the facts about servers of the kind on hosts of the shape
        :return: for each the surplus of the fit, the rank of the host, and an option there
        """
        totals, lists = self.problem.shapes[shape].totals, self._ranks[shape]
        needed = dict(fit.least.local)
        starts = {
            name: bisect_left(ranks, (needed.get(totals.get(name, -1), 0), 0.0, -1))
            for name, ranks in lists.items()
        }
        # The fewest hosts have room for it.
        scarcest = max(starts, key=lambda name: (starts[name], name))
        ranks, place = lists[scarcest], starts[scarcest]
        local = list(fit.fixed.items())
        # With less room, the last host moves to the left in the ranks, and none from the right of
        # `place` to its left. So no host is left out; at `place` one may come that was passed.
        while place < len(ranks):
            number = ranks[place][2]
            room = self.room[number]
            for at, amount in local:
                if room[at] < amount:
                    break
            else:
                option = self.find_option(kind, number)
                if option is not None:
                    yield fit.surplus, ranks[place], option
                    continue
            place += 1

    def _list_ranking_entries(self, number: HostNumber) -> Iterator[tuple[list[_Rank], _Rank]]:
        """Yield each ranking that a host is in, as a list, and the entry that it has there now.

        :param number: of the host
        """
        room, shape = self.room[number], self.problem.hosts[number].shape
        totals, score = self.problem.shapes[shape].totals, 0.0
        for at, weight in self._weights[shape]:
            if room[at] > 0:
                score += room[at] * weight
        for name, ranks in self._ranks[shape].items():
            yield ranks, (0 if name == _ALL_CLASSES else room[totals[name]], score, number)

    def find_option(self, kind: KindNumber, number: HostNumber) -> HostOption | None:
        """Return a way to serve a server on a host with the present room; ``None`` without room."""
        problem = self.problem
        for name in problem.requests[kind].limits:
            if self.members[number][name] >= problem.limits[name]:
                return None
        room, shape = self.room[number], problem.hosts[number].shape
        fit = problem.find_shape_fit(kind, shape)
        assert fit is not None
        if fit.only is None:
            return problem.make_option_search(kind, shape, room, self.pools).find_tightest_option()
        for place, amount in fit.only.local:
            if room[place] < amount:
                return None
        return fit.only

    def place_servers(
        self, kind: KindNumber, number: HostNumber, option: HostOption, servers: int = 1
    ) -> None:
        """Take the room that equal servers need by an option, on a host and on sharing providers.

        :param servers: their number; -1: free the room of one
        """
        room = self.room[number]
        for at, amount in option.local:
            room[at] -= servers * amount
        for pool, amount in option.shared:
            self.pools[pool] -= servers * amount
        for name in self.problem.requests[kind].limits:
            self.members[number][name] += servers

    def occupy_host(
        self, uuid: str, allocations: Allocations, groups: Iterable[str], servers: int = 1
    ) -> None:
        """Take the room of allocations on a host and on sharing providers, for equal servers.

        :param uuid: of the host
        :param allocations: of one server
        :param groups: the names of the server groups that it is in
        :param servers: their number; -1: free the room of one
        """
        for number in self.problem.find_host_numbers([uuid]):
            for at, amount in self.problem.list_local_amounts(number, allocations):
                self.room[number][at] -= servers * amount
            for name in groups:
                self.members[number][name] += servers
        for pool, amount in self.problem.list_shared_amounts(allocations):
            self.pools[pool] -= servers * amount
