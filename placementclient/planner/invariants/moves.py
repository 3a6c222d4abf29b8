"""The moves of a plan are those of its specification; its rows follow them and the assignments."""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from placementclient.model.assignments import AssignmentRow
from placementclient.model.patterns import is_pattern
from placementclient.model.plans import InventoryMove, Label, PlannedRow, Recipe
from placementclient.model.specifications import ALL
from placementclient.planner.invariants.subject import Subject


class _Expected(NamedTuple):
    """The amount of one class that the specification moves from one source.

    :param amount: ``all`` is what other moves leave, too
    """

    amount: int | Literal['all']
    is_exact: bool


#: Source, class, target and the class there, all by name.
_Way = tuple[str, str, str, str]
#: A row of what belongs where, and the name of the source that it is about; ``None``: any.
_Known = tuple[AssignmentRow, str | None]


def faults(subject: Subject) -> Iterator[str]:
    """Check that the moves are exactly those of the specification."""
    if subject.backwards:
        # The way back is planned from what is there: it has rows, and no moves.
        return
    expected = _expected(subject)
    for each in subject.tree.moves:
        possible = expected.get(_way(each), [])
        use = next((one for one in possible if one.amount in (ALL, each.amount)), None)
        if use is None or each.amount <= 0:
            yield (
                f'the specification does not move {each.amount} {each.resource_class} from '
                f'{each.from_provider} to {each.to_provider} as {each.to_resource_class}'
            )
        else:
            possible.remove(use)
    for (source, name, target, _), left in expected.items():
        if any(one.is_exact for one in left):
            yield f'{name} of {source} does not move to {target}, as the specification says'
    yield from _rows(subject)


def _expected(subject: Subject) -> dict[_Way, list[_Expected]]:
    result: dict[_Way, list[_Expected]] = {}
    for move, source, target in subject.moves:
        is_exact = not is_pattern(move.source)
        change = subject.find(target)
        for name, amount in move.resources.items():
            if name in source.content_before.inventories:
                way = source.name, name, change.name if change else target
                key = *way, move.name_at_target(name)
                result.setdefault(key, []).append(_Expected(amount, is_exact))
    return result


def _way(move: InventoryMove) -> _Way:
    return move.from_provider, move.resource_class, move.to_provider, move.to_resource_class


def _rows(subject: Subject) -> Iterator[str]:
    """A row that leaves its place goes the way of a move."""
    ways = {_way(move) for move in subject.tree.moves}
    for row in subject.tree.rows:
        way = (row.from_provider, row.resource_class, row.to_provider, row.to_resource_class)
        stays = way[:2] == way[2:]
        if row.from_provider is not None and not stays and way not in ways:
            yield (
                f'no move leads {row.resource_class} of {row.consumer_uuid} from '
                f'{row.from_provider} to {row.to_provider}'
            )


def assignment_faults(recipe: Recipe, subjects: Iterable[Subject]) -> Iterator[str]:
    """A row that was given is kept, none says that it was given and was not, none is a guess."""
    given: dict[str, list[_Known]] = {}
    for row in recipe.assignments:
        given.setdefault(row.consumer_uuid, []).append((row, None))
    named = {uuid for move in recipe.spec.moves for uuid in move.consumers}
    for subject in subjects:
        tree = subject.tree
        by_consumer: dict[str, list[PlannedRow]] = {}
        for each in tree.rows:
            by_consumer.setdefault(each.consumer_uuid, []).append(each)
            if each.label is Label.INFERRED and not recipe.allow_inferred:
                yield f'{tree.root_provider_name}: the place of {each.consumer_uuid} is a guess'
        for uuid, rows in by_consumer.items():
            known_of = given.get(uuid, [])
            if uuid in named:
                known_of = [*known_of, *_of_moves(subject, uuid)]
            for fault in _of_consumer(subject, rows, known_of):
                yield f'{tree.root_provider_name}: {fault}'


def _of_moves(subject: Subject, consumer_uuid: str) -> Iterator[_Known]:
    """Return the amounts of a consumer that the moves of the specification know."""
    for move, source, target in subject.moves:
        for name, amount in move.consumers.get(consumer_uuid, {}).items():
            yield AssignmentRow(consumer_uuid, name, amount, target), source.name


def _of_consumer(subject: Subject, rows: list[PlannedRow], known: list[_Known]) -> Iterator[str]:
    for assigned, source in known:
        provider = subject.find(assigned.to_provider)
        of_class = [
            row
            for row in rows
            if row.resource_class == assigned.resource_class and source in (None, row.from_provider)
        ]
        if provider is None or not of_class:
            continue  # it is about another tree
        placed = sum(row.amount for row in of_class if row.to_provider == provider.name)
        if placed < (assigned.amount or 1):
            yield (
                f'{assigned.consumer_uuid} is known to have {assigned.resource_class} of '
                f'{provider.name}, and its rows do not say so'
            )
