# SPDX-License-Identifier: Apache-2.0
"""The state of a Placement, or of some of its trees, at one moment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Protocol

import msgspec

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar, suggest_uuids
from placementclient.model import patterns
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider, is_uuid, normalize_uuid


@dataclass(frozen=True, slots=True)
class Origin:
    """The time, the service and the program that read the data.

    :param captured_at: when reading began, UTC, as ISO 8601
    :param service: the URL of the service; of the embedded one the database, without a password
    """

    captured_at: str | None = None
    service: str | None = None
    program: str | None = None


def is_of_other_service(origin: Origin | None, service: str) -> bool:
    """Return whether data are from another service; False if that is unknown.

    :param service: the URL of this service
    :param origin: of the data; ``None``: unknown
    """
    return origin is not None and origin.service not in (None, service)


class ProviderState(msgspec.Struct, frozen=True, gc=False):
    """A provider with all its content, but without its consumers.

    :param usages: the usage of each class, as the service sums it up: also of allocations whose
        consumers have no record
    """

    provider: Provider
    inventories: Mapping[str, Inventory] = msgspec.field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    usages: Resources = msgspec.field(default_factory=dict)

    @property
    def uuid(self) -> str:
        return self.provider.uuid

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def position(self) -> tuple[str, str | None]:
        """The name of the provider, and the UUID of its parent; ``None`` of a root."""
        return self.name, self.provider.parent_provider_uuid

    @property
    def content(self) -> tuple[object, ...]:
        """The position, inventories, traits and aggregates: all that a change can set."""
        return self.position, self.inventories, self.traits, self.aggregates

    @property
    def reference(self) -> str:
        """The name, as an argument of a command; the UUID if a command could not take the name."""
        is_plain = self.name.isprintable() and not self.name.startswith('-')
        return self.name if is_plain and not is_uuid(self.name) else self.uuid

    def used(self, resource_class: str) -> int:
        """Return the used amount of a class, or 0."""
        return self.usages.get(resource_class, 0)

    def capacity(self, resource_class: str) -> int:
        """Return the amount of a class that can be allocated in total; 0 without inventory."""
        inventory = self.inventories.get(resource_class)
        return inventory.capacity if inventory else 0

    def free(self, resource_class: str) -> int:
        """Return the free amount of a class with inventory; negative if it is over capacity."""
        return self.inventories[resource_class].capacity - self.used(resource_class)


class Snapshot:
    """Providers with all their content, and all consumers with allocations on them.

    :param providers: in any order; a provider's parent is among them
    :param consumers: each with all that it holds, also on providers that are not in the snapshot
    :param unsteady: the UUIDs of the roots of trees that changed each time that they were read:
        they are as read last, which may be no state that they ever had
    """

    def __init__(
        self,
        providers: Iterable[ProviderState],
        consumers: Iterable[Consumer],
        origin: Origin | None = None,
        unsteady: Iterable[str] = (),
    ) -> None:
        self.origin = origin
        self.unsteady = frozenset(unsteady)
        self.providers = {state.uuid: state for state in providers}
        self.consumers = {consumer.uuid: consumer for consumer in consumers}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return (self.providers, self.consumers) == (other.providers, other.consumers)

    @cached_property
    def _by_name(self) -> dict[str, ProviderState]:
        return {state.name: state for state in self.providers.values()}

    @cached_property
    def _children(self) -> dict[str | None, tuple[ProviderState, ...]]:
        children: dict[str | None, list[ProviderState]] = {}
        for state in sorted(self.providers.values(), key=attrgetter('name')):
            children.setdefault(state.provider.parent_provider_uuid, []).append(state)
        return {uuid: tuple(states) for uuid, states in children.items()}

    @cached_property
    def _consumers_on(self) -> dict[str, tuple[Consumer, ...]]:
        consumers: dict[str, list[Consumer]] = {}
        for consumer in sorted(self.consumers.values(), key=attrgetter('uuid')):
            for provider_uuid in consumer.allocations:
                consumers.setdefault(provider_uuid, []).append(consumer)
        return {uuid: tuple(users) for uuid, users in consumers.items()}

    def find(self, name_or_uuid: str) -> ProviderState | None:
        """Return the provider of this UUID or name, or ``None``."""
        return (
            self.providers.get(name_or_uuid)
            or self.find_by_name(name_or_uuid)
            or self.providers.get(normalize_uuid(name_or_uuid))
        )

    def find_existing(self, name_or_uuid: str) -> ProviderState:
        """Return the provider of this UUID or name, or raise :class:`errors.NoSuchProvider`."""
        if (state := self.find(name_or_uuid)) is None:
            names = {uuid: state.name for uuid, state in self.providers.items()}
            near = suggest_uuids(name_or_uuid, names) or suggest_similar(
                name_or_uuid, self._by_name
            )
            raise errors.NoSuchProvider(
                f'No resource provider has the name or UUID {name_or_uuid!r}{near}'
            )
        return state

    def find_by_name(self, name: str) -> ProviderState | None:
        """Return the provider of this name, even if the name looks like a UUID."""
        return self._by_name.get(name)

    def root_uuids(self, names: Iterable[str]) -> list[str]:
        """Return the UUIDs of the roots of some trees.

        :param names: names or UUIDs of any of their providers, or patterns of names
        """
        states = map(self.find_existing, self.expand_names(names))
        return list(dict.fromkeys(state.provider.root_uuid for state in states))

    def expand_names(self, names: Iterable[str]) -> list[str]:
        """Return names and UUIDs, with the UUIDs of the matching roots in place of each pattern."""
        return patterns.expand_patterns(
            names, lambda: {name: s.provider.root_uuid for name, s in self._by_name.items()}
        )

    def roots(self) -> Sequence[ProviderState]:
        """Return the roots of all trees, sorted by name."""
        return self._children.get(None, ())

    def children(self, provider_uuid: str) -> Sequence[ProviderState]:
        """Return the children of a provider, sorted by name."""
        return self._children.get(provider_uuid, ())

    def tree(self, root_uuid: str) -> Iterator[ProviderState]:
        """Yield a provider and all below it, parents before their children."""
        pending = [self.providers[root_uuid]]
        while pending:
            state = pending.pop()
            yield state
            pending.extend(reversed(self.children(state.uuid)))

    def ancestors(self, provider_uuid: str) -> Iterator[str]:
        """Yield the UUIDs of the providers above one, the nearest first."""
        while parent := self.providers[provider_uuid].provider.parent_provider_uuid:
            yield parent
            provider_uuid = parent

    def walk(self) -> Iterator[ProviderState]:
        """Yield all providers, parents before their children."""
        for state in self.providers.values():
            if state.provider.parent_provider_uuid not in self.providers:
                yield from self.tree(state.uuid)

    def select_trees(self, names: Collection[str]) -> Snapshot:
        """Return the whole trees of some providers, with their consumers; without names, all."""
        if not names:
            return self
        states = [state for root_uuid in self.root_uuids(names) for state in self.tree(root_uuid)]
        consumers = (consumer for state in states for consumer in self.consumers_on(state.uuid))
        unsteady = self.unsteady & {state.uuid for state in states}
        return Snapshot(states, consumers, self.origin, unsteady)

    def unsteady_names(self) -> list[str]:
        """Return the names of the roots of the trees that changed each time that they were read."""
        return sorted(self.providers[uuid].name for uuid in self.unsteady)

    def consumers_on(self, provider_uuid: str) -> Sequence[Consumer]:
        """Return the consumers with allocations on a provider, sorted by UUID."""
        return self._consumers_on.get(provider_uuid, ())

    def consumers_in(self, root_uuid: str) -> list[Consumer]:
        """Return the consumers with allocations in a tree, each once."""
        trees = (self.consumers_on(state.uuid) for state in self.tree(root_uuid))
        return list({consumer.uuid: consumer for using in trees for consumer in using}.values())

    def list_providers_without_usages(self) -> list[ProviderState]:
        """Return the providers that have allocations, but no record of their usages."""
        used = {uuid for consumer in self.consumers.values() for uuid in consumer.allocations}
        return [
            state for state in self.providers.values() if state.uuid in used and not state.usages
        ]

    def unlisted_usages(self, provider_uuid: str) -> Resources:
        """Return the usage of a provider that belongs to no consumer of the snapshot."""
        left = dict(self.providers[provider_uuid].usages)
        for consumer in self.consumers_on(provider_uuid):
            for name, amount in consumer.allocations[provider_uuid].items():
                left[name] = left.get(name, 0) - amount
        return {name: amount for name, amount in sorted(left.items()) if amount > 0}


class SnapshotReader(Protocol):
    """Reads many trees at once, all at one moment."""

    def snapshot(self, roots: Collection[str] | None = None, *, types: bool = True) -> Snapshot:
        """Return some trees, or everything.

        :param roots: the UUIDs of the roots of the trees; one that does not exist is passed over;
            ``None``: everything
        :param types: whether to read the consumers' types, as from microversion 1.38 on
        """

    def providers(self, roots: Collection[str]) -> Iterable[Provider]:
        """Return the providers of some trees without their content, by the UUIDs of the roots."""
