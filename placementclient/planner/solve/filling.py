"""Bins filled one after the other, each as full as can be: subset sums, with integers as bitsets.

For whole items of one class. It finds most packings that have hardly any room to spare, where a
search by branching takes minutes; it proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from placementclient.planner.solve.problem import Decision, ItemPlacement, Part, Problem
from placementclient.planner.solve.symmetry import Symmetry

#: The most bits of all sums of one bin; more would take too much memory.
MAX_BITS = 1 << 30
#: How much work it is worth to find what else is possible: about a second on a slow machine.
MAX_WORK = 1_000_000_000


def applies(problem: Problem) -> bool:
    """Whether all items are whole, of one class, and independent of each other."""
    return all(
        not group.item.divisible
        and group.item.owner < 0
        and all(len(demands) == 1 for demands in group.item.options)
        for group in problem.groups
    )


def place(problem: Problem) -> list[list[ItemPlacement]] | None:
    """A solution; ``None``: none was found, there may be one."""
    return _Filler(problem).place()


def complete(problem: Problem, decision: Decision, symmetry: Symmetry) -> None:
    """Learn what is possible from solutions in which an item takes a certain option.

    :param decision: a solution and what is known to be possible, which is extended
    """
    filler = _Filler(problem)
    for index, group in enumerate(problem.groups):
        for option in range(len(group.item.options)):
            if filler.work > MAX_WORK:
                return
            if option not in decision.possible[index]:
                found = filler.place(index, option, decision)
                if found is not None:
                    decision.note(found)
                    symmetry.spread(decision)


class _Filler:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        sizes = [min(demand.amount for (demand,) in group.item.options) for group in problem.groups]
        #: of each group its option in each bin that it may use; one that demands more is barred
        self._options = [
            {
                demand.bin: option
                for option, (demand,) in enumerate(group.item.options)
                if demand.amount == size and problem.bins[demand.bin].takes(demand)
            }
            for group, size in zip(problem.groups, sizes, strict=True)
        ]
        unit = math.gcd(*sizes)
        self._sizes = [size // unit for size in sizes]
        self._free = [max(bin_.free, 0) // unit for bin_ in problem.bins]
        #: what was done, roughly in nanoseconds; counted, so that the answer is always the same
        self.work = 0

    def place(
        self, index: int | None = None, option: int = 0, decision: Decision | None = None
    ) -> list[list[ItemPlacement]] | None:
        """A solution; ``None``: none was found.

        :param index: a group of which one item has to take an option
        :param decision: what is known; what is not known of the option's bin comes first there
        """
        counts = [group.count for group in self._problem.groups]
        free = list(self._free)
        placements: list[list[ItemPlacement]] = [[] for _ in counts]
        if index is not None:
            demand = self._problem.groups[index].item.options[option][0]
            if demand.bin not in self._options[index]:
                return None
            counts[index] -= 1
            free[demand.bin] -= self._sizes[index]
            placements[index].append((Part(option, demand.amount),))
        if min(free) < 0:
            return None
        by_size = sorted(range(len(counts)), key=lambda group: -self._sizes[group])
        wheres = sorted(range(len(free)), key=lambda where: free[where])
        if index is not None and decision is not None:
            where = self._problem.groups[index].item.options[option][0].bin
            wheres.sort(key=lambda other: other != where)
            by_size.sort(key=lambda group: self._is_known(group, where, decision))
        items = [group for group in by_size for _ in range(counts[group])]
        for order in _orders(items):
            filled = self._fill(order, wheres, free)
            if filled is not None:
                for group, where in filled:
                    chosen = self._options[group][where]
                    amount = self._problem.groups[group].item.options[chosen][0].amount
                    placements[group].append((Part(chosen, amount),))
                return placements
        return None

    def _is_known(self, group: int, where: int, decision: Decision) -> bool:
        return self._options[group].get(where, -1) in {-1, *decision.possible[group]}

    def _fill(
        self, items: list[int], wheres: Sequence[int], free: Sequence[int]
    ) -> list[tuple[int, int]] | None:
        """The group of each item with its bin; ``None`` if some are left over.

        :param items: the group of each, those that shall be used first at the front
        :param wheres: the bins, in the order in which they are filled
        """
        filled: list[tuple[int, int]] = []
        for position, where in enumerate(wheres):
            later = set(wheres[position + 1 :])
            last = [group for group in items if later.isdisjoint(self._options[group])]
            left = free[where] - sum(self._sizes[group] for group in last)
            if left < 0 or any(where not in self._options[group] for group in last):
                return None
            others = [
                index
                for index, group in enumerate(items)
                if where in self._options[group] and not later.isdisjoint(self._options[group])
            ]
            subset = self._subset([self._sizes[items[index]] for index in others], left)
            if subset is None:
                return None
            taken = {others[index] for index in subset}
            filled += [(group, where) for group in last]
            filled += [(items[index], where) for index in taken]
            items = [
                group
                for index, group in enumerate(items)
                if index not in taken and not later.isdisjoint(self._options[group])
            ]
        return None if items else filled

    def _subset(self, sizes: Sequence[int], free: int) -> list[int] | None:
        """Indexes of sizes with the largest sum up to ``free``, those at the front first."""
        if len(sizes) * free > MAX_BITS:
            return None
        mask = (1 << (free + 1)) - 1
        sums = [1]
        for size in sizes:
            if sums[-1] >> free:
                break
            sums.append((sums[-1] | sums[-1] << size) & mask)
        self.work += len(sums) * (free // 64 + 300) + len(sizes) * 300
        total, subset = sums[-1].bit_length() - 1, []
        for index in range(len(sums) - 2, -1, -1):
            if not sums[index] >> total & 1:
                subset.append(index)
                total -= sizes[index]
        return subset


def _orders(items: list[int]) -> Iterator[list[int]]:
    """The items in some orders: the largest first, then large and small ones mixed."""
    yield items
    for stride in (2, 3, 5, 8):
        yield [group for start in range(stride) for group in items[start::stride]]
