"""Which sharing providers a tree can draw on."""

from __future__ import annotations

from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.snapshots import ProviderState, Snapshot


def is_sharing(state: ProviderState) -> bool:
    """Whether others use a provider's inventory through a common aggregate."""
    return SHARING_TRAIT in state.traits


class Topology:
    """Who belongs to whom: the trees, and what reaches them from outside.

    A sharing provider serves every tree of which any provider is in one of its aggregates, as the
    service sees it.
    """

    def __init__(self, snapshot: Snapshot) -> None:
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
        self._reached = self._sharing()

    def reached(self, root_uuid: str) -> list[ProviderState]:
        """The sharing providers of other trees that serve a tree, by name."""
        return sorted(self._reached.get(root_uuid, {}).values(), key=lambda state: state.name)

    def _sharing(self) -> dict[str, dict[str, ProviderState]]:
        reached: dict[str, dict[str, ProviderState]] = {}
        for states in self.trees.values():
            for state in filter(is_sharing, states):
                for aggregate in state.aggregates:
                    for member in self.members[aggregate]:
                        root = self.root_of[member.uuid]
                        if root != self.root_of[state.uuid]:
                            reached.setdefault(root, {})[state.uuid] = state
        return reached
