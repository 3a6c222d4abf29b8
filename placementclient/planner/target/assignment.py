"""Who goes where in one tree: what its consumers hold becomes items, its inventories bins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient.model.consumers import Consumer
from placementclient.model.inventories import UNLIMITED, Inventory
from placementclient.planner import diagnose, infeasibility
from placementclient.planner.infeasibility import OpenRow, Refused
from placementclient.planner.plan.plan import Label, PlannedRow
from placementclient.planner.solve.problem import Bin, Demand, Item
from placementclient.planner.solve.search import Found, Impossible, search
from placementclient.planner.spec.specification import Spec
from placementclient.planner.target.known import Holding, Known
from placementclient.planner.target.overlay import World
from placementclient.planner.target.target_state import Layout, Place, Site

#: A provider's UUID and a class.
Where = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """One item: classes of one consumer on one source that go the same way.

    :param amounts: of each class
    :param ways: the places of each class, in the order of the classes
    :param known: the row that decides it
    """

    consumer: Consumer
    source: Site
    amounts: Mapping[str, int]
    ways: tuple[tuple[Place, ...], ...]
    divisible: bool = False
    known: Known | None = None


@dataclass(slots=True)
class Seating:
    """Where everything of a tree goes.

    :param rows: labelled, by source, consumer and class
    :param moves: of each row, whence and whither: consumer, source, target, amount
    :param undecided: the rows that have a choice
    """

    rows: list[PlannedRow]
    moves: list[tuple[str, Where, Where, int]]
    undecided: list[OpenRow]


def seat(
    world: World, layout: Layout, spec: Spec, known: Mapping[Holding, Sequence[Known]]
) -> Seating:
    """Find a place for all that the consumers of a tree hold on its sources.

    :param known: what is known to go where
    :raises Refused: if there is no such assignment
    """
    _refuse_hidden(world, layout)
    hall = Hall(world, layout, spec)
    for source, names in _groups(layout, spec):
        for consumer in world.consumers_on(source):
            hall.admit(consumer, layout.sites[source], names, known)
    if hall.causes:
        raise Refused(hall.causes)
    items = hall.items()
    found = search(hall.bins, items)
    if isinstance(found, Impossible):
        raise Refused(*diagnose.explain(layout, hall, items, found))
    return _seating(layout, hall.parts, found)


def _groups(layout: Layout, spec: Spec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sources with the classes that go together."""
    group_of = {name: group for group in spec.together for name in group}
    done: set[Where] = set()
    for source, name in layout.places:
        if (source, name) not in done:
            names = tuple(
                other for other in group_of.get(name, (name,)) if (source, other) in layout.places
            )
            done.update((source, other) for other in names)
            yield source, names


def _refuse_hidden(world: World, layout: Layout) -> None:
    hidden: list[infeasibility.Cause] = []
    for source, name in layout.places:
        if (source, name) in layout.limited:
            continue
        state = world.state(source)
        assert state is not None
        listed = sum(
            consumer.allocations.get(source, {}).get(name, 0)
            for consumer in world.consumers_on(source)
        )
        usage = state.usages.get(name, 0)
        if usage > listed:
            hidden.append(
                infeasibility.HiddenAllocations(layout.root.name, state.name, name, usage, listed)
            )
    if hidden:
        raise Refused(hidden)


