"""What a specification makes of one tree's providers: inventories, traits, and possible places.

Consumers come later, in :mod:`placementclient.planner.target.assignment`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState
from placementclient.planner.plan.state_changes import Content, ProviderChange
from placementclient.planner.spec.specification import Move


@dataclass(frozen=True, slots=True)
class Place:
    """Where an amount may go.

    :param resource_class: what the class is called there
    :param stays: whether this is the source itself, as it was
    :param only_mapped: whether only assignments lead here: some of a class changes its name in
        place, and whose that is cannot be seen from amounts
    """

    provider_uuid: str
    provider: str
    resource_class: str
    stays: bool = False
    only_mapped: bool = False


@dataclass(slots=True)
class TargetProvider:
    """A provider while its tree is laid out.

    :param before: ``None`` if it is to be created
    :param inventories: as they shall be
    :param stated: what the specification says of inventories
    """

    uuid: str
    name: str
    parent_provider_uuid: str | None
    root_provider_uuid: str
    before: ProviderState | None
    inventories: dict[str, Inventory] = field(default_factory=dict)
    traits: set[str] = field(default_factory=set)
    aggregates: set[str] = field(default_factory=set)
    stated: dict[str, Mapping[str, int | float]] = field(default_factory=dict)

    def change(self) -> ProviderChange:
        """The site as a part of a plan."""
        before = self.before
        return ProviderChange(
            self.uuid,
            self.name,
            self.parent_provider_uuid,
            self.root_provider_uuid,
            content_of(before) if before else None,
            Content(None, self.inventories, frozenset(self.traits), frozenset(self.aggregates)),
            before.usages if before else {},
        )


@dataclass(frozen=True, slots=True)
class InventoryFlow:
    """An amount of inventory that moves; ``source`` and ``target`` are UUIDs of sites."""

    source: str
    resource_class: str
    target: str
    target_class: str
    amount: int
    move: Move


@dataclass(slots=True)
class TargetState:
    """A tree as it shall be.

    :param providers: every provider concerned, by UUID, parents first
    :param flows: which inventory moves where, in the specification's order
    :param places: of each ``(source UUID, class)`` that moves, the places in order of preference
    :param limited: of some of these, the only amounts that move, by consumer; all else stays
    :param entries: which of the specification's ``providers`` are of use here, by their names there
    """

    root: ProviderState
    providers: dict[str, TargetProvider] = field(default_factory=dict)
    flows: list[InventoryFlow] = field(default_factory=list)
    places: dict[tuple[str, str], list[Place]] = field(default_factory=dict)
    limited: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)


def content_of(state: ProviderState) -> Content:
    """What a provider has, as a plan holds it."""
    return Content(state.provider.generation, state.inventories, state.traits, state.aggregates)
