"""What is raised, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient import errors

#: How many faults of a file are told.
MOST = 100


def lines(failure: errors.PlacementError) -> Iterator[str]:
    """A failure in words: most in one line, one that has many facts in a line for each."""
    if isinstance(failure, errors.Infeasible):
        yield 'Infeasible:'
        for facts in (failure.causes, failure.slack):
            said = ((fact.tree, fact.sentence) for fact in facts)
            yield from (f'  {line}' for line in errors.grouped(said))
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
