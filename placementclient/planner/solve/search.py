# SPDX-License-Identifier: Apache-2.0
"""The search for a place for every item, and for what else is possible.

Items with one possible option are placed first. The other items fall into components without a
common bin. :mod:`.heuristics` decides a component if there is room to spare, if items and bins are
alike, or if there are more items of one size than room for them. :mod:`.exact` decides the other
components, if time allows.
"""

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.model.connected import group_connected_keys
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


class Component(NamedTuple):
    """Open items that share bins with no other open item, as a problem of their own.

    Bins and options have numbers of their own in it, so that components of the same shape are equal
    problems.

    :param members: of each group of the problem, the indexes of the items
    """

    problem: NumberedProblem
    members: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Impossible:
    """There is no solution.

    :param reason: the index of an item without a possible option; or items that have no solution
        together
    :param free: the free amount of each bin, without the amounts of the forced items
    """

    reason: int | Component
    free: Sequence[int]

    def find_core(self) -> tuple[Sequence[int], bool]:
        """Return the indexes of items that have no solution together, and if these are minimal.

        :return: the indexes; True if it is proved that without any single one there is a solution
        """
        if isinstance(self.reason, int):
            return (self.reason,), True
        core, is_minimal = _find_core(self.reason.problem)
        items = [
            index
            for group, indexes in zip(core.groups, self.reason.members, strict=True)
            for index in indexes[: group.count]
        ]
        return sorted(items), is_minimal


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
    search = _Search(bins, items)
    stuck = search.place_forced_items()
    if stuck is not None:
        return Impossible(stuck, search.free)
    components = [search.make_component(indexes) for indexes in search.split_open_items()]
    is_determined = True
    for component in components:
        decision = decide_problem(component.problem, timeout / len(components))
        if decision is SearchVerdict.IMPOSSIBLE:
            return Impossible(component, search.free)
        if isinstance(decision, Decision):
            search.record_decision(decision, component.members)
        else:
            is_determined = False
    return search.list_decisions() if is_determined else None


class _Search:
    """The state of a search: the items that are decided, and what the others may still do.

    An example: item 0 may go to bin 0 or 1, item 1 to bin 0 alone, and each bin has room for one.
    Item 1 is forced and takes bin 0. So item 0 loses its option 0, and is forced to bin 1.

    :ivar free: the free amount of each bin, without the amounts of the decided items
    """

    def __init__(self, bins: Sequence[Bin], items: Sequence[Item]) -> None:
        self._bins, self._items = bins, items
        self.free = [bin_.free for bin_ in bins]
        #: of each item, by its index: the options that it still has, as indexes of its own options
        self._options = [list(range(len(item.options))) for item in items]
        #: by index of an item; the other items are open
        self._decisions: dict[int, ItemDecision] = {}

    def list_decisions(self) -> list[ItemDecision]:
        return [self._decisions[index] for index in range(len(self._items))]

    def place_forced_items(self) -> int | None:
        """Drop impossible options and place each item with one option.

        :return: the index of an item without a possible option; ``None`` if there is none
        """
        users: dict[int, set[int]] = {}
        for index, item in enumerate(self._items):
            for where in {demand.bin for option in item.options for demand in option}:
                users.setdefault(where, set()).add(index)
        # A dict, as a set has no order: the items to look at again, as bins of theirs have less.
        pending: dict[int, None] = dict.fromkeys(range(len(self._items)))
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
            if len(options) > 1:
                continue
            if not options or not self._has_room(item, item.options[options[0]]):
                return index
            for where in self._place_item(index, options[0]):
                pending |= dict.fromkeys(sorted(users[where]))
        return None

    def _place_item(self, index: int, option: int) -> list[int]:
        """Place an item that has one option left; return the bins that have less room now."""
        demands = self._items[index].options[option]
        for demand in demands:
            self.free[demand.bin] -= demand.amount
        amount = sum(demand.amount for demand in demands)
        self._decisions[index] = ItemDecision((Part(option, amount),), (option,), True)
        return [demand.bin for demand in demands]

    def _is_possible(self, item: Item, option: Sequence[Demand]) -> bool:
        """Return whether an option has room for a part of an item if other open items take none."""
        if self._has_room(item, option):
            return True
        if not item.divisible:
            return False
        (demand,) = option  # an item that may be divided has one demand for each option
        most = min(demand.amount, self.free[demand.bin])
        return self._bins[demand.bin].find_largest_part(most, demand.retained) > 0

    def _has_room(self, item: Item, option: Sequence[Demand]) -> bool:
        """Return whether an option has room for a whole item if other open items take none."""
        return all(
            demand.amount <= self.free[demand.bin]
            and (not item.divisible or self._bins[demand.bin].admits(demand))
            for demand in option
        )

    def split_open_items(self) -> list[list[int]]:
        """Return the indexes of the open items, in sets without a common bin."""
        touched = {
            index: {
                demand.bin for option in self._options[index] for demand in item.options[option]
            }
            for index, item in enumerate(self._items)
            if index not in self._decisions
        }
        return list(group_connected_keys(touched))

    def make_component(self, indexes: Sequence[int]) -> Component:
        """Return open items as a problem of their own, in which equal items are one group."""
        bins: dict[int, int] = {}
        members: dict[Item, list[int]] = {}
        numbered: dict[tuple[Item, tuple[int, ...]], Item] = {}
        for index in indexes:
            item, remaining = self._items[index], tuple(self._options[index])
            if (item, remaining) not in numbered:
                # Bins get new numbers in the order of their first use.
                options = tuple(
                    tuple(
                        d._replace(bin=bins.setdefault(d.bin, len(bins))) for d in item.options[n]
                    )
                    for n in remaining
                )
                numbered[item, remaining] = Item(options, item.divisible)
            members.setdefault(numbered[item, remaining], []).append(index)
        order = sorted(members)
        problem = NumberedProblem(
            tuple(self._bins[where]._replace(free=self.free[where]) for where in bins),
            tuple(ItemGroup(item, len(members[item])) for item in order),
        )
        return Component(problem, [members[item] for item in order])

    def record_decision(self, decision: Decision, members: Sequence[Sequence[int]]) -> None:
        """Record the decision about a component for each of its items.

        :param members: of each group of the component, the indexes of its items
        """
        for group, indexes in enumerate(members):
            forced = decision.fixed[group] and decision.proved
            numbered = tuple(sorted(decision.possible[group]))
            for index, placement in zip(indexes, decision.placements[group], strict=True):
                options, possible = self._options[index], numbered
                if len(options) < len(self._items[index].options):  # else the numbers are the same
                    placement = tuple(Part(options[option], amount) for option, amount in placement)
                    possible = tuple(options[option] for option in numbered)
                self._decisions[index] = ItemDecision(placement, possible, forced, decision.proved)


