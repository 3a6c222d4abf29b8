"""Sources of the state of a plan's trees: tables, all trees at once, or requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from placementclient.api import aggregate, allocation, inventory, resource_provider, trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.plan.plan import TreePlan
from placementclient.reshape import live_state, preconditions
from placementclient.reshape.live_state import TreeState

#: From how many trees on one list of all providers takes less than a list of each tree.
_MANY = 64


class StateSource(Protocol):
    """The state of some plans."""

    def listed(self, tree: TreePlan) -> dict[str, Provider]:
        """All providers of the trees that a plan concerns, by UUID."""

    def tree_state(self, tree: TreePlan, listed: Mapping[str, Provider]) -> TreeState:
        """Return the content of the providers of a plan, without its consumers."""

    def is_as_read(self, tree: TreePlan, listed: Mapping[str, Provider]) -> bool:
        """Return whether a plan starts from the very values that are there, generations left
        aside."""

    def traits(self, provider_uuid: str) -> frozenset[str]:
        """The traits of a provider that is there."""

    def snapshot(self, tree: TreePlan) -> Snapshot:
        """At least the providers and the consumers that a plan names."""


def source(client: Client, trees: Iterable[TreePlan]) -> StateSource:
    """Return the state of some plans; read at once, where that is possible."""
    reader = client.snapshot_reader
    roots = {root for tree in trees for root in live_state.roots_of(tree)}
    if reader is None:
        return _Requests(client, is_listed=len(roots) >= _MANY)
    return _AtOnce(reader.snapshot(roots, types=client.microversion >= TYPED))


class _AtOnce:
    """All of it, as it was at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def listed(self, tree: TreePlan) -> dict[str, Provider]:
        return live_state.listed_in(self._snapshot, tree)

    def tree_state(self, tree: TreePlan, listed: Mapping[str, Provider]) -> TreeState:
        return live_state.tree_state_of(tree, self._snapshot)

    def is_as_read(self, tree: TreePlan, listed: Mapping[str, Provider]) -> bool:
        for change in tree.providers:
            there = self._snapshot.providers.get(change.uuid)
            before = change.content_before
            if there and (there.traits, there.aggregates) != (before.traits, before.aggregates):
                return False
        return preconditions.is_as_read(self.tree_state(tree, listed))

    def traits(self, provider_uuid: str) -> frozenset[str]:
        return self._snapshot.providers[provider_uuid].traits

    def snapshot(self, tree: TreePlan) -> Snapshot:
        return self._snapshot


class _Requests:
    """Each thing, when it is asked for.

    :param is_listed: whether the providers of all trees are listed now, with one request
    """

    def __init__(self, client: Client, *, is_listed: bool) -> None:
        self._client, self._is_listed = client, is_listed
        self._trees: dict[str, dict[str, Provider]] = {}
        for provider in resource_provider.list(client) if is_listed else ():
            self._trees.setdefault(provider.root_uuid, {})[provider.uuid] = provider

    def listed(self, tree: TreePlan) -> dict[str, Provider]:
        roots = live_state.roots_of(tree)
        if not self._is_listed:
            return live_state.listing(self._client, roots)
        found: dict[str, Provider] = {}
        for root in roots:
            found |= self._trees.get(root, {})
        return found

    def tree_state(self, tree: TreePlan, listed: Mapping[str, Provider]) -> TreeState:
        return live_state.read_tree_state(self._client, tree, listed, holdings=False)

    def is_as_read(self, tree: TreePlan, listed: Mapping[str, Provider]) -> bool:
        # Sets that only lose something are read anew before they are written.
        for change in tree.providers:
            before, after = change.content_before, change.after
            if change.is_created:
                continue
            if not after.traits <= before.traits and self.traits(change.uuid) != before.traits:
                return False
            if after.aggregates != before.aggregates and self._aggregates(change.uuid) != (
                before.aggregates
            ):
                return False
        holdings = bool(tree.consumers)
        return preconditions.is_as_read(
            live_state.read_tree_state(self._client, tree, listed, holdings=holdings)
        )

    def traits(self, provider_uuid: str) -> frozenset[str]:
        return frozenset(trait.list_of_provider(self._client, provider_uuid).value)

    def snapshot(self, tree: TreePlan) -> Snapshot:
        listed = self.listed(tree)
        states = (
            self._state(listed[change.uuid]) for change in tree.providers if change.uuid in listed
        )
        consumers = (allocation.show(self._client, change.uuid).value for change in tree.consumers)
        return Snapshot(
            filter(None, states), (consumer for consumer in consumers if consumer.allocations)
        )

    def _state(self, provider: Provider) -> ProviderState | None:
        client, uuid = self._client, provider.uuid
        try:
            return ProviderState(
                provider,
                inventory.list(client, uuid).value,
                self.traits(uuid),
                self._aggregates(uuid),
            )
        except errors.NotFound:
            return None

    def _aggregates(self, provider_uuid: str) -> frozenset[str]:
        return frozenset(aggregate.list(self._client, provider_uuid).value)
