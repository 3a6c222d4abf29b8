"""Why a tree cannot be planned: facts, each of which can say itself in one sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason.

    :param tree: the name of the tree's root
    """

    tree: str

    @property
    def kind(self) -> str:
        """What kind of reason this is, for programs: ``too-large``."""
        return re.sub(r'(?<!^)(?=[A-Z])', '-', type(self).__name__).lower()

    def facts(self) -> dict[str, Any]:
        """Its fields."""
        return {
            field.name: list(value) if isinstance(value, tuple) else value
            for field in fields(self)
            for value in (getattr(self, field.name),)
        }

    @property
    def sentence(self) -> str:
        """It without the name of the tree before it."""
        return str(self).removeprefix(f'{self.tree}: ')


@dataclass(frozen=True, slots=True)
class SpecFault(Cause):
    """A fault of the specification, which only a tree shows.

    :param keys: what leads to it in the specification: ``('moves', 0, 'as')``
    """

    keys: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class NoSource(Cause):
    """The tree has no provider that a move starts from."""

    provider: str

    def __str__(self) -> str:
        return f'{self.tree}: there is no provider {self.provider} to move anything from'


@dataclass(frozen=True, slots=True)
class NoParent(Cause):
    """The parent of a provider to make is neither in the tree nor to be made."""

    provider: str
    parent: str

    def __str__(self) -> str:
        return f'{self.tree}: {self.parent}, the parent of {self.provider}, is not in the tree'


@dataclass(frozen=True, slots=True)
class NoTarget(Cause):
    """A target is given by its UUID, and no provider has it."""

    provider: str

    def __str__(self) -> str:
        return f'{self.tree}: there is no provider {self.provider}; a new one needs a name'


@dataclass(frozen=True, slots=True)
class ForeignTarget(Cause):
    """A target's name belongs to a provider of another tree that does not share."""

    provider: str
    root: str

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} is in the tree of {self.root} and does not share '
            'its inventory (no trait MISC_SHARES_VIA_AGGREGATE)'
        )


@dataclass(frozen=True, slots=True)
class WrongParent(Cause):
    """A provider is there, but not where the specification puts it."""

    provider: str
    parent: str
    wanted: str

    def __str__(self) -> str:
        return f'{self.tree}: the parent of {self.provider} is {self.parent}, not {self.wanted}'


@dataclass(frozen=True, slots=True)
class NoInventory(Cause):
    """A source has none of a class that is to be moved, or all of it is moved already."""

    provider: str
    resource_class: str

    def __str__(self) -> str:
        return f'{self.tree}: {self.provider} has no {self.resource_class} left to move'


@dataclass(frozen=True, slots=True)
class SamePlace(SpecFault):
    """A move leads from a class of a provider to the same class of the same provider."""

    provider: str
    resource_class: str

    def __str__(self) -> str:
        return f'{self.tree}: moving {self.resource_class} from {self.provider} to itself'


@dataclass(frozen=True, slots=True)
class TooMuch(SpecFault):
    """More of a class is to be moved off a provider than it has.

    :param moved: by all moves up to this one
    """

    provider: str
    resource_class: str
    moved: int
    total: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.moved} {self.resource_class} are moved off {self.provider}, '
            f'which has {self.total}'
        )


@dataclass(frozen=True, slots=True)
class LongName(SpecFault):
    """A provider to make has a longer name than the service takes."""

    name: str
    longest: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: the name {self.name[:20]}… has {len(self.name)} characters, '
            f'at most {self.longest} are allowed'
        )


@dataclass(frozen=True, slots=True)
class HasAlready(SpecFault):
    """A provider is to get inventory that it has already, or that a move brings."""

    provider: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} has {self.resource_class} already, or gets it by a move'
        )


@dataclass(frozen=True, slots=True)
class NoConsumer(SpecFault):
    """Something is to be added to a consumer that holds nothing."""

    consumer_uuid: str

    def __str__(self) -> str:
        return f'{self.tree}: unknown consumer {self.consumer_uuid}'


