# SPDX-License-Identifier: Apache-2.0
"""The largest number of servers that can be placed, with a proof.

First the packing by best-fit decreasing. If it leaves a server, CP-SAT packs groups of hosts that
are alike, each as one large host with rounding cuts: its bound is a proof. Then the servers of each
group are distributed to its hosts. A group for which that fails gets the patterns of its hosts
instead of the cuts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from placementclient.insight.drain import groups
from placementclient.insight.drain.groups import HostGroup, Pattern
from placementclient.insight.drain.numbers import KindNumber, Piece, ShapeNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.problem import Placed, Problem
from placementclient.optimize import cpsat
from placementclient.placing.requests import Pool

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: How long to search, in seconds.
EFFORT = 60.0
#: The largest model, in variables.
LARGEST = 200_000
#: The most hosts, times kinds of servers, that are examined one by one.
MOST_PAIRS = 2_000_000


def pack(problem: Problem, effort: float = EFFORT) -> Packing:
    """Return a packing of as many servers as can be found, with a proved upper bound.

    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    best = fill_by_best_fit(problem)
    if best.is_complete or not problem.hosts:
        best.bound = best.count
        return best
    if len(problem.hosts) * len(problem.servers) > MOST_PAIRS:
        single = [(host.shape, host.room, 1) for host in problem.hosts]
        best.bound = _bound_placed_servers(problem, _find_possible_kinds(problem), single)
        return best
    hosts = [groups.sort_twin_providers(host, problem.shapes[host.shape]) for host in problem.hosts]
    problem = replace(problem, hosts=hosts)
    alike = groups.group_hosts(problem)
    possible = {kind for group in alike for kind, _ in group.options}
    rooms = [(group.shape, group.room, len(group.hosts)) for group in alike]
    best.bound = _bound_placed_servers(problem, possible, rooms)
    is_small = sum(len(group.options) for group in alike) <= LARGEST
    return (
        PatternModel(problem, alike).search(best, effort)
        if is_small and not best.is_exact
        else best
    )


def fill_by_best_fit(problem: Problem) -> Packing:
    """Return the packing of the largest servers first, each on the fullest host with room."""
    packing = Packing(problem)
    packing.rank_hosts(problem.host_numbers, problem.servers)
    packing.places = packing.fill_hosts(problem.counts)
    return packing


def _bound_placed_servers(
    problem: Problem,
    possible: Collection[KindNumber],
    rooms: Sequence[tuple[ShapeNumber, Sequence[int], int]],
) -> int:
    """Return an upper bound for the servers with a place, from the free amount of each class."""
    sizes = {kind: problem.requests[kind].totals for kind in possible}
    shapes = {number: problem.shapes[number] for number in problem.hosts_by_shape}
    pooled = {
        name
        for shape in shapes.values()
        for name, place in shape.totals.items()
        if place in shape.pooled
    }
    least = sum(problem.counts[kind] for kind in possible)
    for name in sorted({name for totals in sizes.values() for name in totals} - pooled):
        free = sum(
            number * max(0, room[shapes[shape].totals[name]])
            for shape, room, number in rooms
            if name in shapes[shape].totals
        )
        pairs = ((sizes[kind].get(name, 0), problem.counts[kind]) for kind in possible)
        least = min(least, _count_fitting(free, sorted(pairs)))
    return least


