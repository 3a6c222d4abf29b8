"""What is raised, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from placementclient.client import errors
from placementclient.client.wording import grouped

#: How many faults of a file are told.
MOST = 100


def lines(failure: errors.PlacementError) -> Iterator[str]:
    """A failure in words: most in one line, one that has many facts in a line for each."""
    if isinstance(failure, errors.Infeasible):
        yield 'Infeasible:'
        yield from _grouped(failure.causes)
        yield from _grouped(failure.slack)
    elif isinstance(failure, errors.Undetermined):
        yield 'Undetermined:'
        yield from _grouped(failure.causes)
        yield failure.advice
    elif isinstance(failure, errors.Undecided):
        yield 'Undecided:'
        yield from (f'  {row}' for row in failure.rows)
        yield 'Say which is true: in "consumers" of the specification, or with --assignments'
    elif isinstance(failure, errors.BadFile):
        yield from map(str, failure.faults[:MOST])
        if len(failure.faults) > MOST:
            yield f'… and {len(failure.faults) - MOST} more'
    else:
        yield str(failure)


def _grouped(facts: Iterable[Any]) -> Iterator[str]:
    said = ((fact.tree, fact.sentence) for fact in facts)
    yield from (f'  {line}' for line in grouped(said))
