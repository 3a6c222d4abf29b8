"""How the planning of one tree ends without a plan: what was left open, and how far it got."""

from __future__ import annotations

from dataclasses import dataclass

from placementclient.client.wording import counted, listed
from placementclient.planner.infeasibility.cause import Cause


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
                f'whether {counted(self.unproved, "row")} could go elsewhere'
            )
        return (
            f'{self.tree}: no assignment was found in {self.seconds:g} seconds, and '
            'no proof that there is none'
        )


@dataclass(frozen=True, slots=True)
class Undecidable(Cause):
    """The planner has no method to decide it, however long it searches.

    :param reason: a sentence without its full stop
    :param unproved: if there is an assignment, of how many of its rows it is not known whether
        they could go elsewhere
    """

    reason: str
    unproved: int = 0

    def __str__(self) -> str:
        if self.unproved:
            rows = counted(self.unproved, 'row')
            return f'{self.tree}: {self.reason}, so that {rows} might go elsewhere'
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
            f'may go to {listed(self.choices, 8)}{names}'
        )


class Refused(Exception):
    """One tree cannot be planned; inside this package only.

    :param slack: of each place, where the search got so far
    """

    def __init__(self, causes: list[Cause], slack: list[Slack] | None = None) -> None:
        self.causes, self.slack = causes, slack or []
        super().__init__('; '.join(map(str, causes)))
