"""A snapshot, and what the plans of some of its trees make of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from placementclient.model.consumers import Consumer, Resources
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.layout.target_state import TargetState
from placementclient.planner.plan.plan import TreePlan
from placementclient.planner.plan.state_changes import ProviderChange


class SnapshotOverlay:
    """The state of the cloud when a tree's turn comes.

    Trees are planned one after the other. For each, the providers and consumers are what those
    before it have made of them: it may change them too, and the service judges all that a consumer
    of it holds, also in other trees.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._states: dict[str, ProviderState] = {}
        self._consumers: dict[str, Consumer] = {}
        self._created: dict[str, str] = {}
        self._changed_by: dict[str, str] = {}
        #: by provider, the consumers that hold something there only since
        self._arrived: dict[str, set[str]] = {}

    def state(self, provider_uuid: str) -> ProviderState | None:
        """A provider, or ``None`` if the snapshot has none of this UUID."""
        return self._states.get(provider_uuid) or self.snapshot.providers.get(provider_uuid)

    def find(self, name_or_uuid: str) -> ProviderState | None:
        found = self.snapshot.find(name_or_uuid)
        return found and self.state(found.uuid)

    def root_of(self, state: ProviderState) -> str:
        if state.provider.root_provider_uuid:
            return state.provider.root_provider_uuid
        while (parent := state.provider.parent_provider_uuid) is not None:
            state = self.snapshot.providers[parent]
        return state.uuid

    def roots_of(self, consumer: Consumer) -> set[str]:
        """The UUIDs of the roots of the trees in which a consumer holds something."""
        states = [state for uuid in consumer.allocations if (state := self.state(uuid))]
        return {self.root_of(state) for state in states}

    def created_in(self, name: str) -> str | None:
        """The name of the tree in which a plan already makes a provider of this name."""
        return self._created.get(name)

    def consumer(self, consumer_uuid: str) -> Consumer:
        return self._consumers.get(consumer_uuid) or self.snapshot.consumers[consumer_uuid]

    def consumers_on(self, provider_uuid: str) -> list[Consumer]:
        """The consumers that hold something on a provider, by UUID."""
        consumers = self.snapshot.consumers_on(provider_uuid)
        if not self._consumers:
            return consumers
        current = [self._consumers.get(consumer.uuid, consumer) for consumer in consumers]
        staying = [consumer for consumer in current if provider_uuid in consumer.allocations]
        arrived = self._arrived.get(provider_uuid)
        if not arrived:
            return staying
        present = {consumer.uuid: consumer for consumer in staying}
        present |= {uuid: self._consumers[uuid] for uuid in arrived}
        return [
            present[uuid] for uuid in sorted(present) if provider_uuid in present[uuid].allocations
        ]

    def followed(self, tree: TreePlan) -> tuple[str, ...]:
        """The roots of the trees that were planned before and change what this one changes, or
        what decides whether the service writes its consumers, or consumers that it bars.
        """
        own = [change.uuid for change in tree.providers]
        concerned = [*own, *(change.uuid for change in tree.consumers)]
        concerned += {
            provider_uuid
            for change in tree.consumers
            for provider_uuid, resources in change.before.items()
            if provider_uuid in self._changed_by and self._is_judged_anew(provider_uuid, resources)
        }
        concerned += [
            consumer.uuid
            for change in tree.providers
            for consumer, _ in self.rejudged(
                change.uuid, change.content_before.inventories, change.after.inventories
            )
        ]
        return tuple(
            dict.fromkeys(self._changed_by[uuid] for uuid in concerned if uuid in self._changed_by)
        )

    def rejudged(
        self, provider_uuid: str, before: Mapping[str, Inventory], after: Mapping[str, Inventory]
    ) -> Iterator[tuple[Consumer, bool]]:
        """The consumers that hold an amount of a provider that its units admit only before, or
        only after a change of its inventories.

        :return: each with whether it is before
        """
        changed = [
            (name, was, after[name])
            for name, was in before.items()
            if name in after and _units(was) != _units(after[name])
        ]
        for consumer in self.consumers_on(provider_uuid) if changed else ():
            for name, was, now in changed:
                amount = consumer.amount(provider_uuid, name)
                if amount and was.admits(amount) != now.admits(amount):
                    yield consumer, was.admits(amount)

    def _is_judged_anew(self, provider_uuid: str, resources: Resources) -> bool:
        """Return whether plans change which of some amounts the units of a provider admit."""
        before = self.snapshot.providers[provider_uuid].inventories
        after = self._states[provider_uuid].inventories
        return any(
            before[name].admits(amount) != after[name].admits(amount)
            for name, amount in resources.items()
            if name in before and name in after
        )

    def fork(self) -> SnapshotOverlay:
        """The same, which can be changed without changing this one."""
        fork = SnapshotOverlay(self.snapshot)
        fork._states, fork._consumers = dict(self._states), dict(self._consumers)
        fork._created, fork._changed_by = dict(self._created), dict(self._changed_by)
        fork._arrived = {uuid: set(arrived) for uuid, arrived in self._arrived.items()}
        return fork

    def expect(self, target_state: TargetState) -> None:
        """Take the inventories of a tree in their wanted state, before their usage is known."""
        for provider in target_state.providers.values():
            state = self.state(provider.uuid)
            if state is None:
                self._created[provider.name] = target_state.root.name
            elif provider.root_provider_uuid != target_state.root.uuid:
                self._states[provider.uuid] = replace(
                    state,
                    inventories=dict(provider.inventories),
                    traits=frozenset(provider.traits),
                    aggregates=frozenset(provider.aggregates),
                )

    def commit(self, tree: TreePlan) -> None:
        """Take a tree's plan as done."""
        for change in tree.created():
            self._created[change.name] = tree.root_provider_name
        there = {change.uuid for change in tree.providers if not change.is_created}
        gained: Counter[tuple[str, str]] = Counter()
        for consumer in tree.consumers:
            self._consumers[consumer.uuid] = consumer.holding(consumer.after)
            self._changed_by[consumer.uuid] = tree.root_provider_uuid
            for provider_uuid in there:
                was = consumer.before.get(provider_uuid, {})
                now = consumer.after.get(provider_uuid, {})
                if now and not was:
                    self._arrived.setdefault(provider_uuid, set()).add(consumer.uuid)
                for name in was.keys() | now.keys() if was != now else ():
                    gained[provider_uuid, name] += now.get(name, 0) - was.get(name, 0)
        for change in tree.providers:
            if not change.is_created:  # no other tree changes what this one makes
                self._commit_provider(change, tree.root_provider_uuid, gained)

    def _commit_provider(
        self, change: ProviderChange, root_uuid: str, gained: Mapping[tuple[str, str], int]
    ) -> None:
        state = self.state(change.uuid)
        assert state is not None
        usages = dict(state.usages)
        for name in {*change.content_before.inventories, *change.after.inventories}:
            usages[name] = usages.get(name, 0) + gained.get((change.uuid, name), 0)
        self._states[change.uuid] = replace(
            state,
            inventories=change.after.inventories,
            traits=change.after.traits,
            aggregates=change.after.aggregates,
            usages=usages,
        )
        if change.content_before.inventories != change.after.inventories:
            self._changed_by[change.uuid] = root_uuid


def _units(inventory: Inventory) -> tuple[int, int, int]:
    return inventory.min_unit, inventory.max_unit, inventory.step_size
