"""Who goes where, exactly: what is impossible, what is forced, what is open.

What has one possible option is placed first, then :mod:`~placementclient.planner.solve.heuristics`
decides what people meet every day: room to spare, items and places that are alike; items of one
size are a flow. Whatever that cannot prove goes to :mod:`~placementclient.planner.solve.cpsat`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from placementclient.planner.solve import cpsat, heuristics, max_flow
from placementclient.planner.solve.problem import (
    Bin,
    Decision,
    Demand,
    Item,
    ItemGroup,
    Placement,
    Problem,
)
from placementclient.planner.solve.symmetry import Symmetry


@dataclass(frozen=True, slots=True)
class ItemDecision:
    """What is known of one item.

    :param placement: the amounts by option
    :param possible: every option that some solution uses, in the order of preference
    :param forced: whether all solutions agree
    """

    placement: Placement
    possible: tuple[int, ...]
    forced: bool


@dataclass(frozen=True, slots=True)
class Impossible:
    """There is no solution.

    :param items: indexes of items that alone are impossible; the smallest set of this kind
    :param free: what is left in the bins for them
    """

    items: tuple[int, ...]
    free: tuple[int, ...]


def search(bins: Sequence[Bin], items: Sequence[Item]) -> list[ItemDecision] | Impossible:
    """Place all items.

    Deterministic: the same input gives the same answer. Prefers the fewest divisions, and then
    fills the bins in the order of the options, the largest items first.

    :return: what is known of each item, or why there is no solution
    """
    return _Search(bins, items).run()


class _Search:
    def __init__(self, bins: Sequence[Bin], items: Sequence[Item]) -> None:
        self._bins = bins
        self._free = [bin_.free for bin_ in bins]
        self._items = items
        #: of each item that is not placed: the options that are left, as indexes of its own options
        self._options = {index: list(range(len(item.options))) for index, item in enumerate(items)}
        self._found: dict[int, ItemDecision] = {}

    def run(self) -> list[ItemDecision] | Impossible:
        stuck = self._propagate()
        if stuck is not None:
            return Impossible((stuck,), tuple(self._free))
        for component in self._components():
            impossible = self._decide(component)
            if impossible is not None:
                return impossible
        return [self._found[index] for index in range(len(self._items))]

    def _propagate(self) -> int | None:
        """Drop options that cannot be, place what has one option; the item that has none, if any.

        Placing makes room scarce for others, but only for those that use the same bins.
        """
        users: dict[int, set[int]] = {}
        for index, item in enumerate(self._items):
            for where in {demand[0] for option in item.options for demand in option}:
                users.setdefault(where, set()).add(index)
        pending: dict[int, None] = dict.fromkeys(self._options)
        while pending:
            index = next(iter(pending))
            del pending[index]
            if index in self._found:
                continue
            item = self._items[index]
            options = self._options[index] = [
                option for option in self._options[index] if self._may(item, item.options[option])
            ]
            if not options:
                return index
            if len(options) > 1 or item.owner >= 0:
                continue
            if item.divisible and not self._fits(item.options[options[0]]):
                return index
            for where in self._take(index, options[0]):
                pending |= dict.fromkeys(sorted(users[where]))
        return None

    def _take(self, index: int, option: int) -> list[int]:
        """Place an item that has no choice; the bins that have less room now."""
        demands = self._items[index].options[option]
        for where, amount, _ in demands:
            self._free[where] -= amount
        amount = sum(demand[1] for demand in demands)
        self._found[index] = ItemDecision(((option, amount),), (option,), True)
        return [demand[0] for demand in demands]

    def _may(self, item: Item, option: Sequence[Demand]) -> bool:
        """Whether an option is possible as far as this item alone goes."""
        if item.divisible:
            ((where, size, held),) = option
            bin_ = self._bins[where]
            most = min(size, self._free[where], bin_.max_unit - held)
            return most > 0 and (item.owner >= 0 or bin_.largest_part(most, held) > 0)
        if item.owner >= 0:
            return all(
                amount <= self._free[where] and amount + held <= self._bins[where].max_unit
                for where, amount, held in option
            )
        return self._fits(option)

    def _fits(self, option: Sequence[Demand]) -> bool:
        return all(
            amount <= self._free[where] and self._bins[where].admits(amount + held)
            for where, amount, held in option
        )

    def _components(self) -> list[list[int]]:
        """Items that are open, divided into sets that have no bin and no owner in common."""
        parents: dict[tuple[str, int], tuple[str, int]] = {}

        def find(node: tuple[str, int]) -> tuple[str, int]:
            while (parent := parents.setdefault(node, node)) != node:
                parents[node] = node = parents[parent]
            return node

        nodes = {}
        for index in self._options:
            if index in self._found:
                continue
            item = self._items[index]
            touched = [
                ('bin', demand[0])
                for option in self._options[index]
                for demand in item.options[option]
            ]
            if item.owner >= 0:
                touched.append(('owner', item.owner))
            for node in touched:
                parents[find(node)] = find(touched[0])
            nodes[index] = touched[0]
        components: dict[tuple[str, int], list[int]] = {}
        for index, node in nodes.items():
            components.setdefault(find(node), []).append(index)
        return list(components.values())

    def _decide(self, component: Sequence[int]) -> Impossible | None:
        problem, members = self._abstract(component)
        decision = decide(problem)
        if decision is None:
            return self._impossible(problem, members)
        for group, indexes in enumerate(members):
            possible = decision.possible[group]
            for index, placement in zip(indexes, decision.placements[group], strict=True):
                options = self._options[index]
                self._found[index] = ItemDecision(
                    tuple((options[option], amount) for option, amount in placement),
                    tuple(options[option] for option in sorted(possible)),
                    decision.fixed[group],
                )
        return None

    def _impossible(self, problem: Problem, members: Sequence[Sequence[int]]) -> Impossible:
        core = max_flow.core(problem) if max_flow.applies(problem) else cpsat.core(problem)
        items = [
            index
            for group, indexes in zip(core.groups, members, strict=True)
            for index in indexes[: group.count]
        ]
        return Impossible(tuple(sorted(items)), tuple(self._free))

    def _abstract(self, component: Sequence[int]) -> tuple[Problem, list[list[int]]]:
        """The component as a problem of its own, and the items of each of its groups.

        Numbers start from 0 in the order of their first use, so that components that are alike
        become equal.
        """
        bins: dict[int, int] = {}
        owners: dict[int, int] = {}
        groups: dict[tuple[Item, int], list[int]] = {}
        for index in component:
            item = self._items[index]
            options = tuple(
                tuple(
                    (bins.setdefault(where, len(bins)), amount, held)
                    for where, amount, held in item.options[option]
                )
                for option in self._options[index]
            )
            owned = item.owner >= 0
            owner = owners.setdefault(item.owner, len(owners)) if owned else -1
            alike = (Item(options, item.divisible, owner), index if owned else -1)
            groups.setdefault(alike, []).append(index)
        order = sorted(groups, key=lambda alike: (astuple(alike[0]), alike[1]))
        return (
            Problem(
                tuple(replace(self._bins[where], free=self._free[where]) for where in bins),
                tuple(ItemGroup(alike[0], len(groups[alike])) for alike in order),
            ),
            [groups[alike] for alike in order],
        )


@functools.lru_cache(maxsize=4096)
def decide(problem: Problem) -> Decision | None:
    """Solve one problem; ``None``: it has no solution. Trees that are alike cost it once."""
    if max_flow.applies(problem):
        return max_flow.decide(problem)
    placements = heuristics.place(problem)
    if placements is None:
        placements = cpsat.place(_whole(problem))
    if placements is None and any(group.item.divisible for group in problem.groups):
        placements = cpsat.place(problem)
    if placements is None:
        return None
    decision = Decision(placements, [set() for _ in placements], [True] * len(placements))
    symmetry = Symmetry(problem)
    decision.note(placements)
    symmetry.spread(decision)
    if decision.is_open(problem):
        heuristics.exchange(problem, decision)
        symmetry.spread(decision)
    if decision.is_open(problem):
        cpsat.complete(problem, decision, symmetry)
    for index, group in enumerate(problem.groups):
        if not group.item.divisible:
            decision.fixed[index] = len(decision.possible[index]) == 1
    return decision


def _whole(problem: Problem) -> Problem:
    """The same with nothing divided: if it has a solution, none has fewer divisions.

    An option that does not admit a whole item keeps its number, but demands more than there is.
    """
    return Problem(
        problem.bins,
        tuple(ItemGroup(_whole_item(problem, group.item), group.count) for group in problem.groups),
    )


def _whole_item(problem: Problem, item: Item) -> Item:
    if not item.divisible:
        return item
    options: list[tuple[Demand, ...]] = []
    for ((where, size, held),) in item.options:
        bin_ = problem.bins[where]
        admitted = item.owner >= 0 or bin_.admits(size + held)
        options.append(((where, size if admitted else bin_.free + 1, held),))
    return replace(item, options=tuple(options), divisible=False)
