"""The live state of a tree, against its plan."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from placementclient.api import allocation, inventory, resource_provider
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.consumers import Consumer, Holding, Resources
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan.plan import TreePlan
from placementclient.planner.plan.state_changes import ProviderChange
from placementclient.snapshot.capture import UnstableRead

#: How often a provider is read again that changes while it is read.
MAX_RETRIES = 4


class Phase(enum.Enum):
    """The side of the reshape that a tree is on."""

    BEFORE = 'before'
    AFTER = 'after'
    NEITHER = 'neither'


@dataclass(frozen=True, slots=True)
class LiveProvider:
    """A provider and who holds what of it, at one moment."""

    provider: Provider
    generation: int
    inventories: Mapping[str, Inventory]
    holdings: Mapping[str, Holding]

    @property
    def is_empty(self) -> bool:
        """Return whether it has no inventory and nobody holds anything of it."""
        return not self.inventories and not self.holdings

    def held(self, consumer_uuid: str) -> Resources:
        """Return the holdings of a consumer here."""
        holding = self.holdings.get(consumer_uuid)
        return holding.resources if holding else {}


@dataclass(frozen=True, slots=True)
class TreeState:
    """The providers of a plan that are there, by UUID.

    :param listed: all providers of their trees
    :param consumers: all consumers of these trees with all that they hold; ``None``: not read
    """

    tree: TreePlan
    providers: Mapping[str, LiveProvider]
    listed: Mapping[str, Provider]
    consumers: Mapping[str, Consumer] | None = None

    @property
    def phase(self) -> Phase:
        """Judged by the classes that move; whatever else has changed does not decide this."""
        # Other trees change a sharing provider too, before this one or after it.
        own = [
            change
            for change in self.tree.providers
            if change.root_provider_uuid == self.tree.root_provider_uuid
        ]
        phases = {phase for change in own for phase in self._phases(change)}
        if not phases:
            # Nothing but traits or aggregates.
            return Phase.BEFORE
        return phases.pop() if len(phases) == 1 else Phase.NEITHER

    @property
    def is_untouched(self) -> bool:
        """Return whether the reshape has not happened, though others may have changed what it
        starts from.

        The providers that the plan makes have something as soon as it has happened.
        """
        created = [
            self.providers.get(change.uuid)
            for change in self.tree.created()
            if change.after.inventories
        ]
        are_empty = all(made is None or made.is_empty for made in created)
        return self.phase is Phase.BEFORE or (bool(created) and are_empty)

    def _phases(self, change: ProviderChange) -> Iterator[Phase]:
        live_provider = self.providers.get(change.uuid)
        there = live_provider.inventories if live_provider else {}
        before, after = change.content_before.inventories, change.after.inventories
        for name in change.changed_classes:
            if there.get(name) == before.get(name):
                yield Phase.BEFORE
            elif there.get(name) == after.get(name):
                yield Phase.AFTER
            else:
                yield Phase.NEITHER


def moves(tree: TreePlan) -> bool:
    """Return whether a plan changes more than traits and aggregates."""
    return any(change.changed_classes for change in tree.providers)


def listing(client: Client, roots: Iterable[str]) -> dict[str, Provider]:
    """All providers of some trees, by UUID.

    :param roots: the UUIDs of the roots; one that does not exist has no providers
    """
    if client.snapshot_reader is not None:
        states = client.snapshot_reader.snapshot(list(roots)).providers.values()
        return {state.uuid: state.provider for state in states}
    return {
        provider.uuid: provider
        for root in roots
        for provider in resource_provider.list(client, matching=Filter(in_tree=root))
    }


def roots_of(tree: TreePlan) -> list[str]:
    """The UUIDs of the roots of all trees that a plan of one tree concerns; its own is first."""
    others = {change.root_provider_uuid for change in tree.providers}
    return [tree.root_provider_uuid, *sorted(others - {tree.root_provider_uuid})]


def is_as_planned(tree: TreePlan, listed: Mapping[str, Provider]) -> bool:
    """Return whether nothing has happened since the plan was made, but that allocations were freed.

    These move no generation of a provider. The reshaper finds it out by the consumer's.
    """
    if tree.follows:
        # Then it is planned for what others make of it, which generations cannot tell.
        return False
    names = {provider.name for provider in listed.values()}
    for change in tree.providers:
        provider = listed.get(change.uuid)
        if change.before is None:
            if provider is not None or change.name in names:
                return False
        elif (
            provider is None
            or provider.name != change.name
            or provider.generation != change.before.generation
        ):
            return False
    return True


def phase_of(client: Client, tree: TreePlan) -> Phase:
    """Return the side of its reshape that a tree is on, with as few requests as possible."""
    listed = listing(client, roots_of(tree))
    made = {change.uuid for change in tree.created()}
    if made and made <= listed.keys():
        return Phase.AFTER
    if made and made.isdisjoint(listed):
        return Phase.BEFORE
    return read_tree_state(client, tree, listed, holdings=False).phase


def read_tree_state(
    client: Client,
    tree: TreePlan,
    listed: Mapping[str, Provider] | None = None,
    *,
    holdings: bool = True,
) -> TreeState:
    """Read the providers of a plan that are there.

    :param listed: all providers of its trees; without it, those of the plan are asked for
    :param holdings: whether to read who holds what of them, too
    :raises UnstableRead: if one does not hold still
    """
    if client.snapshot_reader is not None:
        return tree_state_of(tree, client.snapshot_reader.snapshot(roots_of(tree)))
    if listed is None:
        listed = {change.uuid: _provider(change) for change in tree.providers}
    providers = {}
    for change in tree.providers:
        if change.uuid in listed:
            live_provider = read_provider(client, listed[change.uuid], holdings=holdings)
            if live_provider is not None:
                providers[change.uuid] = live_provider
    return TreeState(tree, providers, listed)


def tree_state_of(tree: TreePlan, snapshot: Snapshot) -> TreeState:
    """The providers of a plan as a snapshot of all its trees has them."""
    providers = {}
    for change in tree.providers:
        state = snapshot.providers.get(change.uuid)
        if state is not None:
            providers[change.uuid] = LiveProvider(
                state.provider,
                state.provider.generation,
                state.inventories,
                {
                    consumer.uuid: Holding(
                        consumer.uuid, consumer.allocations[change.uuid], consumer.generation
                    )
                    for consumer in snapshot.consumers_on(change.uuid)
                },
            )
    return TreeState(tree, providers, listed_in(snapshot, tree), snapshot.consumers)


def listed_in(snapshot: Snapshot, tree: TreePlan) -> dict[str, Provider]:
    """All providers of the trees that a plan concerns, as far as a snapshot has them, by UUID."""
    return {
        state.uuid: state.provider
        for root in roots_of(tree)
        if root in snapshot.providers
        for state in snapshot.tree(root)
    }


def _provider(change: ProviderChange) -> Provider:
    return Provider(
        change.uuid, change.name, 0, change.parent_provider_uuid, change.root_provider_uuid
    )


def read_provider(
    client: Client, provider: Provider, *, holdings: bool = True
) -> LiveProvider | None:
    """Read a provider and its consumers; ``None`` if it does not exist any more.

    :raises UnstableRead: if it does not hold still
    """
    try:
        for _ in range(MAX_RETRIES + 1):
            inventories = inventory.list(client, provider.uuid)
            held = allocation.list_of_provider(client, provider.uuid) if holdings else None
            if held is None or held.generation == inventories.generation:
                assert inventories.generation is not None
                return LiveProvider(
                    provider,
                    inventories.generation,
                    inventories.value,
                    {holding.consumer_uuid: holding for holding in held.value} if held else {},
                )
    except errors.NotFound:
        return None
    raise UnstableRead(provider.name, MAX_RETRIES + 1)
