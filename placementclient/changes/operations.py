"""The operations that change a Placement. Each knows the operations that take it back.

Pure: :mod:`placementclient.changes.applier` sends the requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.inventories import Inventory


@dataclass(frozen=True, slots=True)
class EnsureClass:
    """Make a custom resource class, unless it exists."""

    name: str

    def inverse(self) -> tuple[Operation, ...]:
        """Return nothing: others may use the class by then."""
        return ()


@dataclass(frozen=True, slots=True)
class EnsureTrait:
    """Make a custom trait, unless it exists."""

    name: str

    def inverse(self) -> tuple[Operation, ...]:
        """Return nothing: others may use the trait by then."""
        return ()


@dataclass(frozen=True, slots=True)
class CreateProvider:
    """Make an empty provider."""

    uuid: str
    name: str
    parent_provider_uuid: str | None

    def inverse(self) -> tuple[Operation, ...]:
        """Delete the provider."""
        return (DeleteProvider(self.uuid, self.name, self.parent_provider_uuid),)


@dataclass(frozen=True, slots=True)
class DeleteProvider:
    """Delete a provider that has no allocations and no children.

    :param inventories: those that go along with it
    :param traits: likewise
    :param aggregates: likewise
    """

    uuid: str
    name: str
    parent_provider_uuid: str | None
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()

    def inverse(self) -> tuple[Operation, ...]:
        """Make the provider again, with all that it had."""
        contents = (
            SetTraits(self.uuid, frozenset(), self.traits),
            SetAggregates(self.uuid, frozenset(), self.aggregates),
            SetInventories(self.uuid, {}, self.inventories),
        )
        made = CreateProvider(self.uuid, self.name, self.parent_provider_uuid)
        return (made, *(each for each in contents if each.before != each.after))


class Position(NamedTuple):
    """The name of a provider, and the UUID of its parent; ``None`` for a root."""

    name: str
    parent_provider_uuid: str | None


class _Reversible:
    """An operation whose way back is the same one with its two sides exchanged."""

    __slots__ = ()

    def inverse(self) -> tuple[Self, ...]:
        """Lead from ``after`` to ``before``."""
        return (replace(self, before=self.after, after=self.before),)  # type: ignore[type-var, attr-defined]


@dataclass(frozen=True, slots=True)
class UpdateProvider(_Reversible):
    """Rename a provider, or move it below another parent; from 1.37 unless it is a root."""

    uuid: str
    before: Position
    after: Position


@dataclass(frozen=True, slots=True)
class _SetNames(_Reversible):
    """Replace a set of names that a provider has."""

    provider_uuid: str
    before: frozenset[str]
    after: frozenset[str]


def onto(before: frozenset[str], after: frozenset[str], there: frozenset[str]) -> frozenset[str]:
    """Return ``there`` with a change made; names that others added or removed stay so."""
    return (there - (before - after)) | (after - before)


class SetTraits(_SetNames):
    __slots__ = ()


class SetAggregates(_SetNames):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class SetInventories(_Reversible):
    """Replace all inventories of a provider."""

    provider_uuid: str
    before: Mapping[str, Inventory]
    after: Mapping[str, Inventory]


@dataclass(frozen=True, slots=True)
class SetAllocations(_Reversible):
    """Replace all that some consumers hold, and their owners, in one transaction.

    :param before: the consumers; one that does not exist yet has no allocations and no generation
    :param after: the same consumers in the same order
    """

    before: tuple[Consumer, ...]
    after: tuple[Consumer, ...]


@dataclass(frozen=True, slots=True)
class ConsumerChange:
    """All allocations of a consumer, before and after; its owner and type stay.

    :param generation: the one that was read
    :param type: ``None`` where it was never set, and so has to stay
    :param before: ``{provider UUID: {resource class: amount}}``
    """

    uuid: str
    project_id: str | None
    user_id: str | None
    generation: int | None
    type: str | None
    before: Allocations
    after: Allocations

    @property
    def is_changed(self) -> bool:
        return self.before != self.after

    def holding(self, allocations: Allocations) -> Consumer:
        """Return the consumer as one that holds something."""
        owner = self.project_id, self.user_id
        return Consumer(self.uuid, allocations, *owner, self.generation, self.type)

    def inverse(self) -> ConsumerChange:
        """Lead back. The generation stays the one that was read."""
        owner = self.project_id, self.user_id, self.generation, self.type
        return ConsumerChange(self.uuid, *owner, self.after, self.before)


@dataclass(frozen=True, slots=True)
class Reshape:
    """Replace inventories and allocations together, in one request.

    Placement replaces all inventories of every provider and all allocations of every consumer
    that the request names, so both are complete.

    :param inventories: every provider whose inventories change
    :param consumers: every consumer whose allocations change: among them all that hold a class
        that disappears
    :param forward: whether this leads from the plan's ``before`` to its ``after``
    """

    inventories: tuple[SetInventories, ...]
    consumers: tuple[ConsumerChange, ...]
    forward: bool = True

    def inverse(self) -> tuple[Operation, ...]:
        """Lead back, in one request too."""
        return (
            Reshape(
                tuple(back for change in self.inventories for back in change.inverse()),
                tuple(change.inverse() for change in self.consumers),
                not self.forward,
            ),
        )


Operation = (
    EnsureClass
    | EnsureTrait
    | CreateProvider
    | UpdateProvider
    | DeleteProvider
    | SetTraits
    | SetAggregates
    | SetInventories
    | SetAllocations
    | Reshape
)
