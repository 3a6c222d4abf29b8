"""Places that are alike: what is possible in one of them is possible in each."""

from __future__ import annotations

from placementclient.planner.solve.problem import Decision, Problem


class Symmetry:
    """The places of a problem that can be exchanged without changing it.

    A place is a set of bins that are demanded together, such as the classes of one provider. Two
    places are alike if their bins are equal and every group demands the same of both.
    """

    def __init__(self, problem: Problem) -> None:
        place_of = _places(problem)
        members: dict[int, list[int]] = {}
        for where, place in enumerate(place_of):
            members.setdefault(place, []).append(where)
        position = {where: number for bins in members.values() for number, where in enumerate(bins)}
        #: of each place and group: its options, as (demands, index of the option), in a fixed order
        options: dict[int, list[list[tuple[object, int]]]] = {
            place: [[] for _ in problem.groups] for place in members
        }
        for index, group in enumerate(problem.groups):
            for option, demands in enumerate(group.item.options):
                alike = tuple(demand._replace(bin=position[demand.bin]) for demand in demands)
                options[place_of[demands[0].bin]][index].append((alike, option))
        interchangeable: dict[object, list[int]] = {}
        for place, bins in members.items():
            signature = (
                tuple(problem.bins[where] for where in bins),
                tuple(
                    (index, demand._replace(bin=position[demand.bin]))
                    for index, group in enumerate(problem.groups)
                    for demand in group.item.refused
                    if demand.bin in bins
                ),
                tuple(tuple(alike for alike, _ in of_kind) for of_kind in options[place]),
            )
            interchangeable.setdefault(signature, []).append(place)
        #: of each group, sets of options that can be exchanged
        self._orbits: list[list[tuple[int, ...]]] = [
            [
                tuple(option for _, option in several)
                for alike_places in interchangeable.values()
                if len(alike_places) > 1
                for several in zip(*(options[place][index] for place in alike_places), strict=True)
            ]
            for index in range(len(problem.groups))
        ]

    def spread(self, decision: Decision) -> None:
        """Extend what is known to be possible to all places that are alike."""
        for index, orbits in enumerate(self._orbits):
            possible = decision.possible[index]
            amounts = dict(decision.placements[index][0])
            for orbit in orbits:
                if not possible.isdisjoint(orbit):
                    possible.update(orbit)
                if len({amounts.get(option, 0) for option in orbit}) > 1:
                    decision.fixed[index] = False


def _places(problem: Problem) -> list[int]:
    """Of each bin the place that it belongs to."""
    parents = list(range(len(problem.bins)))

    def find(where: int) -> int:
        while parents[where] != where:
            parents[where] = where = parents[parents[where]]
        return where

    for group in problem.groups:
        for demands in group.item.options:
            for demand in demands[1:]:
                parents[find(demand.bin)] = find(demands[0].bin)
    return [find(where) for where in range(len(problem.bins))]
