# SPDX-License-Identifier: Apache-2.0
"""Answers about a provider, with the generation that a later write carries."""

from typing import TypeVar

from placementclient.client.decoding import Answer
from placementclient.model.freshness import Read

T = TypeVar('T')


def make_read(answer: Answer, value: T) -> Read[T]:
    """Return a value as read, with the generation of its provider and the date of the answer."""
    return Read(value, answer.body.resource_provider_generation, answer.last_modified)