class Hall:
    """The bins and the items of one tree."""

    def __init__(self, world: World, layout: Layout, spec: Spec) -> None:
        self._world, self._layout, self._spec = world, layout, spec
        self.parts: list[Part] = []
        self.bins: list[Bin] = []
        self.wheres: list[Where] = []
        self.causes: list[infeasibility.Cause] = []
        self._numbers: dict[Where, int] = {}

    def admit(
        self,
        consumer: Consumer,
        source: Site,
        names: Sequence[str],
        known: Mapping[Holding, Sequence[Known]],
    ) -> None:
        """Make items of what a consumer holds of classes that go together."""
        held = consumer.allocations.get(source.uuid, {})
        amounts = {name: held[name] for name in names if held.get(name)}
        for name in amounts.keys() & names:
            limited = self._layout.limited.get((source.uuid, name))
            if limited is not None:
                amounts[name] = min(limited.get(consumer.uuid, 0), amounts[name])
        amounts = {name: amount for name, amount in amounts.items() if amount}
        if not amounts:
            return
        ways = self._ways(source, tuple(amounts))
        open_amounts = dict(amounts)
        targets: set[tuple[tuple[str, bool], ...]] = set()
        for name in amounts:
            rows = known.get((consumer.uuid, source.uuid, name))
            if rows:
                del open_amounts[name]
                targets.add(tuple(sorted(_target(row.place) for row in rows)))
                for row in rows:
                    self._add(
                        Part(consumer, source, {name: row.amount}, ((row.place,),), known=row)
                    )
        if targets:
            together = {target for several in targets for target in several}
            ways = tuple(way for way in ways if {_target(way[0])} == together)
        if len(targets) > 1 or (amounts and not ways and open_amounts):
            self.causes.append(
                infeasibility.Apart(self._layout.root.name, consumer.uuid, tuple(amounts))
            )
        elif open_amounts:
            positions = [index for index, name in enumerate(amounts) if name in open_amounts]
            ways = tuple(tuple(way[index] for index in positions) for way in ways)
            divisible = self._spec.split and len(open_amounts) == 1 and not targets
            divisible = divisible and len(amounts) == 1 and len(ways) > 1
            self._add(Part(consumer, source, open_amounts, ways, divisible))

    def items(self) -> list[Item]:
        """The items, with those of one consumer that share a bin tied together."""
        items = [self._item(part) for part in self.parts]
        users: dict[tuple[str, int], list[int]] = {}
        for index, (part, item) in enumerate(zip(self.parts, items, strict=True)):
            for where in {demand[0] for way in item.ways for demand in way}:
                users.setdefault((part.consumer.uuid, where), []).append(index)
        tied = {key: indexes for key, indexes in users.items() if len(indexes) > 1}
        if tied:
            self._tie(items, tied)
        return items

    def static(self, where: Where) -> int:
        """What is used at a place by those that stay out of it, in units of the class."""
        provider_uuid, name = where
        state = self._world.state(provider_uuid)
        if state is None:
            return 0
        used = state.usages.get(name, 0)
        if where in self._layout.limited:
            return used - sum(self._layout.limited[where].values())
        return 0 if where in self._layout.places else used  # each of its consumers has an item

    def _ways(self, source: Site, names: Sequence[str]) -> tuple[tuple[Place, ...], ...]:
        """The places that every class can go to."""
        places = [
            {_target(place): place for place in self._layout.places[source.uuid, name]}
            for name in names
        ]
        return tuple(
            tuple(of_class[target] for of_class in places)
            for target in places[0]
            if all(target in of_class for of_class in places)
        )

    def _add(self, part: Part) -> None:
        if part.known is None:
            ways = tuple(way for way in part.ways if not any(place.only_mapped for place in way))
            part = replace(part, ways=ways, divisible=part.divisible and len(ways) > 1)
        self.parts.append(part)

    def _item(self, part: Part) -> Item:
        ways = []
        for places in part.ways:
            demands: dict[int, Demand] = {}
            for place, amount in zip(places, part.amounts.values(), strict=True):
                where = self.number(place)
                known = demands.get(where, (where, 0, self.held(part.consumer, place)))
                demands[where] = (where, known[1] + amount, known[2])
            ways.append(tuple(demands.values()))
        return Item(tuple(ways), part.divisible)

    def number(self, place: Place) -> int:
        """The number of a place's bin."""
        return self._bin((place.provider_uuid, place.resource_class))

    def held(self, consumer: Consumer, place: Place) -> int:
        """What a consumer has at a place and keeps there."""
        where = (place.provider_uuid, place.resource_class)
        held = consumer.allocations.get(place.provider_uuid, {}).get(place.resource_class, 0)
        if where in self._layout.limited:
            return held - self._layout.limited[where].get(consumer.uuid, 0)
        return 0 if where in self._layout.places else held

    def _bin(self, where: Where) -> int:
        number = self._numbers.get(where)
        if number is None:
            number = self._numbers[where] = len(self.bins)
            self.wheres.append(where)
            inventory = self._layout.sites[where[0]].inventories[where[1]]
            if where in self._layout.places:
                self.bins.append(self._remainder(where, inventory))
            else:
                self.bins.append(
                    Bin(
                        inventory.capacity - self.static(where),
                        inventory.min_unit,
                        inventory.max_unit,
                        inventory.step_size,
                    )
                )
        return number

    def _remainder(self, where: Where, inventory: Inventory) -> Bin:
        """What stays on a source may stay as it is: over-committed, no more than it was, and in
        amounts that the units admitted once.
        """
        before = self._layout.sites[where[0]].before
        assert before is not None
        usage, was = before.usages.get(where[1], 0), before.inventories.get(where[1])
        room = inventory.capacity + max(0, usage - (was.capacity if was else usage))
        if self._spec.split:
            return Bin(room, inventory.min_unit, inventory.max_unit, inventory.step_size)
        return Bin(room, 1, UNLIMITED, 1)

    def _tie(self, items: list[Item], tied: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Units count for all that a consumer gets in a bin.

        Where none of its items has a choice, the sum is known; else the search has to see to it.
        """
        owners: dict[str, int] = {}
        own_of: dict[str, list[int]] = {}
        for index, part in enumerate(self.parts):
            own_of.setdefault(part.consumer.uuid, []).append(index)
        for (consumer_uuid, where), indexes in tied.items():
            own = own_of[consumer_uuid]
            if any(len(items[index].ways) > 1 for index in own):
                number = owners.setdefault(consumer_uuid, len(owners))
                for index in own:
                    items[index] = replace(items[index], owner=number)
                continue
            amounts = {
                index: sum(demand[1] for demand in items[index].ways[0] if demand[0] == where)
                for index in indexes
            }
            for index in indexes:
                others = sum(amounts.values()) - amounts[index]
                way = tuple(
                    (bin, amount, held + (others if bin == where else 0))
                    for bin, amount, held in items[index].ways[0]
                )
                items[index] = replace(items[index], ways=(way,))


def _target(place: Place) -> tuple[str, bool]:
    return place.provider_uuid, place.stays


def _seating(layout: Layout, parts: Sequence[Part], found: Sequence[Found]) -> Seating:
    seating = Seating([], [], [])
    for part, result in zip(parts, found, strict=True):
        label = part.known.label if part.known else Label.FORCED
        if part.known is None and not result.forced:
            label = Label.INFERRED
            choices = tuple(part.ways[way][0].provider for way in result.possible)
            seating.undecided += [
                OpenRow(
                    layout.root.name, part.consumer.uuid, name, amount, part.source.name, choices
                )
                for name, amount in part.amounts.items()
            ]
        for way, placed in result.placement:
            for place, (name, amount) in zip(part.ways[way], part.amounts.items(), strict=True):
                seating.rows.append(
                    PlannedRow(
                        part.consumer.uuid,
                        name,
                        placed if part.divisible else amount,
                        part.source.name,
                        place.provider,
                        place.resource_class,
                        label,
                        part.known.evidence if part.known else None,
                    )
                )
                seating.moves.append(
                    (
                        part.consumer.uuid,
                        (part.source.uuid, name),
                        (place.provider_uuid, place.resource_class),
                        placed if part.divisible else amount,
                    )
                )
    return seating
