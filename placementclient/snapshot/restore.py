"""Build a Placement up to what a snapshot has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from placementclient import errors
from placementclient.api import (
    aggregate,
    allocation,
    inventory,
    resource_class,
    resource_provider,
    trait,
)
from placementclient.api.conflict import edited
from placementclient.http import Client
from placementclient.microversion import Microversion
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.snapshot import capture
from placementclient.wording import listed

#: Consumers in one request: so many take the service some seconds.
BATCH = 250
#: Trees that are read at a time, to see what is there.
WORKERS = 4


class Occupied(errors.PlacementError):
    """Something of the snapshot exists already.

    :param providers: those that have a name or a UUID that the snapshot has too
    """

    def __init__(self, providers: Sequence[Provider]) -> None:
        self.providers = tuple(providers)
        names = listed([provider.name for provider in self.providers], 3, 'others')
        super().__init__(f'Resource providers of the snapshot exist already: {names}')


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


class Altered(errors.PlacementError):
    """What is there of the snapshot is not what a restore of it leaves.

    :param names: of the providers, and the UUIDs of consumers
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(
            f'What exists is not what a restore of this snapshot leaves: '
            f'{listed(self.names, 3, "others")}'
        )


@dataclass(frozen=True, slots=True)
class Restoration:
    """What is missing of a snapshot.

    :param snapshot: all that shall be there
    :param there: its providers that exist, with what they have, by UUID
    :param consumers: those that hold nothing yet
    """

    snapshot: Snapshot
    there: Mapping[str, ProviderState]
    consumers: Sequence[Consumer]

    @property
    def made(self) -> list[ProviderState]:
        """The providers that do not exist."""
        return [state for uuid, state in self.snapshot.providers.items() if uuid not in self.there]

    @property
    def completed(self) -> list[ProviderState]:
        """The providers that exist and lack something."""
        wanted = self.snapshot.providers
        return [wanted[uuid] for uuid, found in self.there.items() if _lacks(wanted[uuid], found)]


def load(
    client: Client,
    snapshot: Snapshot,
    *,
    missing: bool = False,
    progress: Callable[[str], None] | None = None,
) -> None:
    """Make the classes, traits, providers and allocations of a snapshot: plan, and carry out."""
    carry_out(client, plan(client, snapshot, missing=missing), progress)


def plan(client: Client, snapshot: Snapshot, *, missing: bool = False) -> Restoration:
    """What has to be made; nothing is written.

    :param missing: complete what a restore began that did not come to its end
    :raises Occupied: if there is one of the providers, and ``missing`` is not set; or if one has
        the name of another
    :raises Altered: if something exists that no restore of this snapshot leaves
    :raises Unrestorable: if a consumer holds what the snapshot lacks
    """
    for consumer in snapshot.consumers.values():
        for uuid, resources in consumer.allocations.items():
            state = snapshot.providers.get(uuid)
            lacking = resources.keys() - (state.inventories.keys() if state else ())
            if lacking:
                raise Unrestorable(consumer.uuid, uuid, ', '.join(sorted(lacking)))
    existing = _existing(client, snapshot, missing)
    if not existing:
        return Restoration(snapshot, {}, list(snapshot.consumers.values()))
    roots = sorted({provider.root_uuid for provider in existing})
    found = capture.capture(client, roots, workers=WORKERS)
    there = {provider.uuid: found.providers[provider.uuid] for provider in existing}
    altered = [*_altered_providers(snapshot, there), *_altered_consumers(snapshot, found)]
    if altered:
        raise Altered(altered)
    pending = [each for uuid, each in snapshot.consumers.items() if uuid not in found.consumers]
    return Restoration(snapshot, there, pending)


def carry_out(
    client: Client, restoration: Restoration, progress: Callable[[str], None] | None = None
) -> None:
    """Make what is missing. Killed at any moment, it can be planned again and goes on.

    Generations begin anew. Allocations that no consumer answers for cannot be restored.

    :param progress: told the name of the root of each tree whose providers are there
    """
    snapshot = restoration.snapshot
    _make_names(client, snapshot)
    crowded = _crowded(snapshot)
    pending = {uuid for consumer in restoration.consumers for uuid in consumer.allocations}
    for root in snapshot.roots():
        for state in snapshot.tree(root.uuid):
            roomy = _roomy(state, crowded.get(state.uuid, ()) if state.uuid in pending else ())
            _make(client, roomy, restoration.there.get(state.uuid))
        if progress:
            progress(root.name)
    _allocate(client, restoration.consumers)
    for uuid in crowded.keys() & pending:
        _limit(client, snapshot.providers[uuid], crowded[uuid])


