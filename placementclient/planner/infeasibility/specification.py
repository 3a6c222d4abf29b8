"""Reasons that lie in what a specification asks for, once a tree is there to hold it against."""

from __future__ import annotations

from dataclasses import dataclass

from placementclient.planner.infeasibility.cause import Cause, SpecFault


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
class NamedTwice(SpecFault):
    """Two entries are about one provider.

    :param section: the list that the other entry is in
    :param other: how that one spells it
    """

    provider: str
    section: str
    other: str

    def __str__(self) -> str:
        spelled = '' if self.other == self.provider else f', as {self.other}'
        return f'{self.tree}: {self.provider} is under {self.section} too{spelled}'


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
class BadRow(Cause):
    """An assignment does not suit what is there now."""

    reason: str

    def __str__(self) -> str:
        return f'{self.tree}: {self.reason}'
