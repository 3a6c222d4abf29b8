"""The changes of a plan: providers and consumers, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placementclient.client.strict_json import Integer
from placementclient.model.inventories import Inventory


@dataclass(frozen=True, slots=True)
class ProviderContent:
    """The content of a provider without its consumers.

    :param generation: the one that was read; ``None`` where it is not known, as for a state that
        is still to come: generations are never predicted
    """

    generation: Integer | None = None
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


_NOTHING = ProviderContent()


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
    before: ProviderContent | None
    after: ProviderContent
    usages: Mapping[str, Integer] = field(default_factory=dict)

    @property
    def is_created(self) -> bool:
        return self.before is None

    @property
    def content_before(self) -> ProviderContent:
        """The content before: nothing, if the provider is to be created."""
        return self.before if self.before is not None else _NOTHING

    @property
    def is_changed(self) -> bool:
        return self.is_created or self.before != replace(
            self.after, generation=self.content_before.generation
        )

    @property
    def changed_classes(self) -> set[str]:
        before, after = self.content_before.inventories, self.after.inventories
        return {name for name in {*before, *after} if before.get(name) != after.get(name)}
