# SPDX-License-Identifier: Apache-2.0
"""Exact solutions with CP-SAT of OR-tools, for problems that the heuristics do not decide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from placementclient.optimize import cpsat
from placementclient.planner.solve.problem import (
    Decision,
    ItemGroup,
    ItemPlacement,
    NumberedProblem,
    Part,
)

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import (
        BoundedLinearExpression,
        CpSolver,
        IntVar,
        LinearExpr,
        LiteralT,
    )

#: How much work a preference is worth, in the solver's deterministic unit (about a second).
EFFORT = 0.3


class OutOfBudget(Exception):
    """The time is over, and it is not known whether there is a solution."""


class _Share(NamedTuple):
    """The variables for the part of a divisible item that goes to an option.

    :param used: whether there is such a part
    """

    amount: IntVar
    used: IntVar


def place_items(
    problem: NumberedProblem, budget: cpsat.Budget, *, undivided: bool = False
) -> list[list[ItemPlacement]] | None:
    """Return a solution with the fewest divisions, then the earliest options; ``None``: none.

    :param undivided: divide no item
    :raises OutOfBudget: if neither is known in time
    """
    return _Model(problem, budget, undivided).find_best_solution()


def record_possible_options(
    problem: NumberedProblem, decision: Decision, budget: cpsat.Budget
) -> None:
    """Record all possible options in a decision, and prove that the others are impossible.

    :param decision: a solution, and the options that are known to be possible; it is extended
    :raises OutOfBudget: if it takes longer; what was found until then is in ``decision``
    """
    model = _Model(problem, budget)
    while (solution := model.find_unexplored_solution(decision)) is not None:
        decision.record_solution(solution)


def find_core(problem: NumberedProblem, budget: cpsat.Budget) -> tuple[NumberedProblem, bool]:
    """Return an infeasible part of an infeasible problem, and whether it is minimal.

    :return: the problem's groups, some with fewer items or none; and True if it is proved that
        no item can be spared, False if the budget ended before
    """
    groups = list(problem.groups)

    def are_groups_infeasible() -> bool:
        """Return whether the items that are left in the groups have no solution."""
        return _Model(NumberedProblem(problem.bins, tuple(groups)), budget).solve() is None

    for index, group in enumerate(problem.groups):
        low, high = 0, group.count
        try:
            while low < high:
                middle = (low + high) // 2
                groups[index] = ItemGroup(group.item, middle)
                low, high = (low, middle) if are_groups_infeasible() else (middle + 1, high)
        except OutOfBudget:
            groups[index] = ItemGroup(group.item, high)
            return NumberedProblem(problem.bins, tuple(groups)), False
        groups[index] = ItemGroup(group.item, high)
    return NumberedProblem(problem.bins, tuple(groups)), True


class _Model:
    """A problem in the solver's terms.

    Equal items that stay whole are counted, so that symmetry costs nothing: "3 of the 5 items take
    option 0". Each item that may be divided has its own variables: "2 of its 4 units take option
    1".
    """

    def __init__(
        self, problem: NumberedProblem, budget: cpsat.Budget, undivided: bool = False
    ) -> None:
        self._cp = cpsat.load_cp_model('This assignment')
        self._problem, self._budget = problem, budget
        self._model = self._cp.CpModel()
        self._loads: list[list[LinearExpr]] = [[] for _ in problem.bins]
        #: of each group: how many of its items take each option; none if it may be divided
        self._counts: list[list[IntVar]] = []
        #: of each group that may be divided, of each item: its share in each option
        self._parts: list[list[list[_Share]]] = []
        for group in problem.groups:
            divisible = group.item.divisible and not undivided
            self._counts.append([] if divisible else self._add_counts(group))
            self._parts.append(
                [self._add_shares(group) for _ in range(group.count)] if divisible else []
            )
        for load, bin_ in zip(self._loads, problem.bins, strict=True):
            if load:
                self._model.add(sum(load) <= bin_.free)

    def find_best_solution(self) -> list[list[ItemPlacement]] | None:
        """Return a solution with the fewest parts, then the first options; ``None``: none."""
        solution = self.solve()
        if solution is None:
            return None
        self._add_hints(solution)
        shares = [[share.used for share in item] for parts in self._parts for item in parts]
        if shares:
            solution = self._minimize_parts(solution, list(chain(*shares)))
        order = [
            option * chosen
            for options in (*self._counts, *shares)
            for option, chosen in enumerate(options)
            if option
        ]
        if order:
            self._model.minimize(sum(order))
            solution = self.solve(EFFORT) or solution
        return solution

    def _minimize_parts(
        self, solution: list[list[ItemPlacement]], used_shares: Sequence[IntVar]
    ) -> list[list[ItemPlacement]]:
        """Return a solution with the fewest parts, and let no later solution have more parts.

        :param solution: a known one, which is returned if no other is found
        :param used_shares: the variables of the parts of divisible items
        """
        self._model.minimize(sum(used_shares))
        solution = self.solve(EFFORT * 10) or solution
        placed = chain(
            *(group for group, parts in zip(solution, self._parts, strict=True) if parts)
        )
        self._model.add(sum(used_shares) <= sum(map(len, placed)))
        return solution

    def find_unexplored_solution(self, decision: Decision) -> list[list[ItemPlacement]] | None:
        """Return a solution with an option that is not known to be possible; ``None``: none."""
        unexplored = self._list_unexplored_variables(decision)
        if not unexplored:
            return None
        self._model.clear_objective()
        self._model.add_bool_or(unexplored)
        self._model.maximize(sum(unexplored))
        solution = self.solve(EFFORT)
        if solution is None:
            self._model.clear_objective()
            solution = self.solve()
        return solution

    def _list_unexplored_variables(self, decision: Decision) -> list[IntVar]:
        """Return variables, one of which is true in each solution that is new to ``decision``.

        New is an option that is not known to be possible, and another division of an item that
        all solutions so far divide alike.
        """
        unexplored: list[IntVar] = []
        for index, group in enumerate(self._problem.groups):
            unknown = set(range(len(group.item.options))) - decision.possible[index]
            if not group.item.divisible:
                unexplored += [
                    self._make_literal(self._counts[index][option] >= 1)
                    for option in sorted(unknown)
                ]
                continue
            # The items of a group are equal: an option of one is possible for all.
            first = self._parts[index][0]
            unexplored += [first[option].used for option in sorted(unknown)]
            if decision.fixed[index]:
                amounts = dict(decision.placements[index][0])
                unexplored += [
                    self._make_literal(first[option].amount < n) for option, n in amounts.items()
                ]
        return unexplored

    def _make_literal(self, condition: BoundedLinearExpression | bool) -> IntVar:
        """Return a variable that is true only if a condition holds."""
        literal: IntVar = self._model.new_bool_var('')
        self._model.add(condition).only_enforce_if(literal)
        return literal

    def _add_counts(self, group: ItemGroup) -> list[IntVar]:
        """Add and return the number of items of a group that take each option whole."""
        counts = [self._model.new_int_var(0, group.count, '') for _ in group.item.options]
        self._model.add(sum(counts) == group.count)
        for variable, demands in zip(counts, group.item.options, strict=True):
            for demand in demands:
                self._loads[demand.bin].append(demand.amount * variable)
                if group.item.divisible and not self._problem.bins[demand.bin].admits(demand):
                    self._model.add(variable == 0)
        return counts

    def _add_shares(self, group: ItemGroup) -> list[_Share]:
        """Add and return the shares of one divisible item of a group in its options."""
        shares = []
        for (demand,) in group.item.options:  # one demand for each option: see Item
            amount = self._model.new_int_var(0, demand.amount, '')
            used = self._model.new_bool_var('')
            self._model.add(amount >= 1).only_enforce_if(used)
            self._model.add(amount == 0).only_enforce_if(~used)
            self._loads[demand.bin].append(amount)
            shares.append(_Share(amount, used))
        self._model.add(sum(share.amount for share in shares) == group.item.size)
        for (demand,), share in zip(group.item.options, shares, strict=True):
            conditions: list[LiteralT] = [share.used]
            if demand.stays:
                # A divided item moves in part, so the units apply to the rest, too.
                conditions.append(~self._make_literal(share.amount == demand.amount))
            self._require_admitted_amount(demand.bin, share.amount + demand.retained, conditions)
        return shares

    def _require_admitted_amount(
        self, bin_index: int, amount: LinearExpr, conditions: Sequence[LiteralT]
    ) -> None:
        """Require that the units of a bin allow an amount, if all conditions hold."""
        least, largest, step = self._problem.bins[bin_index].units
        steps = self._model.new_int_var(0, largest // step, '')
        self._model.add(amount == step * steps).only_enforce_if(*conditions)
        self._model.add(amount >= least).only_enforce_if(*conditions)
        self._model.add(amount <= largest).only_enforce_if(*conditions)

    def _add_hints(self, placements: Sequence[Sequence[ItemPlacement]]) -> None:
        """Let the solver begin with a known solution."""
        for counts, parts, placed in zip(self._counts, self._parts, placements, strict=True):
            for option, variable in enumerate(counts):
                self._model.add_hint(variable, sum(item[0].option == option for item in placed))
            for item, placement in zip(parts, placed if parts else (), strict=True):
                amounts = dict(placement)
                for option, share in enumerate(item):
                    self._model.add_hint(share.amount, amounts.get(option, 0))
                    self._model.add_hint(share.used, int(option in amounts))

    def solve(self, effort: float = inf) -> list[list[ItemPlacement]] | None:
        """Return a solution; ``None``: there is none, or the effort was too small to find one.

        :param effort: in the solver's deterministic unit, about a second
        :raises OutOfBudget: if the time ends an unlimited search
        """
        solved = self._budget.solve(self._model, effort)
        if effort == inf and solved.status == 'UNKNOWN':
            raise OutOfBudget
        return self._read_solution(solved.solver) if solved.is_feasible else None

    def _read_solution(self, solver: CpSolver) -> list[list[ItemPlacement]]:
        result: list[list[ItemPlacement]] = []
        for group, counts, parts in zip(
            self._problem.groups, self._counts, self._parts, strict=True
        ):
            placed: list[ItemPlacement] = []
            for option, variable in enumerate(counts):
                amount = sum(demand.amount for demand in group.item.options[option])
                placed += [(Part(option, amount),)] * solver.value(variable)
            for item in parts:
                amounts = [
                    Part(option, solver.value(share.amount)) for option, share in enumerate(item)
                ]
                placed.append(tuple(part for part in amounts if part.amount))
            result.append(placed)
        return result
