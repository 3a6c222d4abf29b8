"""What a plan changes: providers and consumers, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from placementclient.model.consumers import Allocations, Resources
from placementclient.model.inventories import Inventory


@dataclass(frozen=True, slots=True)
class Content:
    """What a provider has, who uses it left aside.

    :param generation: the one that was read; ``None`` where it is not known, as for a state that
        is still to come: generations are never predicted
    """

    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    generation: int | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            'generation': self.generation,
            'inventories': {
                name: inventory.to_json() for name, inventory in sorted(self.inventories.items())
            },
            'traits': sorted(self.traits),
            'aggregates': sorted(self.aggregates),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Content:
        """What :meth:`to_json` wrote."""
        return cls(
            {name: Inventory.from_json(item) for name, item in record['inventories'].items()},
            frozenset(record['traits']),
            frozenset(record['aggregates']),
            record['generation'],
        )


@dataclass(frozen=True, slots=True)
class ProviderChange:
    """A provider before and after.

    :param before: ``None`` if it is to be created
    :param after: its generation is ``None``
    :param usages: used of each class, before, by whomever
    """

    uuid: str
    name: str
    parent_provider_uuid: str | None
    root_provider_uuid: str
    before: Content | None
    after: Content
    usages: Resources = field(default_factory=dict)

    @property
    def is_created(self) -> bool:
        """Whether the plan makes this provider."""
        return self.before is None

    @property
    def content_before(self) -> Content:
        """What it has before: nothing, if it is to be created."""
        return self.before if self.before is not None else Content()

    def to_json(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {
            'uuid': self.uuid,
            'name': self.name,
            'parent_provider_uuid': self.parent_provider_uuid,
            'root_provider_uuid': self.root_provider_uuid,
            'before': None if self.before is None else self.before.to_json(),
            'after': self.after.to_json(),
            'usages': dict(sorted(self.usages.items())),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ProviderChange:
        """What :meth:`to_json` wrote."""
        before = record['before']
        return cls(
            record['uuid'],
            record['name'],
            record['parent_provider_uuid'],
            record['root_provider_uuid'],
            None if before is None else Content.from_json(before),
            Content.from_json(record['after']),
            record['usages'],
        )


@dataclass(frozen=True, slots=True)
class ConsumerChange:
    """A consumer with all that it holds, everywhere, before and after.

    :param generation: the one that was read
    :param type: ``None`` where it was never set, and so has to stay
    :param before: ``{provider UUID: {resource class: amount}}``
    :param after: the same, of what it is to hold
    """

    uuid: str
    project_id: str | None
    user_id: str | None
    generation: int | None
    type: str | None
    before: Allocations
    after: Allocations

    def inverse(self) -> ConsumerChange:
        """The way back. The generation stays the one that was read."""
        return replace(self, before=self.after, after=self.before)

    def to_json(self) -> dict[str, Any]:
        """All but the UUID, which is the key, for a file."""
        return {
            'project_id': self.project_id,
            'user_id': self.user_id,
            'generation': self.generation,
            'type': self.type,
            'before': _sorted(self.before),
            'after': _sorted(self.after),
        }

    @classmethod
    def from_json(cls, uuid: str, record: Mapping[str, Any]) -> ConsumerChange:
        """What :meth:`to_json` wrote."""
        return cls(
            uuid,
            record['project_id'],
            record['user_id'],
            record['generation'],
            record['type'],
            record['before'],
            record['after'],
        )


def _sorted(allocations: Allocations) -> dict[str, Resources]:
    return {
        provider_uuid: dict(sorted(resources.items()))
        for provider_uuid, resources in sorted(allocations.items())
    }
