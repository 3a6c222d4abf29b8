# SPDX-License-Identifier: Apache-2.0
"""The part of the cloud that changes concern, as it is now."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import NamedTuple

from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.model.consumers import Consumer
from placementclient.model.plans import Change, ConsumerChange
from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot, SnapshotReader
from placementclient.reading.facets import ALLOCATIONS, CONTENT, read_provider_states

#: From how many trees on one list of all providers takes less than a list of each tree.
_MANY = 64


class ScopeFacets(NamedTuple):
    """The facets of the providers in the scope of a change that are to be read over HTTP.

    :param facets_of: returns the facets to read of a provider
    :param is_consistent: whether all facets of a provider have to be of one generation
    :param has_consumers: whether to read the allocations of the consumers of the change
    """

    facets_of: Callable[[ProviderState], set[str]]
    is_consistent: bool = True
    has_consumers: bool = True


class ScopeReader:
    """Reads the scope of changes: the trees that they concern, and their consumers.

    From the database of the embedded service, the first :meth:`read` reads all trees of all changes
    as a whole, at one moment; until then only providers are listed. Over HTTP, each :meth:`read`
    sends requests for the facets that its caller names.

    :param changes: the changes; if they are many, one request lists all providers of the cloud
    """

    def __init__(self, client: Client, changes: Iterable[Change]) -> None:
        self._client = client
        self._tables: SnapshotReader | None = client.snapshot_reader
        self._roots = {root for change in changes for root in change.concerned_roots}
        #: The trees of all changes in the database, once they are read.
        self._whole: Snapshot | None = None
        #: The providers that are listed so far, by the UUIDs of the roots.
        self._trees: dict[str, list[Provider]] = {}
        if self._tables is None and len(self._roots) >= _MANY:
            self._add_providers(resource_provider.list(client))

    def list_providers(self, change: Change) -> dict[str, Provider]:
        """Return all providers of the trees of a change, by UUID."""
        return {
            item.uuid: item for root in change.concerned_roots for item in self._list_tree(root)
        }

    def read(self, change: Change, facets: ScopeFacets, *, is_begun: bool = False) -> Snapshot:
        """Read the trees of a change and its consumers; facets that are not read are as planned.

        :param is_begun: whether the providers that the change makes may exist
        """
        if self._whole is None and self._tables is not None:
            types = self._client.microversion >= TYPED
            self._whole = self._tables.snapshot(self._roots, types=types)
        listed = self.list_providers(change)
        if moved := self._find_roots_after_moves(change, listed, is_begun):
            wider = dataclasses.replace(change, roots={**change.roots, **moved})
            return ScopeReader(self._client, [wider]).read(wider, facets, is_begun=is_begun)
        if self._whole is not None:
            states = (self._whole.providers[uuid] for uuid in listed)
            consumers = (
                self._collect_consumers(change, self._whole, listed) if facets.has_consumers else ()
            )
            return Snapshot(states, consumers)
        return self._read_by_requests(change, facets, listed)

    def _find_roots_after_moves(
        self, change: Change, listed: Mapping[str, Provider], is_begun: bool
    ) -> dict[str, str]:
        """Return, by root UUID, the trees to which others moved providers: one's name for each.

        Empty if all these trees are trees of the change.

        :param listed: the providers of the change's trees, by UUID
        :param is_begun: whether a request may have been sent, so that new providers exist
        """
        expected = {*change.before.providers, *(change.after.providers if is_begun else ())}
        missing = expected - listed.keys()
        existing = resource_provider.read_some(self._client, missing).values() if missing else ()
        moved = {provider.root_uuid: provider.name for provider in existing}
        return moved if not moved.keys() <= {*change.concerned_roots} else {}

    def _read_by_requests(
        self, change: Change, facets: ScopeFacets, listed: Mapping[str, Provider]
    ) -> Snapshot:
        """Read some facets of the listed providers, and the consumers of a change."""
        before, after = change.before.providers, change.after.providers
        planned = (
            replace(before.get(uuid) or after.get(uuid) or ProviderState(item), provider=item)
            for uuid, item in listed.items()
        )
        live = read_provider_states(
            self._client, planned, facets.facets_of, is_consistent=facets.is_consistent
        )
        if not facets.has_consumers:
            return live
        of_providers = {
            uuid for uuid, state in live.providers.items() if ALLOCATIONS in facets.facets_of(state)
        }
        users = live.consumers | {
            pair.uuid: self._read_consumer(pair, live, of_providers) for pair in change.consumers
        }
        return Snapshot(
            live.providers.values(), (user for user in users.values() if user.allocations)
        )

    def read_reshape_result(self, change: Change) -> Snapshot:
        """Read the result of the one request of an atomic change, right after it.

        The request is one transaction: if the allocations are stored, the inventories are those of
        the plan. They are read only if no allocation moves. Allocations are read by consumer if the
        change has fewer consumers than providers.
        """
        states, consumers = change.after.providers, change.after.consumers
        live = change.after
        if self._tables is not None:
            live = self.read(change, ScopeFacets(lambda _: set(CONTENT)))
        elif not change.consumers:
            live = read_provider_states(
                self._client, states.values(), lambda _: {'inventories'}, is_consistent=True
            )
        elif len(change.consumers) < len(states):
            shown = (allocation.show(self._client, pair.uuid).value for pair in change.consumers)
            live = Snapshot(states.values(), shown)
        else:
            live = read_provider_states(
                self._client, states.values(), lambda _: {ALLOCATIONS}, is_consistent=False
            )

        def adopt_live_allocations(consumer: Consumer) -> Consumer:
            current = live.consumers.get(consumer.uuid)
            allocated = current.allocations if current else {}
            here = {uuid: allocated[uuid] for uuid in states.keys() & allocated.keys()}
            elsewhere = consumer.without_providers(states.keys()).allocations
            return replace(consumer, allocations={**elsewhere, **here})

        return Snapshot(
            (
                replace(state, inventories=live.providers[uuid].inventories)
                for uuid, state in states.items()
                if uuid in live.providers
            ),
            map(adopt_live_allocations, consumers.values()),
        )

    def _add_providers(self, providers: Iterable[Provider]) -> None:
        """Add providers to the lists of their trees."""
        for provider in providers:
            self._trees.setdefault(provider.root_uuid, []).append(provider)

    def _list_tree(self, root_uuid: str) -> Iterable[Provider]:
        """Return the providers of a tree, requested once and kept; none if it does not exist."""
        if self._whole is not None:
            exists = root_uuid in self._whole.providers
            return (state.provider for state in self._whole.tree(root_uuid)) if exists else ()
        if self._tables is not None:
            if not self._trees:
                self._trees = {root: [] for root in self._roots}
                self._add_providers(self._tables.providers(self._roots))
            return self._trees.get(root_uuid, ())
        if root_uuid not in self._trees:
            matching = Filter(in_tree=root_uuid)
            self._trees[root_uuid] = resource_provider.list(self._client, matching=matching)
        return self._trees[root_uuid]

    def _collect_consumers(
        self, change: Change, snapshot: Snapshot, providers: Iterable[str]
    ) -> Iterator[Consumer]:
        """Yield the consumers of a snapshot on some providers, and read others of the change."""
        users = {user.uuid: user for uuid in providers for user in snapshot.consumers_on(uuid)}
        yield from users.values()
        if elsewhere := {*change.before.consumers, *change.after.consumers} - users.keys():
            uuids = (pair.uuid for pair in change.consumers if pair.uuid in elsewhere)
            consumers = (allocation.show(self._client, uuid).value for uuid in uuids)
            yield from (consumer for consumer in consumers if consumer.allocations)

    def _read_consumer(self, change: ConsumerChange, live: Snapshot, listed: Set[str]) -> Consumer:
        """Return a consumer with all its allocations, without a request if it seems unchanged.

        :param listed: the UUIDs of the providers whose allocations ``live`` has
        """
        consumer, planned = live.consumers.get(change.uuid), change.before
        if consumer is not None:
            here = {uuid: planned.allocations[uuid] for uuid in listed & planned.allocations.keys()}
            is_same = planned.generation is not None and consumer.generation == planned.generation
            if is_same and consumer.allocations == here:
                return planned
        return allocation.show(self._client, change.uuid).value
