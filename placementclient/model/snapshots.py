"""A Placement at one moment, or some trees of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from placementclient import errors
from placementclient.model.consumers import Consumer, Resources
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider

FORMAT = 'placementclient/snapshot'
VERSION = 1


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider and all that it has, but for who uses it.

    :param usages: used of each class, as the service sums it up: more than its consumers hold
        together where an allocation's consumer has no record of its own
    """

    provider: Provider
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    usages: Resources = field(default_factory=dict)

    @property
    def uuid(self) -> str:
        return self.provider.uuid

    @property
    def name(self) -> str:
        return self.provider.name

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            'uuid': self.provider.uuid,
            'name': self.provider.name,
            'generation': self.provider.generation,
            'parent_provider_uuid': self.provider.parent_provider_uuid,
            'root_provider_uuid': self.provider.root_provider_uuid,
            'inventories': {
                name: inventory.to_json() for name, inventory in sorted(self.inventories.items())
            },
            'traits': sorted(self.traits),
            'aggregates': sorted(self.aggregates),
            'usages': dict(sorted(self.usages.items())),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ProviderState:
        """What :meth:`to_json` wrote."""
        return cls(
            Provider(
                record['uuid'],
                record['name'],
                record['generation'],
                record['parent_provider_uuid'],
                record['root_provider_uuid'],
            ),
            {name: Inventory.from_json(item) for name, item in record['inventories'].items()},
            frozenset(record['traits']),
            frozenset(record['aggregates']),
            record['usages'],
        )


class Snapshot:
    """Providers with all that they have, and every consumer that holds something on them.

    :param providers: in any order; a provider's parent is among them
    :param consumers: each with all that it holds, also on providers that are not in the snapshot
    """

    def __init__(self, providers: Iterable[ProviderState], consumers: Iterable[Consumer]) -> None:
        self.providers = {state.uuid: state for state in providers}
        self.consumers = {consumer.uuid: consumer for consumer in consumers}
        self._by_name = {state.name: state for state in self.providers.values()}
        self._children: dict[str | None, list[ProviderState]] = {}
        for state in sorted(self.providers.values(), key=lambda state: state.name):
            self._children.setdefault(state.provider.parent_provider_uuid, []).append(state)
        self._consumers_on: dict[str, list[Consumer]] = {}
        for consumer in sorted(self.consumers.values(), key=lambda consumer: consumer.uuid):
            for provider_uuid in consumer.allocations:
                self._consumers_on.setdefault(provider_uuid, []).append(consumer)

    def find(self, name_or_uuid: str) -> ProviderState | None:
        """The provider that has this UUID or this name."""
        return self.providers.get(name_or_uuid) or self._by_name.get(name_or_uuid)

    def roots(self) -> list[ProviderState]:
        """The roots of all trees, by name."""
        return self._children.get(None, [])

    def children(self, provider_uuid: str) -> list[ProviderState]:
        """The children of a provider, by name."""
        return self._children.get(provider_uuid, [])

    def tree(self, root_uuid: str) -> Iterator[ProviderState]:
        """A provider and all below it, parents before their children."""
        pending = [self.providers[root_uuid]]
        while pending:
            state = pending.pop()
            yield state
            pending.extend(reversed(self.children(state.uuid)))

    def consumers_on(self, provider_uuid: str) -> list[Consumer]:
        """The consumers that hold something on a provider, by UUID."""
        return self._consumers_on.get(provider_uuid, [])

    def to_json(self) -> dict[str, Any]:
        """The content of a snapshot file, in a fixed order."""
        return {
            'format': FORMAT,
            'version': VERSION,
            'providers': [
                state.to_json() for root in self.roots() for state in self.tree(root.uuid)
            ],
            'consumers': {
                uuid: consumer.to_json() for uuid, consumer in sorted(self.consumers.items())
            },
        }

    @classmethod
    def from_json(cls, document: Any, path: str) -> Snapshot:
        """What :meth:`to_json` wrote.

        :param path: the file that the document came from, for the error
        :raises errors.BadFile: if it is something else
        """
        if not isinstance(document, Mapping) or document.get('format') != FORMAT:
            raise errors.BadFile(path, 'not a snapshot')
        if document.get('version') != VERSION:
            raise errors.BadFile(path, f'snapshot version {document.get("version")} is not known')
        try:
            return cls(
                [ProviderState.from_json(record) for record in document['providers']],
                [Consumer.from_json(*item) for item in document['consumers'].items()],
            )
        except (KeyError, TypeError, AttributeError, ValueError) as reason:
            raise errors.BadFile(path, f'damaged snapshot: {reason!r}') from None


class SnapshotReader(Protocol):
    """What reads many trees at once, all of them as they were at one moment."""

    def snapshot(self, roots: Collection[str] | None = None, *, types: bool = True) -> Snapshot:
        """Some trees, or everything.

        :param roots: the UUIDs of the roots of the trees; one that does not exist is passed over;
            ``None``: everything
        :param types: whether to read the consumers' types, as from microversion 1.38 on
        """
