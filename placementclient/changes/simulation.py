"""A snapshot as it is after operations. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
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
from placementclient.model.origin import Origin
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


def simulate(snapshot: Snapshot, operations: Iterable[Operation]) -> Snapshot:
    """Return a snapshot as it is after operations; generations stay as they were read.

    The operations are not judged: Placement does that.

    :param operations: as :func:`placementclient.changes.diff.diff` gives them
    """
    simulation = Simulation(snapshot.providers, snapshot.consumers)
    simulation.run(operations)
    return simulation.snapshot(snapshot.origin)


class Simulation:
    """A Placement that carries out every operation.

    :ivar states: the providers, by UUID
    :ivar consumers: by UUID; some may hold nothing
    """

    def __init__(
        self, providers: Mapping[str, ProviderState], consumers: Mapping[str, Consumer]
    ) -> None:
        self.states, self.consumers = dict(providers), dict(consumers)
        # As they were, where they have been allocated something.
        self._were: dict[str, Consumer | None] = {}

    def run(self, operations: Iterable[Operation]) -> None:
        """Carry out operations."""
        for operation in operations:
            self.perform(operation)

    def snapshot(self, origin: Origin | None = None) -> Snapshot:
        """Return what is there, with the roots and usages that follow."""
        gained = self._gained()
        states = (self._finished(state, gained[state.uuid]) for state in self.states.values())
        consumers = (consumer for consumer in self.consumers.values() if consumer.allocations)
        return Snapshot(states, consumers, origin)

    def _gained(self) -> dict[str, Counter[str]]:
        """Return how much more is used of each provider than before.

        Usage beyond that of the consumers stays: no consumer has it.
        """
        gained: dict[str, Counter[str]] = defaultdict(Counter)
        for consumer_uuid, was in self._were.items():
            for sign, consumer in ((-1, was), (1, self.consumers[consumer_uuid])):
                for uuid, resources in consumer.allocations.items() if consumer else ():
                    for name, amount in resources.items():
                        gained[uuid][name] += sign * amount
        return gained

    def _finished(self, state: ProviderState, gained: Counter[str]) -> ProviderState:
        used = Counter(state.usages)
        used.update(gained)
        usages = {name: used[name] for name in {**state.inventories, **used} if used[name]}
        usages |= {name: 0 for name in state.inventories if not used[name] and name in state.usages}
        root_uuid = self._root_of(state)
        return replace(
            state, provider=state.provider._replace(root_provider_uuid=root_uuid), usages=usages
        )

    def _root_of(self, state: ProviderState) -> str:
        while (parent := self.states.get(state.provider.parent_provider_uuid or '')) is not None:
            state = parent
        return state.provider.parent_provider_uuid or state.uuid

    @singledispatchmethod
    def perform(self, operation: Operation) -> None:
        """Carry out an operation."""
        raise TypeError(f'{operation} is no operation')

    @perform.register
    def _(self, operation: EnsureClass | EnsureTrait) -> None:
        """Change nothing: a snapshot has classes and traits only where providers have them."""

    @perform.register
    def _(self, operation: CreateProvider) -> None:
        provider = Provider(
            operation.uuid, operation.name, 0, operation.parent_provider_uuid, operation.uuid
        )
        self.states[operation.uuid] = ProviderState(provider)

    @perform.register
    def _(self, operation: UpdateProvider) -> None:
        name, parent = operation.after
        provider = self.states[operation.uuid].provider
        self._set(
            operation.uuid, provider=provider._replace(name=name, parent_provider_uuid=parent)
        )

    @perform.register
    def _(self, operation: DeleteProvider) -> None:
        self.states.pop(operation.uuid, None)

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
        self.states[provider_uuid] = replace(self.states[provider_uuid], **fields)  # type: ignore[arg-type]

    def _allocate(self, consumer: Consumer) -> None:
        self._were.setdefault(consumer.uuid, self.consumers.get(consumer.uuid))
        self.consumers[consumer.uuid] = consumer
