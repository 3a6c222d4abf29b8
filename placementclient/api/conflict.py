"""Read, decide, write; and again, where somebody else wrote in between."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from placementclient import errors

if TYPE_CHECKING:
    from placementclient.model.freshness import Read

T = TypeVar('T')

ATTEMPTS = 4


class Stale(errors.PlacementError):
    """The generation that a change was decided on is not the one that there is.

    :param given: the generation that was given
    :param current: the one that was read
    """

    def __init__(self, given: int, current: int | None) -> None:
        self.given, self.current = given, current
        super().__init__(f'The generation is {current}, not {given}: read again what is there')


def retried(attempt: Callable[[], T]) -> T:
    """Call ``attempt``, which reads and writes, until no other writer comes between the two.

    :raises errors.ConcurrentUpdate: if that fails :data:`ATTEMPTS` times
    """
    for number in range(1, ATTEMPTS):
        try:
            return attempt()
        except errors.ConcurrentUpdate:
            # With jitter, so that two writers that met do not meet again.
            time.sleep(random.uniform(0, 0.1 * 2**number))  # noqa: S311
    return attempt()


def edited(
    read: Callable[[], Read[T]],
    change: Callable[[T], T],
    write: Callable[[T, int], Read[T]],
    given: int | None = None,
) -> Read[T]:
    """Change what a generation guards, by what is there; a change of nothing is not written.

    :param read: reads what is there, with the generation
    :param change: what it shall be
    :param write: replaces it, at a generation
    :param given: the generation that it has to have, with which a conflict is the answer
    :raises Stale: if it has another
    """

    def attempt() -> Read[T]:
        there = read()
        if given is not None and there.generation != given:
            raise Stale(given, there.generation)
        wanted = change(there.value)
        if wanted == there.value:
            return there
        assert there.generation is not None
        return write(wanted, there.generation)

    return attempt() if given is not None else retried(attempt)
