# SPDX-License-Identifier: Apache-2.0
"""The exact search: infeasible problems, forced rows, and open rows.

What has one possible option is placed first. What is left falls into parts that have nothing in
common; of each, :mod:`.heuristics` decides what people meet every day (room to spare, items and
places that are alike, more items of one size than there is room for). Whatever it cannot prove goes
to :mod:`.exact`, which may run out of time.
"""

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from placementclient.model.connected import group_connected
from placementclient.optimize.cpsat import Budget
from placementclient.planner.solve import exact, heuristics
from placementclient.planner.solve.problem import (
    Bin,
    Decision,
    Demand,
    Item,
    ItemGroup,
    ItemPlacement,
    NumberedProblem,
    Part,
)

#: How long a search may take, in seconds.
TIMEOUT = 60.0
#: The share of that time for the search for other options, after the first solution.
PROOF = 1 / 12
#: How long finding the smallest reason may take beside, in seconds.
CORE_TIMEOUT = 5.0


class SearchVerdict(enum.Enum):
    """The result of a search without a solution."""

    IMPOSSIBLE = 'impossible'
    UNDETERMINED = 'undetermined'


@dataclass(frozen=True, slots=True)
class ItemDecision:
    """The result for one item.

    :param placement: the amounts by option
    :param possible: every option that some solution is known to use, in the order of preference
    :param forced: whether all solutions have this placement
    :param proved: whether no other option is possible; else the search for them was cut short
    """

    placement: ItemPlacement
    possible: tuple[int, ...]
    forced: bool
    proved: bool = True


@dataclass(frozen=True, slots=True)
class Impossible:
    """There is no solution.

    :param items: indexes of items that alone are impossible
    :param free: the free amount of each bin
    :param problem: where it may be that not all of ``items`` are needed for that: they, as groups
    :param members: of each of its groups, the indexes
    """

    items: Sequence[int]
    free: Sequence[int]
    problem: NumberedProblem | None = None
    members: Sequence[Sequence[int]] = ()

    def core(self) -> tuple[Sequence[int], bool]:
        """Return items that are infeasible by themselves, and whether the set is minimal."""
        if self.problem is None:
            return self.items, True
        core, minimal = _find_core(self.problem)
        items = [
            index
            for group, indexes in zip(core.groups, self.members, strict=True)
            for index in indexes[: group.count]
        ]
        return sorted(items), minimal


def search_placements(
    bins: Sequence[Bin], items: Sequence[Item], timeout: float = TIMEOUT
) -> list[ItemDecision] | Impossible | None:
    """Place all items.

    The same input gives the same answer, unless the clock ends the search. Prefers the fewest
    divisions, and then fills the bins in the order of the options, the largest items first.

    :param timeout: how long to search, in seconds
    :return: what is known of each item, or why there is no solution; ``None``: it was not found
        out in time whether there is one
    """
    return _Search(bins, items, timeout).run()


