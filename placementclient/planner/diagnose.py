# SPDX-License-Identifier: Apache-2.0
"""The simplest reason why there is no assignment, with its numbers."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from placementclient.model.inventories import InventoryKey
from placementclient.planner.infeasibility import ROOM, Cause, PlanRefusal
from placementclient.planner.layout.assignment import AssignmentProblem
from placementclient.planner.layout.options import ConsumerItem
from placementclient.planner.layout.target_state import TargetState
from placementclient.planner.solve.problem import Item
from placementclient.planner.solve.search import Impossible


def explain_impossible(
    target_state: TargetState, problem: AssignmentProblem, impossible: Impossible
) -> PlanRefusal:
    """Return the refusal of a problem without a solution: its causes, and the room of each target.

    All causes are of one kind, the simplest that applies.

    :param impossible: the result of the search
    """
    diagnosis = _Diagnosis(target_state, problem)
    causes = (
        [*diagnosis.find_refused_amounts()]
        or [*diagnosis.find_overfilled_targets()]
        or [*diagnosis.find_scarce_classes()]
        or [diagnosis.explain_unplaceable_items(impossible)]
    )
    return PlanRefusal(causes, [*diagnosis.list_slack(impossible.free)])


class _Diagnosis:
    """The reasons why the problem of trees that change together has no solution."""

    def __init__(self, target_state: TargetState, problem: AssignmentProblem) -> None:
        self._problem, self._items, self._bins = problem, problem.items, problem.bins
        self._tree, self._providers = target_state.name, target_state.providers

    def list_slack(self, free: Sequence[int]) -> Iterator[Cause]:
        """Yield the room of each inventory, in units of its class.

        :param free: by bin, the amount that was free when the search ended
        """
        for number, (provider_uuid, name) in enumerate(self._problem.keys):
            provider = self._providers[provider_uuid]
            yield Cause(
                ROOM,
                self._tree,
                provider=provider.name,
                resource_class=name,
                capacity=provider.inventories[name].capacity,
                room=free[number],
            )

    def find_refused_amounts(self) -> Iterator[Cause]:
        """Yield a cause for each allocation whose amount the units of no target allow."""
        for item in self._problem.consumer_items:
            if item.is_refused:
                causes = [
                    self._explain_refused_amount(item, index)
                    for index in range(len(item.allocations))
                ]
                yield from [cause for cause, is_alone in causes if is_alone] or [causes[0][0]]

    def _explain_refused_amount(self, item: ConsumerItem, index: int) -> tuple[Cause, bool]:
        """Return why an allocation has no target, and whether its own amount is the reason.

        :param index: of the allocation in the item
        :return: the cause, and False if the amounts of the item's other allocations are the reason
        """
        allocation, tried = item.allocations[index], dict[tuple[int, int, int], None]()
        for option in item.options:
            sums = Counter[InventoryKey]()
            for target, amount in chain(*option):
                sums[target.key] += amount
            for target, amount in option[index]:
                retained = self._problem.find_retained_amount(item.consumer, target.key)
                total = retained + sums[target.key]
                tried[self._problem.find_or_add_bin(target.key), amount, total] = None
        largest = max(
            self._bins[number].units.max_unit - total + amount for number, amount, total in tried
        )
        is_alone = not any(self._bins[number].units.admits(total) for number, _, total in tried)
        uuid, name, amount = item.consumer.uuid, allocation.resource_class, allocation.amount
        facts = {'consumer_uuid': uuid, 'resource_class': name, 'amount': amount}
        if amount > largest:
            return self._make_cause('too-large', **facts, largest=largest), is_alone
        numbers = dict.fromkeys(number for number, _, _ in tried)
        units = tuple(
            (self._get_provider_name(number), *self._bins[number].units) for number in numbers
        )
        return self._make_cause('bad-amount', **facts, units=units), is_alone

    def _make_cause(self, kind: str, **values: object) -> Cause:
        """Return a cause about all of the trees together, at no place of the specification."""
        return Cause(kind, self._tree, None, **values)

    def find_overfilled_targets(self) -> Iterator[Cause]:
        """Yield a cause for each target to which assignments send more than there is room for."""
        needs = Counter[int]()
        for item in self._problem.consumer_items:
            for allocation, parts in zip(item.allocations, item.options[0], strict=True):
                if allocation.row is not None:
                    target, amount = parts[0]
                    needs[self._problem.find_or_add_bin(target.key)] += amount
        for number, need in needs.items():
            free = self._bins[number].free
            if need > free:
                yield self._make_shortfall_cause([number], need, free, mapped=True)

    def find_scarce_classes(self) -> Iterator[Cause]:
        """Yield a cause for a class whose allocations exceed the room of all targets."""
        demands = Counter[frozenset[int]]()
        for item in self._items:
            for bins, amount in self._sum_least_demands(item):
                demands[bins] += amount
        for group in sorted(demands, key=sorted):
            need = sum(amount for others, amount in demands.items() if others <= group)
            free = sum(max(self._bins[number].free, 0) for number in group)
            if need > free:
                yield self._make_shortfall_cause(sorted(group), need, free)
                return

    def _sum_least_demands(self, item: Item) -> Iterator[tuple[frozenset[int], int]]:
        """Yield for each class the bins that an item may use, and the least that it needs there."""
        for name in {self._get_class(demand.bin) for option in item.options for demand in option}:
            of_class = [
                [demand for demand in option if self._get_class(demand.bin) == name]
                for option in item.options
            ]
            bins = frozenset(demand.bin for option in of_class for demand in option)
            yield bins, min(sum(demand.amount for demand in option) for option in of_class)

    def explain_unplaceable_items(self, impossible: Impossible) -> Cause:
        """Return the cause that the smallest known set of items does not fit; names one class.

        :param impossible: the result of the search
        """
        (indexes, minimal), free = impossible.find_core(), impossible.free
        if len(indexes) == 1:  # others that have no choice took its room
            indexes = self._find_competitors(indexes[0])
            free = [bin_.free for bin_ in self._bins]
        #: by class: the bins that the items may use, and the amount of each item
        bins, amounts = defaultdict[str, set[int]](set), defaultdict[str, list[int]](list)
        for index in indexes:
            item = self._items[index]
            for demand in chain(*item.options):
                bins[self._get_class(demand.bin)].add(demand.bin)
            sums = Counter[str]()
            for demand in item.options[0]:
                sums[self._get_class(demand.bin)] += demand.amount
            for name, amount in sums.items():
                amounts[name].append(amount)
        scarcities = {
            name: sum(amounts[name]) / max(sum(free[number] for number in places), 1)
            for name, places in bins.items()
        }
        scarcest = max(scarcities, key=scarcities.__getitem__)
        demands, places = amounts[scarcest], bins[scarcest]
        total = sum(max(free[number], 0) for number in places)
        if sum(demands) > total:
            return self._make_shortfall_cause(sorted(places), sum(demands), total)
        return self._make_cause(
            'packing',
            minimal=minimal,
            resource_class=scarcest,
            demands=tuple(sorted(demands, reverse=True)),
            rooms={self._get_provider_name(number): free[number] for number in sorted(places)},
        )

    def _find_competitors(self, index: int) -> Sequence[int]:
        """Return the indexes of an item, and of items whose only option uses a bin that it uses."""
        desired = {demand.bin for demand in chain(*self._items[index].options)}
        return [
            other
            for other, item in enumerate(self._items)
            if other == index
            or (len(item.options) == 1 and any(demand.bin in desired for demand in item.options[0]))
        ]

    def _make_shortfall_cause(
        self, bins: Sequence[int], need: int, free: int, mapped: bool = False
    ) -> Cause:
        """Return the cause that some bins of one class have less room than is needed.

        :param bins: their indexes
        :param mapped: whether assignments send the whole need there
        :param need: the amount that items need of them together
        :param free: the amount that they have together
        """
        return self._make_cause(
            'shortfall',
            mapped=mapped,
            providers=tuple(map(self._get_provider_name, bins)),
            resource_class=self._get_class(bins[0]),
            need=need,
            room=free,
        )

    def _get_class(self, bin_index: int) -> str:
        return self._problem.keys[bin_index].resource_class

    def _get_provider_name(self, bin_index: int) -> str:
        return self._providers[self._problem.keys[bin_index].provider_uuid].name
