# SPDX-License-Identifier: Apache-2.0
"""A value with the facts that a later write checks before it relies on the value."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

T = TypeVar('T')


class Read(NamedTuple, Generic[T]):
    """A value that the service answered.

    :param generation: of the provider: a write that was decided on this value carries it
    :param last_modified: an HTTP date, from microversion 1.15
    :param generations: of the providers of an answer about several, by UUID
    """

    value: T
    generation: int | None = None
    last_modified: str | None = None
    generations: Mapping[str, int] = MappingProxyType({})
