"""A value, and the facts that tell a later write whether it still holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

T = TypeVar('T')


class Read(NamedTuple, Generic[T]):
    """A value that the service answered.

    :param generation: of the provider at that moment: a write that was decided on this value
        carries it, so that it fails after a conflict
    :param last_modified: an HTTP date, from microversion 1.15
    :param generations: of the providers of an answer about several, by UUID
    """

    value: T
    generation: int | None = None
    last_modified: str | None = None
    generations: Mapping[str, int] = MappingProxyType({})
