"""The state of a plan's trees, from tables at one moment or from requests."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping

from placementclient.api import allocation, resource_provider, trait
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.consumers import Consumer
from placementclient.model.plans import TreeChange
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.reading.facets import ALLOCATIONS, CONTENT, consumers_of, read_states
from placementclient.reshape import comparison
from placementclient.reshape.comparison import Phase, TreeState

#: From how many trees on one list of all providers takes less than a list of each tree.
_MANY = 64
#: How often a provider is read again that changes while it is read.
MAX_RETRIES = 4


def read_tree_state(
    client: Client, tree: TreeChange, listed: Mapping[str, Provider] | None = None
) -> TreeState:
    """Read the existing providers of a plan, and their consumers.

    :param listed: all providers of its trees, if they are known
    :raises errors.ConcurrentUpdate: if one does not hold still
    """
    live = StateSource(client, [tree])
    return live.tree_state(tree, live.listed(tree) if listed is None else listed)


def read_applied(client: Client, tree: TreeChange) -> TreeState:
    """Read the result of a reshape that the service has just accepted.

    A reshape is one transaction. If its allocations are stored, its inventories are too, and the
    inventories of the plan are taken for the live ones. Only if no allocation moves, inventories
    are read. Allocations are read by consumer if there are fewer consumers than providers, as on a
    host with many devices.

    :raises errors.ConcurrentUpdate: if a provider changes at each reading
    """
    live = StateSource(client, [tree])
    planned = {uuid: state.provider for uuid, state in tree.after.providers.items()}
    if client.snapshot_reader is not None or not tree.consumers:
        return live.tree_state(tree, planned, holdings=bool(tree.consumers))
    consumers: Iterable[Consumer]
    if len(tree.consumers) < len(planned):
        consumers = [allocation.show(client, change.uuid).value for change in tree.consumers]
    else:
        consumers = consumers_of(
            {uuid: allocation.list_of_provider(client, uuid).value for uuid in planned}
        )
    return TreeState(tree, Snapshot(tree.after.providers.values(), consumers), planned)


def phase_of(client: Client, tree: TreeChange) -> Phase:
    """Return the side of its reshape that a tree is on, with as few requests as possible."""
    live = StateSource(client, [tree])
    listed = live.listed(tree)
    made = {change.uuid for change in tree.created()}
    if made and made <= listed.keys():
        return Phase.AFTER
    if made and made.isdisjoint(listed):
        return Phase.BEFORE
    return live.tree_state(tree, listed, holdings=False).phase


class StateSource:
    """The state of some plans: all of it as it was at one moment, from tables; or each thing when
    it is asked for.

    :param trees: the plans; of many of them all providers are listed now, with one request
    """

    def __init__(self, client: Client, trees: Iterable[TreeChange]) -> None:
        self._client = client
        roots = {root for tree in trees for root in tree.concerned_roots}
        self._whole: Snapshot | None = None
        self._trees: dict[str, list[Provider]] | None = None
        if client.snapshot_reader is not None:
            types = client.microversion >= TYPED
            self._whole = client.snapshot_reader.snapshot(roots, types=types)
        elif len(roots) >= _MANY:
            self._trees = {}
            for provider in resource_provider.list(client):
                self._trees.setdefault(provider.root_uuid, []).append(provider)

    def listed(self, tree: TreeChange) -> dict[str, Provider]:
        """Return all providers of the trees of a plan, by UUID."""
        if self._whole is not None:
            return comparison.listed_in(self._whole, tree)
        roots = tree.concerned_roots
        return {each.uuid: each for root in roots for each in self._members(root)}

    def _members(self, root_uuid: str) -> list[Provider]:
        if self._trees is not None:
            return self._trees.get(root_uuid, [])
        return resource_provider.list(self._client, matching=Filter(in_tree=root_uuid))

    def tree_state(
        self, tree: TreeChange, listed: Mapping[str, Provider], *, holdings: bool = True
    ) -> TreeState:
        """Return the content of the providers of a plan.

        :param listed: those that are there
        :param holdings: whether to read who holds what of them, too
        :raises errors.ConcurrentUpdate: if one does not hold still
        """
        if self._whole is not None:
            return comparison.tree_state_of(tree, self._whole)
        facets = ['inventories', *([ALLOCATIONS] if holdings else [])]
        for _ in range(MAX_RETRIES):
            with contextlib.suppress(errors.ConcurrentUpdate):
                return TreeState(tree, self._read(tree, listed, facets, True), listed)
        return TreeState(tree, self._read(tree, listed, facets, True), listed)

    def _read(
        self,
        tree: TreeChange,
        listed: Mapping[str, Provider],
        facets: Collection[str],
        is_consistent: bool,
    ) -> Snapshot:
        states = (
            ProviderState(listed[change.uuid]) for change in tree.providers if change.uuid in listed
        )
        return read_states(self._client, states, lambda _: facets, is_consistent=is_consistent)

    def traits(self, provider_uuid: str) -> frozenset[str]:
        if self._whole is not None:
            return self._whole.providers[provider_uuid].traits
        return frozenset(trait.list_of_provider(self._client, provider_uuid).value)

    def snapshot(self, tree: TreeChange) -> Snapshot:
        """Return at least the providers and the consumers of a plan."""
        if self._whole is not None:
            return self._whole
        there = self._read(tree, self.listed(tree), CONTENT, False)
        consumers = (allocation.show(self._client, change.uuid).value for change in tree.consumers)
        return Snapshot(there.providers.values(), (each for each in consumers if each.allocations))
