"""Queries for providers, one condition at a time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.providers import is_sharing, slots
from placementclient.placing.requests import part
from placementclient.placing.shapes import has_each
from placementclient.placing.topology import Topology


@dataclass(frozen=True, slots=True)
class Offer:
    """The candidates and provider summaries of a request.

    :param trees: on how many trees there are some
    :param is_cut: whether there may be more, as only so many candidates were asked for
    """

    trees: int
    is_cut: bool = False


class ProviderIndex(Protocol):
    """Queries for the providers of a snapshot or of the service."""

    @property
    def providers(self) -> Mapping[str, Provider]:
        """All providers, by UUID."""

    @property
    def sharing(self) -> Collection[str]:
        """The UUIDs of the providers that share inventory through an aggregate."""

    @property
    def reach(self) -> Mapping[str, Collection[str]]:
        """Return the sharing providers that serve each tree, by the UUID of its root."""

    def matching(self, conditions: Filter) -> Collection[str]:
        """Return the UUIDs of the providers that match a filter."""

    def read_trees(self, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """Return the providers that can serve each of some trees, with their content."""


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
        requested, root_of = part(conditions.resources, conditions), self._topology.root_of
        root = root_of.get(conditions.in_tree or '')
        return [
            uuid
            for uuid, state in self._states.items()
            if all(slots(state, name, amount) for name, amount in requested.resources)
            and has_each(state.traits, requested.required)
            and has_each(state.aggregates, requested.member_of)
            and (conditions.in_tree is None or root_of[uuid] == root)
        ]

    def read_trees(self, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """The providers that can serve each of some trees."""
        return {root: self._topology.serving(root) for root in roots}
