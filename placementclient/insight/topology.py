"""The sharing providers that a tree can draw on."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable

from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.trees import reach


def is_sharing(state: ProviderState) -> bool:
    """Return whether others use a provider's inventory through a common aggregate."""
    return SHARING_TRAIT in state.traits


def has_each(there: Collection[str], wanted: Iterable[str]) -> bool:
    """Return whether some traits or aggregates are there; of names joined by commas, one is enough.

    :param there: a set
    """
    return all(any(name in there for name in names.split(',')) for names in wanted)


class Topology:
    """The trees, and the providers that reach them from outside.

    A sharing provider serves every tree of which any provider is in one of its aggregates, as the
    service sees it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        #: The providers of each tree, by the UUID of its root; in the order of the roots' names.
        self.trees = {root.uuid: list(snapshot.tree(root.uuid)) for root in snapshot.roots()}
        #: The UUID of the root of each provider.
        self.root_of = {state.uuid: root for root, states in self.trees.items() for state in states}
        #: The members of each aggregate.
        self.members: dict[str, list[ProviderState]] = {}
        for states in self.trees.values():
            for state in states:
                for aggregate in state.aggregates:
                    self.members.setdefault(aggregate, []).append(state)
        states = [state for states in self.trees.values() for state in states if is_sharing(state)]
        by_name = sorted(states, key=lambda state: state.name)
        reached = reach(
            ((state.uuid, self.root_of[state.uuid], state.aggregates) for state in by_name),
            {
                aggregate: {self.root_of[member.uuid] for member in members}
                for aggregate, members in self.members.items()
            },
        )
        self._reached = {
            root: [snapshot.providers[uuid] for uuid in uuids] for root, uuids in reached.items()
        }

    @functools.cached_property
    def kinds(self) -> dict[str, int]:
        """The same number for trees that only differ in names and UUIDs, by the root's UUID.

        A tree that shares something is like no other: what is drawn from it is gone.
        """
        numbers: dict[object, int] = {}
        found = {}
        for root, states in self.trees.items():
            own = tuple(
                (
                    frozenset(state.inventories.items()),
                    frozenset(state.usages.items()),
                    state.traits,
                    state.aggregates,
                )
                for state in states
            )
            reached = tuple(state.uuid for state in self.reached(root))
            key: object = root if any(map(is_sharing, states)) else (own, reached)
            found[root] = numbers.setdefault(key, len(numbers))
        return found

    def reached(self, root_uuid: str) -> list[ProviderState]:
        """The sharing providers of other trees that serve a tree, by name."""
        return self._reached.get(root_uuid, [])
