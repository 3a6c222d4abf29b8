# SPDX-License-Identifier: Apache-2.0
"""The rollback of an atomic change whose consumers have come or changed since. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from msgspec import structs

from placementclient.changes.atomic_merge import merge_atomic_change
from placementclient.changes.merge import MergeResult
from placementclient.changes.obstacles import make_obstacle
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.inventories import Inventories, Inventory, InventoryKey
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot


def merge_rollback(change: Change, live: Snapshot) -> tuple[Change, MergeResult]:
    """Return a change as it can be rolled back now, and the operations of its rollback.

    A consumer that came to a target since gets its allocations on the source. A consumer that left
    stays away. A consumer with other amounts gives back its allocations of the moved classes.

    :param live: all trees of the change, with all that their consumers hold
    """
    rollback = _Rollback(change, live)
    deviating = rollback.list_deviating_consumers()
    present = rollback.adapt_snapshot(change.after, (consumer.live for consumer in deviating))
    restored = rollback.adapt_snapshot(change.before, (consumer.back for consumer in deviating))
    revised = replace(change, before=restored, after=present)
    if obstacles := tuple(chain.from_iterable(consumer.obstacles for consumer in deviating)):
        return revised, MergeResult((), obstacles)
    return revised, merge_atomic_change(
        *revised.order_snapshots(backward=True), live, backward=True
    )


class _DeviatingConsumer(NamedTuple):
    """A consumer that is not as planned: as it is now, and as the rollback leaves it.

    :param obstacles: its amounts that have no single inventory to go back to
    """

    live: Consumer
    back: Consumer
    obstacles: Sequence[Finding]


class _Rollback:
    """The rollback of a change, from the live state of its consumers."""

    def __init__(self, change: Change, live: Snapshot) -> None:
        self._change, self._live = change, live
        self._uuids = {provider.name: provider.uuid for provider in change.providers}
        self._providers = {provider.uuid: provider for provider in change.providers}
        #: The inventories that moved to an inventory.
        self._sources: dict[InventoryKey, dict[InventoryKey, None]] = {}
        for move in change.moves:
            target = InventoryKey(self._uuids[move.to_provider], move.to_resource_class)
            source = InventoryKey(self._uuids[move.from_provider], move.resource_class)
            self._sources.setdefault(target, {})[source] = None

    def list_deviating_consumers(self) -> list[_DeviatingConsumer]:
        """Return the consumers that are not as planned."""
        users = (self._live.consumers.get(uuid) for uuid in self._find_concerned_consumers())
        changed = [user for user in users if user is not None and not self._is_as_planned(user)]
        return list(map(self._plan_consumer_rollback, changed))

    def adapt_snapshot(self, planned: Snapshot, others: Iterable[Consumer]) -> Snapshot:
        """Return the planned state before or after the change, with what others changed since.

        It has the live totals of sharing providers, and no consumer that is gone.

        :param planned: the planned state
        :param others: the consumers that are not as planned, as they are to be in this state
        """
        consumers = planned.consumers | {consumer.uuid: consumer for consumer in others}
        states = (
            structs.replace(state, inventories=self._adapt_inventories(uuid, state.inventories))
            for uuid, state in planned.providers.items()
        )
        return Snapshot(
            states,
            (c for c in consumers.values() if c.uuid in self._live.consumers and c.allocations),
        )

    def _adapt_inventories(self, uuid: str, expected: Inventories) -> Inventories:
        """Return expected inventories; those of a sharing provider with the changes of others."""
        change = self._providers[uuid]
        live = self._live.providers.get(uuid)
        if change.root_provider_uuid in self._change.roots or live is None:
            return expected
        planned = change.content_after.inventories
        return {
            name: _shift_total(inventory, planned.get(name), live.inventories.get(name))
            for name, inventory in expected.items()
        }

    def _find_concerned_consumers(self) -> list[str]:
        """Return the UUIDs of the change's consumers, and of the live ones on its targets."""
        users = {user.uuid: None for user in self._change.after.consumers.values()}
        for provider_uuid, name in self._sources:
            for user in self._live.consumers_on(provider_uuid):
                if name in user.allocations[provider_uuid]:
                    users[user.uuid] = None
        return list(users)

    def _is_as_planned(self, consumer: Consumer) -> bool:
        """Return whether a consumer has the allocations that the change gave it."""
        planned = self._change.after.consumers.get(consumer.uuid)
        return planned is not None and planned.allocations == consumer.allocations

    def _plan_consumer_rollback(self, consumer: Consumer) -> _DeviatingConsumer:
        """Return a consumer that is not as planned with its allocations after the rollback."""
        allocations: dict[str, Counter[str]] = {}
        obstacles = []
        for provider_uuid, resources in consumer.allocations.items():
            for name, amount in resources.items():
                key = InventoryKey(provider_uuid, name)
                parts = self._split_amount(consumer, key, amount)
                if isinstance(parts, Finding):
                    obstacles.append(parts)
                    continue
                for (uuid, returned), part in parts.items():
                    allocations.setdefault(uuid, Counter())[returned] += part
        back = structs.replace(
            consumer, allocations={uuid: dict(amounts) for uuid, amounts in allocations.items()}
        )
        return _DeviatingConsumer(consumer, back, obstacles)

    def _split_amount(
        self, consumer: Consumer, key: InventoryKey, amount: int
    ) -> Mapping[InventoryKey, int] | Finding:
        """Return the parts of an amount, by the inventory that gets them in the rollback.

        The first line that applies counts; the inventory is the one that the consumer uses now:

        =============================== ===================== ==================================
        by the plan, the consumer has   afterwards the        the amount
                                        inventory is
        =============================== ===================== ==================================
        exactly this amount of it       either                each part goes to its origin, and
                                                              an addition is freed
        nothing of it from elsewhere    there                 stays
        nothing of it from elsewhere    gone                  goes to the only one that moved to
                                                              the inventory
        a part of it from one other     there                 as much goes back as was moved
        a part of it from one other     gone                  goes back
        anything else                   either                is an obstacle: you have to decide
        =============================== ===================== ==================================
        """
        origins = self._find_planned_origins(consumer.uuid, key)
        if sum(origins.values()) == amount:
            return {source: part for source, part in origins.items() if source}
        moved = {source: part for source, part in origins.items() if source and source != key}
        stays = self._has_inventory_after_rollback(key)
        if stays and not moved:
            return {key: amount}
        sources = [*moved] or [*self._sources.get(key, ())]
        if len(sources) != 1:
            return self._make_obstacle(consumer, key, amount, sources)
        back = min(sum(moved.values()), amount) if stays else amount
        return {sources[0]: back, key: amount - back} if back < amount else {sources[0]: back}

    def _find_planned_origins(
        self, consumer_uuid: str, key: InventoryKey
    ) -> Counter[InventoryKey | None]:
        """Return the amounts that the plan gives a consumer of an inventory, by their origin.

        The origin of an addition is ``None``.
        """
        amounts = Counter[InventoryKey | None]()
        for row in self._change.reasons:
            target = self._uuids.get(row.to_provider or ''), row.to_resource_class
            if row.consumer_uuid == consumer_uuid and target == key:
                origin = None
                if row.from_provider:
                    origin = InventoryKey(self._uuids[row.from_provider], row.resource_class)
                amounts[origin] += row.amount
        return amounts

    def _has_inventory_after_rollback(self, key: InventoryKey) -> bool:
        change = self._providers.get(key.provider_uuid)
        if change is None or change.root_provider_uuid not in self._change.roots:
            return True
        return key.resource_class in change.content_before.inventories

    def _make_obstacle(
        self, consumer: Consumer, key: InventoryKey, amount: int, sources: Sequence[InventoryKey]
    ) -> Finding:
        """Return the obstacle that an amount has no single inventory to go back to."""
        names = {uuid: state.name for uuid, state in self._live.providers.items()}
        places = ', '.join(
            sorted(names.get(source.provider_uuid, source.provider_uuid) for source in sources)
        )
        why = f'may go back to {places}' if places else 'are not what the plan gave it'
        held = f'{amount} {key.resource_class} on {names[key.provider_uuid]}'
        name = f'consumer {consumer.uuid}'
        return make_obstacle(name, f'{name}: {held} {why}')


def _shift_total(
    expected: Inventory, planned: Inventory | None, live: Inventory | None
) -> Inventory:
    """Return the live inventory with the expected total, plus what others have added to it.

    Return the expected one if the live one is as planned, or ``planned`` or ``live`` is ``None``.
    """
    if planned is None or live is None or planned == live:
        return expected
    return structs.replace(live, total=max(live.total - planned.total + expected.total, 1))
