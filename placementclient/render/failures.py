# SPDX-License-Identifier: Apache-2.0
"""Exceptions as text for people."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import counted, grouped

if TYPE_CHECKING:
    from placementclient.planner.errors import Undecided
    from placementclient.planner.infeasibility import Cause

#: How many faults of a file are shown.
MOST = 100
#: How many undecided rows, and trees with such rows, are printed.
FIRST = 10
#: The next step where rows are undecided.
DECIDE = (
    'run the script of "placement resource provider reshape collector" on the hosts and give its '
    'answers to "placement resource provider reshape assignments"; or fill in the file of '
    '--write-assignments'
)


def format_failure(failure: errors.PlacementError) -> Iterator[str]:
    """Yield the lines of an error: one, or one for each of its facts."""
    # Not loaded before something is wrong.
    from placementclient.planner.errors import Infeasible, Undecided, Undetermined

    if isinstance(failure, Infeasible):
        yield 'Infeasible:'
        yield from _format_causes(failure.causes)
        yield from _format_causes(failure.slack)
    elif isinstance(failure, Undetermined):
        yield 'Undetermined:'
        yield from _format_causes(failure.causes)
        yield failure.advice
    elif isinstance(failure, Undecided):
        yield from _format_undecided(failure)
    elif isinstance(failure, errors.BadFile):
        yield from map(str, failure.faults[:MOST])
        if len(failure.faults) > MOST:
            yield f'… and {len(failure.faults) - MOST} more'
    else:
        yield str(failure)


def _format_undecided(failure: Undecided) -> Iterator[str]:
    """Yield the undecided rows, their number, and the next step."""
    trees = Counter(row.tree for row in failure.rows)
    if len(failure.rows) <= FIRST:
        yield 'Undecided:'
    else:
        yield f'Undecided: {len(failure.rows)} rows in {counted(len(trees), "tree")}'
        counts = itertools.islice(trees.items(), FIRST)
        yield from (f'  {tree}: {counted(count, "row")}' for tree, count in counts)
        if len(trees) > FIRST:
            yield f'  … and {len(trees) - FIRST} more trees'
        yield f'The first {FIRST} rows:'
    yield from (f'  {row}' for row in failure.rows[:FIRST])
    yield 'Choose one: in "consumers" of the specification, or with --assignments'
    yield f'To find out, {DECIDE}'
    yield from (f'Warning: {warning}' for warning in failure.warnings)


def _format_causes(facts: Iterable[Cause]) -> Iterator[str]:
    """Yield the causes; equal ones of several trees are one line."""
    sentences = ((fact.tree, fact.sentence) for fact in facts)
    yield from (f'  {line}' for line in grouped(sentences))
