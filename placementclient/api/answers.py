"""Values of answers, with the generations that guard them."""

from __future__ import annotations

from typing import TypeVar

from placementclient.client.decoding import Answer
from placementclient.model.freshness import Read

T = TypeVar('T')


def guarded(answer: Answer, value: T) -> Read[T]:
    """Return a value of a provider, with the generation in the same answer."""
    return Read(value, answer.body.resource_provider_generation, answer.last_modified)
