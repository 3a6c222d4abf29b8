"""A snapshot, asked as the service is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from placementclient.insight.candidates.provider_index import ProviderIndex
from placementclient.insight.topology import Topology
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot


def index(snapshot: Snapshot) -> ProviderIndex:
    """What can be asked about the providers of a snapshot."""
    topology = Topology(snapshot)
    return ProviderIndex(
        {uuid: state.provider for uuid, state in snapshot.providers.items()},
        {root: [state.uuid for state in topology.reached(root)] for root in topology.trees},
        lambda asked: [
            state.uuid for state in snapshot.providers.values() if _suits(state, asked, topology)
        ],
    )


def read_trees(snapshot: Snapshot, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
    """The providers that can serve each of some trees."""
    topology = Topology(snapshot)
    return {root: [*topology.trees[root], *topology.reached(root)] for root in roots}


def _suits(state: ProviderState, asked: Filter, topology: Topology) -> bool:
    return (
        all(_gives(state, name, amount) for name, amount in asked.resources.items())
        and all(state.traits & set(names.split(',')) for names in asked.required)
        and all(state.aggregates & set(names.split(',')) for names in asked.member_of)
        and (
            asked.in_tree is None
            or topology.root_of[state.uuid] == topology.root_of.get(asked.in_tree)
        )
    )


def _gives(state: ProviderState, resource_class: str, amount: int) -> bool:
    inventory = state.inventories.get(resource_class)
    if inventory is None or not inventory.admits(amount):
        return False
    return amount <= inventory.capacity - state.usages.get(resource_class, 0)
