# SPDX-License-Identifier: Apache-2.0
"""The assignment as an integer problem: items and bins.

Names, consumers and providers stay outside, so that trees that are alike become equal problems,
which are solved once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.model.inventories import Units


class Demand(NamedTuple):
    """The amount that an option needs of a bin.

    :param bin: the index of the bin
    :param retained: the amount that the consumer keeps there besides, as units judge the sum; 0 for
        an item that may not be divided
    :param stays: whether the whole amount is there now, so that units judge only a part of it;
        False for an item that may not be divided
    """

    bin: int
    amount: int
    retained: int = 0
    stays: bool = False


class Part(NamedTuple):
    """An amount of an item, with the index of its option."""

    option: int
    amount: int


#: The placement of an item: in one part, or divided.
ItemPlacement = tuple[Part, ...]


class Bin(NamedTuple):
    """The inventory of one class on one provider, with the amount that is free for the items."""

    free: int
    units: Units = Units()

    def admits(self, demand: Demand) -> bool:
        """Return whether this bin may have a divisible item whole: units allow it, or it stays."""
        return demand.stays or self.units.admits(demand.amount + demand.retained)

    def find_largest_part(self, most: int, retained: int) -> int:
        """Return the largest part up to ``most`` that units allow beside ``retained``, or 0."""
        least, largest, step = self.units
        total = min(most + retained, largest) // step * step
        return total - retained if total >= least and total > retained else 0


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """An amount to place: whole with one option, or divided between several.

    :param options: the demands of each option, in the order of preference
    :param divisible: whether it may be divided; then each option has one demand, of the whole
        amount, and each part has to satisfy the units of its bin; the options of an item that may
        not be divided satisfy the units already
    """

    options: tuple[tuple[Demand, ...], ...]
    divisible: bool = False

    @property
    def size(self) -> int:
        """The whole amount of an item that may be divided."""
        return self.options[0][0].amount


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """A number of equal items."""

    item: Item
    count: int


@dataclass(frozen=True, slots=True)
class NumberedProblem:
    """Bins with free amounts, and groups of equal items to place; options name bins by number."""

    bins: tuple[Bin, ...]
    groups: tuple[ItemGroup, ...]


@dataclass(slots=True)
class Decision:
    """The solution of a problem, and the other possible options.

    :param placements: of each group, one for each of its items
    :param possible: of each group, the options that some solution uses
    :param fixed: of each group, whether every solution has the same placement for its items, as
        far as is known
    :param proved: whether nothing else is possible; else the search for more was cut short
    """

    placements: list[list[ItemPlacement]]
    possible: list[set[int]]
    fixed: list[bool]
    proved: bool = True

    def record_solution(self, placements: Sequence[Iterable[ItemPlacement]]) -> None:
        """Record that the options of a further solution are possible."""
        for index, others in enumerate(placements):
            for placement in others:
                self.possible[index].update(option for option, _ in placement)
                if placement != self.placements[index][0]:
                    self.fixed[index] = False

    def has_unproved_options(self, problem: NumberedProblem) -> bool:
        """Return whether an option is neither possible nor proved impossible."""
        return any(
            len(possible) < len(group.item.options) or (group.item.divisible and fixed)
            for group, possible, fixed in zip(
                problem.groups, self.possible, self.fixed, strict=True
            )
        )
