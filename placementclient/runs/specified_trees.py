# SPDX-License-Identifier: Apache-2.0
"""Reads from a live service the trees that a plan of some trees needs."""

from collections.abc import Callable, Sequence

from placementclient.api import resource_provider
from placementclient.client.http import Client
from placementclient.model.providers import Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.reading.capture import capture


def captured(
    client: Client,
    spec: Spec,
    trees: Sequence[str],
    *,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    expect: Callable[[int], None] | None = None,
) -> tuple[Snapshot, list[Provider] | None]:
    """Return a snapshot for a plan, and all providers if the snapshot has only some of them.

    A target may be in another tree, as a sharing provider is: the trees of all providers that the
    specification names for the chosen trees are read too. Without them the plan would make a
    provider that exists.
    """
    listed = resource_provider.list(client) if trees else None
    others = [] if listed is None else _named_elsewhere(spec, trees, listed)
    snapshot = capture(client, [*trees, *others], workers=workers, progress=progress, expect=expect)
    return snapshot, listed


def _named_elsewhere(spec: Spec, trees: Sequence[str], listed: Sequence[Provider]) -> list[str]:
    """The UUIDs of the roots of other trees whose providers are named for some trees."""
    listing = Snapshot(map(ProviderState, listed), ())
    chosen = {state.provider.root_uuid for state in map(listing.find, trees) if state}
    mentioned: set[str] = set()
    for root_uuid in chosen:
        names = [name for state in listing.tree(root_uuid) for name in (state.name, state.uuid)]
        root = root_uuid, listing.providers[root_uuid].name
        mentioned |= spec.index.mentioned(root, names)
    roots = {state.provider.root_uuid for state in map(listing.find, mentioned) if state}
    return sorted(roots - chosen)
