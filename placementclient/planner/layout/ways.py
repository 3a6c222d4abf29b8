"""The possible ways of a consumer: the service checks all its allocations when it writes one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, pairwise, product
from math import comb, prod
from typing import NamedTuple

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.infeasibility import UNACCEPTABLE, UNDECIDABLE, Cause, Refused
from placementclient.planner.layout.known import PlacedAmount
from placementclient.planner.layout.target_state import TargetProvider, TargetState, Where

#: Of more ways it is not tried which of them the service would take.
MOST_WAYS = 10_000


class HeldAmount(NamedTuple):
    """An amount of a class that a consumer has on a source.

    :param number: by source, consumer and class
    :param known: the row that decides it
    """

    number: int
    source: TargetProvider
    resource_class: str
    amount: int
    known: PlacedAmount | None = None

    @property
    def where(self) -> Where:
        return Where(self.source.uuid, self.resource_class)


#: Where all holdings of an item go.
Way = tuple[PlacedAmount, ...]


@dataclass(frozen=True, slots=True)
class ConsumerItem:
    """One item: allocations of one consumer whose ways depend on each other.

    :param ways: in the order of preference
    :param divisible: whether the amount of the only holding may be divided; then a way is the
        whole of it at one place
    :param is_refused: whether the service would take none of the ways
    """

    consumer: Consumer
    holdings: tuple[HeldAmount, ...]
    ways: tuple[Way, ...]
    divisible: bool = False
    is_refused: bool = False


class ConsumerJudge:
    """Checks one consumer as the service does.

    :param items: its holdings, each with the ways that it may go by itself
    :ivar causes: why the service would not write the consumer
    """

    def __init__(
        self,
        snapshot: Snapshot,
        target_state: TargetState,
        consumer: Consumer,
        items: Sequence[ConsumerItem],
    ) -> None:
        self.causes: list[Cause] = []
        self._snapshot, self._target_state = snapshot, target_state
        self._consumer, self._items = consumer, items
        self._is_written = target_state.is_written(consumer.uuid)
        self._before = {
            Where(provider_uuid, name): amount
            for provider_uuid, resources in consumer.allocations.items()
            for name, amount in resources.items()
        }
        #: what it keeps where it is, whatever way it goes
        self._kept = dict(self._before)
        for where, amount in target_state.removed.get(consumer.uuid, {}).items():
            self._kept[where] -= amount
        for item in items:
            for holding in item.holdings:
                self._kept[holding.where] -= holding.amount
        self._kept = {where: amount for where, amount in self._kept.items() if amount}
        #: where it keeps an amount that the units do not admit
        self._wrong = [where for where, kept in self._kept.items() if not self._admits(where, kept)]

    def judged(self) -> Iterator[ConsumerItem]:
        """Return the items with their possible ways; dependent items are one.

        :raises Refused: if there are too many ways to try
        """
        if self._wrong or not self._are_independent():
            yield from self._together(self._items)
        else:
            for item in self._items:
                yield from self._together([item])

    def _inventory(self, where: Where) -> Inventory | None:
        state = self._provider(where.provider_uuid)
        return state.inventories.get(where.resource_class) if state else None

    def _provider(self, uuid: str) -> TargetProvider | ProviderState | None:
        return self._target_state.providers.get(uuid) or self._snapshot.providers.get(uuid)

    def _admits(self, where: Where, amount: int) -> bool:
        inventory = self._inventory(where)
        return inventory is None or inventory.admits(amount)

    def _are_independent(self) -> bool:
        """Return whether each item may go its way whatever way the others go."""
        users = Counter[Where]()
        for item in self._items:
            users.update({placed.place.where for placed in chain(*item.ways)})
        amount = sum(holding.amount for item in self._items for holding in item.holdings)
        for where, count in users.items():
            inventory = self._inventory(where)
            if count > 1 and inventory is not None:
                largest = amount + self._kept.get(where, 0)
                if (
                    inventory.step_size > 1
                    or not inventory.admits(1)
                    or not inventory.admits(largest)
                ):
                    return False
        return all(
            self._admits(where, self._kept.get(where, 0) + placed.amount)
            for item in self._items
            for placed in chain(*item.ways)
            if placed.place.stays and (where := placed.place.where)
        )

    def _together(self, items: Sequence[ConsumerItem]) -> Iterator[ConsumerItem]:
        """Make one item of some, with the ways that the service takes."""
        if len(items) == 1 and items[0].divisible and not self._wrong:
            yield items[0]  # only the search knows the amounts
            return
        ways = list(self._ways(items))
        taken = tuple(way for way in ways if self._takes(way))
        touched = {placed.place.where for placed in chain(*ways)}
        if not taken and not touched.issuperset(self._wrong):
            self.causes += map(self._unacceptable, self._wrong)
        elif items:
            holdings = tuple(chain(*(item.holdings for item in items)))
            yield ConsumerItem(self._consumer, holdings, taken or tuple(ways), False, not taken)

    def _ways(self, items: Sequence[ConsumerItem]) -> Iterable[Way]:
        """Return the ways of items together, those with the fewest parts first."""
        if len(items) == 1 and not items[0].divisible:
            return items[0].ways
        numbers = (
            comb(item.holdings[0].amount + len(item.ways) - 1, len(item.ways) - 1)
            if item.divisible
            else len(item.ways)
            for item in items
        )
        check_number(prod(numbers), self._consumer, self._target_state)
        number, own = 0, []
        for item in items:
            ways = _divided(item) if item.divisible else item.ways
            own.append([[each._replace(holding=each.holding + number) for each in w] for w in ways])
            number += len(item.holdings)
        return sorted((tuple(chain(*each)) for each in product(*own)), key=len)

    def _takes(self, way: Way) -> bool:
        """Return whether the service takes a way: it judges all, if it writes the consumer."""
        after = dict(self._kept)
        for placed in way:
            where = placed.place.where
            after[where] = after.get(where, 0) + placed.amount
        touched = {*self._wrong, *(placed.place.where for placed in way)}
        return (not self._is_written and after == self._before) or all(
            self._admits(where, after[where]) for where in touched
        )

    def _unacceptable(self, where: Where) -> Cause:
        provider_uuid, name = where
        state = self._provider(provider_uuid)
        assert state is not None
        tree = self._target_state.name
        return UNACCEPTABLE(tree, self._consumer.uuid, state.name, name, self._kept[where])


def check_number(ways: int, consumer: Consumer, target_state: TargetState) -> None:
    """Raise an error if a consumer has too many ways to try.

    :raises Refused: if there are too many
    """
    if ways > MOST_WAYS:
        advice = f'has more than {MOST_WAYS:,} ways to go: name its places with --assignments'
        raise Refused([UNDECIDABLE(target_state.name, f'{consumer.uuid} {advice}')])


def _divided(item: ConsumerItem) -> Iterator[Way]:
    """Return the ways of an item whose only holding may be divided."""
    amount = item.holdings[0].amount
    places = [way[0].place for way in item.ways]
    # The ends of the parts, one after the other, as marks between units.
    for ends in combinations_with_replacement(range(amount + 1), len(places) - 1):
        parts = (end - start for start, end in pairwise((0, *ends, amount)))
        yield tuple(
            PlacedAmount(place, part) for place, part in zip(places, parts, strict=True) if part
        )
