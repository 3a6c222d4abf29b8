"""A snapshot as it is after operations. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatchmethod

from placementclient.changes.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetAllocations,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from placementclient.model.consumers import Consumer
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


def simulate(snapshot: Snapshot, operations: Iterable[Operation]) -> Snapshot:
    """Return a snapshot as it is after operations; generations stay as they were read.

    The operations are not judged: Placement does that.

    :param operations: as :func:`placementclient.changes.diff.diff` gives them
    """
    simulation = _Simulation(snapshot)
    for operation in operations:
        simulation.perform(operation)
    return simulation.snapshot()


class _Simulation:
    def __init__(self, snapshot: Snapshot) -> None:
        self._states = dict(snapshot.providers)
        self._consumers = dict(snapshot.consumers)
        self._origin = snapshot.origin
        # Usage beyond that of the consumers stays: nobody answers for it.
        self._used = {uuid: Counter(s.usages) for uuid, s in snapshot.providers.items()}

    def snapshot(self) -> Snapshot:
        states = (self._finished(state) for state in self._states.values())
        consumers = (consumer for consumer in self._consumers.values() if consumer.allocations)
        return Snapshot(states, consumers, self._origin)

    def _finished(self, state: ProviderState) -> ProviderState:
        used = self._used[state.uuid]
        usages = {name: used[name] for name in {**state.inventories, **used} if used[name]}
        usages |= {name: 0 for name in state.inventories if not used[name] and name in state.usages}
        root_uuid = self._root_of(state)
        return replace(
            state, provider=state.provider._replace(root_provider_uuid=root_uuid), usages=usages
        )

    def _root_of(self, state: ProviderState) -> str:
        while (parent := self._states.get(state.provider.parent_provider_uuid or '')) is not None:
            state = parent
        return state.provider.parent_provider_uuid or state.uuid

    @singledispatchmethod
    def perform(self, operation: Operation) -> None:
        raise TypeError(f'{operation} is no operation')

    @perform.register
    def _(self, operation: EnsureClass | EnsureTrait) -> None:
        """Change nothing: a snapshot has classes and traits only where providers have them."""

    @perform.register
    def _(self, operation: CreateProvider) -> None:
        provider = Provider(
            operation.uuid, operation.name, 0, operation.parent_provider_uuid, operation.uuid
        )
        self._states[operation.uuid] = ProviderState(provider)
        self._used[operation.uuid] = Counter()

    @perform.register
    def _(self, operation: UpdateProvider) -> None:
        name, parent = operation.after
        provider = self._states[operation.uuid].provider
        self._set(
            operation.uuid, provider=provider._replace(name=name, parent_provider_uuid=parent)
        )

    @perform.register
    def _(self, operation: DeleteProvider) -> None:
        del self._states[operation.uuid]

    @perform.register
    def _(self, operation: SetTraits) -> None:
        self._set(operation.provider_uuid, traits=operation.after)

    @perform.register
    def _(self, operation: SetAggregates) -> None:
        self._set(operation.provider_uuid, aggregates=operation.after)

    @perform.register
    def _(self, operation: SetInventories) -> None:
        self._set(operation.provider_uuid, inventories=operation.after)

    @perform.register
    def _(self, operation: SetAllocations) -> None:
        for consumer in operation.after:
            self._allocate(consumer)

    @perform.register
    def _(self, operation: Reshape) -> None:
        for inventories in operation.inventories:
            self._set(inventories.provider_uuid, inventories=inventories.after)
        for change in operation.consumers:
            self._allocate(
                Consumer(
                    change.uuid,
                    change.after,
                    change.project_id,
                    change.user_id,
                    change.generation,
                    change.type,
                )
            )

    def _set(self, provider_uuid: str, **fields: object) -> None:
        self._states[provider_uuid] = replace(self._states[provider_uuid], **fields)  # type: ignore[arg-type]

    def _allocate(self, consumer: Consumer) -> None:
        there = self._consumers.get(consumer.uuid)
        held = there.allocations if there else {}
        for sign, allocations in ((-1, held), (1, consumer.allocations)):
            for uuid, resources in allocations.items():
                for name, amount in resources.items():
                    self._used.setdefault(uuid, Counter())[name] += sign * amount
        self._consumers[consumer.uuid] = consumer
