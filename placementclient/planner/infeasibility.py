# SPDX-License-Identifier: Apache-2.0
"""The reasons why a tree cannot be planned, and the state of its search."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from placementclient.basis.wording import format_count, join_names
from placementclient.model.specifications import Keys


class Cause:
    """A reason why a tree cannot be planned.

    ``Cause('no-inventory', 'gpu1', provider='gpu1', resource_class='VGPU')`` reads ``gpu1: gpu1 has
    no VGPU left to move``.

    :param kind: one of :data:`SENTENCES`
    :param tree: the name of the tree
    :param keys: the way to the place in the specification that is wrong: ``('moves', 0, 'as')``
    :param values: the facts that the sentence of the kind names in braces, no more and no fewer
    """

    def __init__(self, kind: str, tree: str, keys: Keys | None = None, **values: object) -> None:
        self.kind, self.tree, self.keys, self.values = kind, tree, keys, values

    def facts(self) -> dict[str, object]:
        """Return the tree, the place in the specification and the values, as JSON values."""
        keys = {} if self.keys is None else {'keys': list(self.keys)}
        values = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.values.items()
        }
        return {'tree': self.tree, **keys, **values}

    @property
    def sentence(self) -> str:
        """The reason, without the name of the tree."""
        text = SENTENCES[self.kind]
        return (text.format if isinstance(text, str) else text)(**self.values)

    def __str__(self) -> str:
        return f'{self.tree}: {self.sentence}'


def _describe_bad_amount(
    consumer_uuid: str, resource_class: str, amount: int, units: Sequence[tuple[str, int, int, int]]
) -> str:
    """Return the sentence that no provider takes an amount.

    :param units: names of providers, with their min_unit, max_unit and step_size
    """
    limits = '; '.join(
        f'{provider} takes {least} to {most} in steps of {step}'
        for provider, least, most, step in units
    )
    return f'no place takes the {amount} {resource_class} of {consumer_uuid}: {limits}'


def _describe_shortfall(
    mapped: bool, providers: Sequence[str], resource_class: str, need: int, room: int
) -> str:
    """Return the sentence that providers lack room.

    :param mapped: whether assignments send the whole need there
    :param need: the amount that has to go to one of the providers
    :param room: the amount that they have free
    """
    verb = 'are assigned to' if mapped else 'have to go to'
    return f'{need} {resource_class} {verb} {join_names(providers, 8)}, which has room for {room}'


def _describe_unplaceable_demands(
    minimal: bool, resource_class: str, demands: Sequence[int], rooms: Mapping[str, int]
) -> str:
    """Return the sentence that demands of some sizes do not fit: ``3 times 2 and 1 VGPU ...``.

    :param minimal: whether it is proved that any fewer demands fit
    :param rooms: by provider, the room in units of the class
    """
    counts = sorted(Counter(demands).items(), reverse=True)
    sizes = [f'{count} times {size}' if count > 1 else str(size) for size, count in counts[:8]]
    if others := sum(count for _, count in counts[8:]):
        sizes.append(format_count(others, 'other'))
    places = ', '.join(f'{room} on {provider}' for provider, room in rooms.items())
    doubt = '' if minimal else ' (perhaps fewer do not; that takes longer to find out)'
    return (
        f'{" and ".join(sizes)} {resource_class} do not fit into the room that is left: '
        f'{places}{doubt}'
    )


def _describe_undetermined(unproved: int, seconds: float) -> str:
    """Return the sentence that a search ran out of time after some seconds.

    :param unproved: the number of rows that may have another target; 0: no solution was found
    """
    if unproved:
        rows = format_count(unproved, 'row')
        return f'it was not found out in {seconds:g} seconds whether {rows} could go elsewhere'
    return f'no assignment was found in {seconds:g} seconds, and no proof that there is none'


#: The kind of the room that is left; it goes with other kinds and is no reason.
ROOM = 'room'
#: The sentence of each kind of reason, with its facts in braces; or a function of the facts.
SENTENCES: dict[str, str | Callable[..., str]] = {
    # Allocations do not fit on their targets.
    'hidden-allocations': '{provider} has {usage} {resource_class} in use, but its consumers hold '
    '{listed}: run `placement-manage db online_data_migrations`, then take a new snapshot',
    'too-large': '{consumer_uuid} holds {amount} {resource_class}, more than the largest max_unit, '
    '{largest}',
    'bad-amount': _describe_bad_amount,
    'shortfall': _describe_shortfall,
    # ``used``: by consumers that stay out of the plan; ``room``: that they would have
    'overfull': '{provider} would have room for {room} {resource_class}, {used} are in use there '
    'and do not move',
    # ``demands``: of the fewest consumers that do not fit; ``minimal``: whether that is proved
    'packing': _describe_unplaceable_demands,
    'apart': lambda consumer_uuid, classes: (
        f'{" and ".join(classes)} of {consumer_uuid} have no target in common'
    ),
    'unacceptable': '{consumer_uuid} holds {amount} {resource_class} on {provider}, against its '
    'min_unit, max_unit or step_size: the service would refuse to write it again',
    # ``consumers``: that move; ``most``: that one request may move
    'too-many': 'the trees change together, as they share a target or a consumer, and {consumers} '
    'consumers move, more than {most}: plan and apply them a few at a time, with --tree',
    'undetermined': _describe_undetermined,
    'undecidable': '{reason}',
    # The free amount of a place at the end of the search, for rows that have a choice.
    ROOM: '{provider} has room for {room} of {capacity} {resource_class}',
    # A specification asks for something that the tree does not have.
    'no-source': 'there is no provider {provider} to move anything from',
    'no-parent': '{parent}, the parent of {provider}, is not in the tree',
    'foreign-target': '{provider} is in the tree of {root} and does not share its inventory (no '
    'trait MISC_SHARES_VIA_AGGREGATE)',
    'made-twice': '{provider} is made in the tree of {root} already: put {{root}} into its name',
    'wrong-parent': 'the parent of {provider} is {parent}, not {wanted}',
    'no-inventory': '{provider} has no {resource_class} left to move',
    'no-total': 'no {resource_class} is moved to {provider}, so its inventory needs a total',
    'reserved-unplaced': '{provider} reserves {reserved} {resource_class}, of which {left} stay: '
    'say in the inventories of a target how much it reserves',
    'bad-row': '{reason}',
    'same-place': 'moving {resource_class} from {provider} to itself',
    'no-target': 'there is no provider {provider}; a new one needs a name: add "name: NAME" '
    'to the move',
    # ``left``: by the moves
    'contradicted': '{provider} is to have {total} {resource_class}, but the moves leave it {left}',
    'left-out': '{provider} is to have no {resource_class}, of which {used} are in use: move it, '
    'or state it',
    'moved-trait': 'a move takes the trait {trait} from {provider} to {target}, but {stated} is '
    'stated {how} it',
    'other-uuid': '{provider} exists already, and its UUID is {uuid}',
    # ``moved``: by all moves up to this one
    'too-much': '{moved} {resource_class} are moved off {provider}, which has {total}',
    'long-name': lambda name, longest: (
        f'the name {name[:20]}… has {len(name)} characters, at most {longest} are allowed'
    ),
    'has-already': '{provider} has {resource_class} already, or gets it by a move',
    'named-twice': lambda provider, section, other: (
        f'{provider} is under {section} too' + ('' if other == provider else f', as {other}')
    ),
    'no-consumer': 'unknown consumer {consumer_uuid}',
}
#: The kinds of reasons that leave open whether there is a plan.
OPEN = frozenset({'undetermined', 'undecidable'})


@dataclass(frozen=True, slots=True)
class UndecidedRow:
    """A row with several possible targets, for :class:`errors.Undecided`.

    :param choices: the names of the providers to which some assignment sends the amount
    :param classes: the classes that the amount may get there, if a provider has it under several
    :param tree: the name of the tree
    :param from_provider: the name of the source
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
            f'may go to {join_names(self.choices, 8)}{names}'
        )


class PlanRefusal(Exception):
    """Trees that change together cannot be planned; only for use in this package.

    :param causes: the reasons
    :param slack: the room of each target when the search ended
    """

    def __init__(self, causes: Sequence[Cause], slack: Sequence[Cause] = ()) -> None:
        self.causes, self.slack = causes, slack
        super().__init__('; '.join(map(str, causes)))
