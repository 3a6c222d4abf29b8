# SPDX-License-Identifier: Apache-2.0
"""Reshapes that a specification describes, and the trees to read for them."""

from collections.abc import Callable, Iterable, Sequence

from placementclient.api import resource_provider
from placementclient.client.http import Client
from placementclient.model.assignments import AssignmentRow
from placementclient.model.plans import Plan
from placementclient.model.providers import Provider
from placementclient.model.servers import ServerMigration
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec
from placementclient.planner import planner
from placementclient.producers.producer import Producer
from placementclient.reading.capture import capture, capture_named_trees


class ReshapeProducer(Producer):
    """Plans a reshape that is applied at once.

    :param rows: the assignments of consumers
    :param migrations: of servers, as Nova lists them, to warn of; ``None`` if they are not known
    """

    command = 'resource provider tree apply'

    def __init__(
        self,
        client: Client,
        spec: Spec,
        rows: Sequence[AssignmentRow],
        migrations: Sequence[ServerMigration] | None = None,
    ) -> None:
        super().__init__(client)
        self._spec, self._rows, self._migrations = spec, rows, migrations

    def plan(self) -> Plan:
        """Read the selected trees and those of the targets that are named, and plan the reshape."""
        listed = resource_provider.list(self.client)
        listing, conditions = Snapshot(map(ProviderState, listed), ()), self._spec.trees
        if conditions is None:
            chosen = {root.uuid for root in planner.select_roots(listing, self._spec)}
        else:
            names = ((root.uuid, root.name) for root in listing.roots())
            chosen = {uuid for uuid, name in names if conditions.selects(uuid, name, None)}
        roots = [*chosen, *_find_named_roots(self._spec, chosen, listing)]
        return planner.plan_reshape(
            capture_named_trees(self.client, roots),
            self._spec,
            self._rows,
            listed=listed,
            migrations=self._migrations,
        )


def capture_specified_trees(
    client: Client,
    spec: Spec,
    trees: Sequence[str],
    *,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    expect: Callable[[int], None] | None = None,
) -> tuple[Snapshot, list[Provider] | None]:
    """Return a snapshot to plan a reshape from, and all providers of the service.

    The providers are ``None`` if the snapshot has all trees. A target may be in another tree, as a
    sharing provider is: the trees of all providers that the specification names for the chosen
    trees are read too. Otherwise the plan would create a provider that exists.

    :param trees: names or UUIDs of roots; none: all trees
    :param progress: called with the name of each tree that was read
    :param expect: called with the number of trees
    """
    listed = resource_provider.list(client) if trees else None
    others: list[str] = []
    if listed is not None:
        listing = Snapshot(map(ProviderState, listed), ())
        chosen = {state.provider.root_uuid for state in map(listing.find, trees) if state}
        others = _find_named_roots(spec, chosen, listing)
    snapshot = capture(client, [*trees, *others], workers=workers, progress=progress, expect=expect)
    return snapshot, listed


def _find_named_roots(spec: Spec, chosen_roots: Iterable[str], listing: Snapshot) -> list[str]:
    """Return the UUIDs of further roots: of providers that the specification names.

    Only what it says about the chosen trees counts.
    """
    mentioned: set[str] = set()
    for root_uuid in chosen_roots:
        names = [name for state in listing.tree(root_uuid) for name in (state.name, state.uuid)]
        root = listing.providers[root_uuid]
        mentioned |= spec.index.list_mentioned_names(root, names)
    roots = {state.provider.root_uuid for state in map(listing.find, mentioned) if state}
    return sorted(roots.difference(chosen_roots))
