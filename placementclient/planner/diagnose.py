"""The reason for a missing assignment: the smallest one that has a name, with figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from placementclient.planner.infeasibility import (
    BAD_AMOUNT,
    PACKING,
    SHORTFALL,
    TOO_LARGE,
    Cause,
    Slack,
)
from placementclient.planner.solve.problem import Item
from placementclient.planner.solve.search import Impossible
from placementclient.planner.target.assignment import AssignmentProblem
from placementclient.planner.target.target_state import TargetState


def diagnose(
    target_state: TargetState,
    problem: AssignmentProblem,
    items: Sequence[Item],
    impossible: Impossible,
) -> tuple[list[Cause], list[Slack]]:
    """The causes, all of the first kind that applies, and the room of each place."""
    diagnosis = _Diagnosis(target_state, problem, items)
    slack = list(diagnosis.slack(impossible.free))
    for reason in (diagnosis.units, diagnosis.overflows, diagnosis.totals):
        found = list(reason())
        if found:
            return found, slack
    return list(diagnosis.packing(impossible)), slack


class _Diagnosis:
    def __init__(
        self, target_state: TargetState, problem: AssignmentProblem, items: Sequence[Item]
    ) -> None:
        self._target_state, self._problem, self._items = target_state, problem, items
        self._tree = target_state.root.name

    def slack(self, free: Sequence[int]) -> Iterator[Slack]:
        """The room of each place."""
        for (provider_uuid, name), left in zip(self._problem.places, free, strict=True):
            provider = self._target_state.providers[provider_uuid]
            yield Slack(
                self._tree,
                provider.name,
                name,
                provider.inventories[name].capacity,
                left,
            )

    def units(self) -> Iterator[Cause]:
        """Amounts that no place admits."""
        for consumer_item, item in zip(self._problem.consumer_items, self._items, strict=True):
            if item.divisible or item.owner >= 0:
                continue
            for name, amount in consumer_item.amounts.items():
                position = list(consumer_item.amounts).index(name)
                places = [option[position] for option in consumer_item.options]
                demands = [
                    (
                        self._problem.number(place.where),
                        self._problem.held(consumer_item.consumer, place.where),
                    )
                    for place in places
                ]
                bins = [(self._problem.bins[where], held) for where, held in demands]
                if any(option[0].stays for option in item.options) or any(
                    bin_.admits(amount + held) for bin_, held in bins
                ):
                    continue
                largest = max(bin_.max_unit - held for bin_, held in bins)
                if amount > largest:
                    yield TOO_LARGE(self._tree, consumer_item.consumer.uuid, name, amount, largest)
                else:
                    units = tuple(
                        (self._name(where), bin_.min_unit, bin_.max_unit, bin_.step_size)
                        for (where, _), (bin_, _) in zip(demands, bins, strict=True)
                    )
                    yield BAD_AMOUNT(self._tree, consumer_item.consumer.uuid, name, amount, units)

    def overflows(self) -> Iterator[Cause]:
        """Places to which assignments alone send more than there is room for."""
        needs: dict[int, int] = {}
        for consumer_item, item in zip(self._problem.consumer_items, self._items, strict=True):
            if consumer_item.known is not None:
                for where, amount, _, _ in item.options[0]:
                    needs[where] = needs.get(where, 0) + amount
        for where, need in needs.items():
            free = self._problem.bins[where].free
            if need > free:
                yield self._shortfall([where], need, free, mapped=True)

    def totals(self) -> Iterator[Cause]:
        """Classes of which more is held than all their places can take."""
        demands: dict[frozenset[int], int] = {}
        for item in self._items:
            by_class: dict[str, tuple[set[int], int]] = {}
            for option in item.options:
                for where, amount, _, _ in option:
                    places, _ = by_class.setdefault(self._problem.places[where][1], (set(), amount))
                    places.add(where)
            for own, amount in by_class.values():
                key = frozenset(own)
                demands[key] = demands.get(key, 0) + amount
        for group in sorted(demands, key=sorted):
            need = sum(amount for others, amount in demands.items() if others <= group)
            free = sum(max(self._problem.bins[where].free, 0) for where in group)
            if need > free:
                yield self._shortfall(sorted(group), need, free)
                return

    def packing(self, impossible: Impossible) -> Iterator[Cause]:
        """The fewest items that do not fit, of the scarcest class."""
        (indexes, minimal), free = impossible.core(), impossible.free
        if len(indexes) == 1:  # others that have no choice took its room
            indexes = self._rivals(indexes[0])
            free = tuple(bin_.free for bin_ in self._problem.bins)
        by_class: dict[str, tuple[list[int], set[int]]] = {}
        for index in indexes:
            item = self._items[index]
            for option in item.options:
                for where, _, _, _ in option:
                    by_class.setdefault(self._problem.places[where][1], ([], set()))[1].add(where)
            amounts = {
                self._problem.places[where][1]: amount for where, amount, _, _ in item.options[0]
            }
            for name, amount in amounts.items():
                by_class[name][0].append(amount)
        scarcest = max(by_class, key=lambda name: _scarcity(by_class[name], free))
        demands, places = by_class[scarcest]
        total = sum(max(free[where], 0) for where in places)
        if sum(demands) > total:
            yield self._shortfall(sorted(places), sum(demands), total)
        else:
            named = {self._name(where): free[where] for where in sorted(places)}
            amounts_left = tuple(sorted(demands, reverse=True))
            yield PACKING(self._tree, scarcest, amounts_left, named, minimal)

    def _rivals(self, index: int) -> tuple[int, ...]:
        wanted = {demand.bin for option in self._items[index].options for demand in option}
        return tuple(
            other
            for other, item in enumerate(self._items)
            if other == index
            or (len(item.options) == 1 and any(demand.bin in wanted for demand in item.options[0]))
        )

    def _shortfall(
        self, places: Sequence[int], need: int, free: int, mapped: bool = False
    ) -> Cause:
        providers = tuple(self._name(where) for where in places)
        name = self._problem.places[places[0]][1]
        return SHORTFALL(self._tree, providers, name, need, free, mapped)

    def _name(self, where: int) -> str:
        return self._target_state.providers[self._problem.places[where][0]].name


def _scarcity(of_class: tuple[list[int], set[int]], free: Sequence[int]) -> float:
    demands, places = of_class
    return sum(demands) / max(sum(free[where] for where in places), 1)
