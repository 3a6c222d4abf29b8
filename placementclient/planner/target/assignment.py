"""The assignment problem of one tree: holdings become items, inventories become bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from placementclient.model.consumers import Consumer
from placementclient.planner import infeasibility
from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.spec.values import Spec
from placementclient.planner.target.known import HoldingKey, KnownAmount
from placementclient.planner.target.overlay import SnapshotOverlay
from placementclient.planner.target.target_state import (
    Place,
    TargetProvider,
    TargetState,
    Where,
)

#: More than any consumer can hold, and what the solver's integers hold a thousand times.
ENOUGH = 2**53


@dataclass(frozen=True, slots=True)
class ConsumerItem:
    """One item: classes of one consumer on one source that go the same way.

    :param amounts: of each class
    :param options: the places of each class, in the order of the classes
    :param divisible: whether the amount of the only class may be divided
    :param known: the row that decides it
    """

    consumer: Consumer
    source: TargetProvider
    amounts: Mapping[str, int]
    options: tuple[tuple[Place, ...], ...]
    divisible: bool = False
    known: KnownAmount | None = None


class AssignmentProblem:
    """The bins and the items of one tree.

    :ivar consumer_items: of each item what it is about
    :ivar places: of each bin the class and the provider
    :ivar causes: why some consumer has no place at all
    """

    def __init__(self, overlay: SnapshotOverlay, target_state: TargetState, spec: Spec) -> None:
        self._overlay, self._target_state, self._spec = overlay, target_state, spec
        self.consumer_items: list[ConsumerItem] = []
        self.bins: list[Bin] = []
        self.places: list[Where] = []
        self.causes: list[infeasibility.Cause] = []
        self._numbers: dict[Where, int] = {}
        #: by source and classes: thousands of consumers have the same choices
        self._choices: dict[tuple[str, tuple[str, ...]], tuple[tuple[Place, ...], ...]] = {}
        #: by source, classes and all that is held, the items of consumers of one provider
        self._alike: dict[tuple[str, tuple[str, ...], tuple[tuple[str, int], ...]], Item] = {}

    def add_consumer(
        self,
        consumer: Consumer,
        source: TargetProvider,
        names: Sequence[str],
        known: Mapping[HoldingKey, Sequence[KnownAmount]],
    ) -> None:
        """Make items of what a consumer holds of classes that go together."""
        amounts = self._amounts(consumer, source, names)
        if not amounts:
            return
        open_amounts = dict(amounts)
        targets: set[frozenset[str]] = set()
        for name in amounts:
            rows = known.get(HoldingKey(consumer.uuid, source.uuid, name))
            if rows:
                del open_amounts[name]
                targets.add(frozenset(row.place.provider_uuid for row in rows))
                self.consumer_items += [
                    ConsumerItem(consumer, source, {name: row.amount}, ((row.place,),), known=row)
                    for row in rows
                ]
        choices = self._open_choices(source, tuple(open_amounts))
        if self._target_state.is_return and len(targets) > 1:
            targets.clear()  # they go back to where they were, wherever that was
        if targets:
            together = frozenset[str]().union(*targets)
            choices = tuple(places for places in choices if {places[0].provider_uuid} == together)
        if len(targets) > 1 or (open_amounts and not choices):
            self.causes.append(
                infeasibility.APART(self._target_state.root.name, consumer.uuid, tuple(amounts))
            )
        elif open_amounts:
            divisible = self._spec.split and len(amounts) == 1 and len(choices) > 1
            self.consumer_items.append(
                ConsumerItem(consumer, source, open_amounts, choices, divisible)
            )

    def items(self) -> list[Item]:
        """The items, with those of one consumer that are judged together tied together."""
        items = [self._item(consumer_item) for consumer_item in self.consumer_items]
        own_of: dict[tuple[str, str], list[int]] = {}
        for index, consumer_item in enumerate(self.consumer_items):
            root = consumer_item.source.root_provider_uuid if self._target_state.apart else ''
            own_of.setdefault((consumer_item.consumer.uuid, root), []).append(index)
        for owner, ((consumer_uuid, root), own) in enumerate(own_of.items()):
            written_in = self._target_state.written_in(consumer_uuid)
            is_written = root in written_in if root else bool(written_in)
            refused = list(self._refused(own))
            if refused:
                self._respect(items, own, refused, is_written=is_written)
            if refused or is_written or len(own) > 1:
                self._tie(items, own, owner, is_written=is_written)
        return items

    def overfull(self) -> Iterator[infeasibility.Cause]:
        """Inventories that change, and have too little room for what stays out of the plan."""
        moved = self._spec.names.moved
        for provider in self._target_state.providers.values():
            before = provider.before.inventories if provider.before else {}
            for name, inventory in provider.inventories.items():
                if inventory == before.get(name):
                    continue
                where = Where(provider.uuid, name)
                used, room = self.static(where), inventory.capacity
                was = before[name].capacity if name in before else 0
                excess = max(0, used - was, self._target_state.overcommitted.get(where, 0))
                is_short = name in moved and used > room + excess
                if is_short or room < 0:
                    yield infeasibility.OVERFULL(
                        self._target_state.root.name, provider.name, name, used, room
                    )

    def static(self, where: Where) -> int:
        """Return the usage of a place by consumers that stay out of it, in units of the class."""
        state = self._overlay.state(where.provider_uuid)
        if state is None:
            return 0
        used = state.usages.get(where.resource_class, 0)
        if where in self._target_state.limited:
            return used - sum(self._target_state.limited[where].values())
        # Of what moves, each of its consumers has an item.
        return 0 if where in self._target_state.places else used

    def number(self, where: Where) -> int:
        """The number of a place's bin."""
        number = self._numbers.get(where)
        if number is None:
            number = self._numbers[where] = len(self.bins)
            self.places.append(where)
            inventory = self._target_state.providers[where.provider_uuid].inventories[
                where.resource_class
            ]
            free = inventory.capacity - self.static(where) + self._tolerated(where)
            # A ratio may make more of it than the solver's integers hold.
            free = min(free, ENOUGH)
            self.bins.append(Bin(free, inventory.min_unit, inventory.max_unit, inventory.step_size))
        return number

    def held(self, consumer: Consumer, where: Where) -> int:
        """Return the amount that a consumer keeps at a place, in units of the class."""
        held = consumer.amount(*where)
        if where in self._target_state.limited:
            return held - self._target_state.limited[where].get(consumer.uuid, 0)
        return 0 if where in self._target_state.places else held

    def _amounts(
        self, consumer: Consumer, source: TargetProvider, names: Sequence[str]
    ) -> dict[str, int]:
        """Return the holdings of a consumer on a source that may move, by class."""
        held = consumer.allocations.get(source.uuid, {})
        amounts = {name: held[name] for name in names if held.get(name)}
        for name in amounts:
            limited = self._target_state.limited.get(Where(source.uuid, name))
            if limited is not None:
                amounts[name] = min(limited.get(consumer.uuid, 0), amounts[name])
        return {name: amount for name, amount in amounts.items() if amount}

    def _open_choices(
        self, source: TargetProvider, names: tuple[str, ...]
    ) -> tuple[tuple[Place, ...], ...]:
        """Return the options for some classes that go to one provider together, under any name
        there, where no row decides it.
        """
        if not names:
            return ()
        choices = self._choices.get((source.uuid, names))
        if choices is None:
            places = [
                [
                    place
                    for place in self._target_state.places[Where(source.uuid, name)]
                    if not place.only_mapped
                ]
                for name in names
            ]
            choices = self._choices[source.uuid, names] = tuple(
                option
                for target in dict.fromkeys(place.provider_uuid for place in places[0])
                for option in product(
                    *([place for place in own if place.provider_uuid == target] for own in places)
                )
            )
        return choices

    def _item(self, consumer_item: ConsumerItem) -> Item:
        allocations, source = consumer_item.consumer.allocations, consumer_item.source.uuid
        names = tuple(consumer_item.amounts)
        choices = self._choices.get((source, names))
        if len(allocations) > 1 or self._target_state.limited or choices != consumer_item.options:
            return self._new_item(consumer_item)
        key = (source, names, tuple(allocations[source].items()))
        item = self._alike.get(key)
        if item is None:
            item = self._alike[key] = self._new_item(consumer_item)
        return item

    def _new_item(self, consumer_item: ConsumerItem) -> Item:
        options = []
        for places in consumer_item.options:
            stays = all(place.stays for place in places)
            demands: dict[int, Demand] = {}
            for place, amount in zip(places, consumer_item.amounts.values(), strict=True):
                number = self.number(place.where)
                if number in demands:
                    amount += demands[number].amount
                held = self.held(consumer_item.consumer, place.where)
                demands[number] = Demand(number, amount, held, stays)
            options.append(tuple(demands.values()))
        return Item(tuple(options), consumer_item.divisible)

    def _tolerated(self, where: Where) -> int:
        """Return the over-commitment that may stay on a source, in units of the class."""
        if where not in self._target_state.places:
            return 0
        if where in self._target_state.overcommitted:
            return self._target_state.overcommitted[where]
        before = self._target_state.providers[where.provider_uuid].before
        if before is None or where.resource_class not in before.inventories:
            return 0
        usage = before.usages.get(where.resource_class, 0)
        return max(0, usage - before.inventories[where.resource_class].capacity)

    def _refused(self, own: Sequence[int]) -> Iterator[infeasibility.Cause]:
        """Return the holdings against the units: the service refuses to write them again."""
        tree = self._target_state.root.name
        consumer = self.consumer_items[own[0]].consumer
        root = self.consumer_items[own[0]].source.root_provider_uuid
        moving = {
            Where(self.consumer_items[index].source.uuid, name)
            for index in own
            for name in self.consumer_items[index].amounts
        }
        for provider_uuid, resources in consumer.allocations.items():
            target = self._target_state.providers.get(provider_uuid)
            state = target or self._overlay.state(provider_uuid)
            if state is None:
                continue  # on a tree that the snapshot leaves out
            is_apart = self._target_state.apart and target and target.root_provider_uuid != root
            for name, amount in resources.items():
                inventory = state.inventories.get(name)
                if inventory is None:
                    continue
                where = Where(provider_uuid, name)
                if is_apart and (where in self._numbers or self._was_admitted(where, amount)):
                    continue  # in some order of the trees it may be right
                kept = self.held(consumer, where) if where in moving else amount
                if kept and not inventory.admits(kept):
                    yield infeasibility.UNACCEPTABLE(tree, consumer.uuid, state.name, name, kept)

    def _was_admitted(self, where: Where, amount: int) -> bool:
        state = self._overlay.state(where.provider_uuid)
        inventory = state.inventories.get(where.resource_class) if state else None
        return inventory is not None and inventory.admits(amount)

    def _respect(
        self,
        items: list[Item],
        own: Sequence[int],
        refused: Sequence[infeasibility.Cause],
        *,
        is_written: bool,
    ) -> None:
        """Let nothing move of a consumer that keeps an amount against the units, unless its new
        amounts make that right.

        :param is_written: whether it is written even if nothing of it moves
        """
        reached = {
            demand.bin
            for index in own
            for option in items[index].options
            for demand in option
            if not demand.stays
        }
        numbers = {
            (self._name(number), self.places[number].resource_class): number for number in reached
        }
        values = [each.values for each in refused]
        if all((each['provider'], each['resource_class']) in numbers for each in values):
            demands = tuple(
                Demand(numbers[each['provider'], each['resource_class']], 0, each['amount'])
                for each in values
            )
            for index in own:
                items[index] = replace(items[index], refused=demands)
            return
        if is_written:
            self.causes += refused
            return
        for index in own:
            if not self._keep(index):
                self.causes += refused
                return
            items[index] = self._item(self.consumer_items[index])

    def _keep(self, index: int) -> bool:
        """Leave an item no choice but to stay; false: it cannot."""
        item = self.consumer_items[index]
        choices = tuple(places for places in item.options if all(place.stays for place in places))
        if choices:
            self.consumer_items[index] = replace(item, options=choices, divisible=False)
        return bool(choices)

    def _name(self, number: int) -> str:
        """The name of the provider of a bin."""
        return self._target_state.providers[self.places[number].provider_uuid].name

    def _tie(self, items: list[Item], own: Sequence[int], owner: int, *, is_written: bool) -> None:
        """Units count for all that a consumer gets in a bin, and for what stays of it if anything
        moves. Where none of its items has a choice, both are known; else the search sees to it.

        :param is_written: whether what stays counts even if nothing moves
        """
        moves = is_written or any(
            not any(option[0].stays for option in items[index].options) for index in own
        )
        refused = items[own[0]].refused
        if moves or (not refused and all(self._may_stay(items[index]) for index in own)):
            for index in own:
                items[index] = _judged(items[index])
        users: dict[int, set[int]] = {}
        for index in own:
            for option in items[index].options:
                for demand in option:
                    users.setdefault(demand.bin, set()).add(index)
        has_choice = any(len(items[index].options) > 1 for index in own)
        is_shared = any(len(indexes) > 1 for indexes in users.values())
        stays = any(option[0].stays for index in own for option in items[index].options)
        if has_choice and (is_shared or stays or refused):
            for index in own:
                items[index] = replace(items[index], owner=owner)
        elif is_shared:
            self._add_up(items, own)

    def _may_stay(self, item: Item) -> bool:
        """Return whether what stays of an item stays within the units, even if they are judged."""
        return all(
            self.bins[demand.bin].admits(demand.amount + demand.held)
            for option in item.options
            for demand in option
            if demand.stays
        )

    def _add_up(self, items: list[Item], own: Sequence[int]) -> None:
        """Make of what some items without a choice have in a bin what the others hold there."""
        sums: dict[int, int] = {}
        for index in own:
            for demand in items[index].options[0]:
                sums[demand.bin] = sums.get(demand.bin, 0) + demand.amount
        for index in own:
            option = tuple(
                demand._replace(held=demand.held + sums[demand.bin] - demand.amount)
                for demand in items[index].options[0]
            )
            items[index] = replace(items[index], options=(option,))


def _judged(item: Item) -> Item:
    """The same, of an owner of which something moves anyway, or of which all may be judged."""
    options = tuple(
        tuple(demand._replace(stays=False) for demand in option) for option in item.options
    )
    return replace(item, options=options)
