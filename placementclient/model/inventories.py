# SPDX-License-Identifier: Apache-2.0
"""Inventories: the amount of a resource class that a provider has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple, TypedDict

import msgspec
from msgspec.structs import asdict, replace

#: The largest integer that the service stores, and the default of max_unit.
UNLIMITED = 2147483647

#: The largest ratio that it stores.
LARGEST_RATIO = 3.40282e38

#: A ratio as the service stores it, which may be negative.
Ratio = Annotated[float, msgspec.Meta(ge=-LARGEST_RATIO, le=LARGEST_RATIO)]
#: A number of units as the service stores it.
Count = Annotated[int, msgspec.Meta(ge=0, le=UNLIMITED)]
#: A number of units from 1 on.
Amount = Annotated[int, msgspec.Meta(ge=1, le=UNLIMITED)]


class Units(NamedTuple):
    """The amounts that one allocation may have."""

    min_unit: int = 1
    max_unit: int = UNLIMITED
    step_size: int = 1

    def admits(self, amount: int) -> bool:
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0

    def list_violated_limits(self, amount: int) -> list[str]:
        """Return the names of the limits that forbid an amount, such as ``max_unit``."""
        is_refused = {
            'min_unit': amount < self.min_unit,
            'max_unit': amount > self.max_unit,
            'step_size': amount % self.step_size != 0,
        }
        return [name for name, refused in is_refused.items() if refused]

    def largest_amount(self, free: int) -> int:
        """Return the largest amount within ``free`` that one allocation may have, or 0."""
        limit = min(free, self.max_unit)
        amount = limit - limit % self.step_size
        return amount if amount >= self.min_unit else 0


class Inventory(msgspec.Struct, frozen=True, gc=False):
    """The inventory of one resource class on one provider, in units of the class.

    The defaults are the service's.
    """

    total: Count
    reserved: Count = 0
    min_unit: Count = 1
    max_unit: Count = UNLIMITED
    step_size: Amount = 1
    allocation_ratio: Ratio = 1.0

    @property
    def capacity(self) -> int:
        """The total amount that can be allocated, rounded down as the service does."""
        return int((self.total - self.reserved) * self.allocation_ratio)

    @property
    def units(self) -> Units:
        """The limits of one allocation."""
        return Units(self.min_unit, self.max_unit, self.step_size)

    def admits(self, amount: int) -> bool:
        """Return whether the units allow an allocation of an amount, whatever is free."""
        return self.units.admits(amount)

    def covers(self, other: Inventory) -> bool:
        """Return whether this inventory allows every allocation that another one allows."""
        return (
            self.capacity >= other.capacity
            and self.max_unit >= other.max_unit
            and self.min_unit <= other.min_unit
            and other.step_size % self.step_size == 0
        )

    def as_fields(self) -> dict[str, int | float]:
        """Return all fields by their names in the API."""
        return asdict(self)

    def with_fields(self, fields: Mapping[str, object]) -> Inventory:
        """Return the inventory with other values of some fields."""
        return replace(self, **fields)


class InventoryKey(NamedTuple):
    """The identity of an inventory: a provider has one of each class."""

    provider_uuid: str
    resource_class: str


#: By resource class.
Inventories = Mapping[str, Inventory]


class InventoryFields(TypedDict, total=False):
    """Some fields of an inventory, as people write them."""

    allocation_ratio: Annotated[float, msgspec.Meta(ge=0, le=LARGEST_RATIO)]
    max_unit: Amount
    min_unit: Amount
    reserved: Count
    step_size: Amount
    total: Amount


#: The fields of an inventory, in the order in which they are shown.
FIELDS = ('allocation_ratio', 'min_unit', 'max_unit', 'reserved', 'step_size', 'total')
#: The smallest and the largest value of each that the service takes in a request.
BOUNDS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(FIELDS, (1, UNLIMITED)),
    'reserved': (0, UNLIMITED),
    'allocation_ratio': (0, LARGEST_RATIO),
}