@functools.lru_cache(maxsize=4096)
def decide_problem(problem: NumberedProblem, timeout: float = TIMEOUT) -> Decision | SearchVerdict:
    """Return a solution of a problem with all possible options; equal problems are solved once.

    :param timeout: how long to search, in seconds
    :return: a verdict where there is no solution, or it is not known
    """
    if heuristics.find_overfull_part(problem):
        return SearchVerdict.IMPOSSIBLE
    try:
        placements = _place_items(problem, Budget(timeout * (1 - PROOF)))
    except exact.OutOfBudget:
        return SearchVerdict.UNDETERMINED
    if placements is None:
        return SearchVerdict.IMPOSSIBLE
    decision = Decision(placements, [set() for _ in placements], [True] * len(placements))
    decision.record_solution(placements)
    _record_possible_options(problem, decision, Budget(timeout * PROOF))
    for index, group in enumerate(problem.groups):
        if not group.item.divisible:
            decision.fixed[index] = len(decision.possible[index]) == 1
    return decision


def _place_items(problem: NumberedProblem, budget: Budget) -> list[list[ItemPlacement]] | None:
    """Return a solution with the fewest divisions, by heuristics or else exactly; ``None``: none.

    :raises exact.OutOfBudget: if neither is known in time
    """
    placements = heuristics.place_items(problem)
    if placements is not None:
        return placements
    if any(group.item.divisible for group in problem.groups):
        # If nothing has to be divided, no solution has fewer divisions.
        placements = exact.place_items(problem, budget, undivided=True)
    return placements or exact.place_items(problem, budget)


def _record_possible_options(problem: NumberedProblem, decision: Decision, budget: Budget) -> None:
    """Record all possible options, by heuristics; the solver proves the rest if time allows."""
    if decision.has_unproved_options(problem):
        heuristics.record_possible_options(problem, decision)
    if decision.has_unproved_options(problem):
        try:
            exact.record_possible_options(problem, decision, budget)
        except exact.OutOfBudget:
            decision.proved = False


@functools.lru_cache(maxsize=256)
def _find_core(problem: NumberedProblem) -> tuple[NumberedProblem, bool]:
    """Return a part of an infeasible problem that is infeasible, and whether all of it is needed.

    The part has the same groups, some with fewer items or none.
    """
    if (overfull := heuristics.find_overfull_part(problem)) is not None:
        return overfull, True
    return exact.find_core(problem, Budget(CORE_TIMEOUT))
