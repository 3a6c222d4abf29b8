"""Read provider trees for the tables and pictures, a tree at a time.

Nothing here is consistent beyond one request. Decisions need
:mod:`placementclient.reading.capture`, which sends about twice the requests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from placementclient.api import aggregate, allocation, resource_provider
from placementclient.api.parallel import parallel
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion
from placementclient.model.consumers import Consumer, Holding
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import Tree, reach
from placementclient.reading.facets import with_facets
from placementclient.reading.listing import members

#: From here on the sharing providers can be asked for.
SINCE = Microversion(1, 18)


def read_trees(
    client: Client,
    trees: Sequence[str] = (),
    *,
    traits: bool = True,
    aggregates: bool = False,
    allocations: bool = False,
    workers: int = 4,
) -> Iterator[Tree]:
    """The trees, by the names of their roots, each as soon as it has been read.

    :param trees: names, UUIDs, or patterns of names of providers, of which the whole
        trees are read; none: everything
    :param traits: read them too
    :param aggregates: read them too
    :param allocations: read the allocations too
    :param workers: how many trees are read at a time
    :raises errors.NoSuchProvider: if there is no such provider
    :raises errors.UnsupportedVersion: below microversion 1.18
    """
    client.require('a provider tree', SINCE)
    facets = {'inventories', 'usages', *(['traits'] * traits), *(['aggregates'] * aggregates)}
    reader = _TableReader(client, facets, allocations)
    listed = members(client, trees)
    sharing = reader.sharing()
    found = parallel(
        lambda root_uuid: reader.tree(listed[root_uuid], sharing.get(root_uuid, ())),
        listed,
        workers,
    )
    for tree in found:
        if tree is not None:
            yield tree


@dataclass(frozen=True, slots=True)
class Sharing:
    """The sharing providers, and the trees that they serve.

    :param providers: the sharing providers by UUID, by name
    :param reach: the UUIDs of those that serve each tree from another one, by that of its root
    """

    providers: Mapping[str, Provider]
    reach: Mapping[str, Sequence[str]]


def sharing(client: Client) -> Sharing:
    """The sharing providers; a request for each, and one for each of their aggregates."""
    sharers = resource_provider.list(client, matching=Filter(required=(SHARING_TRAIT,)))
    sharers.sort(key=lambda provider: provider.name)
    joined = {}
    for provider in sharers:
        with contextlib.suppress(errors.NotFound):
            joined[provider.uuid] = aggregate.list(client, provider.uuid).value
    roots_in = {
        uuid: {
            member.root_uuid
            for member in resource_provider.list(client, matching=Filter(member_of=(uuid,)))
        }
        for uuid in {uuid for aggregates in joined.values() for uuid in aggregates}
    }
    found = ((each.uuid, each.root_uuid, joined.get(each.uuid, ())) for each in sharers)
    return Sharing({provider.uuid: provider for provider in sharers}, reach(found, roots_in))


class _TableReader:
    """Reads what is asked for of each provider."""

    def __init__(self, client: Client, facets: Set[str], allocations: bool) -> None:
        self._client, self._facets, self._allocations = client, facets, allocations

    def sharing(self) -> dict[str, list[ProviderState]]:
        """The sharing providers that serve each tree from another one, by the UUID of its root."""
        found = sharing(self._client)
        states = {}
        for uuid, provider in found.providers.items():
            with contextlib.suppress(errors.NotFound):
                states[uuid] = with_facets(
                    self._client, ProviderState(provider), self._facets
                ).state
        return {
            root: [states[uuid] for uuid in uuids if uuid in states]
            for root, uuids in found.reach.items()
        }

    def tree(self, members: Sequence[Provider], sharing: Sequence[ProviderState]) -> Tree | None:
        """A tree, unless it has gone meanwhile."""
        states, held = [], dict[str, dict[str, dict[str, int]]]()
        for provider in members:
            try:
                state = self._state(provider)
                listed = self._holdings(provider)
            except errors.NotFound:
                continue
            states.append(state)
            for holding in listed:
                resources = held.setdefault(holding.consumer_uuid, {})
                resources[state.uuid] = dict(holding.resources)
        snapshot = Snapshot(states, [Consumer(uuid, where) for uuid, where in held.items()])
        roots = snapshot.roots()
        return Tree(snapshot, roots[0], sharing) if roots else None

    def _state(self, provider: Provider) -> ProviderState:
        return with_facets(self._client, ProviderState(provider), self._facets).state

    def _holdings(self, provider: Provider) -> Sequence[Holding]:
        if not self._allocations:
            return ()
        return allocation.list_of_provider(self._client, provider.uuid).value
