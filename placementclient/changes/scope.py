"""The part of the cloud that a change concerns, as it is now."""

from __future__ import annotations

from collections.abc import Callable, Set

from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.plans import TreeChange
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading.facets import ALLOCATIONS, CONTENT, read_states


def read(client: Client, change: TreeChange, *, is_begun: bool = False) -> Snapshot:
    """Read the providers and consumers of a change, and the trees around them.

    Over HTTP only what may change is read; the rest is as the change has it.

    :param is_begun: whether the providers that the change makes may exist
    :raises errors.ConcurrentUpdate: if a provider changes while it is read
    """
    sides = change.before, change.after
    roots = {state.provider.root_uuid for side in sides for state in side.providers.values()}
    expected = {uuid for side in sides[: 1 + is_begun] for uuid in side.providers}
    live = _read(client, change, roots)
    # Others may have moved a provider to another tree.
    moved = resource_provider.some(client, expected - live.providers.keys())
    if moved:
        live = _read(client, change, {*roots, *(each.root_uuid for each in moved.values())})
    return live


def _read(client: Client, change: TreeChange, roots: Set[str]) -> Snapshot:
    if client.snapshot_reader is not None:
        live = client.snapshot_reader.snapshot(roots, types=client.microversion >= TYPED)
        return _with_consumers(client, live, change)
    listed = {
        provider.uuid: provider
        for root in sorted(roots)
        for provider in resource_provider.list(client, matching=Filter(in_tree=root))
    }
    before, after = change.before, change.after
    states = (
        replace(
            before.providers.get(uuid) or after.providers.get(uuid) or ProviderState(provider),
            provider=provider,
        )
        for uuid, provider in listed.items()
    )
    live = read_states(client, states, _facets_of(change), is_consistent=True)
    consumers = dict(live.consumers)
    for uuid in {**before.consumers, **after.consumers}:
        consumers[uuid] = allocation.show(client, uuid).value
    return Snapshot(
        live.providers.values(), (each for each in consumers.values() if each.allocations)
    )


def _facets_of(change: TreeChange) -> Callable[[ProviderState], set[str]]:
    """Return what returns the facets of a provider that may change."""
    changes = {each.uuid: each for each in change.providers}
    used = {uuid for each in change.consumers for uuid in each.provider_uuids}

    def facets_of(state: ProviderState) -> set[str]:
        if state.uuid not in changes:
            # It is in the tree, and only its place there matters.
            return set()
        before, after = changes[state.uuid]
        facets = {
            name for name in CONTENT if getattr(before, name, None) != getattr(after, name, None)
        }
        if 'inventories' in facets or state.uuid in used:
            facets |= {'inventories', 'usages'}
        if before is None or after is None:
            # It comes or goes: which of its consumers go with it depends on the way.
            facets.add(ALLOCATIONS)
        return facets

    return facets_of


def _with_consumers(client: Client, live: Snapshot, change: TreeChange) -> Snapshot:
    """Return a snapshot with the consumers that hold nothing on its trees, but elsewhere."""
    uuids = {**change.before.consumers, **change.after.consumers}
    elsewhere = (
        allocation.show(client, uuid).value for uuid in uuids if uuid not in live.consumers
    )
    consumers = [*live.consumers.values(), *(each for each in elsewhere if each.allocations)]
    return Snapshot(live.providers.values(), consumers, live.origin)
