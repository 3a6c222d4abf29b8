"""The assignment problem of one tree: allocations become items, inventories become bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, starmap
from math import prod

from placementclient.model.consumers import Consumer
from placementclient.model.plans import PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import infeasibility
from placementclient.planner.infeasibility import OpenRow
from placementclient.planner.layout.known import HoldingKey, PlacedAmount
from placementclient.planner.layout.target_state import (
    TargetProvider,
    TargetState,
    Where,
)
from placementclient.planner.layout.ways import (
    ConsumerItem,
    ConsumerJudge,
    HeldAmount,
    Way,
    check_number,
)
from placementclient.planner.solve.problem import Bin, Demand, Item

#: More than any consumer can hold, and what the solver's integers hold a thousand times.
ENOUGH = 2**53


@dataclass(slots=True)
class Assignment:
    """The places of all amounts that move.

    :param rows: labelled, by source, consumer and class
    :param undecided: the rows that have a choice
    :param unproved: the rows that may have one: the search for it was cut short
    """

    rows: list[PlannedRow]
    undecided: list[OpenRow]
    unproved: list[OpenRow]


class AssignmentProblem:
    """The bins and the items of one tree.

    :ivar consumer_items: of each item what it is about
    :ivar places: of each bin the class and the provider
    :ivar causes: why some consumer has no place at all
    """

    def __init__(self, snapshot: Snapshot, target_state: TargetState, spec: Spec) -> None:
        self._snapshot, self._target_state, self._spec = snapshot, target_state, spec
        self.consumer_items: list[ConsumerItem] = []
        self.bins: list[Bin] = []
        self.places: list[Where] = []
        self.causes: list[infeasibility.Cause] = []
        self._numbers: dict[Where, int] = {}
        self._count = 0
        #: by consumer
        self._own: dict[str, list[ConsumerItem]] = {}
        #: by source and amounts: thousands of consumers have the same ways
        self._open: dict[tuple[str, tuple[tuple[str, int], ...]], tuple[Way, ...]] = {}
        #: by source, classes and all that is held, the items of consumers of one provider
        self._alike: dict[object, tuple[ConsumerItem, Item]] = {}

    def add_consumer(
        self,
        consumer: Consumer,
        source: TargetProvider,
        names: Sequence[str],
        known: Mapping[HoldingKey, Sequence[PlacedAmount]],
    ) -> None:
        """Make items of the allocations of a consumer.

        :raises Refused: if there are too many ways for the consumer to go
        """
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
                for row in rows:
                    self._add(consumer, source, {name: row.amount}, ((row,),), known=row)
        ways = self._open_ways(consumer, source, open_amounts)
        if self._target_state.is_return and len(targets) > 1:
            targets.clear()  # they go back to where they were, wherever that was
        if targets:
            together = frozenset[str]().union(*targets)
            ways = tuple(way for way in ways if {way[0].place.provider_uuid} == together)
        if len(targets) > 1 or (open_amounts and not ways):
            self.causes.append(
                infeasibility.APART(self._target_state.name, consumer.uuid, tuple(amounts))
            )
        elif open_amounts:
            divisible = self._spec.split and len(amounts) == 1 and len(ways) > 1
            self._add(consumer, source, open_amounts, ways, divisible)

    def _add(
        self,
        consumer: Consumer,
        source: TargetProvider,
        amounts: Mapping[str, int],
        ways: tuple[Way, ...],
        divisible: bool = False,
        known: PlacedAmount | None = None,
    ) -> None:
        holdings = tuple(
            HeldAmount(self._count + position, source, name, amount, known)
            for position, (name, amount) in enumerate(amounts.items())
        )
        self._count += len(holdings)
        item = ConsumerItem(consumer, holdings, ways, divisible)
        self._own.setdefault(consumer.uuid, []).append(item)

    def items(self) -> list[Item]:
        """Return the items; dependent items of one consumer are one.

        :raises Refused: if there are too many ways for a consumer to go
        """
        for consumer_uuid in {**self._target_state.added, **self._target_state.removed}:
            self._own.setdefault(consumer_uuid, [])
        pairs = [pair for uuid, own in self._own.items() for pair in self._of_consumer(uuid, own)]
        pairs.sort(key=lambda pair: pair[0].holdings[0].number)
        self.consumer_items = [consumer_item for consumer_item, _ in pairs]
        return [item for _, item in pairs]

    def overfull(self) -> Iterator[infeasibility.Cause]:
        """Return changed inventories that are too small for the remaining usage."""
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
                        self._target_state.name, provider.name, name, used, room
                    )

    def static(self, where: Where) -> int:
        """Return the usage of a place by other consumers, in units of the class."""
        state = self._snapshot.providers.get(where.provider_uuid)
        if state is None:
            return 0
        used = state.usages.get(where.resource_class, 0)
        if where in self._target_state.limited:
            return used - sum(self._target_state.limited[where].values())
        # Of what moves, each of its consumers has an item.
        return 0 if where in self._target_state.places else used

    def number(self, where: Where) -> int:
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
            self.bins.append(Bin(free, inventory.units))
        return number

    def held(self, consumer: Consumer, where: Where) -> int:
        """Return the amount that a consumer keeps at a place, in units of the class."""
        held = consumer.amount(*where)
        if where in self._target_state.limited:
            return held - self._target_state.limited[where].get(consumer.uuid, 0)
        return 0 if where in self._target_state.places else held

    def _of_consumer(
        self, consumer_uuid: str, own: Sequence[ConsumerItem]
    ) -> Iterator[tuple[ConsumerItem, Item]]:
        """Return the items of a consumer, as they are judged, and as the search takes them."""
        consumer = self._snapshot.consumers[consumer_uuid]
        key = self._key(consumer, own)
        if key is not None and key in self._alike:
            alike, item = self._alike[key]
            is_refused = alike.is_refused
            yield (
                ConsumerItem(consumer, own[0].holdings, alike.ways, alike.divisible, is_refused),
                item,
            )
            return
        judge = ConsumerJudge(self._snapshot, self._target_state, consumer, own)
        for judged in judge.judged():
            item = self._item(judged)
            if key is not None:
                self._alike[key] = judged, item
            yield judged, item
        self.causes += judge.causes

    def _key(self, consumer: Consumer, own: Sequence[ConsumerItem]) -> object:
        """Return a key that consumers have in common whose only items are alike; or ``None``."""
        allocations, changed = consumer.allocations, self._target_state
        is_plain = len(own) == len(allocations) == 1 and not changed.limited
        if not is_plain or consumer.uuid in changed.added or consumer.uuid in changed.removed:
            return None
        (item,) = own
        whats = tuple((each.resource_class, each.amount) for each in item.holdings)
        source, known = item.holdings[0].source.uuid, item.holdings[0].known
        place = known.place.where if known else None
        return source, whats, place, tuple(allocations[source].items())

    def _item(self, judged: ConsumerItem) -> Item:
        """Return an item as the search takes it; one that the service refuses has no option."""
        is_written = self._target_state.is_written(judged.consumer.uuid)
        options = []
        for way in judged.ways:
            demands: dict[int, int] = {}
            for placed in way:
                number = self.number(placed.place.where)
                demands[number] = demands.get(number, 0) + placed.amount
            if not judged.divisible:
                options.append(tuple(starmap(Demand, demands.items())))
                continue
            place, amount = way[0].place, way[0].amount
            held = self.held(judged.consumer, place.where)
            stays = place.stays and not is_written
            options.append((Demand(number, amount, held, stays),))
        return Item(() if judged.is_refused else tuple(options), judged.divisible)

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

    def _open_ways(
        self, consumer: Consumer, source: TargetProvider, amounts: Mapping[str, int]
    ) -> tuple[Way, ...]:
        """Return the ways of some classes that go to one provider together, under any name there,
        where no row decides it.
        """
        key = (source.uuid, tuple(amounts.items()))
        ways = self._open.get(key)
        if ways is None:
            places = [
                [
                    PlacedAmount(place, amount, index)
                    for place in self._target_state.places[Where(source.uuid, name)]
                    if not place.only_mapped
                ]
                for index, (name, amount) in enumerate(amounts.items())
            ]
            by_target = [
                [[each for each in own if each.place.provider_uuid == target] for own in places]
                for target in dict.fromkeys(each.place.provider_uuid for each in chain(*places[:1]))
            ]
            number = sum(prod(map(len, own)) for own in by_target)
            check_number(number, consumer, self._target_state)
            ways = self._open[key] = tuple(way for own in by_target for way in product(*own))
        return ways

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