def _existing(client: Client, snapshot: Snapshot, missing: bool) -> list[Provider]:
    """The providers that need not be made."""
    same, occupied = [], []
    for provider in resource_provider.list(client):
        found = snapshot.providers.get(provider.uuid) or snapshot.named(provider.name)
        if found is None:
            continue
        if missing and (found.uuid, found.name) == (provider.uuid, provider.name):
            same.append(provider)
        else:
            occupied.append(provider)
    if occupied:
        raise Occupied(occupied)
    return same


def _altered_providers(snapshot: Snapshot, there: Mapping[str, ProviderState]) -> Iterator[str]:
    """The names of the providers that have anything but what a restore gives them in turn."""
    crowded = _crowded(snapshot)
    for uuid, found in there.items():
        state = snapshot.providers[uuid]
        roomy = _roomy(state, crowded.get(uuid, ()))
        as_begun = (
            found.provider.parent_provider_uuid == state.provider.parent_provider_uuid
            and found.inventories in ({}, roomy.inventories, state.inventories)
            and found.traits in (frozenset(), state.traits)
            and found.aggregates in (frozenset(), state.aggregates)
        )
        if not as_begun:
            yield state.name


def _altered_consumers(snapshot: Snapshot, found: Snapshot) -> Iterator[str]:
    """The consumers on the snapshot's providers that are not in it, or hold something else."""
    for uuid, consumer in found.consumers.items():
        if snapshot.providers.keys().isdisjoint(consumer.allocations):
            continue
        wanted = snapshot.consumers.get(uuid)
        if wanted is None or wanted.allocations != consumer.allocations:
            yield f'consumer {uuid}'


def _lacks(state: ProviderState, found: ProviderState) -> bool:
    return (state.inventories, state.traits, state.aggregates) != (
        found.inventories,
        found.traits,
        found.aggregates,
    )


def _make_names(client: Client, snapshot: Snapshot) -> None:
    states = snapshot.providers.values()
    for name in sorted({name for state in states for name in state.inventories}):
        if name.startswith('CUSTOM_'):
            resource_class.ensure(client, name)
    for name in sorted({name for state in states for name in state.traits}):
        if name.startswith('CUSTOM_'):
            trait.create(client, name)


def _roomy(state: ProviderState, crowded: Iterable[str]) -> ProviderState:
    """A provider as it is until its consumers are there: crowded classes have no limits."""
    room = dict.fromkeys(crowded, Inventory(UNLIMITED))
    return replace(state, inventories={**state.inventories, **room}) if room else state


def _make(client: Client, state: ProviderState, found: ProviderState | None) -> None:
    """Make one provider, or give it what it lacks.

    :param found: what it has, if it exists
    """
    if found is None:
        made = resource_provider.create(
            client,
            state.name,
            uuid=state.uuid,
            parent_provider_uuid=state.provider.parent_provider_uuid,
        )
        found = ProviderState(made)
    generation: int | None = found.provider.generation
    assert generation is not None
    if state.inventories != found.inventories:
        generation = inventory.set_all(
            client, state.uuid, _fields(state.inventories), generation
        ).generation
        assert generation is not None
    if state.traits != found.traits:
        generation = trait.set_on_provider(
            client, state.uuid, sorted(state.traits), generation
        ).generation
        assert generation is not None
    if state.aggregates != found.aggregates:
        aggregate.set(client, state.uuid, sorted(state.aggregates), generation)


def _limit(client: Client, state: ProviderState, crowded: Iterable[str]) -> None:
    """Give crowded classes their limits: now that they are used, the service lets them be less."""
    limited = {name: state.inventories[name] for name in crowded}
    edited(
        lambda: inventory.list(client, state.uuid),
        lambda there: {**there, **limited},
        lambda wanted, generation: inventory.set_all(
            client, state.uuid, _fields(wanted), generation
        ),
        max_retries=client.max_retries,
    )


def _fields(inventories: Mapping[str, Inventory]) -> dict[str, dict[str, Any]]:
    return {name: item.as_fields() for name, item in inventories.items()}


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
