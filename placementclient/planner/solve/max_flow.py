"""Items of one size: a flow, which is decided exactly, and fast, by augmenting paths."""

from __future__ import annotations

from placementclient.planner.solve.problem import Decision, ItemGroup, Placement, Problem


def applies(problem: Problem) -> bool:
    """Whether all items are whole, of one class, of one size, and independent of each other."""
    sizes = {
        amount
        for group in problem.groups
        for demands in group.item.options
        for _, amount, _ in demands
    }
    return len(sizes) == 1 and all(
        not group.item.divisible
        and group.item.owner < 0
        and all(len(demands) == 1 for demands in group.item.options)
        for group in problem.groups
    )


def decide(problem: Problem) -> Decision | None:
    """A solution and all that is possible; ``None``: proof that there is none."""
    flow = _Flow(problem)
    if not all(flow.send(index) for index in range(len(problem.groups))):
        return None
    return flow.decision()


def core(problem: Problem) -> Problem:
    """A part of an infeasible problem that is infeasible, and from which no item can be spared.

    It is the first item for which no room can be made, with all that fill the bins it could use.

    :return: the same groups, some of them with fewer items or none
    """
    flow = _Flow(problem)
    stuck = next(index for index in range(len(problem.groups)) if not flow.send(index))
    counts = flow.rivals(stuck)
    return Problem(
        problem.bins,
        tuple(
            ItemGroup(group.item, counts.get(index, 0) + (index == stuck))
            for index, group in enumerate(problem.groups)
        ),
    )


class _Flow:
    def __init__(self, problem: Problem) -> None:
        self._kinds = problem.groups
        self._size = problem.groups[0].item.options[0][0][1]
        self._free = [max(bin_.free, 0) // self._size for bin_ in problem.bins]
        #: of each group the bins that it may use, in the order of its options
        self._wheres = [
            [demands[0][0] for demands in group.item.options] for group in problem.groups
        ]
        #: of each bin, how many items of each group are in it
        self._inside: list[dict[int, int]] = [{} for _ in problem.bins]

    def send(self, index: int) -> bool:
        """Place all items of a group, the earlier options first; whether that succeeds."""
        left = self._kinds[index].count
        for where in self._wheres[index]:
            number = min(left, self._free[where])
            if number:
                self._free[where] -= number
                self._inside[where][index] = self._inside[where].get(index, 0) + number
                left -= number
        return all(self._augment(index) for _ in range(left))

    def rivals(self, index: int) -> dict[int, int]:
        """How many items of each group fill the bins that a group could use."""
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
                    ((option, self._size),)
                    for option, where in enumerate(wheres)
                    for _ in range(self._inside[where].get(index, 0))
                ]
            )
            possible.append(
                {
                    option
                    for option, where in enumerate(wheres)
                    if not used.isdisjoint(reach[where])
                    or any(self._free[other] for other in reach[where])
                }
            )
        return Decision(placements, possible, [len(options) == 1 for options in possible])

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
        group of the last move.

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
