"""What the service answers to each endpoint: the types of what is read of it.

What else is in an answer is passed over, and what is missing is told where it is looked for: an
older release has less.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec

from placementclient import endpoints, errors
from placementclient.endpoints import Endpoint

#: JSON can say 1e999.
Ratio = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]
Resources = dict[str, int]


class Version(TypedDict, total=False):
    """What an API knows."""

    min_version: str
    max_version: str


class Versions(TypedDict, total=False):
    """``GET /``"""

    versions: list[Version]


class Name(TypedDict, total=False):
    """A resource class."""

    name: str


class Classes(TypedDict, total=False):
    """All of them."""

    resource_classes: list[Name]


class Provider(TypedDict, total=False):
    """A resource provider."""

    uuid: str
    name: str
    generation: int
    parent_provider_uuid: str | None
    root_provider_uuid: str | None


class Providers(TypedDict, total=False):
    """Many of them."""

    resource_providers: list[Provider]


class OfProvider(TypedDict, total=False):
    """What belongs to a provider; an answer has one thing of these, and the generation."""

    resource_provider_generation: int
    aggregates: list[str]
    traits: list[str]
    usages: Resources
    allocations: dict[str, Holding]


class Holding(TypedDict, total=False):
    """What a consumer holds on the provider, or of a consumer on one of its providers."""

    resources: Resources
    generation: int
    consumer_generation: int | None


class Inventory(TypedDict, total=False):
    """One inventory, with the generation of its provider where it is alone."""

    resource_provider_generation: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: Ratio


class Inventories(TypedDict, total=False):
    """All of a provider."""

    resource_provider_generation: int
    inventories: dict[str, Inventory]


class Consumer(TypedDict, total=False):
    """What a consumer holds, and whose it is."""

    allocations: dict[str, Holding]
    project_id: str | None
    user_id: str | None
    consumer_generation: int | None
    consumer_type: str | None


class Used(TypedDict, total=False):
    """How much a candidate's provider has of a class."""

    used: int
    capacity: int


class Summary(TypedDict, total=False):
    """A candidate's provider."""

    resources: dict[str, Used]
    traits: list[str]
    parent_provider_uuid: str | None
    root_provider_uuid: str | None


class PlaceOf(TypedDict, total=False):
    """A provider, below 1.12."""

    resource_provider: Provider
    resources: Resources


class Candidate(TypedDict, total=False):
    """A way to satisfy a request."""

    allocations: dict[str, Holding] | list[PlaceOf]
    mappings: dict[str, list[str]]


class Candidates(TypedDict, total=False):
    """``GET /allocation_candidates``"""

    allocation_requests: list[Candidate]
    provider_summaries: dict[str, Summary]


class Usages(TypedDict, total=False):
    """``GET /usages``: by class, and from 1.38 on by type of consumer before that."""

    usages: dict[str, int | Resources]


TYPES: dict[Endpoint, Any] = {
    endpoints.SHOW_API: Versions,
    endpoints.LIST_CLASSES: Classes,
    endpoints.SHOW_CLASS: Name,
    endpoints.SET_CLASS: Name,
    endpoints.LIST_PROVIDERS: Providers,
    endpoints.CREATE_PROVIDER: Provider,
    endpoints.SHOW_PROVIDER: Provider,
    endpoints.SET_PROVIDER: Provider,
    endpoints.LIST_INVENTORIES: Inventories,
    endpoints.SET_INVENTORIES: Inventories,
    endpoints.CREATE_INVENTORY: Inventory,
    endpoints.SHOW_INVENTORY: Inventory,
    endpoints.SET_INVENTORY: Inventory,
    endpoints.SHOW_PROVIDER_USAGES: OfProvider,
    endpoints.LIST_AGGREGATES: OfProvider,
    endpoints.SET_AGGREGATES: OfProvider,
    endpoints.LIST_PROVIDER_TRAITS: OfProvider,
    endpoints.SET_PROVIDER_TRAITS: OfProvider,
    endpoints.LIST_PROVIDER_ALLOCATIONS: OfProvider,
    endpoints.SHOW_ALLOCATIONS: Consumer,
    endpoints.LIST_CANDIDATES: Candidates,
    endpoints.LIST_TRAITS: OfProvider,
    endpoints.SHOW_USAGES: Usages,
}
# msgspec looks into a type when it meets it first. Where several threads do that at once, one reads
# what another has half made, and the process crashes (msgspec 0.22). So it meets all of them here,
# before any thread has this module.
for _type in TYPES.values():
    msgspec.json.Decoder(_type)


def check(endpoint: Endpoint, body: Any) -> None:
    """Refuse an answer of which something has another type than the service gives it.

    :raises errors.InvalidAnswer: with the place
    """
    try:
        msgspec.convert(body, TYPES.get(endpoint, dict))
    except (msgspec.ValidationError, RecursionError) as fault:
        raise errors.InvalidAnswer(
            f'{endpoint} was answered with something else: {fault}: '
            'what answers is not a Placement service'
        ) from None