def _count_fitting(free: int, sizes: Iterable[tuple[int, int]]) -> int:
    """Return the number of servers that fit into a free amount, the smallest first.

    :param sizes: sizes, the smallest first, with the number of servers
    """
    count = 0
    for size, servers in sizes:
        number = min(servers, free // size) if size else servers
        count, free = count + number, free - number * size
        if number < servers:
            break
    return count


def _find_possible_kinds(problem: Problem) -> set[KindNumber]:
    """Return the kinds that may have a place, if each host had the most room of its shape."""
    most = {
        shape: list(map(max, zip(*(problem.hosts[host].room for host in numbers), strict=True)))
        for shape, numbers in problem.hosts_by_shape.items()
    }
    return {
        kind
        for kind in problem.servers
        if any(
            all(most[shape][at] >= amount for at, amount in fit.sums.local)
            for shape, fit in problem.find_shape_fits(kind, most)
        )
    }


class _Share(NamedTuple):
    """The number of servers of a group, and the patterns of its hosts where these decide."""

    number: int
    pieces: dict[Piece, int]
    patterns: Sequence[Pattern] | None


class PatternModel:
    """The groups as large hosts, some of which are filled by patterns, as a model of CP-SAT."""

    def __init__(self, problem: Problem, alike: Sequence[HostGroup]) -> None:
        self._problem, self._groups = problem, alike
        #: The patterns of groups whose cuts are too loose, by number; ``None``: there are too many.
        self._patterns: dict[int, list[Pattern] | None] = {}
        self._model: cp_model.CpModel
        #: The number of servers of each piece of each group.
        self._counts: list[dict[Piece, cp_model.IntVar]] = []
        #: The patterns of each group that is filled by patterns, with their numbers of hosts.
        self._repeats: dict[int, list[tuple[Pattern, cp_model.IntVar]]] = {}

    def search(self, best: Packing, effort: float) -> Packing:
        """Pack groups until the servers of each group fit on its hosts.

        :param best: a packing, which is returned with a better bound if there is no better packing
        """
        budget = cpsat.Budget(effort)
        while True:
            self._build_model()
            solved = budget.solve(self._model)
            if not solved.is_feasible:
                return best
            bound = min(best.bound, int(solved.solver.best_objective_bound + 1e-6))
            packing, failed = self._distribute(list(self._read_shares(solved.solver)))
            best = packing if packing.count > best.count else best
            best.bound = bound
            fresh = [number for number in failed if number not in self._patterns]
            if best.is_exact or solved.status != 'OPTIMAL' or not fresh:
                return best
            for number in fresh:
                self._patterns[number] = groups.find_patterns(self._problem, self._groups[number])

    def _build_model(self) -> None:
        """Build the model, with the patterns that are known."""
        problem = self._problem
        self._model = cpsat.load('Where not every server has a place, how many have one').CpModel()
        self._counts, self._repeats = [], {}
        by_kind: dict[KindNumber, list[cp_model.IntVar]] = defaultdict(list)
        pools: dict[Pool, list[cp_model.LinearExpr]] = defaultdict(list)
        for number, group in enumerate(self._groups):
            counts = {}
            for piece, option in group.options.items():
                most = min(
                    problem.counts[piece.kind],
                    len(group.hosts) * group.count_fitting_servers(piece),
                )
                count = counts[piece] = self._model.new_int_var(0, most, '')
                by_kind[piece.kind].append(count)
                for pool, amount in option.shared:
                    pools[pool].append(amount * count)
            self._counts.append(counts)
            self._limit_amounts(group, counts)
            if patterns := self._patterns.get(number):
                self._limit_host_to_patterns(number, patterns)
        for kind, terms in by_kind.items():
            self._model.add(sum(terms) <= problem.counts[kind])
        for pool, amounts in pools.items():
            self._model.add(sum(amounts) <= max(0, problem.pools[pool]))
        self._model.maximize(sum(count for counts in self._counts for count in counts.values()))

    def _limit_amounts(self, group: HostGroup, counts: Mapping[Piece, cp_model.IntVar]) -> None:
        """Limit the servers to the free amounts of a group, with a rounding cut for each size."""
        hosts = len(group.hosts)
        by_room: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
        for piece, count in counts.items():
            for at, amount in group.needs[piece]:
                if amount:
                    by_room[at].append((amount, count))
        for at, terms in by_room.items():
            free = group.room[at]
            self._model.add(sum(amount * count for amount, count in terms) <= hosts * free)
            for size in {amount for amount, _ in terms}:
                if free % size or size > 1:
                    whole = [(amount // size, count) for amount, count in terms if amount >= size]
                    self._model.add(sum(n * count for n, count in whole) <= hosts * (free // size))

    def _limit_host_to_patterns(self, number: int, patterns: Sequence[Pattern]) -> None:
        """Require that each host of a group holds no more than one of its patterns does."""
        hosts = len(self._groups[number].hosts)
        repeats = [(pattern, self._model.new_int_var(0, hosts, '')) for pattern in patterns]
        self._repeats[number] = repeats
        self._model.add(sum(count for _, count in repeats) <= hosts)
        for piece, count in self._counts[number].items():
            most = sum(pattern[piece] * n for pattern, n in repeats if piece in pattern)
            self._model.add(count <= most)

    def _read_shares(self, solver: cp_model.CpSolver) -> Iterator[_Share]:
        """Yield the servers of each group of hosts in a solution."""
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
                yield _Share(number, pieces, patterns)

    def _distribute(self, shares: Iterable[_Share]) -> tuple[Packing, list[int]]:
        """Return a packing with the servers of groups on their hosts, and groups that fail."""
        problem, failed = self._problem, []
        packing = Packing(problem)
        for share in shares:
            if share.patterns is not None:
                self._place_by_patterns(packing, share)
            elif not self._place_by_best_fit(packing, share):
                failed.append(share.number)
        missing = {kind: n - len(packing.places[kind]) for kind, n in problem.counts.items()}
        packing.rank_hosts(problem.host_numbers, problem.servers)
        for kind, placed in packing.fill_hosts(missing).items():
            packing.places[kind] += placed
        return packing, failed

    def _place_by_patterns(self, packing: Packing, share: _Share) -> None:
        """Put servers on the hosts of a group by patterns, one for each host."""
        group, left = self._groups[share.number], dict(share.pieces)
        for at, pattern in zip(group.hosts, share.patterns or (), strict=False):
            for piece, most in pattern.items():
                kind, option = piece.kind, group.options[piece]
                # Another group may have drawn on a pool where this one was to.
                free = [packing.pools[pool] // amount for pool, amount in option.shared]
                count = max(0, min(most, left.get(piece, 0), *free))
                if count:
                    packing.place_servers(kind, at, option, count)
                    packing.places[kind] += [Placed(at, option)] * count
                    left[piece] -= count

    def _place_by_best_fit(self, packing: Packing, share: _Share) -> bool:
        """Put servers on the hosts of a group by best fit; return True if each has a place."""
        counts = Counter[KindNumber]()
        for (kind, _), number in share.pieces.items():
            counts[kind] += number
        packing.rank_hosts(self._groups[share.number].hosts, counts)
        for kind, placed in packing.fill_hosts(counts).items():
            packing.places[kind] += placed
            counts[kind] -= len(placed)
        return not counts.total()
