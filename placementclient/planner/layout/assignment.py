# SPDX-License-Identifier: Apache-2.0
"""The assignment problem of one tree: allocations become items, inventories become bins."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product, starmap
from math import prod

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import InventoryKey
from placementclient.model.plans import PlannedRow
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner.infeasibility import Cause, PlanRefusal
from placementclient.planner.layout.options import (
    AllocatedAmount,
    ConsumerItem,
    ConsumerJudge,
    ConsumerOption,
    TargetPart,
    refuse_too_many_options,
)
from placementclient.planner.layout.target_state import (
    AllocationKey,
    Target,
    TargetProvider,
    TargetState,
)
from placementclient.planner.solve.problem import Bin, Demand, Item

#: More than any consumer can hold, and what the solver's integers hold a thousand times.
ENOUGH = 2**53


def find_fixed_usage(snapshot: Snapshot, target_state: TargetState, key: InventoryKey) -> int:
    """Return the usage of an inventory that no item can move, in units of the class."""
    state = snapshot.providers.get(key.provider_uuid)
    # Each consumer of an inventory that moves has an item.
    return 0 if state is None or key in target_state.targets else state.used(key.resource_class)


class AssignmentProblem:
    """The allocations of trees that change together as items, and their inventories as bins.

    :ivar consumer_items: for each item its consumer and its allocations
    :ivar keys: for each bin its inventory
    :raises PlanRefusal: if a consumer has no target, or too many options
    """

    def __init__(
        self,
        snapshot: Snapshot,
        target_state: TargetState,
        spec: Spec,
        assigned: Mapping[AllocationKey, Sequence[PlannedRow]],
    ) -> None:
        self._snapshot, self._target_state = snapshot, target_state
        self._spec, self._assigned = spec, assigned
        self.consumer_items: list[ConsumerItem] = []
        self.items: list[Item] = []
        self.bins: list[Bin] = []
        self.keys: list[InventoryKey] = []
        self._causes: list[Cause] = []
        self._numbers: dict[InventoryKey, int] = {}
        self._by_name = functools.cache(target_state.index_targets)
        #: by source and amounts: thousands of consumers have the same options
        self._open: dict[tuple[str, tuple[tuple[str, int], ...]], tuple[ConsumerOption, ...]] = {}
        #: by source, classes and all allocations, the items of consumers of one provider
        self._alike: dict[object, tuple[ConsumerItem, Item]] = {}
        self._add_items()

    def _add_items(self) -> None:
        """Add the items of all consumers, with their bins, in the order of the plan's rows."""
        by_consumer: dict[str, list[ConsumerItem]] = {}
        for number, (source, names) in enumerate(self._group_classes()):
            provider = self._target_state.providers[source]
            for consumer in self._snapshot.consumers_on(source):
                items = by_consumer.setdefault(consumer.uuid, [])
                items += self._make_items(number, consumer, provider, names)
        self._require_no_cause()
        for uuid in self._target_state.additions:
            by_consumer.setdefault(uuid, [])
        pairs = [*chain.from_iterable(starmap(self._make_acceptable_items, by_consumer.items()))]
        self._require_no_cause()
        pairs.sort(key=lambda pair: pair[0].allocations[0].order)
        self.consumer_items = [consumer_item for consumer_item, _ in pairs]
        self.items = [item for _, item in pairs]

    def find_or_add_bin(self, key: InventoryKey) -> int:
        """Return the index of the bin of an inventory; add the bin if it is new."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.bins)
            self.keys.append(key)
            provider = self._target_state.providers[key.provider_uuid]
            inventory = provider.inventories[key.resource_class]
            free = (
                inventory.capacity
                - find_fixed_usage(self._snapshot, self._target_state, key)
                + self._find_tolerated_excess(key)
            )
            # With a ratio, the capacity may exceed the solver's integers.
            self.bins.append(Bin(min(free, ENOUGH), inventory.units))
        return number

    def find_retained_amount(self, consumer: Consumer, key: InventoryKey) -> int:
        """Return the amount that a consumer keeps of an inventory, in units of the class."""
        return consumer.amount(*key) - self._find_movable_amount(consumer, key)

    def _find_movable_amount(self, consumer: Consumer, key: InventoryKey) -> int:
        """Return the amount that a consumer holds of a source; 0 if nothing moves off it."""
        return consumer.amount(*key) if key in self._target_state.targets else 0

    def _require_no_cause(self) -> None:
        """Raise :class:`PlanRefusal` if the amounts of some consumer could not become items."""
        if self._causes:
            raise PlanRefusal(self._causes)

    def _group_classes(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the UUID of each source with each group of its classes that one target gets."""
        group_of = {name: group for group in self._target_state.together for name in group}
        targets = self._target_state.targets
        groups = (
            (
                source,
                tuple(n for n in group_of.get(name, (name,)) if InventoryKey(source, n) in targets),
            )
            for source, name in targets
        )
        return iter(dict.fromkeys(groups))

    def _make_items(
        self, number: int, consumer: Consumer, source: TargetProvider, names: Iterable[str]
    ) -> Iterator[ConsumerItem]:
        """Yield the items of a consumer's amounts in some classes of a source.

        :param number: the position of the source and its classes in the order of the plan's rows
        :param names: these classes
        """
        movable = {
            name: self._find_movable_amount(consumer, InventoryKey(source.uuid, name))
            for name in names
        }
        amounts = {name: amount for name, amount in movable.items() if amount}
        order = number, consumer.uuid
        assigned = {
            name: parts
            for name in amounts
            if (parts := self._list_assigned_rows(consumer, source, name))
        }
        for name, parts in assigned.items():
            for row, target in parts:
                allocation = AllocatedAmount(order, source, name, row.amount, row)
                yield ConsumerItem(consumer, (allocation,), ((((target, row.amount),),),))
        yield from self._make_unassigned_item(consumer, source, amounts, order, assigned)

    def _make_unassigned_item(
        self,
        consumer: Consumer,
        source: TargetProvider,
        amounts: Mapping[str, int],
        order: tuple[int, str],
        assigned: Mapping[str, Sequence[tuple[PlannedRow, Target]]],
    ) -> Iterator[ConsumerItem]:
        """Yield one item of the amounts that no row of the operator assigns, if there are any.

        All classes go to one provider: to the one where rows send the others. If that is
        impossible, a cause is noted and nothing is yielded.

        :param source: the provider where the consumer holds the amounts
        :param amounts: by class, the amounts of all classes that go together
        :param order: sorts the rows of the plan
        :param assigned: by class, the rows about its amount, each with its target
        """
        unassigned = {name: amount for name, amount in amounts.items() if name not in assigned}
        providers = {
            frozenset(target.key.provider_uuid for _, target in parts)
            for parts in assigned.values()
        }
        options = self._list_options(consumer, source, unassigned)
        if providers:
            # All amounts of an option go to one provider.
            options = tuple(
                option
                for option in options
                if providers == {frozenset({option[0][0][0].key.provider_uuid})}
            )
        if len(providers) > 1 or (unassigned and not options):
            name, classes = self._target_state.name, tuple(amounts)
            self._causes.append(Cause('apart', name, consumer_uuid=consumer.uuid, classes=classes))
        elif unassigned:
            divisible = self._spec.split and len(amounts) == 1 and len(options) > 1
            allocations = tuple(
                AllocatedAmount(order, source, *pair) for pair in unassigned.items()
            )
            yield ConsumerItem(consumer, allocations, options, divisible)

    def _list_assigned_rows(
        self, consumer: Consumer, source: TargetProvider, name: str
    ) -> list[tuple[PlannedRow, Target]]:
        """Return the rows of the operator about an allocation, each with its target.

        :param name: the class of the allocation
        """
        rows = self._assigned.get(AllocationKey(consumer.uuid, source.uuid, name), ())
        by_name = self._by_name(InventoryKey(source.uuid, name))
        return [(row, by_name[row.to_provider, row.to_resource_class]) for row in rows]

    def _make_acceptable_items(
        self, consumer_uuid: str, items: Sequence[ConsumerItem]
    ) -> Iterator[tuple[ConsumerItem, Item]]:
        """Yield a consumer's items without refused options, each with the item for the search."""
        consumer = self._snapshot.consumers[consumer_uuid]
        key = self._make_cache_key(consumer, items)
        if key is not None and key in self._alike:
            alike, item = self._alike[key]
            more = alike.options, alike.divisible, alike.is_refused
            yield ConsumerItem(consumer, items[0].allocations, *more), item
            return
        judge = ConsumerJudge(self._snapshot, self._target_state, consumer, items)
        for judged in judge.list_acceptable_items():
            item = self._make_search_item(judged)
            if key is not None:
                self._alike[key] = judged, item
            yield judged, item
        self._causes += judge.causes

    def _make_cache_key(self, consumer: Consumer, items: Sequence[ConsumerItem]) -> object:
        """Return a key, equal for consumers whose only items are equal; ``None`` for all others."""
        allocations, state = consumer.allocations, self._target_state
        is_plain = len(items) == len(allocations) == 1
        if not is_plain or consumer.uuid in state.additions:
            return None
        first = items[0].allocations[0]
        amounts = tuple(
            (allocation.resource_class, allocation.amount) for allocation in items[0].allocations
        )
        target = first.row and (first.row.to_provider, first.row.to_resource_class)
        return first.source.uuid, amounts, target, tuple(allocations[first.source.uuid].items())

    def _make_search_item(self, judged: ConsumerItem) -> Item:
        """Return an item in the numbers of the search; without options if it is refused.

        :param judged: the item, whose options are judged already
        """
        options: list[tuple[Demand, ...]] = []
        for option in judged.options:
            if judged.divisible:
                target, amount = option[0][0]
                stays = target.stays and judged.consumer.uuid not in self._target_state.additions
                retained = self.find_retained_amount(judged.consumer, target.key)
                options.append((Demand(self.find_or_add_bin(target.key), amount, retained, stays),))
            else:
                demands = Counter[int]()
                for target, amount in chain(*option):
                    demands[self.find_or_add_bin(target.key)] += amount
                options.append(tuple(starmap(Demand, demands.items())))
        return Item(() if judged.is_refused else tuple(options), judged.divisible)

    def _list_options(
        self, consumer: Consumer, source: TargetProvider, amounts_by_class: Mapping[str, int]
    ) -> tuple[ConsumerOption, ...]:
        """Return the ways in which amounts of a source can go to one provider together."""
        key = (source.uuid, tuple(amounts_by_class.items()))
        options = self._open.get(key)
        if options is None:
            choices: list[dict[str, list[tuple[TargetPart]]]] = []
            for name, amount in amounts_by_class.items():
                choices.append({})
                for target in self._target_state.targets[InventoryKey(source.uuid, name)]:
                    if not target.only_mapped:
                        parts = choices[-1].setdefault(target.key.provider_uuid, [])
                        parts.append(((target, amount),))
            by_provider = [
                [choice.get(provider_uuid, []) for choice in choices]
                for provider_uuid in (choices[0] if choices else ())
            ]
            number = sum(prod(map(len, parts)) for parts in by_provider)
            refuse_too_many_options(number, consumer, self._target_state)
            options = tuple(option for parts in by_provider for option in product(*parts))
            self._open[key] = options
        return options

    def _find_tolerated_excess(self, key: InventoryKey) -> int:
        """Return the usage above the capacity that may stay on a source, in units of the class."""
        if key not in self._target_state.targets:
            return 0
        before = self._target_state.providers[key.provider_uuid].before
        if before is None or key.resource_class not in before.inventories:
            return 0
        return max(0, -before.free(key.resource_class))