@dataclass(frozen=True, slots=True)
class NoTotal(Cause):
    """Inventory that nothing is moved into has no total."""

    provider: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f'{self.tree}: no {self.resource_class} is moved to {self.provider}, '
            'so its inventory needs a total'
        )


@dataclass(frozen=True, slots=True)
class ReservedUnplaced(Cause):
    """A source reserves more of a class than stays, and nothing says where that goes."""

    provider: str
    resource_class: str
    reserved: int
    left: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} reserves {self.reserved} {self.resource_class}, '
            f'of which {self.left} stay: say in the inventories of a target how much it reserves'
        )


@dataclass(frozen=True, slots=True)
class HiddenAllocations(Cause):
    """More is used than the consumers hold together."""

    provider: str
    resource_class: str
    usage: int
    listed: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} has {self.usage} {self.resource_class} in use, but its '
            f'consumers hold {self.listed}: run `placement-manage db online_data_migrations`, '
            'then take a new snapshot'
        )


@dataclass(frozen=True, slots=True)
class TooLarge(Cause):
    """A consumer has more of a class than any place admits in one allocation.

    :param largest: the largest amount that one of them admits
    """

    consumer_uuid: str
    resource_class: str
    amount: int
    largest: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.consumer_uuid} holds {self.amount} {self.resource_class}, more '
            f'than the largest max_unit, {self.largest}'
        )


@dataclass(frozen=True, slots=True)
class BadAmount(Cause):
    """No place admits the amount, for its min_unit or its step_size."""

    consumer_uuid: str
    resource_class: str
    amount: int
    units: tuple[tuple[str, int, int, int], ...]

    def __str__(self) -> str:
        units = '; '.join(
            f'{provider} takes {least} to {most} in steps of {step}'
            for provider, least, most, step in self.units
        )
        return (
            f'{self.tree}: no place takes the {self.amount} {self.resource_class} of '
            f'{self.consumer_uuid}: {units}'
        )


@dataclass(frozen=True, slots=True)
class Shortfall(Cause):
    """More has to go to some places than they have room for.

    :param providers: the places
    :param room: of all of them together
    :param mapped: whether assignments send all of it there
    """

    providers: tuple[str, ...]
    resource_class: str
    need: int
    room: int
    mapped: bool = False

    def __str__(self) -> str:
        places = _some(self.providers)
        how = ' are assigned to' if self.mapped else ' have to go to'
        return (
            f'{self.tree}: {self.need} {self.resource_class}{how} {places}, '
            f'which has room for {self.room}'
        )


@dataclass(frozen=True, slots=True)
class Overfull(Cause):
    """An inventory is made too small for what is in use and not to be moved.

    :param used: in use by consumers that stay out of the plan
    :param room: what they would have
    """

    provider: str
    resource_class: str
    used: int
    room: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} would have room for {self.room} {self.resource_class}, '
            f'{self.used} are in use there and do not move'
        )


@dataclass(frozen=True, slots=True)
class Undetermined(Cause):
    """Neither an assignment was found in time, nor a proof that there is none.

    :param seconds: how long was searched, in the solver's deterministic unit (about a second)
    :param unproved: if there is an assignment, of how many of its rows it is not known whether
        they could go elsewhere
    """

    seconds: float
    unproved: int = 0

    def __str__(self) -> str:
        if self.unproved:
            return (
                f'{self.tree}: it was not found out in {self.seconds:g} seconds '
                f'whether {self.unproved} rows could go elsewhere'
            )
        return (
            f'{self.tree}: no assignment was found in {self.seconds:g} seconds, and '
            'no proof that there is none'
        )


@dataclass(frozen=True, slots=True)
class SharedShortage(Cause):
    """What some trees hold does not fit into the targets that they share, wherever each goes.

    :param providers: the targets that this tree shares
    :param trees: how many other trees are planned with it
    """

    providers: tuple[str, ...]
    trees: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: what it would move does not fit beside that of {self.trees} other '
            f'trees, with which it shares {_some(self.providers)}'
        )


