# SPDX-License-Identifier: Apache-2.0
"""The phase of an atomic change, by the live inventories of its tree. Pure.

All inventories and allocations of an atomic change move in one request. So its inventories show
whether it is made; what other clients change afterwards does not matter.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from placementclient.model.inventories import Inventory
from placementclient.model.plans import Change, ProviderChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


class Phase(enum.Enum):
    """The state of an atomic change, as the inventories that it moves show it."""

    BEFORE = 'before'
    AFTER = 'after'
    NEITHER = 'neither'


class ComparedInventory(NamedTuple):
    """The inventory of a class of a provider: before and after the change, and live."""

    provider: ProviderChange
    resource_class: str
    before: Inventory | None
    after: Inventory | None
    live: Inventory | None

    @property
    def phase(self) -> Phase:
        """The phase that the live inventory shows."""
        if self.live == self.before:
            return Phase.BEFORE
        return Phase.AFTER if self.live == self.after else Phase.NEITHER

    @property
    def has_old_total(self) -> bool:
        """Return True if the live total is that before the change, which sets another one."""
        before, after, live = (
            side.total if side else 0 for side in (self.before, self.after, self.live)
        )
        return live == before != after


def compare_inventory(
    provider: ProviderChange, name: str, live: ProviderState | None
) -> ComparedInventory:
    """Return the inventory of a class of a provider with its values before, after and live.

    :param live: ``None`` if the provider does not exist
    """
    before, after = provider.content_before.inventories, provider.content_after.inventories
    inventory = live.inventories.get(name) if live else None
    return ComparedInventory(provider, name, before.get(name), after.get(name), inventory)


def compare_moving_inventories(change: Change, live: Snapshot) -> Iterator[ComparedInventory]:
    """Yield the inventories that a change moves in its own trees, with their live values.

    Other plans change a sharing provider too, before this one or after it.
    """
    for provider in change.list_local_providers():
        for name in sorted(provider.changed_classes):
            yield compare_inventory(provider, name, live.providers.get(provider.uuid))


def find_phase(change: Change, live: Snapshot) -> Phase | None:
    """Return the phase of an atomic change; ``None`` if it changes no inventory."""
    phases = {item.phase for item in compare_moving_inventories(change, live)}
    return Phase.NEITHER if len(phases) > 1 else next(iter(phases), None)


def is_untouched(change: Change, live: Snapshot) -> bool:
    """Return whether a change is not made, even if others have changed what it starts from.

    Then all inventories that it moves are as before, or all providers that it creates with
    inventory, if it creates any, are missing or empty.
    """
    created = [
        provider.uuid
        for provider in change.list_created_providers()
        if provider.content_after.inventories
    ]
    are_empty = all(uuid not in live.providers or is_provider_empty(live, uuid) for uuid in created)
    return find_phase(change, live) in (Phase.BEFORE, None) or (bool(created) and are_empty)


def is_moved_back(change: Change, live: Snapshot) -> bool:
    """Return whether all inventories that a change moves have their former totals."""
    moving = list(compare_moving_inventories(change, live))
    return bool(moving) and all(item.phase is Phase.BEFORE or item.has_old_total for item in moving)


def has_happened(change: Change, live: Snapshot) -> bool:
    """Return whether a change is made, wholly or in part, despite later changes.

    Inventories that appear or disappear show it. If there are none, the other changed inventories
    show it; if no inventory changes, traits and aggregates.
    """
    moving = list(compare_moving_inventories(change, live))
    if appearing := [item for item in moving if item.before is None or item.after is None]:
        return any((item.live is None) == (item.after is None) for item in appearing)
    if moving:
        return {item.phase for item in moving} - {Phase.NEITHER} != {Phase.BEFORE}
    compared = (
        names
        for provider in change.providers
        if (state := live.providers.get(provider.uuid))
        for names in compare_traits_and_aggregates(provider, state)
    )
    return any(
        names.live & (names.after - names.before) or (names.before - names.after) - names.live
        for names in compared
    )


def is_provider_empty(live: Snapshot, provider_uuid: str) -> bool:
    """Return whether a provider has no inventory, without which it can have no allocations."""
    return not live.providers[provider_uuid].inventories


class ComparedFacet(NamedTuple):
    """The traits or the aggregates of a provider: before and after the change, and live.

    :param kind: ``trait`` or ``aggregate``
    """

    kind: str
    before: frozenset[str]
    after: frozenset[str]
    live: frozenset[str]


def compare_traits_and_aggregates(
    provider: ProviderChange, live: ProviderState
) -> tuple[ComparedFacet, ...]:
    """Return the traits and the aggregates of a provider with their live values."""
    before, after = provider.content_before, provider.content_after
    return (
        ComparedFacet('trait', before.traits, after.traits, live.traits),
        ComparedFacet('aggregate', before.aggregates, after.aggregates, live.aggregates),
    )


def is_unchanged_since_plan(change: Change, listed: Mapping[str, Provider]) -> bool:
    """Return whether the providers of a change have the names and generations of the plan.

    Freed allocations move no generation.

    :param listed: the live providers by UUID
    """
    names = {provider.name for provider in listed.values()}
    for provider_change in change.providers:
        provider = listed.get(provider_change.uuid)
        if provider_change.before is None:
            if provider is not None or provider_change.name in names:
                return False
        elif (
            provider is None
            or provider.name != provider_change.name
            or provider.generation != provider_change.before.provider.generation
        ):
            return False
    return True


def make_preparation(change: Change) -> Change | None:
    """Return an atomic change without its one request; ``None`` for a change in steps.

    What is left are new and deleted providers, traits and aggregates.
    """
    if not change.is_atomic:
        return None

    def drop_inventories_and_consumers(side: Snapshot) -> Snapshot:
        states = side.providers.values()
        return Snapshot((structs.replace(state, inventories={}, usages={}) for state in states), ())

    before, after = (
        drop_inventories_and_consumers(change.before),
        drop_inventories_and_consumers(change.after),
    )
    return replace(change, before=before, after=after, is_atomic=False)


def make_rollback(change: Change) -> Change:
    """Return the rollback of an atomic change as a change; new providers stay, but empty."""
    states = change.after.providers
    emptied = {uuid: structs.replace(state, inventories={}) for uuid, state in states.items()}
    after = Snapshot((emptied | change.before.providers).values(), change.before.consumers.values())
    return replace(change, before=change.after, after=after)
