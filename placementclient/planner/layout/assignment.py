"""The assignment problem of one tree: allocations become items, inventories become bins."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, starmap
from math import prod

from placementclient.model.consumers import Consumer
from placementclient.model.plans import PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout.target_state import (
    HoldingKey,
    TargetProvider,
    TargetState,
    Where,
)
from placementclient.planner.layout.ways import (
    ConsumerItem,
    ConsumerJudge,
    HeldAmount,
    PlacedAmount,
    Way,
    check_number,
)
from placementclient.planner.solve.problem import Bin, Demand, Item

#: More than any consumer can hold, and what the solver's integers hold a thousand times.
ENOUGH = 2**53


class AssignmentProblem:
    """The bins and the items of one tree.

    :ivar consumer_items: of each item what it is about
    :ivar places: of each bin the class and the provider
    """

    def __init__(self, snapshot: Snapshot, target_state: TargetState) -> None:
        self._snapshot, self._target_state = snapshot, target_state
        self.consumer_items: list[ConsumerItem] = []
        self.items: list[Item] = []
        self.bins: list[Bin] = []
        self.places: list[Where] = []
        self._causes: list[Cause] = []
        self._numbers: dict[Where, int] = {}
        self._by_name = functools.cache(target_state.by_name)
        #: by source and amounts: thousands of consumers have the same ways
        self._open: dict[tuple[str, tuple[tuple[str, int], ...]], tuple[Way, ...]] = {}
        #: by source, classes and all allocations, the items of consumers of one provider
        self._alike: dict[object, tuple[ConsumerItem, Item]] = {}

    def add_consumers(self, spec: Spec, known: Mapping[HoldingKey, Sequence[PlannedRow]]) -> None:
        """Make items of all allocations that may move; dependent items of one consumer are one.

        :raises Refused: if some consumer cannot go anywhere, or has too many ways to go
        """
        state, local = self._target_state, dict[str, list[ConsumerItem]]()
        for number, (source, names) in enumerate(_groups(state, spec)):
            for consumer in self._snapshot.consumers_on(source):
                items = local.setdefault(consumer.uuid, [])
                items += self._local(number, consumer, state.providers[source], names, spec, known)
        self._refuse()
        for uuid in {**state.added, **state.removed}:
            local.setdefault(uuid, [])
        pairs = [*chain.from_iterable(starmap(self._judged, local.items()))]
        self._refuse()
        pairs.sort(key=lambda pair: pair[0].holdings[0].order)
        self.consumer_items = [consumer_item for consumer_item, _ in pairs]
        self.items = [item for _, item in pairs]

    def static(self, where: Where) -> int:
        """Return the usage of a place by other consumers, in units of the class."""
        state = self._snapshot.providers.get(where.provider_uuid)
        if state is None:
            return 0
        used = state.used(where.resource_class)
        if where in self._target_state.limited:
            return used - sum(self._target_state.limited[where].values())
        # Of what moves, each of its consumers has an item.
        return 0 if where in self._target_state.places else used

    def number(self, where: Where) -> int:
        """Return the index of the bin of a place."""
        number = self._numbers.get(where)
        if number is None:
            number = self._numbers[where] = len(self.bins)
            self.places.append(where)
            provider = self._target_state.providers[where.provider_uuid]
            inventory = provider.inventories[where.resource_class]
            free = inventory.capacity - self.static(where) + self._tolerated(where)
            # A ratio may make more of it than the solver's integers hold.
            self.bins.append(Bin(min(free, ENOUGH), inventory.units))
        return number

    def held(self, consumer: Consumer, where: Where) -> int:
        """Return the amount that a consumer keeps at a place, in units of the class."""
        held = consumer.amount(*where)
        if where in self._target_state.limited:
            return held - self._target_state.limited[where].get(consumer.uuid, 0)
        return 0 if where in self._target_state.places else held

    def _refuse(self) -> None:
        if self._causes:
            raise Refused(self._causes)

    def _local(
        self,
        number: int,
        consumer: Consumer,
        source: TargetProvider,
        names: Iterable[str],
        spec: Spec,
        known: Mapping[HoldingKey, Sequence[PlannedRow]],
    ) -> Iterator[ConsumerItem]:
        """Return items of what a consumer has of some classes of a source, each for itself."""
        amounts = self._amounts(consumer, source, names)
        open_amounts, order = dict(amounts), (number, consumer.uuid)
        targets: set[frozenset[str]] = set()
        for name in amounts:
            if rows := known.get(HoldingKey(consumer.uuid, source.uuid, name), ()):
                del open_amounts[name]
                places = self._by_name(Where(source.uuid, name))
                chosen = [places[row.to_provider, row.to_resource_class] for row in rows]
                targets.add(frozenset(place.provider_uuid for place in chosen))
                for row, place in zip(rows, chosen, strict=True):
                    holding = HeldAmount(order, source, name, row.amount, row)
                    yield ConsumerItem(
                        consumer, (holding,), (((PlacedAmount(place, row.amount),),),)
                    )
        ways = self._open_ways(consumer, source, open_amounts)
        if self._target_state.is_return and len(targets) > 1:
            targets.clear()  # they go back to where they were, wherever that was
        if targets:
            together = frozenset[str]().union(*targets)
            ways = tuple(way for way in ways if {way[0][0].place.provider_uuid} == together)
        if len(targets) > 1 or (open_amounts and not ways):
            self._causes.append(
                Cause(
                    'apart',
                    self._target_state.name,
                    consumer_uuid=consumer.uuid,
                    classes=tuple(amounts),
                )
            )
        elif open_amounts:
            divisible = spec.split and len(amounts) == 1 and len(ways) > 1
            holdings = tuple(HeldAmount(order, source, *each) for each in open_amounts.items())
            yield ConsumerItem(consumer, holdings, ways, divisible)

    def _judged(
        self, consumer_uuid: str, local: Sequence[ConsumerItem]
    ) -> Iterator[tuple[ConsumerItem, Item]]:
        """Return the items of a consumer, as they are judged, and as the search takes them."""
        consumer = self._snapshot.consumers[consumer_uuid]
        key = self._key(consumer, local)
        if key is not None and key in self._alike:
            alike, item = self._alike[key]
            more = alike.ways, alike.divisible, alike.is_refused
            yield ConsumerItem(consumer, local[0].holdings, *more), item
            return
        judge = ConsumerJudge(self._snapshot, self._target_state, consumer, local)
        for judged in judge.judged():
            item = self._item(judged)
            if key is not None:
                self._alike[key] = judged, item
            yield judged, item
        self._causes += judge.causes

    def _key(self, consumer: Consumer, local: Sequence[ConsumerItem]) -> object:
        """Return a key that consumers have in common whose only items are alike; or ``None``."""
        allocations, changed = consumer.allocations, self._target_state
        is_plain = len(local) == len(allocations) == 1 and not changed.limited
        if not is_plain or changed.is_written(consumer.uuid):
            return None
        first = local[0].holdings[0]
        amounts = tuple((each.resource_class, each.amount) for each in local[0].holdings)
        place = local[0].ways[0][0][0].place.where if first.row else None
        return first.source.uuid, amounts, place, tuple(allocations[first.source.uuid].items())

    def _item(self, judged: ConsumerItem) -> Item:
        """Return an item as the search takes it; one that the service refuses has no option."""
        options: list[tuple[Demand, ...]] = []
        for way in judged.ways:
            if judged.divisible:
                place, amount = way[0][0]
                stays = place.stays and not self._target_state.is_written(judged.consumer.uuid)
                held = self.held(judged.consumer, place.where)
                options.append((Demand(self.number(place.where), amount, held, stays),))
            else:
                demands = Counter[int]()
                for placed in chain(*way):
                    demands[self.number(placed.place.where)] += placed.amount
                options.append(tuple(starmap(Demand, demands.items())))
        return Item(() if judged.is_refused else tuple(options), judged.divisible)

    def _amounts(
        self, consumer: Consumer, source: TargetProvider, names: Iterable[str]
    ) -> dict[str, int]:
        """Return the holdings of a consumer on a source that may move, by class."""
        limited = self._target_state.limited
        amounts = {}
        for name in names:
            amount = consumer.amount(source.uuid, name)
            if (most := limited.get(Where(source.uuid, name))) is not None:
                amount = min(most.get(consumer.uuid, 0), amount)
            if amount:
                amounts[name] = amount
        return amounts

    def _open_ways(
        self, consumer: Consumer, source: TargetProvider, amounts: Mapping[str, int]
    ) -> tuple[Way, ...]:
        """Return the ways of some classes that go to one provider together, under any name there,
        where no row decides it.
        """
        key = (source.uuid, tuple(amounts.items()))
        ways = self._open.get(key)
        if ways is None:
            choices: list[dict[str, list[tuple[PlacedAmount]]]] = []
            for name, amount in amounts.items():
                choices.append({})
                for place in self._target_state.places[Where(source.uuid, name)]:
                    if not place.only_mapped:
                        own = choices[-1].setdefault(place.provider_uuid, [])
                        own.append((PlacedAmount(place, amount),))
            by_target = [
                [choice.get(target, []) for choice in choices]
                for target in (choices[0] if choices else ())
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
        return max(0, -before.free(where.resource_class))


def _groups(target_state: TargetState, spec: Spec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the sources with the classes that go together."""
    group_of = {name: group for group in spec.together for name in group}
    done: set[Where] = set()
    for source, name in target_state.places:
        if (source, name) not in done:
            names = tuple(
                other
                for other in group_of.get(name, (name,))
                if Where(source, other) in target_state.places
            )
            done.update(Where(source, other) for other in names)
            yield source, names
