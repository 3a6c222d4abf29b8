"""What is raised, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from placementclient import errors


def lines(failure: errors.PlacementError) -> Iterator[str]:
    """A failure in words: most in one line, one that has many facts in a line for each."""
    if isinstance(failure, errors.Infeasible):
        yield 'Infeasible:'
        yield from (f'  {cause}' for cause in failure.causes)
        yield from (f'  {slack}' for slack in failure.slack)
    elif isinstance(failure, errors.Undecided):
        yield 'Undecided:'
        yield from (f'  {row}' for row in failure.rows)
        yield 'Say which is true: in "consumers" of the specification, or with --assignments'
    else:
        yield str(failure)
