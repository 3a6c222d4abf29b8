"""The simplest reason why there is no assignment, with its numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from placementclient.planner.infeasibility import (
    ROOM,
    Cause,
)
from placementclient.planner.layout.assignment import AssignmentProblem
from placementclient.planner.layout.target_state import TargetState, Where
from placementclient.planner.layout.ways import ConsumerItem
from placementclient.planner.solve.search import Impossible


def diagnose(
    target_state: TargetState,
    problem: AssignmentProblem,
    impossible: Impossible,
) -> tuple[list[Cause], list[Cause]]:
    """Return the causes of the first kind that applies, and the room of each place."""
    diagnosis = _Diagnosis(target_state, problem)
    slack = list(diagnosis.slack(impossible.free))
    for reason in (diagnosis.units, diagnosis.overflows, diagnosis.totals):
        found = list(reason())
        if found:
            return found, slack
    return list(diagnosis.packing(impossible)), slack


class _Diagnosis:
    def __init__(self, target_state: TargetState, problem: AssignmentProblem) -> None:
        self._target_state, self._problem, self._items = target_state, problem, problem.items
        self._tree = target_state.name

    def slack(self, free: Sequence[int]) -> Iterator[Cause]:
        for (provider_uuid, name), left in zip(self._problem.places, free, strict=True):
            provider = self._target_state.providers[provider_uuid]
            yield Cause(
                ROOM,
                self._tree,
                provider=provider.name,
                resource_class=name,
                capacity=provider.inventories[name].capacity,
                room=left,
            )

    def units(self) -> Iterator[Cause]:
        """Amounts that no place admits."""
        for item in self._problem.consumer_items:
            if item.is_refused:
                causes = [self._refused(item, index) for index in range(len(item.holdings))]
                yield from [cause for cause, is_alone in causes if is_alone] or [causes[0][0]]

    def _refused(self, item: ConsumerItem, index: int) -> tuple[Cause, bool]:
        """Return why a holding does not go, and whether that is for its own units."""
        holding, tried = item.holdings[index], list[tuple[int, int, int]]()
        for way in item.ways:
            sums = Counter[Where]()
            for place, amount in chain(*way):
                sums[place.where] += amount
            for place, amount in way[index]:
                kept = self._problem.held(item.consumer, place.where)
                total = kept + sums[place.where]
                tried.append((self._problem.number(place.where), amount, total))
        tried = list(dict.fromkeys(tried))
        bins = [(self._problem.bins[where], amount, total) for where, amount, total in tried]
        largest = max(bin_.units.max_unit - total + amount for bin_, amount, total in bins)
        uuid, name, amount = item.consumer.uuid, holding.resource_class, holding.amount
        is_alone = not any(bin_.units.admit(total) for bin_, _, total in bins)
        if amount > largest:
            return Cause(
                'too-large',
                self._tree,
                consumer_uuid=uuid,
                amount=amount,
                resource_class=name,
                largest=largest,
            ), is_alone
        units = tuple(
            (self._name(where), *self._problem.bins[where].units)
            for where in dict.fromkeys(where for where, _, _ in tried)
        )
        return Cause(
            'bad-amount',
            self._tree,
            consumer_uuid=uuid,
            resource_class=name,
            amount=amount,
            units=units,
        ), is_alone

    def overflows(self) -> Iterator[Cause]:
        """Places to which assignments alone send more than there is room for."""
        needs = Counter[int]()
        for item in self._problem.consumer_items:
            for holding, parts in zip(item.holdings, item.ways[0], strict=True):
                if holding.row is not None:
                    needs[self._problem.number(parts[0].place.where)] += holding.amount
        for where, need in needs.items():
            free = self._problem.bins[where].free
            if need > free:
                yield self._shortfall([where], need, free, mapped=True)

    def totals(self) -> Iterator[Cause]:
        """Classes of which more is held than all their places can take."""
        demands = Counter[frozenset[int]]()
        for item in self._items:
            for name in {self._class(demand.bin) for option in item.options for demand in option}:
                of_class = [
                    [demand for demand in option if self._class(demand.bin) == name]
                    for option in item.options
                ]
                places = frozenset(demand.bin for option in of_class for demand in option)
                demands[places] += min(sum(each.amount for each in own) for own in of_class)
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
                    by_class.setdefault(self._class(where), ([], set()))[1].add(where)
            amounts = Counter[str]()
            for where, amount, _, _ in item.options[0]:
                amounts[self._class(where)] += amount
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
            yield Cause(
                'packing',
                self._tree,
                minimal=minimal,
                resource_class=scarcest,
                demands=amounts_left,
                rooms=named,
            )

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
        name = self._class(places[0])
        return Cause(
            'shortfall',
            self._tree,
            mapped=mapped,
            providers=providers,
            resource_class=name,
            need=need,
            room=free,
        )

    def _class(self, where: int) -> str:
        return self._problem.places[where].resource_class

    def _name(self, where: int) -> str:
        return self._target_state.providers[self._problem.places[where][0]].name


def _scarcity(of_class: tuple[list[int], set[int]], free: Sequence[int]) -> float:
    demands, places = of_class
    return sum(demands) / max(sum(free[where] for where in places), 1)
