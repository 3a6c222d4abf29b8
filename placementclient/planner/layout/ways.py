"""The possible ways of a consumer: the service checks all its allocations when it writes one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, pairwise, product
from math import comb, prod
from typing import NamedTuple

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.plans import PlannedRow
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.infeasibility import Cause, Refused
from placementclient.planner.layout.target_state import Place, TargetProvider, TargetState, Where

#: Of more ways it is not tried which of them the service would take.
MOST_WAYS = 10_000


class PlacedAmount(NamedTuple):
    """An amount of a holding, in units of its class, at a place."""

    place: Place
    amount: int


class HeldAmount(NamedTuple):
    """An amount of a class that a consumer has on a source.

    :param order: sorts the rows of a plan: by source and classes, then by consumer
    :param row: the row that decides it
    """

    order: tuple[int, str]
    source: TargetProvider
    resource_class: str
    amount: int
    row: PlannedRow | None = None

    @property
    def where(self) -> Where:
        return Where(self.source.uuid, self.resource_class)


#: The parts of each holding of an item.
Way = tuple[tuple[PlacedAmount, ...], ...]


@dataclass(frozen=True, slots=True)
class ConsumerItem:
    """Allocations of one consumer whose ways depend on each other.

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
        self._before = Counter(
            {
                Where(provider_uuid, name): amount
                for provider_uuid, resources in consumer.allocations.items()
                for name, amount in resources.items()
            }
        )
        #: what it keeps where it is, whatever way it goes
        self._kept = self._before.copy()
        self._kept.subtract(target_state.removed.get(consumer.uuid, {}))
        for holding in chain(*(item.holdings for item in items)):
            self._kept[holding.where] -= holding.amount
        #: where it keeps an amount that the units do not admit
        self._wrong = [
            where for where, kept in self._kept.items() if kept and not self._admits(where, kept)
        ]

    def judged(self) -> Iterator[ConsumerItem]:
        """Return the items with their possible ways; dependent items are one.

        :raises Refused: if there are too many ways to try
        """
        are_one = self._wrong or not self._are_independent()
        for items in [self._items] if are_one else ([item] for item in self._items):
            yield from self._together(items)

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
            users.update({placed.place.where for placed in _parts_of(item.ways)})
        amount = sum(holding.amount for item in self._items for holding in item.holdings)
        for where, count in users.items():
            inventory = self._inventory(where)
            if count > 1 and inventory is not None:
                largest = amount + self._kept[where]
                if inventory.step_size > 1 or not (
                    inventory.admits(1) and inventory.admits(largest)
                ):
                    return False
        return all(
            self._admits(placed.place.where, self._kept[placed.place.where] + placed.amount)
            for item in self._items
            for placed in _parts_of(item.ways)
            if placed.place.stays
        )

    def _together(self, items: Sequence[ConsumerItem]) -> Iterator[ConsumerItem]:
        """Make one item of some, with the ways that the service takes."""
        if len(items) == 1 and items[0].divisible and not self._wrong:
            yield items[0]  # only the search knows the amounts
            return
        ways = tuple(self._ways(items))
        accepted = tuple(way for way in ways if self._accepts(way))
        touched = {placed.place.where for placed in _parts_of(ways)}
        if not accepted and not touched.issuperset(self._wrong):
            self.causes += map(self._unacceptable, self._wrong)
        elif items:
            holdings = tuple(chain(*(item.holdings for item in items)))
            yield ConsumerItem(self._consumer, holdings, accepted or ways, False, not accepted)

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
        choices = (_divided(item) if item.divisible else item.ways for item in items)
        ways = (tuple(chain(*chosen)) for chosen in product(*choices))
        return sorted(ways, key=lambda way: sum(map(len, way)))

    def _accepts(self, way: Way) -> bool:
        """Return whether the service takes a way: it judges all, if it writes the consumer."""
        after = self._kept.copy()
        for placed in chain(*way):
            after[placed.place.where] += placed.amount
        touched = {*self._wrong, *(placed.place.where for placed in chain(*way))}
        return (not self._is_written and after == self._before) or all(
            self._admits(where, after[where]) for where in touched
        )

    def _unacceptable(self, where: Where) -> Cause:
        state = self._provider(where.provider_uuid)
        assert state is not None
        tree, kept = self._target_state.name, self._kept[where]
        return Cause(
            'unacceptable',
            tree,
            consumer_uuid=self._consumer.uuid,
            amount=kept,
            resource_class=where.resource_class,
            provider=state.name,
        )


def check_number(ways: int, consumer: Consumer, target_state: TargetState) -> None:
    """Refuse a consumer with too many ways to try.

    :raises Refused: if there are too many
    """
    if ways > MOST_WAYS:
        advice = f'has more than {MOST_WAYS:,} ways to go: name its places with --assignments'
        raise Refused([Cause('undecidable', target_state.name, reason=f'{consumer.uuid} {advice}')])


def _parts_of(ways: Iterable[Way]) -> Iterator[PlacedAmount]:
    return (placed for way in ways for parts in way for placed in parts)


def _divided(item: ConsumerItem) -> Iterator[Way]:
    """Return the ways of an item whose only holding may be divided."""
    amount = item.holdings[0].amount
    places = [placed.place for placed in _parts_of(item.ways)]
    # The ends of the parts, one after the other, as marks between units.
    for ends in combinations_with_replacement(range(amount + 1), len(places) - 1):
        parts = (end - start for start, end in pairwise((0, *ends, amount)))
        yield (tuple(PlacedAmount(*each) for each in zip(places, parts, strict=True) if each[1]),)
