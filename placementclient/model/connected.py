"""Groups of things that have something in common."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import TypeVar

K = TypeVar('K')


def connected(touched: Mapping[K, Collection[Hashable]]) -> Iterator[list[K]]:
    """Group keys that have something in common, directly or through others; keep their order."""
    users: dict[Hashable, list[K]] = {}
    for key, things in touched.items():
        for thing in things:
            users.setdefault(thing, []).append(key)
    order = {key: number for number, key in enumerate(touched)}
    seen: set[K] = set()
    for first in touched:
        members = [] if first in seen else [first]
        seen.add(first)
        for member in members:  # grows
            for thing in touched[member]:
                others = [key for key in users.pop(thing, ()) if key not in seen]
                seen.update(others)
                members += others
        if members:
            yield sorted(members, key=order.__getitem__)
