"""The live state of a tree, against its plan. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.model.consumers import Resources
from placementclient.model.inventories import Inventory
from placementclient.model.plans import ProviderChange, TreeChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot


class Phase(enum.Enum):
    """The side of the reshape that a tree is on."""

    BEFORE = 'before'
    AFTER = 'after'
    NEITHER = 'neither'


@dataclass(frozen=True, slots=True)
class TreeState:
    """The providers of a plan that are there.

    :param there: at least these providers, and all consumers that hold something of them
    :param listed: all providers of their trees, by UUID
    :param is_whole: whether the consumers are there with all that they hold, everywhere
    """

    tree: TreeChange
    there: Snapshot
    listed: Mapping[str, Provider]
    is_whole: bool = False

    @property
    def providers(self) -> dict[str, ProviderState]:
        there = self.there.providers
        return {each.uuid: there[each.uuid] for each in self.tree.providers if each.uuid in there}

    def held(self, consumer_uuid: str, provider_uuid: str) -> Resources:
        consumer = self.there.consumers.get(consumer_uuid)
        return consumer.allocations.get(provider_uuid, {}) if consumer else {}

    def is_empty(self, provider_uuid: str) -> bool:
        """Return True for a provider without inventory and allocations."""
        has_none = not self.there.providers[provider_uuid].inventories
        return has_none and not self.there.consumers_on(provider_uuid)

    @property
    def phase(self) -> Phase:
        """Judged by the classes that move; whatever else has changed does not decide this."""
        # None: nothing but traits or aggregates.
        phases = {part.phase for part in inventory_parts(self.tree, self.providers)}
        return Phase.NEITHER if len(phases) > 1 else next(iter(phases), Phase.BEFORE)

    @property
    def is_untouched(self) -> bool:
        """Return whether the reshape has not happened, though others may have changed what it
        starts from.

        The providers that the plan makes have something as soon as it has happened.
        """
        created = [
            change.uuid for change in self.tree.created() if change.content_after.inventories
        ]
        are_empty = all(u not in self.there.providers or self.is_empty(u) for u in created)
        return self.phase is Phase.BEFORE or (bool(created) and are_empty)


class InventoryPart(NamedTuple):
    """The inventory of one class of a provider: on both sides of a plan, and as it is.

    :param change: of the provider
    """

    change: ProviderChange
    resource_class: str
    before: Inventory | None
    after: Inventory | None
    there: Inventory | None

    @property
    def phase(self) -> Phase:
        """The side that it is on."""
        if self.there == self.before:
            return Phase.BEFORE
        return Phase.AFTER if self.there == self.after else Phase.NEITHER


def inventory_parts(
    tree: TreeChange, providers: Mapping[str, ProviderState]
) -> Iterator[InventoryPart]:
    """Return the inventories that a plan changes in its own trees.

    Other plans change a sharing provider too, before this one or after it.

    :param providers: those that are there, by UUID
    """
    for change in tree.providers:
        if change.root_provider_uuid in tree.roots:
            state = providers.get(change.uuid)
            for name in sorted(change.changed_classes):
                yield inventory_part(change, name, state)


def inventory_part(
    change: ProviderChange, resource_class: str, state: ProviderState | None
) -> InventoryPart:
    """Return the inventory of a class, given the provider as it is; ``None``: it is not there."""
    sides = change.content_before.inventories, change.content_after.inventories
    there = state.inventories if state else {}
    found = (side.get(resource_class) for side in (*sides, there))
    return InventoryPart(change, resource_class, *found)


def moves(tree: TreeChange) -> bool:
    """Return whether a plan changes more than traits and aggregates."""
    return any(change.changed_classes for change in tree.providers)


def roots_of(tree: TreeChange) -> list[str]:
    """The UUIDs of the roots of all trees that a plan of one tree concerns; its own is first."""
    others = {change.root_provider_uuid for change in tree.providers}
    return [*tree.roots, *sorted(others - tree.roots.keys())]


def is_as_planned(tree: TreeChange, listed: Mapping[str, Provider]) -> bool:
    """Return whether nothing has happened since the plan was made, but that allocations were freed.

    These move no generation of a provider. The reshaper finds it out by the consumer's.
    """
    names = {provider.name for provider in listed.values()}
    for change in tree.providers:
        provider = listed.get(change.uuid)
        if change.before is None:
            if provider is not None or change.name in names:
                return False
        elif (
            provider is None
            or provider.name != change.name
            or provider.generation != change.before.provider.generation
        ):
            return False
    return True


def tree_state_of(tree: TreeChange, snapshot: Snapshot) -> TreeState:
    """The providers of a plan as a snapshot of all its trees has them."""
    return TreeState(tree, snapshot, listed_in(snapshot, tree), is_whole=True)


def listed_in(snapshot: Snapshot, tree: TreeChange) -> dict[str, Provider]:
    """All providers of the trees that a plan concerns, as far as a snapshot has them, by UUID."""
    return {
        state.uuid: state.provider
        for root in roots_of(tree)
        if root in snapshot.providers
        for state in snapshot.tree(root)
    }
