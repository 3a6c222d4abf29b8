"""The largest number of servers that can be placed, with a proof.

First the packing by best-fit decreasing. If it leaves a server, CP-SAT packs groups of hosts that
are alike, each as one large host with rounding cuts: its bound is a proof. What it finds is dealt
out to the hosts. A group for which that fails gets the patterns of its hosts instead of the cuts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from placementclient.insight.drain import groups
from placementclient.insight.drain.groups import Group, Item
from placementclient.insight.drain.packing import Filler, PackingProblem, Placed, fill
from placementclient.optimize import cpsat
from placementclient.placing.shapes import Pool, Shape

#: How long to search, in seconds.
EFFORT = 60.0
#: The largest model, in variables.
LARGEST = 200_000
#: The most hosts, times kinds of servers, that are looked at one by one.
MOST_PAIRS = 2_000_000


@dataclass(frozen=True, slots=True)
class Packing:
    """The servers that have a place.

    :param problem: with the room that is left
    :param placed: by kind
    :param bound: no more servers can be placed
    """

    problem: PackingProblem
    placed: Sequence[Sequence[Placed]]
    bound: int

    @property
    def count(self) -> int:
        return sum(map(len, self.placed))

    @property
    def is_exact(self) -> bool:
        """Return whether it is proved that no more servers can have a place."""
        return self.count >= self.bound

    @property
    def is_complete(self) -> bool:
        return self.count == sum(self.problem.counts)


def pack(problem: PackingProblem, effort: float = EFFORT) -> Packing:
    """Place as many servers as possible.

    :param problem: it is not modified
    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    filled = problem.copy()
    first = Packing(filled, fill(filled), sum(problem.counts))
    if first.is_complete or not problem.hosts:
        return first if problem.hosts else Packing(filled, first.placed, 0)
    if len(problem.hosts) * len(problem.kinds) > MOST_PAIRS:
        single = [(host.shape, host.room, 1) for host in problem.hosts]
        return Packing(filled, first.placed, bound(problem, _possible(problem), single))
    alike = groups.groups(problem)
    possible = {kind for group in alike for kind, _ in group.options}
    rooms = [(group.shape, group.room, len(group.hosts)) for group in alike]
    first = Packing(filled, first.placed, bound(problem, possible, rooms))
    return first if first.is_exact else _GroupSearch(problem, alike, effort).run(first)


def bound(
    problem: PackingProblem,
    possible: Collection[int],
    rooms: Sequence[tuple[Shape, Sequence[int], int]],
) -> int:
    """Return an upper bound for the number of servers that can be placed, by class.

    :param possible: the numbers of the kinds that have a place on some host
    :param rooms: shape and room of hosts, and how many there are of them
    """
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


class _GroupSearch:
    """Packs groups until what is found can be dealt out to the hosts."""

    def __init__(self, problem: PackingProblem, alike: Sequence[Group], effort: float) -> None:
        self._problem, self._groups = problem, alike
        self._budget = cpsat.Budget(effort)
        #: The patterns of groups that the cuts are too loose for, by the number of the group.
        self._patterns: dict[int, list[Counter[Item]]] = {}
        self._stuck: set[int] = set()

    def run(self, best: Packing) -> Packing:
        """Return the best packing.

        :param best: what is known already
        """
        if sum(len(group.options) for group in self._groups) > LARGEST:
            return best
        while True:
            model = _GroupModel(self._problem, self._groups, self._patterns)
            solved = self._budget.solve(model.model)
            if not solved.found:
                return best
            least = min(best.bound, int(solved.solver.best_objective_bound + 1e-6))
            packing, failed = self._deal(model.found(solved.solver), least)
            if packing.count <= best.count:
                packing = Packing(best.problem, best.placed, least)
            best = packing
            fresh = failed - self._stuck - self._patterns.keys()
            if best.is_exact or solved.status != 'OPTIMAL' or not fresh:
                return best
            for number in sorted(fresh):
                patterns = groups.patterns(self._problem, self._groups[number])
                if patterns is None:
                    self._stuck.add(number)
                else:
                    self._patterns[number] = patterns

    def _deal(self, shares: Sequence[_GroupShare], least: int) -> tuple[Packing, set[int]]:
        """Deal out what each group gets to its hosts.

        :return: the packing, and the groups for which that fails
        """
        problem = self._problem.copy()
        placed: list[list[Placed]] = [[] for _ in problem.kinds]
        failed = set()
        for share in shares:
            group = self._groups[share.group]
            if share.patterns is None and (len(group.hosts) > 1 or group.is_relaxed):
                if not _spread(problem, group, share, placed):
                    failed.add(share.group)
            else:
                _place(problem, group, share, placed)
        filler = Filler(problem)
        order = sorted(range(len(placed)), key=lambda kind: -filler.size(problem.kinds[kind]))
        for kind in order:
            missing = problem.counts[kind] - len(placed[kind])
            placed[kind] += filler.fill(problem.kinds[kind], missing)
        return Packing(problem, placed, least), failed


