# SPDX-License-Identifier: Apache-2.0
"""Amounts with their units, for people."""

import functools
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar('T')

#: The units of classes; other classes count devices, addresses and the like.
UNITS = {'MEMORY_MB': 'MiB', 'DISK_GB': 'GiB'}
LADDER = ('MiB', 'GiB', 'TiB', 'PiB')
#: The classes that come first in a sentence, in this order.
_FIRST_CLASSES = ('VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB')


@functools.cache
def format_amount(resource_class: str, amount: int) -> str:
    """Return an amount of a class with its unit, rounded to one decimal: ``1.5 TiB``."""
    unit = UNITS.get(resource_class)
    if unit is None or not amount:
        return f'{amount:,}'
    value = float(amount)
    for larger in LADDER[LADDER.index(unit) + 1 :]:
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f'{value:,.1f}'.removesuffix('.0') + f' {unit}'


def format_whole_amount(resource_class: str, amount: int) -> str:
    """Return an amount with the largest unit of which it is a multiple: ``4 GiB``, ``4,097 MiB``.

    Two amounts that differ, differ as text too.
    """
    unit = UNITS.get(resource_class)
    if unit is None or not amount:
        return f'{amount:,}'
    for larger in LADDER[LADDER.index(unit) + 1 :]:
        if amount % 1024:
            break
        amount, unit = amount // 1024, larger
    return f'{amount:,} {unit}'


def sort_by_class(resources: Mapping[str, T]) -> dict[str, T]:
    """Return values by class, those of CPUs, memory and disk first."""
    first = [name for name in _FIRST_CLASSES if name in resources]
    return {name: resources[name] for name in (*first, *resources)}


def format_usage(resource_class: str, used: int, capacity: int) -> str:
    """Return the usage and the capacity of a class: ``4/64``, ``8 GiB/63 GiB``."""
    return f'{format_amount(resource_class, used)}/{format_amount(resource_class, capacity)}'
