# SPDX-License-Identifier: Apache-2.0
"""The target state of trees by a specification: inventories, traits, and targets of allocations.

Consumers come later, in :mod:`placementclient.planner.layout.assignment`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.basis.wording import join_names
from placementclient.model.consumers import Resources
from placementclient.model.inventories import Inventory, InventoryFields, InventoryKey
from placementclient.model.nova import add_compute_traits
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState
from placementclient.model.specifications import Keys, ProviderSpec


class SpecEntry(NamedTuple):
    """An entry of the specification about a provider.

    :param keys: the way to its name in the specification
    """

    spec: ProviderSpec
    keys: Keys


class AllocationKey(NamedTuple):
    """The identity of an allocation: consumer, provider and class."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str

    @property
    def inventory(self) -> InventoryKey:
        return InventoryKey(self.provider_uuid, self.resource_class)


class Target(NamedTuple):
    """An inventory to which an amount may go, or where it may stay.

    :param provider: the name of its provider
    :param stays: whether it is the source itself
    :param only_mapped: whether only assignments may use it: a part of a class gets another name on
        the same provider, and amounts do not show which part
    """

    key: InventoryKey
    provider: str
    stays: bool = False
    only_mapped: bool = False


@dataclass(slots=True)
class TargetProvider:
    """A provider of a target state under construction; its changes are made in place.

    :param before: ``None`` if it is to be created
    :param stated: the fields of inventories that the specification states, by class
    :param entry: the entry of the specification about it; a second one is a fault
    """

    uuid: str
    name: str
    parent_provider_uuid: str | None
    root_provider_uuid: str
    before: ProviderState | None
    inventories: dict[str, Inventory] = field(default_factory=dict)
    traits: set[str] = field(default_factory=set)
    aggregates: set[str] = field(default_factory=set)
    stated: dict[str, InventoryFields] = field(default_factory=dict)
    entry: SpecEntry | None = None

    def apply_entry(self, entry: SpecEntry) -> None:
        """Apply the traits, aggregates and inventories of the entry, unless that is done."""
        if entry == self.entry:
            return
        self.entry, spec = entry, entry.spec
        traits = add_compute_traits(spec.traits, self.before)
        self.traits = {*traits} if 'traits' in spec.whole else self.traits.union(spec.traits)
        kept = set() if 'aggregates' in spec.whole else self.aggregates
        self.aggregates = kept.union(spec.aggregates)
        self.stated.update(spec.inventories)

    def has_inventory_as_stated(self, resource_class: str) -> bool:
        """Return whether the specification states the inventory of a class exactly as it is now."""
        inventory = self.inventories_before.get(resource_class)
        return self.entry is not None and self.entry.spec.states_present_inventory(
            resource_class, inventory
        )

    @property
    def inventories_before(self) -> Mapping[str, Inventory]:
        """The inventories by class before the change; none of a new provider."""
        return self.before.inventories if self.before else {}

    def to_state(self, usages: Resources) -> ProviderState:
        """Return the provider as it is after the plan.

        :param usages: by class, after the plan
        """
        generation = self.before.provider.generation if self.before else 0
        position = self.parent_provider_uuid, self.root_provider_uuid
        return ProviderState(
            Provider(self.uuid, self.name, generation, *position),
            self.inventories,
            frozenset(self.traits),
            frozenset(self.aggregates),
            usages,
        )


class InventoryFlow(NamedTuple):
    """An amount of inventory that moves.

    :param amount: in units of the class
    :param move: the index of the move in the specification
    :param origin: the inventory that it leaves
    :param destination: the inventory that it joins
    """

    origin: InventoryKey
    destination: InventoryKey
    amount: int
    move: int


@dataclass(slots=True)
class TargetState:
    """The target state of trees that change together.

    :param together: groups of classes; what a consumer has of one on a source goes to one provider
    :param providers: every provider concerned, by UUID, parents first
    :param flows: which inventory moves where, in the specification's order
    :param targets: by source, the inventories to which its amounts may go, the preferred one first
    :param entries: the names of the specification's entries that are about these providers
    :param additions: new allocations that no move gives, by consumer UUID
    :param roots: the roots of the trees, before the change
    """

    roots: Sequence[ProviderState]
    together: Sequence[Sequence[str]] = ()
    providers: dict[str, TargetProvider] = field(default_factory=dict)
    flows: list[InventoryFlow] = field(default_factory=list)
    targets: dict[InventoryKey, list[Target]] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    additions: dict[str, dict[InventoryKey, int]] = field(default_factory=dict)

    def index_targets(self, key: InventoryKey) -> dict[tuple[str | None, str], Target]:
        """Return the targets of amounts of an inventory, by provider name and class there."""
        targets = self.targets.get(key, ())
        return {(target.provider, target.key.resource_class): target for target in targets}

    @property
    def root_names(self) -> dict[str, str]:
        """The names of the trees, by the UUIDs of their roots."""
        return {root.uuid: root.name for root in self.roots}

    @property
    def name(self) -> str:
        """The names of the trees, for messages."""
        return join_names([*self.root_names.values()], 8)

    def find_tree_name(self, provider: TargetProvider) -> str:
        """Return the name of a provider's tree; the names of all trees if it is in none of them."""
        return self.root_names.get(provider.root_provider_uuid, self.name)

    def is_local(self, provider: TargetProvider) -> bool:
        """Return whether a provider is in a tree of this state, not in one that shares with it."""
        return provider.root_provider_uuid in self.root_names
