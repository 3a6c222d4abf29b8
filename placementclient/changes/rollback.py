# SPDX-License-Identifier: Apache-2.0
"""The rollback of an atomic change whose consumers have come or changed since. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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
    moved = rollback.list_deviating_consumers()
    present = rollback.adapt_snapshot(change.after, (now for now, _ in moved))
    restored = rollback.adapt_snapshot(change.before, (back for _, back in moved))
    revised = replace(change, before=restored, after=present)
    if rollback.obstacles:
        return revised, MergeResult((), tuple(rollback.obstacles))
    return revised, merge_atomic_change(
        *revised.order_snapshots(backward=True), live, backward=True
    )


class _Rollback:
    """The rollback of a change, from the live state of its consumers.

    :ivar obstacles: the consumers whose amounts have no single inventory to go back to
    """

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
        self.obstacles: list[Finding] = []

    def list_deviating_consumers(self) -> list[tuple[Consumer, Consumer]]:
        """Return the consumers that are not as planned, each now and after the rollback."""
        users = (self._live.consumers.get(uuid) for uuid in self._find_users())
        changed = [user for user in users if user is not None and not self._is_as_planned(user)]
        return [(consumer, self._return_consumer(consumer)) for consumer in changed]

    def adapt_snapshot(self, planned: Snapshot, others: Iterable[Consumer]) -> Snapshot:
        """Return a planned side of the change as it can be now.

        It has the live totals of sharing providers, and no consumer that is gone.

        :param others: the consumers that are not as planned, as this side has them
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

    def _find_users(self) -> list[str]:
        """Return the UUIDs of consumers: of those of the change, and of those on its targets."""
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

    def _return_consumer(self, consumer: Consumer) -> Consumer:
        """Return a consumer that is not as planned with its allocations after the rollback."""
        allocations: dict[str, Counter[str]] = {}
        for provider_uuid, resources in consumer.allocations.items():
            for name, amount in resources.items():
                for (uuid, returned), part in self._return_amount(
                    consumer, provider_uuid, name, amount
                ):
                    allocations.setdefault(uuid, Counter())[returned] += part
        return structs.replace(
            consumer, allocations={uuid: dict(amounts) for uuid, amounts in allocations.items()}
        )

    def _return_amount(
        self, consumer: Consumer, provider_uuid: str, name: str, amount: int
    ) -> Iterator[tuple[InventoryKey, int]]:
        """Yield the inventories that get an amount of a consumer in the rollback, with their parts.

        An amount that has none or several of them to go to adds one of :attr:`obstacles`.
        """
        key = InventoryKey(provider_uuid, name)
        origins = self._find_planned_origins(consumer.uuid, key)
        # As the plan gave it: each part goes back to its origin; an addition had none, and goes.
        if sum(origins.values()) == amount:
            yield from ((source, part) for source, part in origins.items() if source)
            return
        moved = {source: part for source, part in origins.items() if source and source != key}
        stays = self._keeps_class(provider_uuid, name)
        # Nothing of it was moved here, and the inventory is there after the rollback: it stays.
        if stays and not moved:
            yield key, amount
            return
        sources = [*moved] or [*self._sources.get(key, ())]
        # It has none or several to go back to: the operator has to decide.
        if len(sources) != 1:
            self._add_obstacle(consumer, key, amount, sources)
            return
        # It goes back to the only one: all of it, or as much as was moved if the inventory is there
        # after the rollback, and what others have added stays.
        back = min(sum(moved.values()), amount) if stays else amount
        yield sources[0], back
        if back < amount:
            yield key, amount - back

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

    def _keeps_class(self, provider_uuid: str, name: str) -> bool:
        """Return whether a provider has inventory of a class after the rollback."""
        change = self._providers.get(provider_uuid)
        is_local = change is not None and change.root_provider_uuid in self._change.roots
        return change is None or not is_local or name in change.content_before.inventories

    def _add_obstacle(
        self, consumer: Consumer, key: InventoryKey, amount: int, sources: Sequence[InventoryKey]
    ) -> None:
        """Add the obstacle that an amount of a consumer has no single inventory to go back to."""
        uuid, name = key
        names = {uuid: state.name for uuid, state in self._live.providers.items()}
        places = ', '.join(
            sorted(names.get(source.provider_uuid, source.provider_uuid) for source in sources)
        )
        why = f'may go back to {places}' if places else 'are not what the plan gave it'
        message = f'consumer {consumer.uuid}: {amount} {name} on {names[uuid]} {why}'
        self.obstacles.append(make_obstacle(f'consumer {consumer.uuid}', message))


def _shift_total(
    expected: Inventory, planned: Inventory | None, live: Inventory | None
) -> Inventory:
    """Return an expected inventory, with the difference of the live total to the planned one."""
    if planned is None or live is None or planned == live:
        return expected
    return structs.replace(live, total=max(live.total - planned.total + expected.total, 1))
