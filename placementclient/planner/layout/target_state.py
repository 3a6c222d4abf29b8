"""The target state of trees by a specification: inventories, traits, places.

Consumers come later, in :mod:`placementclient.planner.layout.assignment`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.client.wording import listed
from placementclient.model.inventories import Inventory, InventoryFields
from placementclient.model.plans import ProviderChange
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState


class Where(NamedTuple):
    """A class of a provider."""

    provider_uuid: str
    resource_class: str


class HoldingKey(NamedTuple):
    """Identifies an allocation: consumer, provider and class."""

    consumer_uuid: str
    provider_uuid: str
    resource_class: str

    @property
    def where(self) -> Where:
        return Where(self.provider_uuid, self.resource_class)


@dataclass(frozen=True, slots=True)
class Place:
    """A place for an amount: a provider and a class of it.

    :param only_mapped: whether only given assignments may use it: a part of a class gets another
        name on the same provider, and amounts do not show which part
    """

    where: Where
    provider: str
    stays: bool = False
    only_mapped: bool = False

    @property
    def provider_uuid(self) -> str:
        return self.where.provider_uuid

    @property
    def resource_class(self) -> str:
        return self.where.resource_class


@dataclass(slots=True)
class TargetProvider:
    """A provider of a target state under construction; its changes are made in place.

    :param before: ``None`` if it is to be created
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

    def change(self) -> ProviderChange:
        """Return the provider as a part of a plan."""
        before = self.before
        return ProviderChange(
            before,
            ProviderState(
                Provider(
                    self.uuid,
                    self.name,
                    before.provider.generation if before else 0,
                    self.parent_provider_uuid,
                    self.root_provider_uuid,
                ),
                self.inventories,
                frozenset(self.traits),
                frozenset(self.aggregates),
                before.usages if before else {},
            ),
        )


@dataclass(frozen=True, slots=True)
class InventoryFlow:
    """An amount of inventory that moves.

    :param source: the provider's UUID
    :param target: the provider's UUID
    :param amount: in units of the class
    :param move: the index of the move, in the specification, that says so
    """

    source: str
    resource_class: str
    target: str
    target_class: str
    amount: int
    move: int

    @property
    def origin(self) -> Where:
        return Where(self.source, self.resource_class)

    @property
    def destination(self) -> Where:
        return Where(self.target, self.target_class)


@dataclass(slots=True)
class TargetState:
    """The target state of trees that change together.

    :param providers: every provider concerned, by UUID, parents first
    :param flows: which inventory moves where, in the specification's order
    :param places: of each class that moves off a provider, the places in order of preference
    :param limited: of some of these, the only amounts that move, by consumer UUID; all else stays
    :param entries: which of the specification's ``providers`` are of use here, by their names there
    :param added: what consumers get that Placement never had, by consumer UUID
    :param overcommitted: on the way back, by how much places were over-committed before, and may
        be again
    """

    roots: Sequence[ProviderState]
    providers: dict[str, TargetProvider] = field(default_factory=dict)
    flows: list[InventoryFlow] = field(default_factory=list)
    places: dict[Where, list[Place]] = field(default_factory=dict)
    limited: dict[Where, dict[str, int]] = field(default_factory=dict)
    entries: set[str] = field(default_factory=set)
    added: dict[str, dict[Where, int]] = field(default_factory=dict)
    removed: dict[str, dict[Where, int]] = field(default_factory=dict)
    is_return: bool = False
    overcommitted: dict[Where, int] = field(default_factory=dict)

    def is_ambiguous(self, where: Where, providers: Collection[str]) -> bool:
        """Return whether an amount may have several classes on one of some providers."""
        names = [place.provider for place in self.places[where]]
        return len(set(names)) < len(names) and any(names.count(name) > 1 for name in providers)

    def by_name(self, where: Where) -> dict[tuple[str | None, str], Place]:
        """Return the places of what moves off a place, by provider name and class."""
        places = self.places.get(where, ())
        return {(place.provider, place.resource_class): place for place in places}

    @property
    def root(self) -> ProviderState:
        """The root of the first tree."""
        return self.roots[0]

    @property
    def name(self) -> str:
        """The names of the trees, for messages."""
        return listed([root.name for root in self.roots], 8)

    def is_own(self, provider: TargetProvider) -> bool:
        """Return whether a provider belongs to the trees; False for a sharing one of others."""
        return any(provider.root_provider_uuid == root.uuid for root in self.roots)

    def root_of(self, provider: TargetProvider) -> ProviderState:
        """Return the root of a provider of the trees."""
        return next(root for root in self.roots if root.uuid == provider.root_provider_uuid)

    def put_parents_first(self) -> None:
        """Order the providers so that parents come before their children."""
        providers = self.providers

        def depth(provider: TargetProvider) -> int:
            parent = providers.get(provider.parent_provider_uuid or '')
            return 0 if parent is None else 1 + depth(parent)

        self.providers = {
            provider.uuid: provider for provider in sorted(providers.values(), key=depth)
        }

    def is_written(self, consumer_uuid: str) -> bool:
        """Return whether the service must write a consumer, even if it stays."""
        return consumer_uuid in self.added or consumer_uuid in self.removed