class _GroupShare(NamedTuple):
    """The share of a group.

    :param items: how many servers
    :param patterns: for each of its hosts, where patterns decide; some hosts may have none
    """

    group: int
    items: dict[Item, int]
    patterns: Sequence[Mapping[Item, int]] | None


class _GroupModel:
    """The groups as large hosts.

    :param patterns: of the groups that are filled by patterns
    """

    def __init__(
        self,
        problem: PackingProblem,
        alike: Sequence[Group],
        patterns: Mapping[int, Sequence[Mapping[Item, int]]],
    ) -> None:
        self.model = cpsat.load('Where not every server has a place, how many have one').CpModel()
        self._problem, self._groups, self._patterns = problem, alike, patterns
        self._counts: list[dict[Item, Any]] = []
        self._repeats: dict[int, list[Any]] = {}
        by_kind: dict[int, list[Any]] = {}
        pools: dict[Pool, list[Any]] = {}
        for number, group in enumerate(alike):
            counts = {item: self._count(group, item) for item in group.options}
            self._counts.append(counts)
            for item, count in counts.items():
                by_kind.setdefault(item[0], []).append(count)
                for pool, amount in group.options[item].shared:
                    pools.setdefault(pool, []).append(amount * count)
            self._fit(group, counts)
            if number in patterns:
                self._follow(number, counts)
        for kind, terms in by_kind.items():
            self.model.add(sum(terms) <= problem.counts[kind])
        for pool, terms in pools.items():
            self.model.add(sum(terms) <= max(0, problem.pools[pool]))
        self.model.maximize(sum(count for counts in self._counts for count in counts.values()))

    def found(self, solver: Any) -> list[_GroupShare]:
        """Return what each group gets that gets something."""
        shares = []
        for number, counts in enumerate(self._counts):
            items = {item: n for item, count in counts.items() if (n := int(solver.value(count)))}
            used = None
            if number in self._repeats:
                pairs = zip(self._patterns[number], self._repeats[number], strict=True)
                used = [
                    pattern for pattern, count in pairs for _ in range(int(solver.value(count)))
                ]
            if items:
                shares.append(_GroupShare(number, items, used))
        return shares

    def _count(self, group: Group, item: Item) -> Any:
        most = min(self._problem.counts[item[0]], len(group.hosts) * group.most(item))
        return self.model.new_int_var(0, most, '')

    def _fit(self, group: Group, counts: Mapping[Item, Any]) -> None:
        """Allow no more than there is, with a rounding cut for each size."""
        hosts, by_room = len(group.hosts), dict[int, list[tuple[int, Any]]]()
        for item, count in counts.items():
            for at, amount in group.needs[item]:
                if amount:
                    by_room.setdefault(at, []).append((amount, count))
        for at, terms in by_room.items():
            free = group.room[at]
            self.model.add(sum(amount * count for amount, count in terms) <= hosts * free)
            for size in {amount for amount, _ in terms}:
                if free % size or size > 1:
                    whole = [(amount // size, count) for amount, count in terms if amount >= size]
                    self.model.add(sum(n * count for n, count in whole) <= hosts * (free // size))

    def _follow(self, number: int, counts: Mapping[Item, Any]) -> None:
        """Fill each host of a group by one of its patterns."""
        hosts, patterns = len(self._groups[number].hosts), self._patterns[number]
        repeats = [self.model.new_int_var(0, hosts, '') for _ in patterns]
        self._repeats[number] = repeats
        self.model.add(sum(repeats) <= hosts)
        for item, count in counts.items():
            pairs = zip(patterns, repeats, strict=True)
            self.model.add(
                count <= sum(pattern[item] * n for pattern, n in pairs if item in pattern)
            )


def _place(
    problem: PackingProblem, group: Group, share: _GroupShare, placed: list[list[Placed]]
) -> None:
    """Put servers on the hosts of a group as the patterns say; on its one host without them."""
    left = dict(share.items)
    patterns = [share.items] if share.patterns is None else share.patterns
    for at, pattern in zip(group.hosts, patterns, strict=False):
        for item, most in pattern.items():
            count = min(most, left.get(item, 0))
            if count:
                kind, option = item[0], group.options[item]
                problem.place(problem.kinds[kind], problem.hosts[at], option, count)
                placed[kind] += [Placed(at, option)] * count
                left[item] -= count


def _spread(
    problem: PackingProblem, group: Group, share: _GroupShare, placed: list[list[Placed]]
) -> bool:
    """Put servers on the hosts of a group by best fit.

    :return: whether each has a place
    """
    servers: dict[int, int] = {}
    for (kind, _), number in share.items.items():
        servers[kind] = servers.get(kind, 0) + number
    kinds = [(problem.kinds[kind], number) for kind, number in servers.items()]
    part = PackingProblem(kinds, [problem.hosts[at] for at in group.hosts], {}, problem.limits)
    part.pools = problem.pools
    for kind, places in zip(servers, fill(part), strict=True):
        placed[kind] += [Placed(group.hosts[place.host], place.option) for place in places]
        servers[kind] -= len(places)
    return not any(servers.values())
