# SPDX-License-Identifier: Apache-2.0
"""The largest number of servers that can be placed, with a proof.

First the packing by best-fit decreasing. If it leaves a server, CP-SAT packs groups of hosts that
are alike, each as one large host with rounding cuts: its bound is a proof. Then the servers of each
group are distributed to its hosts. A group for which that fails gets the patterns of its hosts
instead of the cuts.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from placementclient.insight.drain import groups
from placementclient.insight.drain.groups import Group, Pattern, Piece
from placementclient.insight.drain.packing import Filler, Packing, PackingProblem, Placed
from placementclient.optimize import cpsat
from placementclient.placing.requests import Pool
from placementclient.placing.shapes import Shape

#: How long to search, in seconds.
EFFORT = 60.0
#: The largest model, in variables.
LARGEST = 200_000
#: The most hosts, times kinds of servers, that are examined one by one.
MOST_PAIRS = 2_000_000


def pack(problem: PackingProblem, effort: float = EFFORT) -> Packing:
    """Place as many servers as possible; providers of hosts may change their order.

    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    filled = problem.copy()
    best = Packing(filled, Filler(filled).fill(problem.kinds, problem.counts), 0)
    if best.is_complete or not problem.hosts:
        return replace(best, bound=best.count)
    if len(problem.hosts) * len(problem.kinds) > MOST_PAIRS:
        single = [(host.shape, host.room, 1) for host in problem.hosts]
        return replace(best, bound=_bound(problem, _possible(problem), single))
    alike = groups.groups(problem)
    possible = {kind for group in alike for kind, _ in group.options}
    rooms = [(group.shape, group.room, len(group.hosts)) for group in alike]
    best = replace(best, bound=_bound(problem, possible, rooms))
    is_small = sum(len(group.options) for group in alike) <= LARGEST
    return _search(problem, alike, effort, best) if is_small and not best.is_exact else best


