"""The moves of a plan are those of its specification, and every row goes the way of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from placementclient.model.patterns import is_pattern
from placementclient.model.plans import InventoryMove
from placementclient.planner.invariants.subject import Subject


class _Expected(NamedTuple):
    """The amount of one class that the specification moves from one source.

    :param amount: ``None``: all, or what other moves leave
    :param is_exact: whether it names the source, which is no pattern
    """

    amount: int | None
    is_exact: bool


#: Source, class, target and the class there, all by name.
_Way = tuple[str, str, str, str]


def faults(subject: Subject) -> Iterator[str]:
    """Hold the moves to those of the specification; nothing of it is left out."""
    if subject.backwards:
        # The way back is planned from what is there: it has rows, and no moves.
        return
    expected = _expected(subject)
    for each in subject.tree.moves:
        possible = expected.get(_way(each), [])
        use = next((one for one in possible if one.amount in (None, each.amount)), None)
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
    """Return the moves of the specification in this tree."""
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
