"""What a plan changes: providers and consumers, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placementclient.model.consumers import Allocations, Resources
from placementclient.model.inventories import Inventory


@dataclass(frozen=True, slots=True)
class Content:
    """What a provider has, who uses it left aside.

    :param generation: the one that was read; ``None`` where it is not known, as for a state that
        is still to come: generations are never predicted
    """

    generation: int | None = None
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


_NOTHING = Content()


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
        return self.before if self.before is not None else _NOTHING

    @property
    def changed_classes(self) -> set[str]:
        """The classes whose inventory changes."""
        before, after = self.content_before.inventories, self.after.inventories
        return {name for name in {*before, *after} if before.get(name) != after.get(name)}


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
