"""Resource providers."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The trait of a provider whose inventory others use through a common aggregate.
SHARING_TRAIT = 'MISC_SHARES_VIA_AGGREGATE'

_UUID = re.compile(r'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', re.IGNORECASE)


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID as Placement writes them, with its hyphens."""
    return _UUID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider.

    :param generation: moves with every change of inventory, traits, aggregates and allocations
    :param parent_provider_uuid: ``None`` for a root, and below microversion 1.14
    :param root_provider_uuid: its own UUID for a root; ``None`` below microversion 1.14
    """

    uuid: str
    name: str
    generation: int
    parent_provider_uuid: str | None = None
    root_provider_uuid: str | None = None
