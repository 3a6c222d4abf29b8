# SPDX-License-Identifier: Apache-2.0
"""The trees of a snapshot, and the sharing providers that serve them."""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import find_sharers_by_tree
from placementclient.placing.providers import HostProvider, is_sharing


class Topology:
    """The trees, and the sharing providers that serve them.

    A sharing provider serves every tree of which any provider is in one of its aggregates, as the
    service sees it.

    :param sharers_by_root: the UUIDs of the sharing providers of other trees that serve each tree,
        by that of its root; ``None``: the aggregates in the snapshot tell
    """

    def __init__(
        self, snapshot: Snapshot, sharers_by_root: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        self.snapshot = snapshot
        #: The providers of each tree, by the UUID of its root; in the order of the roots' names.
        self.trees = {root.uuid: list(snapshot.tree(root.uuid)) for root in snapshot.roots()}
        #: The members of each aggregate.
        self.members: dict[str, list[ProviderState]] = {}
        for states in self.trees.values():
            for state in states:
                for aggregate in state.aggregates:
                    self.members.setdefault(aggregate, []).append(state)
        self._hosts: dict[str, Sequence[HostProvider]] = {}
        self._reached = {
            root: [snapshot.providers[uuid] for uuid in uuids]
            for root, uuids in (
                self._find_sharing_providers() if sharers_by_root is None else sharers_by_root
            ).items()
        }

    def _find_sharing_providers(self) -> Mapping[str, Iterable[str]]:
        """Return the UUIDs of sharing providers of other trees, by that of the root they serve."""
        sharing = [state for states in self.trees.values() for state in filter(is_sharing, states)]
        return find_sharers_by_tree(
            (
                (state.uuid, state.provider.root_uuid, state.aggregates)
                for state in sorted(sharing, key=lambda state: state.name)
            ),
            {
                aggregate: {member.provider.root_uuid for member in members}
                for aggregate, members in self.members.items()
            },
        )

    @functools.cached_property
    def tree_numbers(self) -> dict[str, int]:
        """A number for each tree, by the UUID of its root; equal trees have the same number."""
        return self.number_trees()

    def number_trees(self, *, compares_usage: bool = True) -> dict[str, int]:
        """Return a number for each tree, by the UUID of its root; equal trees have the same number.

        A tree that shares inventory equals no other: servers of other trees use it up.

        :param compares_usage: whether trees with different usages get different numbers
        """
        numbers: dict[object, int] = {}
        result = {}
        for root, states in self.trees.items():
            places = {state.uuid: place for place, state in enumerate(states)}
            local = tuple(
                (
                    places.get(state.provider.parent_provider_uuid or ''),
                    frozenset(state.inventories.items()),
                    frozenset(state.usages.items()) if compares_usage else None,
                    state.traits,
                    state.aggregates,
                )
                for state in states
            )
            reached = tuple(state.uuid for state in self.list_sharing_providers(root))
            key: object = root if any(map(is_sharing, states)) else (local, reached)
            result[root] = numbers.setdefault(key, len(numbers))
        return result

    def make_tree_key(self, root_uuid: str, named_trees: Collection[str]) -> object:
        """Return a key that is equal for trees with the same candidates.

        :param named_trees: the UUIDs of the trees that the request names; with any, no trees are
            equal
        """
        return root_uuid if named_trees else self.tree_numbers[root_uuid]

    def find_roots_with_class(self, resource_class: str) -> set[str]:
        """Return the UUIDs of the roots of the trees with inventory of a class."""
        return {
            root
            for root, states in self.trees.items()
            if any(resource_class in state.inventories for state in states)
        }

    def list_serving_providers(self, root_uuid: str) -> list[ProviderState]:
        """Return the providers that can serve a tree: its own, root first, then sharing ones."""
        return [*self.trees[root_uuid], *self.list_sharing_providers(root_uuid)]

    def list_host_providers(
        self, root_uuid: str, named_trees: Iterable[str] = ()
    ) -> Sequence[HostProvider]:
        """Return the providers that can serve a tree, as requests see them: its own first.

        :param named_trees: the UUIDs by which requests name trees
        """
        named: dict[str, set[str]] = {}
        for uuid in named_trees:
            if state := self.snapshot.providers.get(uuid):
                named.setdefault(state.provider.root_uuid, set()).add(uuid)
        states = self.list_serving_providers(root_uuid)
        if root_uuid not in self._hosts:
            places = {state.uuid: place for place, state in enumerate(states)}
            ancestors = self.snapshot.ancestors
            self._hosts[root_uuid] = [
                HostProvider(
                    # In another tree the nearest provider above may be distant.
                    places.get(next(filter(places.__contains__, ancestors(state.uuid)), '')),
                    state.traits,
                    state.aggregates,
                    tuple((name, stock.units) for name, stock in sorted(state.inventories.items())),
                    state.uuid if is_sharing(state) else None,
                    place < len(self.trees[root_uuid]),
                )
                for place, state in enumerate(states)
            ]
        providers = self._hosts[root_uuid]
        if not named:
            return providers
        return [
            provider._replace(trees=frozenset(named.get(state.provider.root_uuid, ())))
            for state, provider in zip(states, providers, strict=True)
        ]

    def list_sharing_providers(self, root_uuid: str) -> list[ProviderState]:
        """Return the sharing providers of other trees that serve a tree, sorted by name."""
        return self._reached.get(root_uuid, [])