@dataclass(frozen=True, slots=True)
class Packing(Cause):
    """The totals suffice, but whole amounts do not fit.

    :param demands: the amounts, of the fewest consumers that do not fit
    :param rooms: of each place
    :param minimal: whether these are the fewest; else the search for them was cut short
    """

    resource_class: str
    demands: tuple[int, ...]
    rooms: Mapping[str, int]
    minimal: bool = True

    def __str__(self) -> str:
        rooms = ', '.join(f'{room} on {provider}' for provider, room in self.rooms.items())
        return (
            f'{self.tree}: {_counted(self.demands)} {self.resource_class} do not fit into '
            f'the room that is left: {rooms}'
            + ('' if self.minimal else ' (perhaps fewer do not; that takes longer to find out)')
        )


@dataclass(frozen=True, slots=True)
class Apart(Cause):
    """Classes that have to go together have no target in common."""

    consumer_uuid: str
    classes: tuple[str, ...]

    def __str__(self) -> str:
        classes = ' and '.join(self.classes)
        return f'{self.tree}: {classes} of {self.consumer_uuid} have no target in common'


@dataclass(frozen=True, slots=True)
class Unacceptable(Cause):
    """A consumer would be written again with an amount that the service no longer admits."""

    consumer_uuid: str
    provider: str
    resource_class: str
    amount: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.consumer_uuid} holds {self.amount} {self.resource_class} on '
            f'{self.provider}, against its min_unit, max_unit or step_size: the service would '
            'refuse to write it again'
        )


@dataclass(frozen=True, slots=True)
class Changed(Cause):
    """Inventory is no longer what the plan made of it."""

    provider: str
    resource_class: str

    def __str__(self) -> str:
        return f'{self.tree}: {self.resource_class} of {self.provider} is not what the plan made it'


@dataclass(frozen=True, slots=True)
class BadRow(Cause):
    """An assignment does not suit what is there now."""

    reason: str

    def __str__(self) -> str:
        return f'{self.tree}: {self.reason}'


@dataclass(frozen=True, slots=True)
class Slack:
    """What a place had room for when the search ended.

    :param capacity: of all its inventory of the class
    :param room: what of it is free for rows that have a choice
    """

    tree: str
    provider: str
    resource_class: str
    capacity: int
    room: int

    def __str__(self) -> str:
        return (
            f'{self.tree}: {self.provider} has room for {self.room} of {self.capacity} '
            f'{self.resource_class}'
        )

    @property
    def sentence(self) -> str:
        """It without the name of the tree before it."""
        return str(self).removeprefix(f'{self.tree}: ')


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A row that has several places to go to, as :class:`errors.Undecided` has them.

    :param choices: the names of the places, each of which some assignment uses
    :param classes: the names that the class may get there, where one place has it under several
    """

    tree: str
    consumer_uuid: str
    resource_class: str
    amount: int
    from_provider: str
    choices: tuple[str, ...]
    classes: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f', as {" or ".join(self.classes)}' if self.classes else ''
        return (
            f'{self.tree}: {self.amount} {self.resource_class} of {self.consumer_uuid} '
            f'may go to {_some(self.choices)}{names}'
        )


class Refused(Exception):
    """One tree cannot be planned; inside this package only.

    :param slack: of each place, where the search got so far
    """

    def __init__(self, causes: list[Cause], slack: list[Slack] | None = None) -> None:
        self.causes, self.slack = causes, slack or []
        super().__init__('; '.join(map(str, causes)))


def _some(names: tuple[str, ...]) -> str:
    shown = ', '.join(names[:8])
    return f'{shown} and {len(names) - 8} more' if len(names) > 8 else shown


def _counted(amounts: tuple[int, ...]) -> str:
    """``(2, 2, 2, 1)`` as ``3 times 2 and 1``."""
    sizes = sorted(set(amounts), reverse=True)
    counted = [
        f'{count} times {amount}' if (count := amounts.count(amount)) > 1 else str(amount)
        for amount in sizes[:8]
    ]
    if len(sizes) > 8:
        counted.append(f'{sum(amounts.count(amount) for amount in sizes[8:])} others')
    return ' and '.join(counted)
