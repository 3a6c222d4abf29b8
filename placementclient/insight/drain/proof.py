# SPDX-License-Identifier: Apache-2.0
"""The largest number of servers that can be placed, with a proof.

First the packing by best-fit decreasing. If it leaves a server, CP-SAT packs groups of hosts that
are alike, each as one large host: its bound is a proof. Then the servers of each group are
distributed to its hosts. Where that fails, the model gets the patterns that fill a host of the
group, and CP-SAT packs again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from placementclient.insight.drain import groups
from placementclient.insight.drain.groups import AlikeHosts
from placementclient.insight.drain.numbers import KindNumber, ShapeNumber
from placementclient.insight.drain.packing import Packing
from placementclient.insight.drain.pattern_model import GroupShare, PatternModel, Patterns
from placementclient.insight.drain.problem import PackingProblem, ServerPlace
from placementclient.optimize import cpsat

#: How long to search, in seconds.
EFFORT = 60.0
#: The largest model, in variables.
LARGEST = 200_000
#: The most hosts, times kinds of servers, that are examined one by one.
MOST_PAIRS = 2_000_000


def pack_servers(problem: PackingProblem, effort: float = EFFORT) -> Packing:
    """Return a packing of as many servers as can be found, with a proved upper bound.

    :param effort: how long to search for what the packing by best fit does not find, in seconds
    :raises errors.PlacementError: if OR-tools is needed and not installed
    """
    best = fill_by_best_fit(problem)
    if best.is_complete or not problem.hosts:
        best.bound = best.placed_count
        return best
    if len(problem.hosts) * len(problem.servers) > MOST_PAIRS:
        single = [(host.shape, host.room, 1) for host in problem.hosts]
        best.bound = _bound_placed_servers(problem, _find_possible_kinds(problem), single)
        return best
    hosts = [groups.sort_twin_providers(host, problem.shapes[host.shape]) for host in problem.hosts]
    problem = replace(problem, hosts=hosts)
    alike = groups.group_alike_hosts(problem)
    possible = {kind for group in alike for kind, _ in group.options}
    rooms = [(group.shape, group.room, len(group.hosts)) for group in alike]
    best.bound = _bound_placed_servers(problem, possible, rooms)
    is_small = sum(len(group.options) for group in alike) <= LARGEST
    return _search_packing(problem, alike, best, effort) if is_small and not best.is_exact else best


def fill_by_best_fit(problem: PackingProblem) -> Packing:
    """Return the packing of the largest servers first, each on the fullest host with room."""
    packing = Packing(problem)
    packing.rank_hosts(problem.host_numbers, problem.servers)
    packing.places = packing.fill_hosts(problem.server_counts)
    return packing


def _bound_placed_servers(
    problem: PackingProblem,
    possible: Collection[KindNumber],
    rooms: Sequence[tuple[ShapeNumber, Sequence[int], int]],
) -> int:
    """Return an upper bound for the servers with a place, from the free amount of each class.

    :param possible: the kinds that may have a place
    :param rooms: of equal hosts the shape, the room of each, and their number
    """
    sizes = {kind: problem.requests[kind].totals for kind in possible}
    shapes = {number: problem.shapes[number] for number in problem.hosts_by_shape}
    pooled = {
        name
        for shape in shapes.values()
        for name, place in shape.totals.items()
        if place in shape.pooled_totals
    }
    least = sum(problem.server_counts[kind] for kind in possible)
    for name in sorted({name for totals in sizes.values() for name in totals} - pooled):
        free = sum(
            number * max(0, room[shapes[shape].totals[name]])
            for shape, room, number in rooms
            if name in shapes[shape].totals
        )
        pairs = ((sizes[kind].get(name, 0), problem.server_counts[kind]) for kind in possible)
        least = min(least, _count_fitting_servers(free, sorted(pairs)))
    return least


def _count_fitting_servers(free: int, sizes: Iterable[tuple[int, int]]) -> int:
    """Return the number of servers that fit into a free amount of one class, the smallest first.

    :param sizes: pairs of amount and number of servers, sorted
    """
    count = 0
    for size, servers in sizes:
        number = min(servers, free // size) if size else servers
        count, free = count + number, free - number * size
        if number < servers:
            break
    return count


def _find_possible_kinds(problem: PackingProblem) -> set[KindNumber]:
    """Return the kinds of which a server would fit, if each host had the most room of its shape."""
    most = {
        shape: list(map(max, zip(*(problem.hosts[host].room for host in numbers), strict=True)))
        for shape, numbers in problem.hosts_by_shape.items()
    }
    return {
        kind
        for kind in problem.servers
        if any(
            all(most[shape][at] >= amount for at, amount in fit.least.local)
            for shape, fit in problem.find_shape_fits(kind, most)
        )
    }


def _search_packing(
    problem: PackingProblem, alike: Sequence[AlikeHosts], best: Packing, effort: float
) -> Packing:
    """Return the best packing that CP-SAT finds for groups of hosts, with a proved upper bound.

    :param best: the best packing so far, which is returned if there is no better one
    :param alike: the groups of hosts that are alike
    :param effort: how long to search, in seconds
    """
    budget, patterns = cpsat.Budget(effort), Patterns({})
    while True:
        variables = PatternModel(problem, alike, patterns)
        solved = budget.solve(variables.model)
        if not solved.is_feasible:
            return best
        bound = min(best.bound, int(solved.solver.best_objective_bound + 1e-6))
        packing, failed = _distribute_servers(problem, variables.read_shares(solved.solver))
        best = packing if packing.placed_count > best.placed_count else best
        best.bound = bound
        fresh = [index for index in failed if index not in patterns]
        if best.is_exact or solved.status != 'OPTIMAL' or not fresh:
            return best
        for index in fresh:
            patterns[index] = groups.find_patterns(problem, alike[index])


def _distribute_servers(
    problem: PackingProblem, shares: Iterable[GroupShare]
) -> tuple[Packing, list[int]]:
    """Return the packing of a solution, and the indexes of the groups with servers that do not fit.

    :param shares: the servers of each group of hosts in the solution
    """
    packing, failed = Packing(problem), []
    for share in shares:
        if share.patterns is not None:
            _place_by_patterns(packing, share)
        elif not _place_by_best_fit(packing, share):
            failed.append(share.number)
    missing = {kind: n - len(packing.places[kind]) for kind, n in problem.server_counts.items()}
    packing.rank_hosts(problem.host_numbers, problem.servers)
    for kind, placed in packing.fill_hosts(missing).items():
        packing.places[kind] += placed
    return packing, failed


def _place_by_patterns(packing: Packing, share: GroupShare) -> None:
    """Put the servers of a group on its hosts, by the pattern of each host."""
    left = dict(share.pieces)
    for host, pattern in zip(share.group.hosts, share.patterns or (), strict=False):
        for piece, most in pattern.items():
            kind, option = piece.kind, share.group.options[piece]
            # Another group may have drawn on a pool where this one was to.
            free = [packing.pools[pool] // amount for pool, amount in option.shared]
            count = max(0, min(most, left.get(piece, 0), *free))
            if count:
                packing.place_servers(kind, host, option, count)
                packing.places[kind] += [ServerPlace(host, option)] * count
                left[piece] -= count


def _place_by_best_fit(packing: Packing, share: GroupShare) -> bool:
    """Put the servers of a group on its hosts by best fit; return True if each has a place."""
    counts = Counter[KindNumber]()
    for piece, count in share.pieces.items():
        counts[piece.kind] += count
    packing.rank_hosts(share.group.hosts, counts)
    for kind, placed in packing.fill_hosts(counts).items():
        packing.places[kind] += placed
        counts[kind] -= len(placed)
    return not counts.total()