class _Search:
    """Decides items in turn, and asks the solver for those that arithmetic leaves open."""

    def __init__(self, bins: Sequence[Bin], items: Sequence[Item], timeout: float) -> None:
        self._bins, self._timeout = bins, timeout
        self._free = [bin_.free for bin_ in bins]
        self._items = items
        #: of each item that is not placed: the options that are left, as indexes of its own options
        self._options = {index: list(range(len(item.options))) for index, item in enumerate(items)}
        self._decisions: dict[int, ItemDecision] = {}

    def run(self) -> list[ItemDecision] | Impossible | None:
        stuck = self._place_forced_items()
        if stuck is not None:
            return Impossible((stuck,), self._free)
        components = self._split_items()
        undetermined = False
        for component in components:
            problem, members = self._make_problem(component)
            decision = decide_problem(problem, self._timeout / len(components))
            if decision is SearchVerdict.IMPOSSIBLE:
                return Impossible(component, self._free, problem, members)
            if isinstance(decision, Decision):
                self._record_decision(decision, members)
            else:
                undetermined = True
        if undetermined:
            return None
        return [self._decisions[index] for index in range(len(self._items))]

    def _place_forced_items(self) -> int | None:
        """Drop impossible options and place items with one option; return an item with none."""
        users: dict[int, set[int]] = {}
        for index, item in enumerate(self._items):
            for where in {demand.bin for option in item.options for demand in option}:
                users.setdefault(where, set()).add(index)
        pending: dict[int, None] = dict.fromkeys(self._options)
        while pending:
            index = next(iter(pending))
            del pending[index]
            if index in self._decisions:
                continue
            item = self._items[index]
            options = self._options[index] = [
                option
                for option in self._options[index]
                if self._is_possible(item, item.options[option])
            ]
            if not options:
                return index
            if len(options) > 1:
                continue
            if not self._fits(item, item.options[options[0]]):
                return index
            for where in self._place_item(index, options[0]):
                pending |= dict.fromkeys(sorted(users[where]))
        return None

    def _place_item(self, index: int, option: int) -> list[int]:
        """Place an item that has one option left; return the bins that have less room now."""
        demands = self._items[index].options[option]
        for demand in demands:
            self._free[demand.bin] -= demand.amount
        amount = sum(demand.amount for demand in demands)
        self._decisions[index] = ItemDecision((Part(option, amount),), (option,), True)
        return [demand.bin for demand in demands]

    def _is_possible(self, item: Item, option: Sequence[Demand]) -> bool:
        """Return whether an option is possible as far as this item alone goes."""
        if not item.divisible or self._fits(item, option):
            return self._fits(item, option)
        ((where, size, retained, _),) = option
        return self._bins[where].largest_part(min(size, self._free[where]), retained) > 0

    def _fits(self, item: Item, option: Sequence[Demand]) -> bool:
        return all(
            demand.amount <= self._free[demand.bin]
            and (not item.divisible or self._bins[demand.bin].admits(demand))
            for demand in option
        )

    def _split_items(self) -> list[list[int]]:
        """Return the open items in sets without a common bin."""
        touched: dict[int, set[int]] = {}
        for index, options in self._options.items():
            if index not in self._decisions:
                item = self._items[index]
                touched[index] = {
                    demand.bin for option in options for demand in item.options[option]
                }
        return list(group_connected(touched))

    def _record_decision(self, decision: Decision, members: Sequence[Sequence[int]]) -> None:
        for group, indexes in enumerate(members):
            forced = decision.fixed[group] and decision.proved
            every = tuple(sorted(decision.possible[group]))
            for index, placement in zip(indexes, decision.placements[group], strict=True):
                options, possible = self._options[index], every
                if len(options) < len(self._items[index].options):
                    placement = tuple(Part(options[option], amount) for option, amount in placement)
                    possible = tuple(options[option] for option in every)
                self._decisions[index] = ItemDecision(placement, possible, forced, decision.proved)

    def _make_problem(self, component: Sequence[int]) -> tuple[NumberedProblem, list[list[int]]]:
        """Return the component as a separate problem, and the items of each of its groups."""
        bins: dict[int, int] = {}
        groups: dict[Item, list[int]] = {}
        renumbered: dict[tuple[Item, tuple[int, ...]], Item] = {}
        for index in component:
            item, left = self._items[index], tuple(self._options[index])
            abstract = renumbered.get((item, left))
            if abstract is None:
                options = tuple(_renumber_bins(item.options[option], bins) for option in left)
                abstract = renumbered[item, left] = Item(options, item.divisible)
            groups.setdefault(abstract, []).append(index)
        order = sorted(groups)
        return (
            NumberedProblem(
                tuple(self._bins[where]._replace(free=self._free[where]) for where in bins),
                tuple(ItemGroup(item, len(groups[item])) for item in order),
            ),
            [groups[item] for item in order],
        )


def _renumber_bins(demands: Sequence[Demand], bins: dict[int, int]) -> tuple[Demand, ...]:
    """Return demands with new numbers of bins, in the order of their first use."""
    return tuple(
        Demand(bins.setdefault(where, len(bins)), amount, retained, stays)
        for where, amount, retained, stays in demands
    )


@functools.lru_cache(maxsize=4096)
def decide_problem(problem: NumberedProblem, timeout: float = TIMEOUT) -> Decision | SearchVerdict:
    """Solve one problem; equal problems are solved once."""
    if heuristics.find_overfull_part(problem):
        return SearchVerdict.IMPOSSIBLE
    try:
        placements = _place_items(problem, Budget(timeout * (1 - PROOF)))
    except exact.OutOfBudget:
        return SearchVerdict.UNDETERMINED
    if placements is None:
        return SearchVerdict.IMPOSSIBLE
    decision = Decision(placements, [set() for _ in placements], [True] * len(placements))
    decision.record(placements)
    _find_possible_options(problem, decision, Budget(timeout * PROOF))
    for index, group in enumerate(problem.groups):
        if not group.item.divisible:
            decision.fixed[index] = len(decision.possible[index]) == 1
    return decision


def _place_items(problem: NumberedProblem, budget: Budget) -> list[list[ItemPlacement]] | None:
    placements = heuristics.place_items(problem)
    if placements is not None:
        return placements
    if any(group.item.divisible for group in problem.groups):
        # If nothing has to be divided, no solution has fewer divisions.
        placements = exact.place_items(problem, budget, undivided=True)
    return placements or exact.place_items(problem, budget)


def _find_possible_options(problem: NumberedProblem, decision: Decision, budget: Budget) -> None:
    """Find all possible options by heuristics; the solver proves the rest, if time allows."""
    if decision.is_open(problem):
        heuristics.find_possible_options(problem, decision)
    if decision.is_open(problem):
        try:
            exact.find_possible_options(problem, decision, budget)
        except exact.OutOfBudget:
            decision.proved = False


@functools.lru_cache(maxsize=256)
def _find_core(problem: NumberedProblem) -> tuple[NumberedProblem, bool]:
    """Return an infeasible part of an infeasible problem, and whether it is minimal."""
    if (overfull := heuristics.find_overfull_part(problem)) is not None:
        return overfull, True
    return exact.find_core(problem, Budget(CORE_TIMEOUT))
