"""The assignment as a problem of integers: items into bins.

Names, consumers and providers stay outside, so that trees that are alike become equal problems,
which are solved once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: A way's demand of one bin: the bin's index, the amount, and what its consumer has there anyway.
Demand = tuple[int, int, int]
#: The amounts that an item gets, by the index of the way.
Placement = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """The inventory of one class on one provider.

    :param room: what is free for the items
    """

    room: int
    min_unit: int
    max_unit: int
    step_size: int

    def admits(self, amount: int) -> bool:
        """Whether one allocation may have this amount, as far as the units go."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0

    def largest_part(self, most: int, held: int) -> int:
        """The largest amount up to ``most`` that it admits for one who holds ``held``; 0: none."""
        total = min(most + held, self.max_unit) // self.step_size * self.step_size
        return total - held if total >= self.min_unit and total > held else 0


@dataclass(frozen=True, slots=True)
class Item:
    """What has to be placed: as a whole in one way, or divided over several.

    :param ways: the demands of each way, in the order of preference
    :param divisible: whether it may be divided; then each way has one demand, of the whole
    :param owner: the consumer's number, from 0, where another of its items may get into the same
        bin, so that the units count for both together; -1 where none may
    """

    ways: tuple[tuple[Demand, ...], ...]
    divisible: bool = False
    owner: int = -1

    @property
    def size(self) -> int:
        """How much of an item that may be divided there is."""
        return self.ways[0][0][1]


@dataclass(frozen=True, slots=True)
class Kind:
    """So many items that are all alike; one, where it has an owner."""

    item: Item
    count: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Bins, and what has to get into them."""

    bins: tuple[Bin, ...]
    kinds: tuple[Kind, ...]

    def owned(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Each bin that several items of one owner may use: owner, bin, ``[(kind, way)]``."""
        users: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for index, kind in enumerate(self.kinds):
            if kind.item.owner < 0 or not kind.count:
                continue
            for way, demands in enumerate(kind.item.ways):
                for where, _, _ in demands:
                    users.setdefault((kind.item.owner, where), []).append((index, way))
        return ((*key, value) for key, value in users.items())


@dataclass(slots=True)
class Decision:
    """How a problem is solved, and what else would have been possible.

    :param placements: of each kind, one for each of its items
    :param possible: of each kind, the ways that some solution uses
    :param fixed: of each kind, whether every solution has the same placement for its items
    """

    placements: list[list[Placement]]
    possible: list[set[int]]
    fixed: list[bool]

    def note(self, placements: Sequence[Iterable[Placement]]) -> None:
        """Learn from a solution what is possible."""
        for index, others in enumerate(placements):
            for placement in others:
                self.possible[index].update(way for way, _ in placement)
                if placement != self.placements[index][0]:
                    self.fixed[index] = False

    def is_open(self, problem: Problem) -> bool:
        """Whether something is neither known to be possible nor proved not to be."""
        return any(
            len(possible) < len(kind.item.ways) or (kind.item.divisible and fixed)
            for kind, possible, fixed in zip(problem.kinds, self.possible, self.fixed, strict=True)
        )
