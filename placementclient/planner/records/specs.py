"""The file format of specifications, for plans and for the schema.

:mod:`placementclient.planner.specification` reads the ones that operators write, with the line of
each thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from placementclient.model.inventories import LARGEST_RATIO, Amount, Count
from placementclient.model.specifications import Addition, Move, ProviderSpec, Spec

Name = Annotated[str, msgspec.Meta(min_length=1)]
Symbol = Annotated[str, msgspec.Meta(pattern='^[A-Z0-9_]+$')]


class SelectionRecord(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The selected trees: those that meet every condition."""

    name: tuple[Name, ...] = ()
    uuid: tuple[Name, ...] = ()
    trait: tuple[Symbol, ...] = ()
    class_: tuple[Symbol, ...] = msgspec.field(default=(), name='class')


class InventoryRecord(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The given fields of an inventory."""

    allocation_ratio: Annotated[float, msgspec.Meta(ge=0, le=LARGEST_RATIO)] | UnsetType = UNSET
    max_unit: Amount | UnsetType = UNSET
    min_unit: Amount | UnsetType = UNSET
    reserved: Count | UnsetType = UNSET
    step_size: Amount | UnsetType = UNSET
    total: Amount | UnsetType = UNSET


class ProviderSpecRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider to create, or changes to an existing one."""

    name: Name
    parent: Name | UnsetType = UNSET
    inventories: Mapping[Symbol, InventoryRecord] = {}
    traits: tuple[Symbol, ...] = ()
    aggregates: tuple[Name, ...] = ()
    uuid: Name | UnsetType = UNSET


MovedResources = Mapping[Symbol, Amount | Literal['all']]


class MoveRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Inventory that moves from one provider to another."""

    from_resource_provider: Name
    to_resource_provider: Name
    moved_resources: MovedResources | tuple[MovedResources, ...] | None
    as_: Mapping[Symbol, Symbol] | UnsetType = msgspec.field(default=UNSET, name='as')
    moved_traits: tuple[Symbol, ...] | UnsetType = UNSET
    consumers: Mapping[Name, Amount | Mapping[Symbol, Amount | None] | None] | UnsetType = UNSET


class AdditionRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Inventory and allocations that are new to Placement."""

    resource_provider: Name
    inventories: Mapping[Symbol, InventoryRecord]
    parent: Name | UnsetType = UNSET
    traits: tuple[Symbol, ...] = ()
    aggregates: tuple[Name, ...] = ()
    consumers: Mapping[Name, Mapping[Symbol, Amount]] = {}


class SpecRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The long form of a specification."""

    trees: SelectionRecord | UnsetType = UNSET
    providers: tuple[ProviderSpecRecord, ...] = ()
    moves: tuple[MoveRecord, ...] = ()
    together: tuple[tuple[Symbol, ...], ...] = ()
    split: bool = False
    assignments: tuple[Name, ...] = ()
    additions: tuple[AdditionRecord, ...] | UnsetType = UNSET


def record(spec: Spec) -> SpecRecord:
    """Return a specification in its long form, in a fixed order."""
    selected = spec.selection
    return SpecRecord(
        trees=SelectionRecord(selected.names, selected.uuids, selected.traits, selected.classes)
        if selected
        else UNSET,
        providers=tuple(map(_provider, spec.providers)),
        moves=tuple(map(_move, spec.moves)),
        together=spec.together,
        split=spec.split,
        assignments=spec.assignments,
        additions=tuple(map(_addition, spec.additions)) or UNSET,
    )


def _provider(provider: ProviderSpec) -> ProviderSpecRecord:
    return ProviderSpecRecord(
        provider.name,
        provider.parent or UNSET,
        _inventories(provider),
        provider.traits,
        provider.aggregates,
        provider.uuid or UNSET,
    )


def _addition(addition: Addition) -> AdditionRecord:
    return AdditionRecord(
        addition.name,
        _inventories(addition),
        addition.parent or UNSET,
        addition.traits,
        addition.aggregates,
        {uuid: dict(sorted(held.items())) for uuid, held in sorted(addition.consumers.items())},
    )


def _inventories(entry: ProviderSpec) -> dict[str, InventoryRecord]:
    return {
        name: InventoryRecord(**fields)  # type: ignore[arg-type]
        for name, fields in sorted(entry.inventories.items())
    }


def _move(move: Move) -> MoveRecord:
    # In the order of the specification, which is an order of preference.
    moved: MovedResources = {
        name: 'all' if amount is None else amount for name, amount in move.resources.items()
    }
    return MoveRecord(
        move.source,
        move.target,
        moved if move.moves_anything else None,
        dict(sorted(move.renamed.items())) or UNSET,
        move.traits or UNSET,
        {uuid: dict(sorted(held.items())) for uuid, held in sorted(move.consumers.items())}
        or UNSET,
    )
