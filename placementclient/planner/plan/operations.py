"""The operations that a plan consists of. Each knows the operations that take it back.

What executes them is elsewhere; nothing here knows of requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from placementclient.model.inventories import Inventory
from placementclient.planner.plan.state_changes import ConsumerChange


@dataclass(frozen=True, slots=True)
class EnsureClass:
    """A custom resource class has to exist."""

    name: str

    def inverse(self) -> tuple[Operation, ...]:
        """Nothing: by then others may use the class."""
        return ()


@dataclass(frozen=True, slots=True)
class EnsureTrait:
    """A custom trait has to exist."""

    name: str

    def inverse(self) -> tuple[Operation, ...]:
        """Nothing: by then others may use the trait."""
        return ()


@dataclass(frozen=True, slots=True)
class CreateProvider:
    """Make a provider, empty."""

    uuid: str
    name: str
    parent_provider_uuid: str | None

    def inverse(self) -> tuple[Operation, ...]:
        """Delete it."""
        return (DeleteProvider(self.uuid, self.name, self.parent_provider_uuid),)


@dataclass(frozen=True, slots=True)
class DeleteProvider:
    """Delete a provider that the plan made; its inventories are empty again by then."""

    uuid: str
    name: str
    parent_provider_uuid: str | None

    def inverse(self) -> tuple[Operation, ...]:
        """Make it again."""
        return (CreateProvider(self.uuid, self.name, self.parent_provider_uuid),)


@dataclass(frozen=True, slots=True)
class _SetNames:
    """Replace a set of names that a provider has."""

    provider_uuid: str
    before: frozenset[str]
    after: frozenset[str]

    def inverse(self) -> tuple[Operation, ...]:
        """The names as they were."""
        return (replace(self, before=self.after, after=self.before),)  # type: ignore[return-value]

    def onto(self, there: frozenset[str]) -> frozenset[str]:
        """The change made to what is there: what others have added or removed stays so."""
        return (there - (self.before - self.after)) | (self.after - self.before)


class SetTraits(_SetNames):
    """Replace the traits of a provider."""

    __slots__ = ()


class SetAggregates(_SetNames):
    """Replace the aggregates of a provider."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class InventoryChange:
    """All inventories of one provider, before and after.

    :param generation: the provider's when ``before`` was read; ``None`` if it did not exist then
    """

    provider_uuid: str
    before: Mapping[str, Inventory]
    after: Mapping[str, Inventory]
    generation: int | None = None

    def inverse(self) -> InventoryChange:
        """The way back; its generation has to be read then."""
        return replace(self, before=self.after, after=self.before, generation=None)


@dataclass(frozen=True, slots=True)
class Reshape:
    """Inventories and allocations of one tree, all in one request.

    The service replaces all inventories of every provider and all allocations of every consumer
    that it is told of, so both are complete.

    :param inventories: every provider whose inventories change
    :param consumers: every consumer whose allocations change: among them all that hold a class
        that disappears
    :param forward: whether this leads from the plan's ``before`` to its ``after``
    """

    inventories: tuple[InventoryChange, ...]
    consumers: tuple[ConsumerChange, ...]
    forward: bool = True

    def inverse(self) -> tuple[Operation, ...]:
        """The reshape that restores what was before."""
        return (
            Reshape(
                tuple(change.inverse() for change in self.inventories),
                tuple(change.inverse() for change in self.consumers),
                not self.forward,
            ),
        )


Operation = (
    EnsureClass
    | EnsureTrait
    | CreateProvider
    | DeleteProvider
    | SetTraits
    | SetAggregates
    | Reshape
)
