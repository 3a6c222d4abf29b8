"""What the quick pass does not decide: exact integer programming with OR-tools' CP-SAT."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from placementclient import errors
from placementclient.planner.solve.problem import Decision, ItemGroup, Placement, Problem
from placementclient.planner.solve.symmetry import Symmetry

#: How much deterministic work a preference is worth, in the solver's own unit (about a second).
#: Only preferences are ever cut short, never an answer.
EFFORT = 0.3


def place(problem: Problem) -> list[list[Placement]] | None:
    """A solution with the fewest divisions, then the earlier options; ``None``: there is none."""
    return _Model(problem).best()


def complete(problem: Problem, decision: Decision, symmetry: Symmetry) -> None:
    """Find every option that is possible, and prove that the others are not.

    :param decision: a solution and what is known to be possible; both facts are extended
    """
    model = _Model(problem)
    while (found := model.other(decision)) is not None:
        decision.note(found)
        symmetry.spread(decision)


def core(problem: Problem) -> Problem:
    """A part of an infeasible problem that is infeasible, and from which no item can be spared.

    :return: the same groups, some of them with fewer items or none
    """
    groups = list(problem.groups)

    def infeasible() -> bool:
        return place_any(Problem(problem.bins, tuple(groups))) is None

    for index, group in enumerate(groups):
        low, high = 0, group.count
        while low < high:
            middle = (low + high) // 2
            groups[index] = ItemGroup(group.item, middle)
            low, high = (low, middle) if infeasible() else (middle + 1, high)
        groups[index] = ItemGroup(group.item, high)
    return Problem(problem.bins, tuple(groups))


def place_any(problem: Problem) -> list[list[Placement]] | None:
    """Any solution; ``None``: there is none."""
    return _Model(problem).any()


def _cp_model() -> Any:
    """OR-tools takes a second to import; most plans never need it."""
    try:
        return importlib.import_module('ortools.sat.python.cp_model')
    except ImportError:
        raise errors.PlacementError(
            'This assignment needs a search: pip install python-placementclient[solver]'
        ) from None


class _Model:
    """The problem in the solver's terms.

    Items that are alike and stay whole are counted, so that symmetry costs nothing; what may be
    divided, and what shares a bin with another item of its owner, has variables of its own.
    """

    def __init__(self, problem: Problem) -> None:
        self._cp = _cp_model()
        self._problem = problem
        self._model = self._cp.CpModel()
        self._loads: list[list[Any]] = [[] for _ in problem.bins]
        #: of each group: how many of its items go each option; empty for groups that may be divided
        self._counts: list[list[Any]] = []
        #: of each group that may be divided, of each item: (amount, whether any) of each option
        self._parts: list[list[list[tuple[Any, Any]]]] = []
        self._coupled = {
            (index, option, where) for _, where, users in problem.owned() for index, option in users
        }
        for index, group in enumerate(problem.groups):
            divisible = group.item.divisible
            self._counts.append([] if divisible else self._whole(group))
            self._parts.append(
                [self._divided(index, group) for _ in range(group.count)] if divisible else []
            )
        for load, bin_ in zip(self._loads, problem.bins, strict=True):
            if load:
                self._model.add(sum(load) <= bin_.free)
        for _, where, users in problem.owned():
            self._couple(where, users)

    def best(self) -> list[list[Placement]] | None:
        found = self.any()
        if found is None:
            return None
        self._hint(found)
        divisions = [used for item in self._items() for _, used in item]
        if divisions:
            self._model.minimize(sum(divisions))
            status, better = self._solve(EFFORT * 10)
            found = better or found
            if status == self._cp.OPTIMAL:
                self._model.add(sum(divisions) <= sum(map(len, _flat(found, self._parts))))
        choices = [*self._counts, *([used for _, used in item] for item in self._items())]
        order = [
            option * chosen
            for options in choices
            for option, chosen in enumerate(options)
            if option
        ]
        if order:
            self._model.minimize(sum(order))
            found = self._solve(EFFORT)[1] or found
        return found

    def _items(self) -> list[list[tuple[Any, Any]]]:
        return [item for parts in self._parts for item in parts]

    def any(self) -> list[list[Placement]] | None:
        return self._solve()[1]

    def other(self, decision: Decision) -> list[list[Placement]] | None:
        """A solution that shows something to be possible that is not known to be."""
        news = self._news(decision)
        if not news:
            return None
        self._model.clear_objective()
        self._model.add_bool_or(news)
        self._model.maximize(sum(news))
        found = self._solve(EFFORT)[1]
        if found is None:
            self._model.clear_objective()
            found = self._solve()[1]
        return found

    def _news(self, decision: Decision) -> list[Any]:
        news = []
        for index, group in enumerate(self._problem.groups):
            unknown = set(range(len(group.item.options))) - decision.possible[index]
            if not group.item.divisible:
                news += [
                    self._at_least(self._counts[index][option], 1) for option in sorted(unknown)
                ]
                continue
            # Items of a group can change their roles: what one can do, each of them can.
            first = self._parts[index][0]
            news += [first[option][1] for option in sorted(unknown)]
            if decision.fixed[index]:
                amounts = dict(decision.placements[index][0])
                news += [self._less(first[option][0], amount) for option, amount in amounts.items()]
        return news

    def _at_least(self, variable: Any, amount: int) -> Any:
        literal = self._model.new_bool_var('')
        self._model.add(variable >= amount).only_enforce_if(literal)
        return literal

    def _less(self, variable: Any, amount: int) -> Any:
        literal = self._model.new_bool_var('')
        self._model.add(variable < amount).only_enforce_if(literal)
        return literal

    def _whole(self, group: ItemGroup) -> list[Any]:
        counts = [self._model.new_int_var(0, group.count, '') for _ in group.item.options]
        self._model.add(sum(counts) == group.count)
        for variable, demands in zip(counts, group.item.options, strict=True):
            for where, amount, _ in demands:
                self._loads[where].append(amount * variable)
        return counts

    def _divided(self, index: int, group: ItemGroup) -> list[tuple[Any, Any]]:
        parts = []
        for option, ((where, size, held),) in enumerate(group.item.options):
            amount = self._model.new_int_var(0, size, '')
            used = self._model.new_bool_var('')
            self._model.add(amount >= 1).only_enforce_if(used)
            self._model.add(amount == 0).only_enforce_if(~used)
            if (index, option, where) not in self._coupled:
                self._units(where, amount, used, held)
            self._loads[where].append(amount)
            parts.append((amount, used))
        self._model.add(sum(amount for amount, _ in parts) == group.item.size)
        return parts

    def _units(self, where: int, amount: Any, used: Any, held: int) -> None:
        """Where anything is placed, it and what is held are an allocation that the bin admits."""
        bin_ = self._problem.bins[where]
        steps = self._model.new_int_var(0, bin_.max_unit // bin_.step_size, '')
        self._model.add(amount + held == bin_.step_size * steps).only_enforce_if(used)
        self._model.add(amount + held >= bin_.min_unit).only_enforce_if(used)
        self._model.add(amount + held <= bin_.max_unit).only_enforce_if(used)

    def _couple(self, where: int, users: list[tuple[int, int]]) -> None:
        """The units of a bin count for all that one owner gets there."""
        amounts, useds, held = [], [], 0
        for index, option in users:
            group = self._problem.groups[index]
            for demand_where, amount, held_there in group.item.options[option]:
                if demand_where != where:
                    continue
                held = held_there
                if group.item.divisible:
                    amounts.append(self._parts[index][0][option][0])
                    useds.append(self._parts[index][0][option][1])
                else:
                    amounts.append(amount * self._counts[index][option])
                    useds.append(self._counts[index][option])
        used = self._model.new_bool_var('')
        self._model.add_max_equality(used, useds)
        self._units(where, sum(amounts), used, held)

    def _hint(self, placements: Sequence[Sequence[Placement]]) -> None:
        for counts, parts, placed in zip(self._counts, self._parts, placements, strict=True):
            for option, variable in enumerate(counts):
                self._model.add_hint(variable, sum(item[0][0] == option for item in placed))
            for item, placement in zip(parts, placed if parts else (), strict=True):
                amounts = dict(placement)
                for option, (amount, used) in enumerate(item):
                    self._model.add_hint(amount, amounts.get(option, 0))
                    self._model.add_hint(used, option in amounts)

    def _solve(self, effort: float | None = None) -> tuple[int, list[list[Placement]] | None]:
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1  # with more, the answer depends on the race
        solver.parameters.random_seed = 0
        if effort is not None:
            solver.parameters.max_deterministic_time = effort
        status = solver.solve(self._model)
        if status in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return status, self._read(solver)
        if status == self._cp.INFEASIBLE or (effort is not None and status == self._cp.UNKNOWN):
            return status, None
        raise errors.PlacementError(f'The solver gave up: {solver.status_name(status)}')

    def _read(self, solver: Any) -> list[list[Placement]]:
        result: list[list[Placement]] = []
        for group, counts, parts in zip(
            self._problem.groups, self._counts, self._parts, strict=True
        ):
            placed: list[Placement] = []
            for option, variable in enumerate(counts):
                amount = sum(demand[1] for demand in group.item.options[option])
                placed += [((option, amount),)] * solver.value(variable)
            for item in parts:
                amounts = [
                    (option, solver.value(amount)) for option, (amount, _) in enumerate(item)
                ]
                placed.append(tuple(part for part in amounts if part[1]))
            result.append(placed)
        return result


def _flat(
    placements: Sequence[Sequence[Placement]], parts: Sequence[Sequence[Any]]
) -> list[Placement]:
    """The placements of all groups that may be divided."""
    return [item for placed, own in zip(placements, parts, strict=True) if own for item in placed]
