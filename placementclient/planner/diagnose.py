"""Why there is no assignment: the smallest reason that has a name, with its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from placementclient.planner.infeasibility import (
    BadAmount,
    Cause,
    Packing,
    Shortfall,
    Slack,
    TooLarge,
)
from placementclient.planner.solve.problem import Item
from placementclient.planner.solve.search import Impossible
from placementclient.planner.target.target_state import Layout

if TYPE_CHECKING:
    from placementclient.planner.target.assignment import Hall


def explain(
    layout: Layout, hall: Hall, items: Sequence[Item], impossible: Impossible
) -> tuple[list[Cause], list[Slack]]:
    """The causes, all of the first kind that applies, and the room of each place."""
    teller = _Teller(layout, hall, items)
    slack = list(teller.slack(impossible.rooms))
    for reason in (teller.units, teller.overflows, teller.totals):
        found = list(reason())
        if found:
            return found, slack
    return list(teller.packing(impossible)), slack


class _Teller:
    def __init__(self, layout: Layout, hall: Hall, items: Sequence[Item]) -> None:
        self._layout, self._hall, self._items = layout, hall, items
        self._tree = layout.root.name

    def slack(self, rooms: Sequence[int]) -> Iterator[Slack]:
        """The room of each place."""
        for (provider_uuid, name), room in zip(self._hall.wheres, rooms, strict=True):
            site = self._layout.sites[provider_uuid]
            yield Slack(self._tree, site.name, name, site.inventories[name].capacity, room)

    def units(self) -> Iterator[Cause]:
        """Amounts that no place admits."""
        for part, item in zip(self._hall.parts, self._items, strict=True):
            if item.divisible or item.owner >= 0:
                continue
            for name, amount in part.amounts.items():
                position = list(part.amounts).index(name)
                places = [way[position] for way in part.ways]
                demands = [
                    (self._hall.number(place), self._hall.held(part.consumer, place))
                    for place in places
                ]
                bins = [(self._hall.bins[where], held) for where, held in demands]
                if any(room.admits(amount + held) for room, held in bins):
                    continue
                largest = max(room.max_unit - held for room, held in bins)
                if amount > largest:
                    yield TooLarge(self._tree, part.consumer.uuid, name, amount, largest)
                else:
                    units = tuple(
                        (self._name(where), room.min_unit, room.max_unit, room.step_size)
                        for (where, _), (room, _) in zip(demands, bins, strict=True)
                    )
                    yield BadAmount(self._tree, part.consumer.uuid, name, amount, units)

    def overflows(self) -> Iterator[Cause]:
        """Places to which assignments alone send more than there is room for."""
        needs: dict[int, int] = {}
        for part, item in zip(self._hall.parts, self._items, strict=True):
            if part.known is not None:
                for where, amount, _ in item.ways[0]:
                    needs[where] = needs.get(where, 0) + amount
        for where, need in needs.items():
            room = self._hall.bins[where].room
            if need > room:
                yield self._shortfall([where], need, room, mapped=True)

    def totals(self) -> Iterator[Cause]:
        """Classes of which more is held than all their places can take."""
        demands: dict[frozenset[int], int] = {}
        for item in self._items:
            by_class: dict[str, tuple[set[int], int]] = {}
            for way in item.ways:
                for where, amount, _ in way:
                    wheres, _ = by_class.setdefault(self._hall.wheres[where][1], (set(), amount))
                    wheres.add(where)
            for own, amount in by_class.values():
                key = frozenset(own)
                demands[key] = demands.get(key, 0) + amount
        for places in sorted(demands, key=sorted):
            need = sum(amount for others, amount in demands.items() if others <= places)
            room = sum(max(self._hall.bins[where].room, 0) for where in places)
            if need > room:
                yield self._shortfall(sorted(places), need, room)
                return

    def packing(self, impossible: Impossible) -> Iterator[Cause]:
        """The fewest items that do not fit, of the scarcest class."""
        indexes, rooms = impossible.items, impossible.rooms
        if len(indexes) == 1:  # others that have no choice took its room
            indexes = self._rivals(indexes[0])
            rooms = tuple(room.room for room in self._hall.bins)
        by_class: dict[str, tuple[list[int], set[int]]] = {}
        for index in indexes:
            part, item = self._hall.parts[index], self._items[index]
            for way in item.ways:
                for where, _, _ in way:
                    by_class.setdefault(self._hall.wheres[where][1], ([], set()))[1].add(where)
            amounts = {self._hall.wheres[where][1]: amount for where, amount, _ in item.ways[0]}
            for name, amount in amounts.items():
                by_class[name][0].append(amount)
            assert part.amounts
        scarcest = max(by_class, key=lambda name: _scarcity(by_class[name], rooms))
        demands, wheres = by_class[scarcest]
        room = sum(max(rooms[where], 0) for where in wheres)
        if sum(demands) > room:
            yield self._shortfall(sorted(wheres), sum(demands), room)
        else:
            named = {self._name(where): rooms[where] for where in sorted(wheres)}
            yield Packing(self._tree, scarcest, tuple(sorted(demands, reverse=True)), named)

    def _rivals(self, index: int) -> tuple[int, ...]:
        wanted = {demand[0] for way in self._items[index].ways for demand in way}
        return tuple(
            other
            for other, item in enumerate(self._items)
            if other == index
            or (len(item.ways) == 1 and any(demand[0] in wanted for demand in item.ways[0]))
        )

    def _shortfall(
        self, wheres: Sequence[int], need: int, room: int, mapped: bool = False
    ) -> Shortfall:
        providers = tuple(self._name(where) for where in wheres)
        name = self._hall.wheres[wheres[0]][1]
        return Shortfall(self._tree, providers, name, need, room, mapped)

    def _name(self, where: int) -> str:
        return self._layout.sites[self._hall.wheres[where][0]].name


def _scarcity(of_class: tuple[list[int], set[int]], rooms: Sequence[int]) -> float:
    demands, wheres = of_class
    return sum(demands) / max(sum(rooms[where] for where in wheres), 1)
