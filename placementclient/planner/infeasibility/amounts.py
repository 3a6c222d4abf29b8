"""Reasons that lie in amounts: what consumers hold does not go where it would have to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from placementclient.client.wording import counted, listed
from placementclient.planner.infeasibility.cause import Cause


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
        places = listed(self.providers, 8)
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
            f'trees, with which it shares {listed(self.providers, 8)}'
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

    @property
    def kind(self) -> str:
        """What programs know it by."""
        return 'changed'

    def __str__(self) -> str:
        return f'{self.tree}: {self.resource_class} of {self.provider} is not what the plan made it'


@dataclass(frozen=True, slots=True)
class StillInUse(Cause):
    """On the way back: others use what the plan of one tree brought to a target that they share.

    :param used: by others, in units of the class
    :param room: what the target has without that
    :param trees: those of the plan that moved there
    """

    provider: str
    resource_class: str
    used: int
    room: int
    trees: tuple[str, ...]

    def __str__(self) -> str:
        options = ' '.join(f'--tree {tree}' for tree in (self.tree, *self.trees))
        return (
            f'{self.tree}: without it {self.provider} has room for {self.room} '
            f'{self.resource_class}, of which consumers of other trees hold {self.used}'
            + (f': roll these trees back together ({options})' if self.trees else '')
        )


def _counted(amounts: tuple[int, ...]) -> str:
    """``(2, 2, 2, 1)`` as ``3 times 2 and 1``."""
    sizes = sorted(set(amounts), reverse=True)
    parts = [
        f'{count} times {amount}' if (count := amounts.count(amount)) > 1 else str(amount)
        for amount in sizes[:8]
    ]
    if len(sizes) > 8:
        others = sum(amounts.count(amount) for amount in sizes[8:])
        parts.append(counted(others, 'other'))
    return ' and '.join(parts)
