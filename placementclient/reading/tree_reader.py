# SPDX-License-Identifier: Apache-2.0
"""Reads provider trees one by one, for tables and pictures.

Nothing here is consistent beyond one request. Decisions need
:mod:`placementclient.reading.capture`, which sends about twice the requests.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from placementclient.api import aggregate, resource_provider
from placementclient.api.parallel import call_in_parallel
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion
from placementclient.model.providers import Provider
from placementclient.model.requests import SHARING, Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import Tree, find_sharers_by_tree
from placementclient.reading.facets import ALLOCATIONS, read_provider_states
from placementclient.reading.listing import list_tree_members

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
    """Yield the trees in the order of their roots' names, each as soon as it is read.

    :param trees: names, UUIDs, or patterns of names of providers; none: everything
    :param traits: whether to read traits; so ``aggregates`` and ``allocations``
    :param workers: how many trees to read at the same time
    """
    client.require_feature('', SINCE)
    chosen = {'traits': traits, 'aggregates': aggregates}
    facets = {'inventories', 'usages', *(facet for facet, is_read in chosen.items() if is_read)}

    def read_provider_facets(providers: Iterable[Provider], facets: set[str]) -> Snapshot:
        states = map(ProviderState, providers)
        return read_provider_states(client, states, lambda _: facets, is_consistent=False)

    listed = list_tree_members(client, trees)
    sharing = read_sharing_providers(client)
    shared = read_provider_facets(sharing.providers.values(), facets).providers
    tree_facets = {*facets, ALLOCATIONS} if allocations else facets
    snapshots = call_in_parallel(
        lambda root: read_provider_facets(listed[root], tree_facets), listed, workers
    )
    for snapshot in snapshots:
        # Without a root, the tree was deleted in the meantime.
        for root in snapshot.roots():
            uuids = sharing.sharers_by_root.get(root.uuid, ())
            yield Tree(snapshot, root, [shared[uuid] for uuid in uuids if uuid in shared])


@dataclass(frozen=True, slots=True)
class SharingProviders:
    """The sharing providers, and the trees that they serve.

    :param providers: the sharing providers by UUID, in the order of their names
    :param sharers_by_root: the UUIDs of the sharing providers that serve a tree from outside, by
        the UUID of its root
    """

    providers: Mapping[str, Provider]
    sharers_by_root: Mapping[str, Sequence[str]]


def read_sharing_providers(client: Client) -> SharingProviders:
    """Read the sharing providers, with a request for each provider and each of its aggregates."""
    sharers = resource_provider.list(client, matching=SHARING)
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
    aggregates_of = (
        (sharer.uuid, sharer.root_uuid, joined.get(sharer.uuid, ())) for sharer in sharers
    )
    return SharingProviders(
        {provider.uuid: provider for provider in sharers},
        find_sharers_by_tree(aggregates_of, roots_in),
    )
