# SPDX-License-Identifier: Apache-2.0
"""Consumers and their allocations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from placementclient.model.providers import SHARING_TRAIT

#: Amounts by resource class.
Resources = Mapping[str, int]
#: Amounts by provider UUID, then by resource class.
Allocations = Mapping[str, Resources]

#: The type of a consumer without a type, in answers from 1.38 on. No request may have it.
UNKNOWN_TYPE = 'unknown'


def sum_resources(parts: Iterable[Resources]) -> Counter[str]:
    """Return the sum of some amounts, by class."""
    sums = Counter[str]()
    for part in parts:
        sums.update(part)
    return sums


def sum_gains(changes: Iterable[tuple[Allocations, Allocations]]) -> dict[str, Counter[str]]:
    """Return the amounts that changes of allocations add to each provider, by class.

    :param changes: the allocations before and after each change
    """
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for before, after in changes:
        for uuid, resources in before.items():
            sums[uuid].subtract(resources)
        for uuid, resources in after.items():
            sums[uuid].update(resources)
    return sums


class Consumer(msgspec.Struct, frozen=True, gc=False):
    """A consumer with all its allocations.

    Its owner is known from microversion 1.12 on.

    :param generation: from microversion 1.28; ``None`` for a consumer that does not exist yet
    :param type: from microversion 1.38; ``None`` where it was never set
    """

    uuid: str
    allocations: Allocations = msgspec.field(default_factory=dict)
    project_id: str | None = None
    user_id: str | None = None
    generation: int | None = None
    type: str | None = None

    @property
    def owner(self) -> tuple[str | None, str | None, str | None]:
        """The project, the user and the type; ``None`` for each that is not known."""
        return self.project_id, self.user_id, self.type

    def amount(self, provider_uuid: str, resource_class: str) -> int:
        """Return the amount of a class that the consumer has on a provider, or 0."""
        return self.allocations.get(provider_uuid, {}).get(resource_class, 0)

    def without_providers(self, provider_uuids: Container[str]) -> Consumer:
        """Return the consumer with its allocations on all but some providers."""
        remaining = [uuid for uuid in self.allocations if uuid not in provider_uuids]
        return replace(self, allocations={uuid: self.allocations[uuid] for uuid in remaining})


class Holding(msgspec.Struct, frozen=True, gc=False):
    """The resources that one consumer holds on one provider."""

    consumer_uuid: str
    resources: Resources
    consumer_generation: int | None = None


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """One way to satisfy a request for resources.

    :param mappings: the providers that serve each request group, from microversion 1.34
    """

    allocations: Allocations
    mappings: Mapping[str, list[str]] = msgspec.field(default_factory=dict)

    def find_roots(self, summaries: Mapping[str, ProviderSummary]) -> set[str | None]:
        """Return the roots of its providers that do not share; of all if all share.

        The roots are UUIDs; ``None`` below microversion 1.29.
        """
        used = {uuid: summaries[uuid] for uuid in self.allocations}
        local = [uuid for uuid, summary in used.items() if SHARING_TRAIT not in summary.traits]
        return {summaries[uuid].root_provider_uuid for uuid in local or used}


class ProviderSummary(msgspec.Struct, frozen=True, gc=False):
    """The capacity and usage of a candidate's provider.

    Traits are known from microversion 1.17 on, parent and root from 1.29.

    :param resources: ``{resource class: (used, capacity)}``
    """

    resources: Mapping[str, tuple[int, int]]
    traits: tuple[str, ...] = ()
    parent_provider_uuid: str | None = None
    root_provider_uuid: str | None = None

    def with_added_usage(self, resources: Resources) -> ProviderSummary:
        """Return the summary with amounts added to the usage."""
        return replace(
            self,
            resources={
                name: (used + resources.get(name, 0), capacity)
                for name, (used, capacity) in self.resources.items()
            },
        )


class ProjectUsage(msgspec.Struct, frozen=True, gc=False):
    """The usage of a project by the consumers of a type; below microversion 1.38 by all of them."""

    resources: Resources
    consumer_type: str | None = None
    consumer_count: int | None = None
