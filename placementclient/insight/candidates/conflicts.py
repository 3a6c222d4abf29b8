# SPDX-License-Identifier: Apache-2.0
"""Minimal sets of requirements that conflict, and minimal sets to remove."""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar('T')

#: The number of covers that a search tries, and that it keeps to try.
MAX_STEPS = 500

Possible = Callable[[frozenset[T]], bool]


def minimize_conflict(requirements: Sequence[T], is_possible: Possible[T]) -> frozenset[T]:
    """Return a minimal part of conflicting requirements that conflicts by itself.

    :param is_possible: returns True for requirements that can be met together
    """
    conflict = frozenset(requirements)
    for requirement in requirements:
        if not is_possible(conflict - {requirement}):
            conflict -= {requirement}
    return conflict


class ConflictSearch(Generic[T]):
    """A search for the minimal corrections of a request, which also finds its minimal conflicts.

    A conflict is a set of requirements that cannot be met together; a correction is one without
    which the others can. So a correction has a requirement of each conflict: it covers them. With
    the conflicts {a, b} and {b, c}, the smallest covers are {b} and {a, c}. The search tries the
    smallest cover of the conflicts found so far. If the others still cannot be met, they have a
    conflict that is new, and each cover that misses it grows by one of its requirements.

    :ivar conflicts: the minimal conflicts; all of them once :meth:`find_corrections` is through
    :ivar is_cut: True if sets were left out, so that there may be more sets of both kinds
    """

    def __init__(
        self,
        requirements: Sequence[T],
        is_possible: Possible[T],
        conflicts: Sequence[frozenset[T]] = (),
    ) -> None:
        """
        :param is_possible: returns True for requirements that can be met together; fewer of them
            are never harder to meet
        """
        self._requirements, self._is_possible = requirements, is_possible
        self._rank = {requirement: rank for rank, requirement in enumerate(requirements)}
        self._covers = [frozenset[T]()]
        self.conflicts: list[frozenset[T]] = []
        self.is_cut = False
        for conflict in conflicts:
            self._add_conflict(conflict)

    def find_corrections(self) -> Iterator[frozenset[T]]:
        """Yield each minimal set of requirements that need not be met, so that the others can be.

        The smallest comes first.
        """
        confirmed: set[frozenset[T]] = set()
        for _ in range(MAX_STEPS):
            cover = next((cover for cover in self._covers if cover not in confirmed), None)
            if cover is None:
                return
            others = [requirement for requirement in self._requirements if requirement not in cover]
            if self._is_possible(frozenset(others)):
                confirmed.add(cover)
                yield cover
            else:
                self._add_conflict(minimize_conflict(others, self._is_possible))
        self.is_cut = True

    def _add_conflict(self, conflict: frozenset[T]) -> None:
        """Record a conflict; extend each set that has none of its requirements by each of them."""
        self.conflicts = self._sort_sets([*self.conflicts, conflict])
        covers = [cover for cover in self._covers if cover & conflict]
        for cover in self._covers:
            if not cover & conflict:
                longer = (cover | {requirement} for requirement in conflict)
                covers += [new for new in longer if not any(smaller <= new for smaller in covers)]
        self.is_cut = self.is_cut or len(covers) > MAX_STEPS
        self._covers = self._sort_sets(covers)[:MAX_STEPS]

    def _sort_sets(self, sets: Sequence[frozenset[T]]) -> list[frozenset[T]]:
        """Return sets of requirements by their size, then by the order of the request."""
        rank = self._rank.__getitem__
        return sorted(sets, key=lambda members: (len(members), sorted(map(rank, members))))
