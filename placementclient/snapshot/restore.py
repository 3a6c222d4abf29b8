"""Build a Placement up to what a snapshot has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from placementclient import errors
from placementclient.api import (
    aggregate,
    allocation,
    inventory,
    resource_class,
    resource_provider,
    trait,
)
from placementclient.http import Client
from placementclient.microversion import Microversion
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot

#: Consumers in one request: so many take the service some seconds.
BATCH = 250


class Occupied(errors.PlacementError):
    """Something of the snapshot exists already.

    :param providers: those that have a name or a UUID that the snapshot has too
    """

    def __init__(self, providers: Sequence[Provider]) -> None:
        self.providers = tuple(providers)
        names = ', '.join(provider.name for provider in self.providers[:3])
        more = f' and {len(self.providers) - 3} others' if len(self.providers) > 3 else ''
        super().__init__(f'Resource providers of the snapshot exist already: {names}{more}')


class Unrestorable(errors.PlacementError):
    """A consumer holds something of which the snapshot has no inventory.

    :param consumer_uuid: the consumer
    :param provider_uuid: the provider, which the snapshot may lack altogether
    """

    def __init__(self, consumer_uuid: str, provider_uuid: str, what: str) -> None:
        self.consumer_uuid, self.provider_uuid = consumer_uuid, provider_uuid
        super().__init__(
            f'Consumer {consumer_uuid} holds {what} on the provider {provider_uuid}, '
            'of which the snapshot has no inventory'
        )


def load(
    client: Client,
    snapshot: Snapshot,
    *,
    missing: bool = False,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Make the classes, traits, providers and allocations of a snapshot.

    Generations begin anew. Allocations that no consumer answers for cannot be restored.

    :param missing: pass over the providers and the consumers that exist
    :param progress: told the name of the root of each tree that has been made
    :raises Occupied: if there is one of the providers, and ``missing`` is not set; or if one has
        the name of another
    :raises Unrestorable: if a consumer holds what the snapshot lacks; nothing was done then
    """
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            state = snapshot.providers.get(uuid)
            lacking = resources.keys() - (state.inventories.keys() if state else ())
            if lacking:
                raise Unrestorable(consumer.uuid, uuid, ', '.join(sorted(lacking)))
    existing = _existing(client, snapshot, missing)
    _make_names(client, snapshot)
    crowded = _crowded(snapshot)
    for root in snapshot.roots():
        for state in snapshot.tree(root.uuid):
            if state.uuid not in existing:
                _make(client, state, crowded.get(state.uuid, ()))
        if progress:
            progress(root.name)
    present = {
        holding.consumer_uuid
        for uuid in existing
        for holding in allocation.list_of_provider(client, uuid).value
    }
    _allocate(client, [c for c in snapshot.consumers.values() if c.uuid not in present])
    for uuid in crowded.keys() - existing:
        # Now that they are used, the service lets inventories be smaller than that.
        _set_inventories(client, snapshot.providers[uuid].inventories, uuid)


def _existing(client: Client, snapshot: Snapshot, missing: bool) -> set[str]:
    """The UUIDs of the providers that need not be made."""
    same, occupied = set(), []
    for provider in resource_provider.list(client):
        found = snapshot.providers.get(provider.uuid) or snapshot.find(provider.name)
        if found is None:
            continue
        if missing and (found.uuid, found.name) == (provider.uuid, provider.name):
            same.add(provider.uuid)
        else:
            occupied.append(provider)
    if occupied:
        raise Occupied(occupied)
    return same


def _make_names(client: Client, snapshot: Snapshot) -> None:
    states = snapshot.providers.values()
    for name in sorted({name for state in states for name in state.inventories}):
        if name.startswith('CUSTOM_'):
            resource_class.ensure(client, name)
    for name in sorted({name for state in states for name in state.traits}):
        if name.startswith('CUSTOM_'):
            trait.create(client, name)


def _make(client: Client, state: ProviderState, crowded: Iterable[str]) -> None:
    """Make one provider; classes that are crowded get room without limits for a while."""
    made = resource_provider.create(
        client,
        state.name,
        uuid=state.uuid,
        parent_provider_uuid=state.provider.parent_provider_uuid,
    )
    generation: int | None = made.generation
    if state.inventories:
        roomy = dict.fromkeys(crowded, Inventory(UNLIMITED))
        generation = inventory.set_all(
            client,
            state.uuid,
            {name: value.to_json() for name, value in {**state.inventories, **roomy}.items()},
            made.generation,
        ).generation
    assert generation is not None
    if state.traits:
        generation = trait.set_on_provider(
            client, state.uuid, sorted(state.traits), generation
        ).generation
    if state.aggregates:
        aggregate.set(client, state.uuid, sorted(state.aggregates), generation)


def _set_inventories(
    client: Client, inventories: Mapping[str, Inventory], provider_uuid: str
) -> None:
    inventory.set_all(
        client,
        provider_uuid,
        {name: value.to_json() for name, value in inventories.items()},
        resource_provider.generation(client, provider_uuid),
    )


def _crowded(snapshot: Snapshot) -> dict[str, list[str]]:
    """The classes of each provider that have allocations which the service would not grant now."""
    used: dict[str, Counter[str]] = {}
    crowded: dict[str, set[str]] = {}
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            used.setdefault(uuid, Counter()).update(resources)
            crowded.setdefault(uuid, set()).update(
                _refused(snapshot.providers[uuid].inventories, resources)
            )
    for uuid, amounts in used.items():
        inventories = snapshot.providers[uuid].inventories
        crowded[uuid].update(name for name, n in amounts.items() if n > inventories[name].capacity)
    return {uuid: sorted(names) for uuid, names in crowded.items() if names}


def _refused(inventories: Mapping[str, Inventory], resources: Resources) -> Iterator[str]:
    return (name for name, n in resources.items() if not inventories[name].admits(n))


def _allocate(client: Client, consumers: Sequence[Consumer]) -> None:
    """Allocate for many consumers at once, but apart for those that have a type.

    A body has one version for all, and none can say of some that they have no type.
    """
    by_version: dict[Microversion, list[Consumer]] = {}
    for consumer in consumers:
        version = allocation.version_for(client, consumer)
        by_version.setdefault(version, []).append(replace(consumer, generation=None))
    for version, alike in by_version.items():
        pending = iter(alike)
        while batch := list(islice(pending, BATCH)):
            body = {consumer.uuid: allocation.body_of(consumer, version) for consumer in batch}
            allocation.replace(client, body, version=version)
