# SPDX-License-Identifier: Apache-2.0
"""The way back of an atomic change that others have built on since it was made. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from placementclient.changes.atomic_merge import merge_at_once
from placementclient.changes.merge import Merged
from placementclient.changes.obstacles import obstacle
from placementclient.model.consumers import Consumer
from placementclient.model.findings import Finding
from placementclient.model.inventories import Inventories, Inventory
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot


def merge_rollback(change: Change, live: Snapshot) -> tuple[Change, Merged]:
    """Return a change as it is to be taken back now, and the operations that do it.

    Consumers that came to a target since go back to its source, those that left stay away, and a
    consumer with other amounts gives back what it holds of the targets.

    :param live: all trees of the change, with all that their consumers hold
    """
    trip = _Rollback(change, live)
    returned = replace(change, before=trip.state_before_change(), after=trip.state_after_change())
    if trip.obstacles:
        return returned, Merged((), tuple(trip.obstacles))
    sides = returned.after, returned.before
    return returned, merge_at_once(*sides, live, is_back=True)


class _Rollback:
    def __init__(self, change: Change, live: Snapshot) -> None:
        self._change, self._live = change, live
        self._uuids = {provider.name: provider.uuid for provider in change.providers}
        self._providers = {provider.uuid: provider for provider in change.providers}
        #: By the inventory that a move leads to, the inventories that it comes from.
        self._sources: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
        for move in change.moves:
            target = self._uuids[move.to_provider], move.to_resource_class
            source = self._uuids[move.from_provider], move.resource_class
            self._sources.setdefault(target, {})[source] = None
        self.obstacles: list[Finding] = []
        self._returning = [
            (consumer, self._return_consumer(consumer))
            for uuid in self._find_users()
            if (consumer := live.consumers.get(uuid)) and not self._is_as_planned(consumer)
        ]

    def state_after_change(self) -> Snapshot:
        """Return the state after the change, with what others have made of it."""
        return self._adapt_side(self._change.after, (now for now, _ in self._returning))

    def state_before_change(self) -> Snapshot:
        """Return the state before the change, with the consumers that go back too."""
        return self._adapt_side(self._change.before, (back for _, back in self._returning))

    def _adapt_side(self, side: Snapshot, others: Iterable[Consumer]) -> Snapshot:
        consumers = side.consumers | {consumer.uuid: consumer for consumer in others}
        states = (
            structs.replace(state, inventories=self._adapt_inventories(uuid, state.inventories))
            for uuid, state in side.providers.items()
        )
        return Snapshot(
            states,
            (c for c in consumers.values() if c.uuid in self._live.consumers and c.allocations),
        )

    def _adapt_inventories(self, uuid: str, side: Inventories) -> Inventories:
        """Return one side of a provider; a sharing one keeps what others have changed."""
        change = self._providers[uuid]
        live = self._live.providers.get(uuid)
        if change.root_provider_uuid in self._change.roots or live is None:
            return side
        planned = change.content_after.inventories
        return {
            name: _shift_total(inventory, planned.get(name), live.inventories.get(name))
            for name, inventory in side.items()
        }

    def _find_users(self) -> list[str]:
        """Return the consumers of the change, and those that use an inventory that it moved."""
        users = {user.uuid: None for user in self._change.after.consumers.values()}
        for provider_uuid, name in self._sources:
            for user in self._live.consumers_on(provider_uuid):
                if name in user.allocations[provider_uuid]:
                    users[user.uuid] = None
        return list(users)

    def _is_as_planned(self, consumer: Consumer) -> bool:
        planned = self._change.after.consumers.get(consumer.uuid)
        return planned is not None and planned.allocations == consumer.allocations

    def _return_consumer(self, consumer: Consumer) -> Consumer:
        """Return a consumer that has come or changed since, as it is on the way back."""
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
    ) -> Iterator[tuple[tuple[str, str], int]]:
        """Return where an amount of a consumer goes back to, or stays."""
        key = provider_uuid, name
        rows = self._planned_amounts(consumer.uuid, key)
        if sum(rows.values()) == amount:
            # With additions, which came from nowhere.
            yield from ((source, part) for source, part in rows.items() if source)
            return
        moved = {source: part for source, part in rows.items() if source and source != key}
        stays = self._keeps_class(provider_uuid, name)
        if stays and not moved:
            yield key, amount
            return
        sources = [*moved] or [*self._sources.get(key, ())]
        if len(sources) != 1:
            self._refuse(consumer, provider_uuid, name, amount, sources)
            return
        back = min(sum(moved.values()), amount) if stays else amount
        yield sources[0], back
        if back < amount:
            yield key, amount - back

    def _planned_amounts(
        self, consumer_uuid: str, key: tuple[str, str]
    ) -> Counter[tuple[str, str] | None]:
        """Return by origin what the plan gave a consumer of an inventory; ``None``: an addition."""
        amounts = Counter[tuple[str, str] | None]()
        for row in self._change.reasons:
            target = self._uuids.get(row.to_provider or ''), row.to_resource_class
            if row.consumer_uuid == consumer_uuid and target == key:
                origin = row.from_provider and self._uuids[row.from_provider]
                amounts[(origin, row.resource_class) if origin else None] += row.amount
        return amounts

    def _keeps_class(self, provider_uuid: str, name: str) -> bool:
        """Return whether a provider keeps inventory of a class on the way back."""
        change = self._providers.get(provider_uuid)
        is_local = change is not None and change.root_provider_uuid in self._change.roots
        return change is None or not is_local or name in change.content_before.inventories

    def _refuse(
        self,
        consumer: Consumer,
        provider_uuid: str,
        name: str,
        amount: int,
        sources: list[tuple[str, str]],
    ) -> None:
        names = {uuid: state.name for uuid, state in self._live.providers.items()}
        places = ', '.join(sorted(names.get(uuid, uuid) for uuid, _ in sources))
        why = f'may go back to {places}' if places else 'are not what the plan gave it'
        message = f'consumer {consumer.uuid}: {amount} {name} on {names[provider_uuid]} {why}'
        self.obstacles.append(obstacle(f'consumer {consumer.uuid}', message))


def _shift_total(side: Inventory, planned: Inventory | None, live: Inventory | None) -> Inventory:
    """Return an inventory with the total that it has by the changes of others since."""
    if planned is None or live is None or planned == live:
        return side
    return structs.replace(live, total=max(live.total - planned.total + side.total, 1))
