"""Providers as far as they can be asked about, one condition at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from placementclient.model.providers import Provider
from placementclient.model.requests import Filter
from placementclient.model.snapshots import ProviderState


@dataclass(frozen=True, slots=True)
class Offer:
    """The candidates and summaries for a request.

    :param trees: on how many trees there are some
    :param is_cut: whether there may be more, as only so many candidates were asked for
    """

    trees: int
    is_cut: bool = False


class ProviderIndex(Protocol):
    """The providers, and what can be asked about them: of a snapshot, or of the service."""

    @property
    def providers(self) -> Mapping[str, Provider]:
        """All of them, by UUID."""

    @property
    def sharing(self) -> Collection[str]:
        """The UUIDs of those that share what they have through an aggregate."""

    @property
    def reach(self) -> Mapping[str, Collection[str]]:
        """Return the sharing providers that serve each tree, by the UUID of its root."""

    def matching(self, conditions: Filter) -> Collection[str]:
        """The UUIDs of the providers that a filter lets through."""

    def read_trees(self, roots: Sequence[str]) -> Mapping[str, Sequence[ProviderState]]:
        """The providers that can serve each of some trees, with all that they have."""
