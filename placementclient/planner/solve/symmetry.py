"""Places that are alike: what is possible in one of them is possible in each."""

from __future__ import annotations

from placementclient.planner.solve.problem import Decision, Problem


class Symmetry:
    """The places of a problem that can be exchanged without changing it.

    A place is a set of bins that are demanded together, such as the classes of one provider. Two
    places are alike if their bins are equal and every kind demands the same of both.
    """

    def __init__(self, problem: Problem) -> None:
        place_of = _places(problem)
        members: dict[int, list[int]] = {}
        for where, place in enumerate(place_of):
            members.setdefault(place, []).append(where)
        position = {where: number for bins in members.values() for number, where in enumerate(bins)}
        #: of each place, of each kind: its ways, as (demands, index of the way), in a fixed order
        ways: dict[int, list[list[tuple[object, int]]]] = {
            place: [[] for _ in problem.kinds] for place in members
        }
        for index, kind in enumerate(problem.kinds):
            for way, demands in enumerate(kind.item.ways):
                alike = tuple((position[where], amount, held) for where, amount, held in demands)
                ways[place_of[demands[0][0]]][index].append((alike, way))
        groups: dict[object, list[int]] = {}
        for place, bins in members.items():
            signature = (
                tuple(problem.bins[where] for where in bins),
                tuple(tuple(alike for alike, _ in of_kind) for of_kind in ways[place]),
            )
            groups.setdefault(signature, []).append(place)
        #: of each kind, sets of ways that can be exchanged
        self._orbits: list[list[tuple[int, ...]]] = [
            [
                tuple(way for _, way in several)
                for group in groups.values()
                if len(group) > 1
                for several in zip(*(ways[place][index] for place in group), strict=True)
            ]
            for index in range(len(problem.kinds))
        ]

    def spread(self, decision: Decision) -> None:
        """Extend what is known to be possible to all places that are alike."""
        for index, orbits in enumerate(self._orbits):
            possible = decision.possible[index]
            amounts = dict(decision.placements[index][0])
            for orbit in orbits:
                if not possible.isdisjoint(orbit):
                    possible.update(orbit)
                if len({amounts.get(way, 0) for way in orbit}) > 1:
                    decision.fixed[index] = False


def _places(problem: Problem) -> list[int]:
    """Of each bin the place that it belongs to."""
    parents = list(range(len(problem.bins)))

    def find(where: int) -> int:
        while parents[where] != where:
            parents[where] = where = parents[parents[where]]
        return where

    for kind in problem.kinds:
        for demands in kind.item.ways:
            for where, _, _ in demands[1:]:
                parents[find(where)] = find(demands[0][0])
    return [find(where) for where in range(len(problem.bins))]
