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


class Steps:
    """The number of sets that may still be tried.

    :ivar is_cut: whether more would have been tried
    """

    def __init__(self) -> None:
        self._left = MAX_STEPS
        self.is_cut = False

    def take(self) -> bool:
        """Return whether one more may be tried, which then counts."""
        self._left -= 1
        self.is_cut = self.is_cut or self._left < 0
        return not self.is_cut


def conflicts(
    requirements: Sequence[T], possible: Possible[T], steps: Steps | None = None
) -> list[frozenset[T]]:
    """The minimal sets that are not possible, smallest first.

    All up to a size of :data:`LARGEST` as far as the steps go; at least one, if not all
    requirements are possible together.

    :param possible: whether some of them can be met together; fewer never are harder to meet
    """
    found: list[frozenset[T]] = []
    steps = steps or Steps()
    pool = list(requirements)
    for size in range(1, LARGEST + 1):
        for chosen in combinations(pool, size):
            # Each counts, also one that is passed over: there are more of them with each size.
            if not steps.take():
                return found or [minimized(requirements, possible)]
            subset = frozenset(chosen)
            if not any(smaller <= subset for smaller in found) and not possible(subset):
                found.append(subset)
        if size == 1:
            pool = [each for each in pool if frozenset((each,)) not in found]
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
    requirements: Sequence[T],
    found: Sequence[frozenset[T]],
    possible: Possible[T],
    steps: Steps | None = None,
) -> Iterator[frozenset[T]]:
    """Minimal sets of requirements without which the others are possible, smallest first, as far
    as the steps go.

    :param found: the conflicts: each has to be given up in some part
    """
    if not found:
        return
    steps = steps or Steps()
    given_up: list[frozenset[T]] = []
    # What is impossible by itself has to be given up in any case. Of the rest, those in no conflict
    # that has been found too: the larger ones are not looked for.
    alone = frozenset(each for conflict in found if len(conflict) == 1 for each in conflict)
    rest = [each for each in requirements if each not in alone]
    for size in range(len(rest) + 1):
        for chosen in combinations(rest, size):
            if not steps.take():
                return
            subset = alone.union(chosen)
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