def _bound(
    problem: PackingProblem,
    possible: Collection[int],
    rooms: Sequence[tuple[Shape, Sequence[int], int]],
) -> int:
    """Return an upper bound by class for servers of possible kinds in so many rooms of a shape."""
    sizes = {kind: problem.kinds[kind].totals for kind in possible}
    least = sum(problem.counts[kind] for kind in possible)
    pooled = {
        name
        for shape in problem.by_shape
        for name, place in shape.totals.items()
        if place in shape.pooled
    }
    for name in sorted({name for totals in sizes.values() for name in totals} - pooled):
        free = sum(
            number * max(0, room[shape.totals[name]])
            for shape, room, number in rooms
            if name in shape.totals
        )
        count = 0
        for kind in sorted(possible, key=lambda kind: sizes[kind].get(name, 0)):
            size, servers = sizes[kind].get(name, 0), problem.counts[kind]
            number = min(servers, free // size) if size else servers
            count, free = count + number, free - number * size
            if number < servers:
                break
        least = min(least, count)
    return least


def _possible(problem: PackingProblem) -> set[int]:
    """Return the kinds that have a place if the hosts of a shape have the most room of any."""
    most = {
        shape: list(map(max, zip(*(problem.hosts[host].room for host in numbers), strict=True)))
        for shape, numbers in problem.by_shape.items()
    }
    return {
        kind
        for kind, request in enumerate(problem.kinds)
        if any(
            all(most[shape][at] >= amount for at, amount in shape.sum_of(request).local)
            for shape in problem.shapes(request)
        )
    }


def _search(
    problem: PackingProblem, alike: Sequence[Group], effort: float, best: Packing
) -> Packing:
    """Pack groups until the servers of each group fit on its hosts."""
    budget = cpsat.Budget(effort)
    #: The patterns of groups whose cuts are too loose, by number; ``None``: there are too many.
    patterns: dict[int, list[Pattern] | None] = {}
    while True:
        model = _GroupModel(problem, alike, patterns)
        solved = budget.solve(model.model)
        if not solved.is_feasible:
            return best
        bound = min(best.bound, int(solved.solver.best_objective_bound + 1e-6))
        packing, failed = _deal(problem, list(model.shares(solved.solver)), bound)
        best = packing if packing.count > best.count else replace(best, bound=bound)
        fresh = [number for number in failed if number not in patterns]
        if best.is_exact or solved.status != 'OPTIMAL' or not fresh:
            return best
        patterns |= {number: groups.patterns(problem, alike[number]) for number in fresh}


class _GroupShare(NamedTuple):
    """The number of servers of a group, and the patterns of its hosts where these decide."""

    number: int
    group: Group
    pieces: dict[Piece, int]
    patterns: Sequence[Pattern] | None


class _GroupModel:
    """The groups as large hosts, some of which are filled by patterns."""

    def __init__(
        self,
        problem: PackingProblem,
        alike: Sequence[Group],
        patterns: Mapping[int, Sequence[Pattern] | None],
    ) -> None:
        self.model = cpsat.load('Where not every server has a place, how many have one').CpModel()
        self._groups = alike
        self._counts: list[dict[Piece, Any]] = []
        #: The patterns of each group that is filled by patterns, with their numbers of hosts.
        self._repeats: dict[int, list[tuple[Pattern, Any]]] = {}
        by_kind: dict[int, list[Any]] = {}
        pools: dict[Pool, list[Any]] = {}
        for number, group in enumerate(alike):
            counts = {}
            for piece, option in group.options.items():
                most = min(problem.counts[piece[0]], len(group.hosts) * group.most(piece))
                count = counts[piece] = self.model.new_int_var(0, most, '')
                by_kind.setdefault(piece[0], []).append(count)
                for pool, amount in option.shared:
                    pools.setdefault(pool, []).append(amount * count)
            self._counts.append(counts)
            self._fit(group, counts)
            if chosen := patterns.get(number):
                self._follow(number, chosen)
        for kind, terms in by_kind.items():
            self.model.add(sum(terms) <= problem.counts[kind])
        for pool, terms in pools.items():
            self.model.add(sum(terms) <= max(0, problem.pools[pool]))
        self.model.maximize(sum(count for counts in self._counts for count in counts.values()))

    def shares(self, solver: Any) -> Iterator[_GroupShare]:
        """Return the servers of each group that gets some."""
        for number, (group, counts) in enumerate(zip(self._groups, self._counts, strict=True)):
            pieces = {
                piece: n for piece, count in counts.items() if (n := int(solver.value(count)))
            }
            patterns = None
            if number in self._repeats:
                patterns = [
                    pattern
                    for pattern, repeats in self._repeats[number]
                    for _ in range(int(solver.value(repeats)))
                ]
            elif len(group.hosts) == 1 and not group.is_relaxed:
                patterns = [pieces]
            if pieces:
                yield _GroupShare(number, group, pieces, patterns)

    def _fit(self, group: Group, counts: Mapping[Piece, Any]) -> None:
        """Limit the servers to the free amounts of the hosts, with a rounding cut for each size."""
        hosts, by_room = len(group.hosts), dict[int, list[tuple[int, Any]]]()
        for piece, count in counts.items():
            for at, amount in group.needs[piece]:
                if amount:
                    by_room.setdefault(at, []).append((amount, count))
        for at, terms in by_room.items():
            free = group.room[at]
            self.model.add(sum(amount * count for amount, count in terms) <= hosts * free)
            for size in {amount for amount, _ in terms}:
                if free % size or size > 1:
                    whole = [(amount // size, count) for amount, count in terms if amount >= size]
                    self.model.add(sum(n * count for n, count in whole) <= hosts * (free // size))

    def _follow(self, number: int, patterns: Sequence[Pattern]) -> None:
        """Fill each host of a group by one of its patterns."""
        hosts = len(self._groups[number].hosts)
        repeats = [(pattern, self.model.new_int_var(0, hosts, '')) for pattern in patterns]
        self._repeats[number] = repeats
        self.model.add(sum(count for _, count in repeats) <= hosts)
        for piece, count in self._counts[number].items():
            most = sum(pattern[piece] * n for pattern, n in repeats if piece in pattern)
            self.model.add(count <= most)


def _deal(
    problem: PackingProblem, shares: Sequence[_GroupShare], bound: int
) -> tuple[Packing, list[int]]:
    """Distribute the servers of each group to its hosts; return the groups where that fails."""
    problem = problem.copy()
    placed: list[list[Placed]] = [[] for _ in problem.kinds]
    failed = []
    for share in shares:
        if share.patterns is not None:
            _place(problem, share, placed)
        elif not _spread(problem, share, placed):
            failed.append(share.number)
    missing = [count - len(done) for count, done in zip(problem.counts, placed, strict=True)]
    for done, more in zip(placed, Filler(problem).fill(problem.kinds, missing), strict=True):
        done += more
    return Packing(problem, placed, bound), failed


def _place(problem: PackingProblem, share: _GroupShare, placed: list[list[Placed]]) -> None:
    """Put servers on the hosts of a group as the patterns say."""
    left = dict(share.pieces)
    for at, pattern in zip(share.group.hosts, share.patterns or (), strict=False):
        for piece, most in pattern.items():
            kind, option = piece[0], share.group.options[piece]
            # Another group may have drawn on a pool where this one was to.
            free = [problem.pools[pool] // amount for pool, amount in option.shared]
            count = max(0, min(most, left.get(piece, 0), *free))
            if count:
                problem.place(problem.kinds[kind], problem.hosts[at], option, count)
                placed[kind] += [Placed(at, option)] * count
                left[piece] -= count


def _spread(problem: PackingProblem, share: _GroupShare, placed: list[list[Placed]]) -> bool:
    """Put servers on the hosts of a group by best fit; return True if each has a place."""
    counts = Counter[int]()
    for (kind, _), number in share.pieces.items():
        counts[kind] += number
    kinds = [(problem.kinds[kind], problem.servers[kind]) for kind in counts]
    hosts = share.group.hosts
    part = PackingProblem(kinds, [problem.hosts[at] for at in hosts], {}, problem.limits)
    part.pools = problem.pools
    dealt = Filler(part).fill(part.kinds, list(counts.values()))
    for kind, places in zip(counts, dealt, strict=True):
        placed[kind] += [Placed(hosts[place.host], place.option) for place in places]
    return sum(map(len, dealt)) == counts.total()
