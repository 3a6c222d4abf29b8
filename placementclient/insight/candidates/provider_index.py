"""Providers as far as they can be asked about, one condition at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from placementclient.model.providers import Provider
from placementclient.model.requests import Filter


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is for a request for candidates.

    :param trees: on how many trees there are some
    :param is_cut: whether there may be more, as only so many candidates were asked for
    """

    trees: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ProviderIndex:
    """The providers, and what can be asked about them.

    :param providers: all of them, by UUID
    :param reach: which sharing providers serve each tree from outside, by the UUID of its root
    :param matching: the UUIDs of those that a filter lets through; asked once for each filter
    """

    providers: Mapping[str, Provider]
    reach: Mapping[str, Collection[str]]
    matching: Callable[[Filter], Collection[str]]
    _matches: dict[str, frozenset[str]] = field(default_factory=dict)

    def trees(self) -> dict[str, list[str]]:
        """The UUIDs of the providers of each tree, by its root."""
        trees: dict[str, list[str]] = {}
        for uuid, provider in self.providers.items():
            trees.setdefault(provider.root_provider_uuid or uuid, []).append(uuid)
        return trees

    def matches(self, asked: Filter) -> frozenset[str]:
        """Who satisfies a condition."""
        # Filters cannot be hashed; what they say of themselves is all that they are.
        if str(asked) not in self._matches:
            self._matches[str(asked)] = frozenset(self.matching(asked))
        return self._matches[str(asked)]

    def lineage(self, uuid: str) -> Iterator[str]:
        """A provider and those above it."""
        above: str | None = uuid
        while above is not None and above in self.providers:
            yield above
            above = self.providers[above].parent_provider_uuid
