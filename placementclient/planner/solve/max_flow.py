"""Items of one size: a flow, which is decided exactly, and fast, by augmenting paths."""

from __future__ import annotations

from placementclient.planner.solve.problem import Decision, Kind, Placement, Problem


def applies(problem: Problem) -> bool:
    """Whether all items are whole, of one class, of one size, and independent of each other."""
    sizes = {
        amount for kind in problem.kinds for demands in kind.item.ways for _, amount, _ in demands
    }
    return len(sizes) == 1 and all(
        not kind.item.divisible
        and kind.item.owner < 0
        and all(len(demands) == 1 for demands in kind.item.ways)
        for kind in problem.kinds
    )


def decide(problem: Problem) -> Decision | None:
    """A solution and all that is possible; ``None``: proof that there is none."""
    flow = _Flow(problem)
    if not all(flow.send(index) for index in range(len(problem.kinds))):
        return None
    return flow.decision()


def core(problem: Problem) -> Problem:
    """A part of an infeasible problem that is infeasible, and from which no item can be spared.

    It is the first item for which no room can be made, with all that fill the bins it could use.

    :return: the same kinds, some of them with fewer items or none
    """
    flow = _Flow(problem)
    stuck = next(index for index in range(len(problem.kinds)) if not flow.send(index))
    counts = flow.rivals(stuck)
    return Problem(
        problem.bins,
        tuple(
            Kind(kind.item, counts.get(index, 0) + (index == stuck))
            for index, kind in enumerate(problem.kinds)
        ),
    )


class _Flow:
    def __init__(self, problem: Problem) -> None:
        self._kinds = problem.kinds
        self._size = problem.kinds[0].item.ways[0][0][1]
        self._free = [max(room.room, 0) // self._size for room in problem.bins]
        #: of each kind the bins that it may use, in the order of its ways
        self._wheres = [[demands[0][0] for demands in kind.item.ways] for kind in problem.kinds]
        #: of each bin, how many items of each kind are in it
        self._inside: list[dict[int, int]] = [{} for _ in problem.bins]

    def send(self, index: int) -> bool:
        """Place all items of a kind, the earlier ways first; whether that succeeds."""
        left = self._kinds[index].count
        for where in self._wheres[index]:
            number = min(left, self._free[where])
            if number:
                self._free[where] -= number
                self._inside[where][index] = self._inside[where].get(index, 0) + number
                left -= number
        return all(self._augment(index) for _ in range(left))

    def rivals(self, index: int) -> dict[int, int]:
        """How many items of each kind fill the bins that a kind could use."""
        counts: dict[int, int] = {}
        for where in self._reach(self._wheres[index]):
            for other, number in self._inside[where].items():
                counts[other] = counts.get(other, 0) + number
        return counts

    def decision(self) -> Decision:
        reach = [self._reach([where]) for where in range(len(self._inside))]
        placements: list[list[Placement]] = []
        possible: list[set[int]] = []
        for index, wheres in enumerate(self._wheres):
            used = {where for where in wheres if self._inside[where].get(index)}
            placements.append(
                [
                    ((way, self._size),)
                    for way, where in enumerate(wheres)
                    for _ in range(self._inside[where].get(index, 0))
                ]
            )
            possible.append(
                {
                    way
                    for way, where in enumerate(wheres)
                    if not used.isdisjoint(reach[where])
                    or any(self._free[other] for other in reach[where])
                }
            )
        return Decision(placements, possible, [len(ways) == 1 for ways in possible])

    def _augment(self, index: int) -> bool:
        """Place one item more, if need be by moving others out of its way."""
        reach = self._reach(self._wheres[index])
        end = next((where for where in reach if self._free[where]), None)
        if end is None:
            return False
        self._free[end] -= 1
        while (step := reach[end]) is not None:
            start, other = step
            self._add(end, other, 1)
            self._add(start, other, -1)
            end = start
        self._add(end, index, 1)
        return True

    def _add(self, where: int, index: int, number: int) -> None:
        inside = self._inside[where]
        inside[index] = inside.get(index, 0) + number
        if not inside[index]:
            del inside[index]

    def _reach(self, starts: list[int]) -> dict[int, tuple[int, int] | None]:
        """The bins into which room can be made for by moving items on, each with the bin and the
        kind of the last move.

        Bins without any capacity are never reached: no item could be moved there.
        """
        reached: dict[int, tuple[int, int] | None] = {
            where: None for where in starts if self._free[where] or self._inside[where]
        }
        pending = list(reached)
        for where in pending:
            for index in self._inside[where]:
                for other in self._wheres[index]:
                    if other not in reached and (self._free[other] or self._inside[other]):
                        reached[other] = (where, index)
                        pending.append(other)
        return reached
