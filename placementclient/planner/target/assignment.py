"""Who goes where in one tree: what its consumers hold becomes items, its inventories bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.planner import infeasibility
from placementclient.planner.infeasibility import OpenRow
from placementclient.planner.plan.plan import PlannedRow
from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.known import Holding, Known
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import Place, TargetProvider, TargetState

#: A provider's UUID and a class.
Where = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ConsumerItem:
    """One item: classes of one consumer on one source that go the same way.

    :param amounts: of each class
    :param options: the places of each class, in the order of the classes
    :param known: the row that decides it
    """

    consumer: Consumer
    source: TargetProvider
    amounts: Mapping[str, int]
    options: tuple[tuple[Place, ...], ...]
    divisible: bool = False
    known: Known | None = None


@dataclass(slots=True)
class Assignment:
    """Where everything of a tree goes.

    :param rows: labelled, by source, consumer and class
    :param moves: of each row, whence and whither: consumer, source, target, amount
    :param undecided: the rows that have a choice
    """

    rows: list[PlannedRow]
    moves: list[tuple[str, Where, Where, int]]
    undecided: list[OpenRow]


class AssignmentProblem:
    """The bins and the items of one tree."""

    def __init__(self, overlay: SnapshotOverlay, target_state: TargetState, spec: Spec) -> None:
        self._overlay, self._target_state, self._spec = overlay, target_state, spec
        self.consumer_items: list[ConsumerItem] = []
        self.bins: list[Bin] = []
        self.wheres: list[Where] = []
        self.causes: list[infeasibility.Cause] = []
        self._numbers: dict[Where, int] = {}

    def add_consumer(
        self,
        consumer: Consumer,
        source: TargetProvider,
        names: Sequence[str],
        known: Mapping[Holding, Sequence[Known]],
    ) -> None:
        """Make items of what a consumer holds of classes that go together."""
        held = consumer.allocations.get(source.uuid, {})
        amounts = {name: held[name] for name in names if held.get(name)}
        for name in amounts.keys() & names:
            limited = self._target_state.limited.get((source.uuid, name))
            if limited is not None:
                amounts[name] = min(limited.get(consumer.uuid, 0), amounts[name])
        amounts = {name: amount for name, amount in amounts.items() if amount}
        if not amounts:
            return
        options = self._options(source, tuple(amounts))
        open_amounts = dict(amounts)
        targets: set[tuple[tuple[str, bool], ...]] = set()
        for name in amounts:
            rows = known.get((consumer.uuid, source.uuid, name))
            if rows:
                del open_amounts[name]
                targets.add(tuple(sorted(_target(row.place) for row in rows)))
                for row in rows:
                    self._add(
                        ConsumerItem(
                            consumer, source, {name: row.amount}, ((row.place,),), known=row
                        )
                    )
        if targets:
            together = {target for several in targets for target in several}
            options = tuple(option for option in options if {_target(option[0])} == together)
        if len(targets) > 1 or (amounts and not options and open_amounts):
            self.causes.append(
                infeasibility.Apart(self._target_state.root.name, consumer.uuid, tuple(amounts))
            )
        elif open_amounts:
            positions = [index for index, name in enumerate(amounts) if name in open_amounts]
            options = tuple(tuple(option[index] for index in positions) for option in options)
            divisible = self._spec.split and len(open_amounts) == 1 and not targets
            divisible = divisible and len(amounts) == 1 and len(options) > 1
            self._add(ConsumerItem(consumer, source, open_amounts, options, divisible))

    def items(self) -> list[Item]:
        """The items, with those of one consumer that share a bin tied together."""
        items = [self._item(consumer_item) for consumer_item in self.consumer_items]
        users: dict[tuple[str, int], list[int]] = {}
        for index, (consumer_item, item) in enumerate(zip(self.consumer_items, items, strict=True)):
            for where in {demand[0] for option in item.options for demand in option}:
                users.setdefault((consumer_item.consumer.uuid, where), []).append(index)
        tied = {key: indexes for key, indexes in users.items() if len(indexes) > 1}
        if tied:
            self._tie(items, tied)
        return items

    def static(self, where: Where) -> int:
        """What is used at a place by those that stay out of it, in units of the class."""
        provider_uuid, name = where
        state = self._overlay.state(provider_uuid)
        if state is None:
            return 0
        used = state.usages.get(name, 0)
        if where in self._target_state.limited:
            return used - sum(self._target_state.limited[where].values())
        return (
            0 if where in self._target_state.places else used
        )  # each of its consumers has an item

    def _options(
        self, source: TargetProvider, names: Sequence[str]
    ) -> tuple[tuple[Place, ...], ...]:
        """The places that every class can go to."""
        places = [
            {_target(place): place for place in self._target_state.places[source.uuid, name]}
            for name in names
        ]
        return tuple(
            tuple(of_class[target] for of_class in places)
            for target in places[0]
            if all(target in of_class for of_class in places)
        )

    def _add(self, consumer_item: ConsumerItem) -> None:
        if consumer_item.known is None:
            options = tuple(
                option
                for option in consumer_item.options
                if not any(place.only_mapped for place in option)
            )
            consumer_item = replace(
                consumer_item,
                options=options,
                divisible=consumer_item.divisible and len(options) > 1,
            )
        self.consumer_items.append(consumer_item)

    def _item(self, consumer_item: ConsumerItem) -> Item:
        options = []
        for places in consumer_item.options:
            demands: dict[int, Demand] = {}
            for place, amount in zip(places, consumer_item.amounts.values(), strict=True):
                where = self.number(place)
                known = demands.get(where, (where, 0, self.held(consumer_item.consumer, place)))
                demands[where] = (where, known[1] + amount, known[2])
            options.append(tuple(demands.values()))
        return Item(tuple(options), consumer_item.divisible)

    def number(self, place: Place) -> int:
        """The number of a place's bin."""
        return self._bin((place.provider_uuid, place.resource_class))

    def held(self, consumer: Consumer, place: Place) -> int:
        """What a consumer has at a place and keeps there."""
        where = (place.provider_uuid, place.resource_class)
        held = consumer.allocations.get(place.provider_uuid, {}).get(place.resource_class, 0)
        if where in self._target_state.limited:
            return held - self._target_state.limited[where].get(consumer.uuid, 0)
        return 0 if where in self._target_state.places else held

    def _bin(self, where: Where) -> int:
        number = self._numbers.get(where)
        if number is None:
            number = self._numbers[where] = len(self.bins)
            self.wheres.append(where)
            inventory = self._target_state.providers[where[0]].inventories[where[1]]
            if where in self._target_state.places:
                self.bins.append(self._remainder(where, inventory))
            else:
                self.bins.append(
                    Bin(
                        inventory.capacity - self.static(where),
                        inventory.min_unit,
                        inventory.max_unit,
                        inventory.step_size,
                    )
                )
        return number

    def _remainder(self, where: Where, inventory: Inventory) -> Bin:
        """What stays on a source may stay as it is: over-committed, no more than it was, and in
        amounts that the units admitted once.
        """
        before = self._target_state.providers[where[0]].before
        assert before is not None
        usage, was = before.usages.get(where[1], 0), before.inventories.get(where[1])
        free = inventory.capacity + max(0, usage - (was.capacity if was else usage))
        if self._spec.split:
            return Bin(free, inventory.min_unit, inventory.max_unit, inventory.step_size)
        return Bin(free, 1, UNLIMITED, 1)

    def _tie(self, items: list[Item], tied: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Units count for all that a consumer gets in a bin.

        Where none of its items has a choice, the sum is known; else the search has to see to it.
        """
        owners: dict[str, int] = {}
        own_of: dict[str, list[int]] = {}
        for index, consumer_item in enumerate(self.consumer_items):
            own_of.setdefault(consumer_item.consumer.uuid, []).append(index)
        for (consumer_uuid, where), indexes in tied.items():
            own = own_of[consumer_uuid]
            if any(len(items[index].options) > 1 for index in own):
                number = owners.setdefault(consumer_uuid, len(owners))
                for index in own:
                    items[index] = replace(items[index], owner=number)
                continue
            amounts = {
                index: sum(demand[1] for demand in items[index].options[0] if demand[0] == where)
                for index in indexes
            }
            for index in indexes:
                others = sum(amounts.values()) - amounts[index]
                option = tuple(
                    (bin, amount, held + (others if bin == where else 0))
                    for bin, amount, held in items[index].options[0]
                )
                items[index] = replace(items[index], options=(option,))


def _target(place: Place) -> tuple[str, bool]:
    return place.provider_uuid, place.stays
