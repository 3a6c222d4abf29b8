# SPDX-License-Identifier: Apache-2.0
"""Groups of keys that share values, such as trees that share consumers."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TypeVar

K = TypeVar('K')


def group_connected_keys(touched: Mapping[K, Collection[Hashable]]) -> Iterator[list[K]]:
    """Yield groups of the keys that share a value, directly or through other keys, in their order.

    :param touched: the values of each key
    """
    users: dict[Hashable, list[K]] = {}
    for key, values in touched.items():
        for value in values:
            users.setdefault(value, []).append(key)
    order = {key: number for number, key in enumerate(touched)}
    seen: set[K] = set()
    for first in touched:
        members = [] if first in seen else [first]
        seen.add(first)
        for member in members:  # grows
            for value in touched[member]:
                others = [key for key in users.pop(value, ()) if key not in seen]
                seen.update(others)
                members += others
        if members:
            yield sorted(members, key=order.__getitem__)
