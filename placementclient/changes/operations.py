# SPDX-License-Identifier: Apache-2.0
"""The operations that change a Placement. ``diff`` returns those of a rollback.

Pure: :mod:`placementclient.changes.applier` sends the requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.plans import ConsumerChange


@dataclass(frozen=True, slots=True)
class EnsureClass:
    """Create a custom resource class, unless it exists."""

    name: str


@dataclass(frozen=True, slots=True)
class EnsureTrait:
    """Create a custom trait, unless it exists."""

    name: str


EnsureName = EnsureClass | EnsureTrait


@dataclass(frozen=True, slots=True)
class CreateProvider:
    """Create an empty provider."""

    uuid: str
    name: str
    parent_provider_uuid: str | None


@dataclass(frozen=True, slots=True)
class DeleteProvider:
    """Delete a provider that has no allocations and no children, with all its content."""

    uuid: str
    name: str
    parent_provider_uuid: str | None
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


class Position(NamedTuple):
    """The name of a provider, and the UUID of its parent; ``None`` for a root."""

    name: str
    parent_provider_uuid: str | None


@dataclass(frozen=True, slots=True)
class UpdateProvider:
    """Rename a provider, or move it below another parent; from 1.37 unless it is a root."""

    uuid: str
    before: Position
    after: Position


@dataclass(frozen=True, slots=True)
class _SetTraitsOrAggregates:
    """Replace the traits, or the aggregates, of a provider."""

    provider_uuid: str
    before: frozenset[str]
    after: frozenset[str]


class SetTraits(_SetTraitsOrAggregates):
    """Replace the traits of a provider."""

    __slots__ = ()


class SetAggregates(_SetTraitsOrAggregates):
    """Replace the aggregates of a provider."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SetInventories:
    """Replace all inventories of a provider."""

    provider_uuid: str
    before: Mapping[str, Inventory]
    after: Mapping[str, Inventory]


@dataclass(frozen=True, slots=True)
class SetAllocations:
    """Replace all allocations of some consumers, and their owners, in one transaction.

    :param before: the consumers; one that does not exist yet has no allocations and no generation
    :param after: the same consumers in the same order
    """

    before: tuple[Consumer, ...]
    after: tuple[Consumer, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Replace inventories and allocations together, in one request.

    Placement replaces all inventories of every provider and all allocations of every consumer
    that the request names. So every provider and consumer that changes is there, complete.
    """

    inventories: tuple[SetInventories, ...]
    consumers: tuple[ConsumerChange, ...]


Operation = (
    EnsureName
    | CreateProvider
    | UpdateProvider
    | DeleteProvider
    | SetTraits
    | SetAggregates
    | SetInventories
    | SetAllocations
    | Reshape
)


def merge_names(
    before: frozenset[str], after: frozenset[str], live: frozenset[str]
) -> frozenset[str]:
    """Return a live set with the names that a change adds, and without those that it removes."""
    return (live - (before - after)) | (after - before)
