"""The part of the cloud that a change set is about, as it is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.consumers import Consumer
from placementclient.model.planned_trees import PlannedTree
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading.facets import CONTENT, with_facets


def read(client: Client, change_set: PlannedTree, *, is_begun: bool = False) -> Snapshot:
    """Read the providers and consumers of a change set, and the trees around them.

    Over HTTP only what may change is read; the rest is as the change set has it.

    :param is_begun: whether the providers that the change set makes may be there
    :raises errors.ConcurrentUpdate: if a provider changes while it is read
    """
    sides = change_set.before, change_set.after
    roots = {state.provider.root_uuid for side in sides for state in side.providers.values()}
    expected = {uuid for side in sides[: 1 + is_begun] for uuid in side.providers}
    there = _read(client, change_set, roots)
    # Others may have moved a provider to another tree.
    moved = resource_provider.some(client, expected - there.providers.keys())
    if moved:
        there = _read(client, change_set, {*roots, *(each.root_uuid for each in moved.values())})
    return there


def _read(client: Client, change_set: PlannedTree, roots: Set[str]) -> Snapshot:
    if client.snapshot_reader is not None:
        there = client.snapshot_reader.snapshot(roots, types=client.microversion >= TYPED)
        return _with_consumers(client, there, change_set)
    listed = {
        provider.uuid: provider
        for root in sorted(roots)
        for provider in resource_provider.list(client, matching=Filter(in_tree=root))
    }
    reader = _RegionReader(client, change_set)
    states = [reader.state(provider) for provider in listed.values()]
    consumers = {consumer.uuid: consumer for consumer in reader.consumers(states)}
    return Snapshot(filter(None, states), consumers.values())


def _with_consumers(client: Client, there: Snapshot, change_set: PlannedTree) -> Snapshot:
    """Return a snapshot with the consumers that hold nothing on its trees, but elsewhere."""
    uuids = {**change_set.before.consumers, **change_set.after.consumers}
    elsewhere = (
        allocation.show(client, uuid).value for uuid in uuids if uuid not in there.consumers
    )
    consumers = [*there.consumers.values(), *(each for each in elsewhere if each.allocations)]
    return Snapshot(there.providers.values(), consumers, there.origin)


class _RegionReader:
    def __init__(self, client: Client, change_set: PlannedTree) -> None:
        self._client = client
        self._before, self._after = change_set.before, change_set.after
        pairs = {
            uuid: (self._before.consumers.get(uuid), self._after.consumers.get(uuid))
            for uuid in {**self._before.consumers, **self._after.consumers}
        }
        self._changing = list(pairs)
        self._used = {
            uuid
            for pair in pairs.values()
            for consumer in pair
            if consumer
            for uuid in consumer.allocations
        }

    def state(self, provider: Provider) -> ProviderState | None:
        """Read a provider as far as it may change; ``None`` if it has gone."""
        before = self._before.providers.get(provider.uuid)
        after = self._after.providers.get(provider.uuid)
        known = before or after
        if known is None:
            # It is in the tree, and only its place there matters.
            return ProviderState(provider)
        try:
            return self._read(replace(known, provider=provider), before, after)
        except errors.NotFound:
            return None

    def _read(
        self, state: ProviderState, before: ProviderState | None, after: ProviderState | None
    ) -> ProviderState:
        wanted = _differing(before, after)
        if 'inventories' in wanted or state.uuid in self._used:
            wanted |= {'inventories', 'usages'}
        return with_facets(self._client, state, wanted).consistent(state.provider.generation).state

    def consumers(self, states: Iterable[ProviderState | None]) -> Iterator[Consumer]:
        """Read the consumers that change, and those of providers that come or go."""
        for uuid in self._changing:
            consumer = allocation.show(self._client, uuid).value
            if consumer.allocations:
                yield consumer
        # Which of them go depends on the way: to apply the change, or to take it back.
        gone = self._before.providers.keys() ^ self._after.providers.keys()
        for state in states:
            if state is None or state.uuid not in gone:
                continue
            for holding in allocation.list_of_provider(self._client, state.uuid).value:
                if holding.consumer_uuid not in self._changing:
                    yield Consumer(holding.consumer_uuid, {state.uuid: holding.resources})


def _differing(before: ProviderState | None, after: ProviderState | None) -> set[str]:
    """Return what changes of a provider: all, if it comes or goes."""
    return {name for name in CONTENT if getattr(before, name, None) != getattr(after, name, None)}
