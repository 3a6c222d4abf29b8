"""The assignment as a problem of integers: items into bins.

Names, consumers and providers stay outside, so that trees that are alike become equal problems,
which are solved once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: What an option demands of a bin: its index, the amount, what the consumer has there anyway.
Demand = tuple[int, int, int]
#: The amounts that an item gets, by the index of the option.
Placement = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """The inventory of one class on one provider.

    :param free: what is free for the items
    """

    free: int
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
    """What has to be placed: as a whole by one option, or divided over several.

    :param options: the demands of each option, in the order of preference
    :param divisible: whether it may be divided; then each option has one demand, of the whole
    :param owner: the consumer's number, from 0, where another of its items may get into the same
        bin, so that the units count for both together; -1 where none may
    """

    options: tuple[tuple[Demand, ...], ...]
    divisible: bool = False
    owner: int = -1

    @property
    def size(self) -> int:
        """How much of an item that may be divided there is."""
        return self.options[0][0][1]


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """So many items that are all alike; one, where it has an owner."""

    item: Item
    count: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Bins, and what has to get into them."""

    bins: tuple[Bin, ...]
    groups: tuple[ItemGroup, ...]

    def owned(self) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """Each bin that several items of one owner may use: owner, bin, ``[(group, option)]``."""
        users: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for index, group in enumerate(self.groups):
            if group.item.owner < 0 or not group.count:
                continue
            for option, demands in enumerate(group.item.options):
                for where, _, _ in demands:
                    users.setdefault((group.item.owner, where), []).append((index, option))
        return ((*key, value) for key, value in users.items())


@dataclass(slots=True)
class Decision:
    """How a problem is solved, and what else would have been possible.

    :param placements: of each group, one for each of its items
    :param possible: of each group, the options that some solution uses
    :param fixed: of each group, whether every solution has the same placement for its items
    """

    placements: list[list[Placement]]
    possible: list[set[int]]
    fixed: list[bool]

    def note(self, placements: Sequence[Iterable[Placement]]) -> None:
        """Learn from a solution what is possible."""
        for index, others in enumerate(placements):
            for placement in others:
                self.possible[index].update(option for option, _ in placement)
                if placement != self.placements[index][0]:
                    self.fixed[index] = False

    def is_open(self, problem: Problem) -> bool:
        """Whether something is neither known to be possible nor proved not to be."""
        return any(
            len(possible) < len(group.item.options) or (group.item.divisible and fixed)
            for group, possible, fixed in zip(
                problem.groups, self.possible, self.fixed, strict=True
            )
        )
