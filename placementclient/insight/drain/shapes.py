"""The shapes of hosts, and the ways in which a request can be served on a host of a shape.

Thousands of hosts have a handful of shapes. What depends on the shape alone is found out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from placementclient.insight.drain.requests import AskedPart, Request
from placementclient.model.inventories import Inventory

#: How many providers are tried for the parts of one server on one host.
MAX_STEPS = 20_000

#: A sharing provider and a class.
Pool = tuple[str, str]
#: What is free, by sharing provider and class.
Pools = Mapping[Pool, int]


class Units(NamedTuple):
    """The amounts of a class that a provider grants."""

    min_unit: int
    max_unit: int
    step_size: int

    @classmethod
    def of(cls, inventory: Inventory) -> Units:
        """Return those of an inventory."""
        return cls(inventory.min_unit, inventory.max_unit, inventory.step_size)

    def admit(self, amount: int) -> bool:
        """Return whether a server may hold this amount."""
        return self.min_unit <= amount <= self.max_unit and amount % self.step_size == 0


class HostProvider(NamedTuple):
    """A provider that can serve a host.

    :param parent: the number of the one above; ``None`` for the root and for other trees
    :param units: by class, in their order
    :param pool: the UUID of a sharing provider; its room is not of this host alone
    """

    parent: int | None
    traits: frozenset[str]
    aggregates: frozenset[str]
    units: tuple[tuple[str, Units], ...]
    pool: str | None = None
    is_inside: bool = True


class Way(NamedTuple):
    """One way to serve a server on a host.

    :param places: for each part of the request the number of the provider; none for a lax request
    :param local: what it takes of the host's own room, by the number of the room
    :param shared: what it takes of sharing providers for good
    """

    places: tuple[int, ...]
    local: tuple[tuple[int, int], ...]
    shared: tuple[tuple[Pool, int], ...] = ()


class Shape:
    """The providers that can serve a host, the root first, without what they have free.

    The room of a host is a list: first of each provider of its own and each of its classes; then
    of each class that several providers have, all of them together, for lax requests.
    """

    def __init__(self, bins: Sequence[HostProvider]) -> None:
        self.bins = tuple(bins)
        self.units = [dict(each.units) for each in bins]
        self.rooms: dict[tuple[int, str], int] = {}
        for number, each in enumerate(bins):
            if each.pool is None:
                for name, _ in each.units:
                    self.rooms[number, name] = len(self.rooms)
        self.totals: dict[str, int] = {}
        self.members: dict[str, list[int]] = {}
        for number, each in enumerate(bins):
            for name, _ in each.units:
                self.members.setdefault(name, []).append(number)
        self.width = len(self.rooms)
        for name, numbers in self.members.items():
            if len(numbers) == 1 and (numbers[0], name) in self.rooms:
                self.totals[name] = self.rooms[numbers[0], name]
            else:
                self.totals[name] = self.width
                self.width += 1

    def sums(self, room: Sequence[int], headroom: Pools) -> list[int]:
        """Return the room of each provider, and behind it that of all providers of a class.

        :param room: of each provider of its own
        :param headroom: the most that sharing providers may come to have free
        """
        sums = [*room, *[0] * (self.width - len(room))]
        for name, place in self.totals.items():
            if place >= len(room):
                for number in self.members[name]:
                    pool = self.bins[number].pool
                    own = headroom[pool, name] if pool else room[self.rooms[number, name]]
                    sums[place] += max(0, own)
        return sums

    def sum_of(self, request: Request) -> Way:
        """Return what a server takes of the sums at least, in whatever way it is served.

        What it holds on a sharing provider it does not take again, if it can stay there.
        """
        local, shared = [], []
        for name, amount in request.totals.items():
            pools = [self.bins[number].pool for number in self.members[name]]
            amount -= sum(n for uuid, each, n in request.shared if each == name and uuid in pools)
            local.append((self.totals[name], max(0, amount)))
            if len(pools) == 1 and pools[0] is not None and amount > 0:
                shared.append(((pools[0], name), amount))
        return Way((), tuple(local), tuple(shared))

    @cached_property
    def pooled(self) -> set[int]:
        """The sums that sharing providers have a part in, by their places in the room."""
        return {
            self.totals[name]
            for name, numbers in self.members.items()
            if any(self.bins[number].pool is not None for number in numbers)
        }

    @cached_property
    def twins(self) -> dict[int, int]:
        """The first of those that differ in nothing but what they have free, for each of them."""
        parents = {each.parent for each in self.bins}
        first: dict[HostProvider, int] = {}
        return {
            number: first.setdefault(each, number)
            for number, each in enumerate(self.bins)
            if each.parent is not None and number not in parents and each.pool is None
        }

    def lineage(self, number: int) -> Iterator[int]:
        """Return a provider and those above it, by number."""
        above: int | None = number
        while above is not None:
            yield above
            above = self.bins[above].parent

    def options(self, request: Request) -> list[list[int]] | None:
        """Return the providers that can serve each part, as far as the shape says.

        :return: ``None`` if the host is out for this request
        """
        root = self.bins[0]
        if (
            not root.traits.isdisjoint(request.root_forbidden)
            or not _has_each(root.traits, request.root_required)
            or not _has_each(root.aggregates, request.root_member_of)
        ):
            return None
        if request.is_lax:
            return [[]] * len(request.parts) if self._composes(request) else None
        found = [
            [number for number in range(len(self.bins)) if self._admits(number, part)]
            for part in request.parts
        ]
        return found if all(found) else None

    def _composes(self, request: Request) -> bool:
        """Return whether amounts, divided in any way, can be within the units."""
        for name, amount in request.totals.items():
            units = [self.units[number][name] for number in self.members.get(name, ())]
            if len(units) == 1 and not units[0].admit(amount):
                return False
            most = sum(each.max_unit - each.max_unit % each.step_size for each in units)
            if not units or amount > most or amount < min(each.min_unit for each in units):
                return False
        return True

    def _admits(self, number: int, part: AskedPart) -> bool:
        each, units = self.bins[number], self.units[number]
        if not all(name in units and units[name].admit(n) for name, n in part.resources):
            return False
        root = self.bins[0]
        is_common = each.is_inside and not part.group
        around = each.aggregates | root.aggregates if is_common else each.aggregates
        outside = each.aggregates if part.group else each.aggregates | root.aggregates
        return (
            each.traits.isdisjoint(part.forbidden)
            and _has_each(each.traits, part.required)
            and _has_each(around, part.member_of)
            and outside.isdisjoint(part.forbidden_member_of)
        )


def _has_each(names: frozenset[str], wanted: Sequence[frozenset[str]]) -> bool:
    return all(not names.isdisjoint(alternatives) for alternatives in wanted)


@dataclass(slots=True)
class Ways:
    """Looks for ways to serve a request on a host of a shape.

    :param options: of each part, as :meth:`Shape.options` returns them
    :param room: what the host has free
    :param pools: what sharing providers have free
    :ivar left: how many providers may still be tried; below 0 there may be more ways
    """

    request: Request
    shape: Shape
    options: list[list[int]]
    room: Sequence[int]
    pools: Pools
    left: int = MAX_STEPS

    def first(self) -> Way | None:
        """Return a way that leaves large pieces of room as they are."""
        return next(self.every(), None)

    def every(self) -> Iterator[Way]:
        """Return all ways, of those that are alike one."""
        if self.request.is_lax:
            yield from self._lax()
            return
        order = sorted(range(len(self.options)), key=lambda part: len(self.options[part]))
        yield from self._search(order, {}, {})

    def _lax(self) -> Iterator[Way]:
        way = self.shape.sum_of(self.request)
        totals = self.shape.totals
        if all(self.room[totals[name]] >= n for name, n in self.request.totals.items()) and all(
            self.pools.get(pool, 0) >= amount for pool, amount in way.shared
        ):
            yield way

    def _search(
        self, order: list[int], chosen: dict[int, int], taken: dict[tuple[int, str], int]
    ) -> Iterator[Way]:
        if len(chosen) == len(order):
            if (way := self._whole(chosen, taken)) is not None:
                yield way
            return
        number = order[len(chosen)]
        part = self.request.parts[number]
        for place in self._sorted(self.options[number], part, chosen):
            self.left -= 1
            if self.left < 0:
                return
            if self._is_apart(number, place, chosen) and self._has_room(place, part, taken):
                for name, amount in part.resources:
                    taken[place, name] = taken.get((place, name), 0) + amount
                chosen[number] = place
                yield from self._search(order, chosen, taken)
                del chosen[number]
                for name, amount in part.resources:
                    taken[place, name] -= amount

    def _sorted(self, options: list[int], part: AskedPart, chosen: Mapping[int, int]) -> list[int]:
        """Return the options, those with the least room first, of unused twins only one."""
        if len(options) == 1:
            return options
        name = part.resources[0][0] if part.resources else ''
        rooms, twins, seen, found = self.shape.rooms, self.shape.twins, set(), []
        used = set(chosen.values())
        for place in sorted(options, key=lambda place: (self._free(place, name), place)):
            if place in twins and place not in used:
                left = (self.room[rooms[place, each]] for each in self.shape.units[place])
                key = (twins[place], *left)
                if key in seen:
                    continue
                seen.add(key)
            found.append(place)
        return found

    def _free(self, place: int, name: str) -> int:
        pool = self.shape.bins[place].pool
        if pool is not None:
            # Who is on it already stays, so that nothing is copied.
            is_there = any(uuid == pool for uuid, _, _ in self.request.shared)
            return -1 if is_there else self.pools.get((pool, name), 0)
        return self.room[self.shape.rooms[place, name]] if name else 0

    def _is_apart(self, number: int, place: int, chosen: Mapping[int, int]) -> bool:
        if not (self.request.is_isolated and self.request.parts[number].group):
            return True
        parts = self.request.parts
        return not any(parts[each].group and there == place for each, there in chosen.items())

    def _has_room(self, place: int, part: AskedPart, taken: Mapping[tuple[int, str], int]) -> bool:
        pool, units = self.shape.bins[place].pool, self.shape.units[place]
        for name, amount in part.resources:
            amount += taken.get((place, name), 0)
            there = self.room[self.shape.rooms[place, name]] if pool is None else None
            if there is None:
                assert pool is not None
                there = self.pools.get((pool, name), 0)
            if amount > there or amount > units[name].max_unit:
                return False
        return True

    def _whole(self, chosen: Mapping[int, int], taken: Mapping[tuple[int, str], int]) -> Way | None:
        """Return the way, if the conditions on all parts together hold too."""
        shape, request = self.shape, self.request
        held = {place: amount for place, amount in taken.items() if amount}
        if not all(shape.units[number][name].admit(n) for (number, name), n in held.items()):
            return None
        if not self._is_shaped(chosen):
            return None
        local, shared = [], []
        before: dict[Pool, int] = {}
        for uuid, name, amount in request.shared:
            before[uuid, name] = amount
        for (number, name), amount in sorted(held.items()):
            pool = shape.bins[number].pool
            if pool is None:
                local.append((shape.rooms[number, name], amount))
                if shape.totals[name] != local[-1][0]:
                    local.append((shape.totals[name], amount))
            elif amount > before.get((pool, name), 0):
                shared.append(((pool, name), amount - before.get((pool, name), 0)))
        return Way(tuple(chosen[n] for n in range(len(chosen))), tuple(local), tuple(shared))

    def _is_shaped(self, chosen: Mapping[int, int]) -> bool:
        request, shape = self.request, self.shape
        common = [chosen[n] for n, part in enumerate(request.parts) if not part.group]
        for alternatives in request.covering:
            if all(alternatives.isdisjoint(shape.bins[place].traits) for place in common):
                return False
        for numbers in request.subtrees:
            together = {chosen[number] for number in numbers}
            above = [set(shape.lineage(place)) for place in together]
            if above and set.intersection(*above).isdisjoint(together):
                return False
        for traits, numbers in request.ancestors:
            above = [set(shape.lineage(chosen[number])) - {chosen[number]} for number in numbers]
            if not any(
                traits <= shape.bins[each].traits and shape.bins[each].parent is not None
                for each in set.intersection(*above)
            ):
                return False
        return True
