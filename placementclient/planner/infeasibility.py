"""The reasons why a tree cannot be planned, and the state of its search."""

import inspect
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.client.wording import counted, listed


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason why a tree cannot be planned.

    :param kind: the kind, for programs: ``too-large``
    :param tree: the name of the tree's root
    :param values: the facts that the kind has, by their names
    :param keys: of a fault of the specification, the way to it: ``('moves', 0, 'as')``
    """

    kind: str
    tree: str
    values: Mapping[str, Any]
    keys: tuple[str | int, ...] | None = None

    def facts(self) -> dict[str, Any]:
        """Return all facts as JSON values."""
        keys = {} if self.keys is None else {'keys': list(self.keys)}
        values = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.values.items()
        }
        return {'tree': self.tree, **keys, **values}

    @property
    def sentence(self) -> str:
        """Return the reason without the name of the tree."""
        return KINDS[self.kind].filled(self.values)

    def __str__(self) -> str:
        return f'{self.tree}: {self.sentence}'


class CauseKind:
    """A kind of reason; a call makes a :class:`Cause`.

    :param name: for programs
    :param text: the sentence, with the facts in braces in the order in which they are given; or a
        function of the facts
    :param defaults: the values of facts that may be left out
    """

    def __init__(self, name: str, text: str | Callable[..., str], **defaults: Any) -> None:
        self.name, self._text, self._defaults = name, text, defaults
        if isinstance(text, str):
            self._fields = [field for _, field, _, _ in string.Formatter().parse(text) if field]
        else:
            self._fields = list(inspect.signature(text).parameters)
        KINDS[name] = self

    def __call__(
        self, tree: str, *values: Any, keys: tuple[str | int, ...] | None = None, **named: Any
    ) -> Cause:
        given = dict(zip(self._fields, values, strict=False)) | named
        return Cause(self.name, tree, {**self._defaults, **given}, keys)

    def filled(self, values: Mapping[str, Any]) -> str:
        """Return the sentence with its values."""
        return (self._text.format if isinstance(self._text, str) else self._text)(**values)


#: Every kind by its name.
KINDS: dict[str, CauseKind] = {}


def _bad_amount(consumer_uuid: str, resource_class: str, amount: int, units: Any) -> str:
    said = '; '.join(
        f'{provider} takes {least} to {most} in steps of {step}'
        for provider, least, most, step in units
    )
    return f'no place takes the {amount} {resource_class} of {consumer_uuid}: {said}'


def _shortfall(
    providers: tuple[str, ...], resource_class: str, need: int, room: int, *, mapped: bool
) -> str:
    how = ' are assigned to' if mapped else ' have to go to'
    places = listed(providers, 8)
    return f'{need} {resource_class}{how} {places}, which has room for {room}'


def _packing(
    resource_class: str, demands: tuple[int, ...], rooms: Mapping[str, int], *, minimal: bool
) -> str:
    places = ', '.join(f'{room} on {provider}' for provider, room in rooms.items())
    return (
        f'{_amounts(demands)} {resource_class} do not fit into the room that is left: {places}'
        + ('' if minimal else ' (perhaps fewer do not; that takes longer to find out)')
    )


def _amounts(amounts: tuple[int, ...]) -> str:
    """Return ``3 times 2 and 1`` for ``(2, 2, 2, 1)``."""
    sizes = sorted(set(amounts), reverse=True)
    parts = [
        f'{count} times {amount}' if (count := amounts.count(amount)) > 1 else str(amount)
        for amount in sizes[:8]
    ]
    if len(sizes) > 8:
        others = sum(amounts.count(amount) for amount in sizes[8:])
        parts.append(counted(others, 'other'))
    return ' and '.join(parts)


def _undetermined(seconds: float, unproved: int) -> str:
    if unproved:
        rows = counted(unproved, 'row')
        return f'it was not found out in {seconds:g} seconds whether {rows} could go elsewhere'
    return f'no assignment was found in {seconds:g} seconds, and no proof that there is none'


# Amounts: holdings of consumers do not go where they would have to.
HIDDEN_ALLOCATIONS = CauseKind(
    'hidden-allocations',
    '{provider} has {usage} {resource_class} in use, but its consumers hold {listed}: run '
    '`placement-manage db online_data_migrations`, then take a new snapshot',
)
TOO_LARGE = CauseKind(
    'too-large',
    '{consumer_uuid} holds {amount} {resource_class}, more than the largest max_unit, {largest}',
)
#: ``units``: of each place its name, min_unit, max_unit, step_size
BAD_AMOUNT = CauseKind('bad-amount', _bad_amount)
#: ``mapped``: whether assignments send all of it there
SHORTFALL = CauseKind('shortfall', _shortfall, mapped=False)
#: ``used``: by consumers that stay out of the plan; ``room``: that they would have
OVERFULL = CauseKind(
    'overfull',
    '{provider} would have room for {room} {resource_class}, {used} are in use there and do not '
    'move',
)
#: ``demands``: of the fewest consumers that do not fit; ``minimal``: whether that is proved
PACKING = CauseKind('packing', _packing, minimal=True)
APART = CauseKind(
    'apart',
    lambda consumer_uuid, classes: (
        f'{" and ".join(classes)} of {consumer_uuid} have no target in common'
    ),
)
UNACCEPTABLE = CauseKind(
    'unacceptable',
    '{consumer_uuid} holds {amount} {resource_class} on {provider}, against its min_unit, '
    'max_unit or step_size: the service would refuse to write it again',
)
CHANGED = CauseKind(
    'changed',
    '{resource_class} of {provider} is not what the plan made it',
)
#: On the way back. ``used``: by consumers of other trees
STILL_IN_USE = CauseKind(
    'still-in-use',
    'without it {provider} has room for {room} {resource_class}, of which consumers of other '
    'trees hold {used}',
)

#: ``consumers``: that move; ``most``: that one request may move
TOO_MANY = CauseKind(
    'too-many',
    'the trees change together, as they share a target or a consumer, and {consumers} consumers '
    'move, more than {most}: plan and apply them a few at a time, with --tree',
)

# The end of a search.
#: ``unproved``: of how many rows of an assignment it is not known whether they could go elsewhere
UNDETERMINED = CauseKind('undetermined', _undetermined, unproved=0)
#: ``reason``: a sentence without its full stop
UNDECIDABLE = CauseKind(
    'undecidable',
    lambda reason, unproved: (
        f'{reason}, so that {counted(unproved, "row")} might go elsewhere' if unproved else reason
    ),
    unproved=0,
)
#: No plan is known, and no proof that there is none.
OPEN = frozenset({UNDETERMINED.name, UNDECIDABLE.name})

# A specification asks for something that the tree does not have.
NO_SOURCE = CauseKind('no-source', 'there is no provider {provider} to move anything from')
NO_PARENT = CauseKind('no-parent', '{parent}, the parent of {provider}, is not in the tree')
FOREIGN_TARGET = CauseKind(
    'foreign-target',
    '{provider} is in the tree of {root} and does not share its inventory (no trait '
    'MISC_SHARES_VIA_AGGREGATE)',
)
MADE_TWICE = CauseKind(
    'made-twice',
    '{provider} is made in the tree of {root} already: put {{root}} into its name',
)
WRONG_PARENT = CauseKind(
    'wrong-parent',
    'the parent of {provider} is {parent}, not {wanted}',
)
NO_INVENTORY = CauseKind('no-inventory', '{provider} has no {resource_class} left to move')
NO_TOTAL = CauseKind(
    'no-total',
    'no {resource_class} is moved to {provider}, so its inventory needs a total',
)
RESERVED_UNPLACED = CauseKind(
    'reserved-unplaced',
    '{provider} reserves {reserved} {resource_class}, of which {left} stay: say in the '
    'inventories of a target how much it reserves',
)
#: An assignment does not suit what is there now.
BAD_ROW = CauseKind('bad-row', '{reason}')
SAME_PLACE = CauseKind('same-place', 'moving {resource_class} from {provider} to itself')
NO_TARGET = CauseKind('no-target', 'there is no provider {provider}; a new one needs a name')
OTHER_UUID = CauseKind('other-uuid', '{provider} exists already, and its UUID is {uuid}')
#: ``moved``: by all moves up to this one
TOO_MUCH = CauseKind(
    'too-much',
    '{moved} {resource_class} are moved off {provider}, which has {total}',
)
LONG_NAME = CauseKind(
    'long-name',
    lambda name, longest: (
        f'the name {name[:20]}… has {len(name)} characters, at most {longest} are allowed'
    ),
)
HAS_ALREADY = CauseKind(
    'has-already',
    '{provider} has {resource_class} already, or gets it by a move',
)
#: ``section``: the list that the other entry is in; ``other``: how that one spells it
NAMED_TWICE = CauseKind(
    'named-twice',
    lambda provider, section, other: (
        f'{provider} is under {section} too' + ('' if other == provider else f', as {other}')
    ),
)
NO_CONSUMER = CauseKind('no-consumer', 'unknown consumer {consumer_uuid}')


@dataclass(frozen=True, slots=True)
class Slack:
    """The free amount of a place at the end of the search.

    :param capacity: of all its inventory of the class
    :param room: the part that is free for rows that have a choice
    """

    tree: str
    provider: str
    resource_class: str
    capacity: int
    room: int

    @property
    def sentence(self) -> str:
        """Return the sentence without the name of the tree."""
        return f'{self.provider} has room for {self.room} of {self.capacity} {self.resource_class}'

    def __str__(self) -> str:
        return f'{self.tree}: {self.sentence}'


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A row with several possible places, for :class:`errors.Undecided`.

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
    """One tree cannot be planned; only for use in this package.

    :param slack: of each place, where the search got so far
    """

    def __init__(self, causes: list[Cause], slack: list[Slack] | None = None) -> None:
        self.causes, self.slack = causes, slack or []
        super().__init__('; '.join(map(str, causes)))
