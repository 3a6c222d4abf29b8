# SPDX-License-Identifier: Apache-2.0
"""The possible options of a consumer: the service checks all its allocations when it writes one.

An example: a consumer has 1 VGPU on the root and 2 on ``gpu0``, whose step_size is 2. If the one
VGPU moved to ``gpu0``, the consumer would have 3 there, which the service refuses. So only options
with other targets are left. And if it had 3 on ``gpu0`` already, it could not move at all, unless
an item takes some away from there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations_with_replacement, pairwise, product
from math import comb, prod
from typing import NamedTuple

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory, InventoryKey
from placementclient.model.plans import PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.planner.infeasibility import Cause, PlanRefusal
from placementclient.planner.layout.target_state import (
    Target,
    TargetProvider,
    TargetState,
)

#: The most options that are checked by the rules of the service.
MOST_OPTIONS = 10_000


class AllocatedAmount(NamedTuple):
    """An amount of a class that a consumer has on a source.

    :param order: sorts the rows of a plan: by source and classes, then by consumer
    :param row: the row of the plan if an assignment decides it
    :param source: the provider that has the amount
    """

    order: tuple[int, str]
    source: TargetProvider
    resource_class: str
    amount: int
    row: PlannedRow | None = None

    @property
    def key(self) -> InventoryKey:
        return InventoryKey(self.source.uuid, self.resource_class)


#: An amount of an allocation, in units of its class, and its target.
TargetPart = tuple[Target, int]
#: The parts of each allocation of an item: for each allocation, the targets that share its amount.
ConsumerOption = tuple[tuple[TargetPart, ...], ...]


@dataclass(frozen=True, slots=True)
class ConsumerItem:
    """Allocations of one consumer that are placed together.

    :param options: in the order of preference
    :param divisible: whether the amount of the only allocation may be divided; then an option is
        the whole of it at one target
    :param is_refused: whether the service would accept none of the options
    """

    consumer: Consumer
    allocations: tuple[AllocatedAmount, ...]
    options: tuple[ConsumerOption, ...]
    divisible: bool = False
    is_refused: bool = False


class ConsumerJudge:
    """Checks the options of one consumer by the rules of the service.

    :param items: all items of the consumer
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
        before = {
            InventoryKey(provider_uuid, name): amount
            for provider_uuid, resources in consumer.allocations.items()
            for name, amount in resources.items()
        }
        additions = target_state.additions.get(consumer.uuid)
        #: the allocations that the service does not check, as nothing of them changes; ``None``: an
        #: addition changes them in any case
        self._unwritten = Counter(before) if additions is None else None
        #: the amounts that the consumer has besides the items, whatever option is chosen
        self._retained = Counter(before)
        self._retained.update(additions or {})
        for allocation in chain(*(item.allocations for item in items)):
            self._retained[allocation.key] -= allocation.amount
        #: the inventories of which it keeps an amount that their units do not allow
        self._wrong = [
            key
            for key, amount in self._retained.items()
            if amount and not self._admits(key, amount)
        ]

    def list_acceptable_items(self) -> Iterator[ConsumerItem]:
        """Yield the items with the options that the service accepts; dependent items become one.

        :raises PlanRefusal: if there are too many options to try
        """
        are_one = self._wrong or not self._are_items_independent()
        for items in [self._items] if are_one else ([item] for item in self._items):
            yield from self._join_items(items)

    def _find_inventory(self, key: InventoryKey) -> Inventory | None:
        """Return an inventory as the change leaves it; ``None``: there is no such inventory."""
        uuid = key.provider_uuid
        state = self._target_state.providers.get(uuid) or self._snapshot.providers.get(uuid)
        return state.inventories.get(key.resource_class) if state else None

    def _admits(self, key: InventoryKey, amount: int) -> bool:
        """Return whether the units of an inventory, if there is one, allow an amount."""
        inventory = self._find_inventory(key)
        return inventory is None or inventory.admits(amount)

    def _are_items_independent(self) -> bool:
        """Return whether no option of an item excludes an option of another item."""
        users = Counter[InventoryKey]()
        for item in self._items:
            users.update({target.key for target, _ in _list_target_parts(item.options)})
        amount = sum(allocation.amount for item in self._items for allocation in item.allocations)
        for key, count in users.items():
            inventory = self._find_inventory(key) if count > 1 else None
            if inventory is None:
                continue
            largest = amount + self._retained[key]
            if inventory.step_size > 1 or not (inventory.admits(1) and inventory.admits(largest)):
                return False
        return all(
            self._admits(target.key, self._retained[target.key] + amount)
            for item in self._items
            for target, amount in _list_target_parts(item.options)
            if target.stays
        )

    def _join_items(self, items: Sequence[ConsumerItem]) -> Iterator[ConsumerItem]:
        """Yield one item in the place of several, with the options that the service accepts."""
        if len(items) == 1 and items[0].divisible and not self._wrong:
            yield items[0]  # only the search knows the amounts
            return
        options = tuple(self._combine_options(items))
        accepted = tuple(option for option in options if self._is_accepted(option))
        touched = {target.key for target, _ in _list_target_parts(options)}
        if not accepted and not touched.issuperset(self._wrong):
            self.causes += map(self._make_retained_amount_cause, self._wrong)
        elif items:
            allocations = tuple(chain(*(item.allocations for item in items)))
            yield ConsumerItem(
                self._consumer, allocations, options=accepted or options, is_refused=not accepted
            )

    def _combine_options(self, items: Sequence[ConsumerItem]) -> Iterable[ConsumerOption]:
        """Return combinations of one option of each item, those with the fewest targets first."""
        if len(items) == 1 and not items[0].divisible:
            return items[0].options
        numbers = (
            comb(item.allocations[0].amount + len(item.options) - 1, len(item.options) - 1)
            if item.divisible
            else len(item.options)
            for item in items
        )
        refuse_too_many_options(prod(numbers), self._consumer, self._target_state)
        choices = (_list_divisions(item) if item.divisible else item.options for item in items)
        options = (tuple(chain(*chosen)) for chosen in product(*choices))
        return sorted(options, key=lambda option: sum(map(len, option)))

    def _is_accepted(self, option: ConsumerOption) -> bool:
        """Return whether the service would accept all allocations that the consumer then has."""
        after = self._retained.copy()
        parts = list(_list_target_parts([option]))
        for target, amount in parts:
            after[target.key] += amount
        touched = {*self._wrong, *(target.key for target, _ in parts)}
        return after == self._unwritten or all(self._admits(key, after[key]) for key in touched)

    def _make_retained_amount_cause(self, key: InventoryKey) -> Cause:
        """Return the cause that the service would refuse to write an amount that stays."""
        state = self._snapshot.providers[key.provider_uuid]
        return Cause(
            'unacceptable',
            self._target_state.name,
            consumer_uuid=self._consumer.uuid,
            amount=self._retained[key],
            resource_class=key.resource_class,
            provider=state.name,
        )


def refuse_too_many_options(count: int, consumer: Consumer, target_state: TargetState) -> None:
    """Raise :class:`PlanRefusal` if a consumer has more than :data:`MOST_OPTIONS` options."""
    if count > MOST_OPTIONS:
        advice = f'has more than {MOST_OPTIONS:,} ways to go: name its places with --assignments'
        reason = f'{consumer.uuid} {advice}'
        raise PlanRefusal([Cause('undecidable', target_state.name, reason=reason)])


def _list_target_parts(options: Iterable[ConsumerOption]) -> Iterator[TargetPart]:
    """Yield each target of each option, with the amount that it would get."""
    for option in options:
        yield from chain(*option)


def _list_divisions(item: ConsumerItem) -> Iterator[ConsumerOption]:
    """Yield every way to divide the only allocation of an item between its targets."""
    amount = item.allocations[0].amount
    targets = [target for target, _ in _list_target_parts(item.options)]
    # The ends of the parts, one after the other, as marks between units.
    for ends in combinations_with_replacement(range(amount + 1), len(targets) - 1):
        parts = (end - start for start, end in pairwise((0, *ends, amount)))
        pairs = zip(targets, parts, strict=True)
        yield (tuple((target, part) for target, part in pairs if part),)
