"""Smallest sets of requirements that cannot be met together, and smallest sets to give up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar('T')

#: How many sets are tried before what has been found has to do.
MAX_STEPS = 3000
#: The largest sets that are looked for by trying all of a size.
LARGEST = 4
#: How many sets to give up are looked for.
MAX_CORRECTION_SETS = 8

Possible = Callable[[frozenset[T]], bool]


def conflicts(requirements: Sequence[T], possible: Possible[T]) -> list[frozenset[T]]:
    """The minimal sets that are not possible, smallest first.

    All up to a size of :data:`LARGEST` as far as patience goes; at least one, if not all
    requirements are possible together.

    :param possible: whether some of them can be met together; fewer never are harder to meet
    """
    found: list[frozenset[T]] = []
    left = MAX_STEPS
    for size in range(1, LARGEST + 1):
        for chosen in combinations(requirements, size):
            subset = frozenset(chosen)
            if any(smaller <= subset for smaller in found):
                continue
            left -= 1
            if left < 0:
                return found or [minimized(requirements, possible)]
            if not possible(subset):
                found.append(subset)
    if not found and not possible(frozenset(requirements)):
        found.append(minimized(requirements, possible))
    return found


def minimized(requirements: Sequence[T], possible: Possible[T]) -> frozenset[T]:
    """One minimal set that is not possible, of a set that is not."""
    kept = list(requirements)
    for requirement in requirements:
        fewer = [each for each in kept if each != requirement]
        if not possible(frozenset(fewer)):
            kept = fewer
    return frozenset(kept)


def correction_sets(
    requirements: Sequence[T], found: Sequence[frozenset[T]], possible: Possible[T]
) -> Iterator[frozenset[T]]:
    """Minimal sets of requirements without which the others are possible, smallest first.

    :param found: the conflicts: each has to be given up in some part
    """
    if not found:
        return
    given_up: list[frozenset[T]] = []
    # Also of those in no conflict that has been found: the larger ones are not looked for.
    for size in range(1, len(requirements) + 1):
        for chosen in combinations(requirements, size):
            subset = frozenset(chosen)
            if any(smaller <= subset for smaller in given_up):
                continue
            if not all(subset & conflict for conflict in found):
                continue
            if possible(frozenset(requirements) - subset):
                given_up.append(subset)
                yield subset
            if len(given_up) == MAX_CORRECTION_SETS:
                return
        if given_up:
            # Who can do with giving up one thing need not hear of two.
            return
