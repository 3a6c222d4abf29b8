"""A snapshot, asked as the service is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing, slots
from placementclient.placing.topology import Topology, has_each


class SnapshotIndex:
    """An index of the providers of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._states = snapshot.providers
        self._topology = topology = Topology(snapshot)
        self.providers = {uuid: state.provider for uuid, state in self._states.items()}
        self.sharing = {uuid for uuid, state in self._states.items() if is_sharing(state)}
        self.reach = {
            root: [state.uuid for state in topology.reached(root)] for root in topology.trees
        }

    def matching(self, conditions: Filter) -> list[str]:
        """The UUIDs of the providers that a filter lets through."""
        return [uuid for uuid, state in self._states.items() if self._suits(state, conditions)]

    def read_trees(self, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """The providers that can serve each of some trees."""
        topology = self._topology
        return {root: [*topology.trees[root], *topology.reached(root)] for root in roots}

    def _suits(self, state: ProviderState, conditions: Filter) -> bool:
        root_of = self._topology.root_of
        return (
            all(slots(state, name, amount) for name, amount in conditions.resources.items())
            and has_each(state.traits, conditions.required)
            and has_each(state.aggregates, conditions.member_of)
            and (
                conditions.in_tree is None or root_of[state.uuid] == root_of.get(conditions.in_tree)
            )
        )
