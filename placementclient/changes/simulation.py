"""A snapshot after some operations. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

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
from placementclient.model.consumers import Consumer, gained
from placementclient.model.providers import Provider
from placementclient.model.snapshots import Origin, ProviderState, Snapshot

#: The fields of a provider that operations replace.
_NAMES = {SetTraits: 'traits', SetAggregates: 'aggregates'}


def simulate(snapshot: Snapshot, operations: Iterable[Operation]) -> Snapshot:
    """Return a snapshot after some operations, which are not judged; generations stay as read."""
    simulation = Simulation(snapshot.providers, snapshot.consumers)
    simulation.run(operations)
    return simulation.snapshot(snapshot.origin)


class Simulation:
    """A Placement in memory that applies every operation."""

    def __init__(
        self, providers: Mapping[str, ProviderState], consumers: Mapping[str, Consumer]
    ) -> None:
        self.states, self.consumers = dict(providers), dict(consumers)
        # As they were, where they have been allocated something.
        self._were: dict[str, Consumer | None] = {}

    def run(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self.perform(operation)

    def snapshot(self, origin: Origin | None = None) -> Snapshot:
        """Return the present state, with roots and usages."""
        gains = self._gained()
        states = (self._finished(state, gains[state.uuid]) for state in self.states.values())
        consumers = (consumer for consumer in self.consumers.values() if consumer.allocations)
        return Snapshot(states, consumers, origin)

    def _gained(self) -> dict[str, Counter[str]]:
        """Return how much more is used of each provider than before."""
        return gained(
            (was.allocations if was else {}, self.consumers[uuid].allocations)
            for uuid, was in self._were.items()
        )

    def _finished(self, state: ProviderState, gained: Counter[str]) -> ProviderState:
        used = Counter(state.usages)
        used.update(gained)
        usages = {name: used[name] for name in {**state.inventories, **used} if used[name]}
        usages |= {name: 0 for name in state.inventories if not used[name] and name in state.usages}
        root_uuid = self._root_of(state)
        return replace(
            state, provider=replace(state.provider, root_provider_uuid=root_uuid), usages=usages
        )

    def _root_of(self, state: ProviderState) -> str:
        while (parent := self.states.get(state.provider.parent_provider_uuid or '')) is not None:
            state = parent
        return state.provider.parent_provider_uuid or state.uuid

    def perform(self, operation: Operation) -> None:
        match operation:
            case EnsureClass() | EnsureTrait():
                pass  # a snapshot has classes and traits only where providers have them
            case CreateProvider(uuid, name, parent):
                self.states[uuid] = ProviderState(Provider(uuid, name, 0, parent, uuid))
            case UpdateProvider(uuid, _, (name, parent)):
                provider = self.states[uuid].provider
                self._set(uuid, provider=replace(provider, name=name, parent_provider_uuid=parent))
            case DeleteProvider(uuid):
                self.states.pop(uuid, None)
            case SetTraits(uuid, _, after) | SetAggregates(uuid, _, after):
                self._set(uuid, **{_NAMES[type(operation)]: after})
            case SetInventories(uuid, _, inventories):
                self._set(uuid, inventories=inventories)
            case SetAllocations(_, consumers):
                self._allocate(consumers)
            case Reshape(changes, moved):
                self.run(changes)
                self._allocate(change.after for change in moved)

    def _set(self, provider_uuid: str, **fields: object) -> None:
        self.states[provider_uuid] = replace(self.states[provider_uuid], **fields)

    def _allocate(self, consumers: Iterable[Consumer]) -> None:
        for consumer in consumers:
            self._were.setdefault(consumer.uuid, self.consumers.get(consumer.uuid))
            self.consumers[consumer.uuid] = consumer
