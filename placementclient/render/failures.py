# SPDX-License-Identifier: Apache-2.0
"""Exceptions as text for people."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.errors import KNOWN_KEYS
from placementclient.basis.wording import format_count, format_next_steps, merge_alike_sentences

if TYPE_CHECKING:
    from placementclient.planner.errors import Undecided
    from placementclient.planner.infeasibility import Cause

#: How many faults of a file are shown.
MOST_FAULTS = 100
#: How many undecided rows, and trees with such rows, are printed.
MOST_ROWS = 10
#: The next steps where rows are undecided.
_DECIDE = (
    'Print a script, and run it on the hosts: placement resource provider reshape collector',
    'Make assignments of its output: placement resource provider reshape assignments --host-facts '
    'FOLDER -o assignments.csv',
    'Or write the undecided rows, and fill them in: --write-assignments assignments.csv',
    'Plan again with --assignments assignments.csv',
)


def format_failure(failure: errors.PlacementError, hint: str = '') -> Iterator[str]:
    """Yield the lines of an error, with a hint at their end; then the next steps.

    :param hint: a sentence; empty: none
    """
    *lines, last = _format_message(failure)
    yield from (*lines, f'{last}{hint.removeprefix(".") if last.endswith("?") else hint}')
    if failure.next_steps:
        yield format_next_steps(failure.next_steps)


def _format_message(failure: errors.PlacementError) -> Iterator[str]:
    """Yield the lines of the message of an error, without hint and next steps."""
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
        yield from _format_undecided_rows(failure)
    elif isinstance(failure, errors.BadFile):
        yield from _list_faults(failure.faults[:MOST_FAULTS])
        if len(failure.faults) > MOST_FAULTS:
            yield f'… and {len(failure.faults) - MOST_FAULTS} more'
    else:
        yield str(failure)


def _list_faults(faults: Iterable[errors.BadFile]) -> Iterator[str]:
    """Yield the faults of files, each once; only the first has the list of the known keys."""
    named = set[str]()
    for text in dict.fromkeys(map(str, faults)):
        fault, _, keys = text.partition(KNOWN_KEYS)
        yield fault if keys in named else text
        named.add(keys or text)


def _format_undecided_rows(failure: Undecided) -> Iterator[str]:
    """Yield the first undecided rows with the number of all, the warnings and the next steps."""
    trees = Counter(row.tree for row in failure.rows)
    if len(failure.rows) <= MOST_ROWS:
        yield 'Undecided:'
    else:
        yield f'Undecided: {len(failure.rows)} rows in {format_count(len(trees), "tree")}'
        counts = itertools.islice(trees.items(), MOST_ROWS)
        yield from (f'  {tree}: {format_count(count, "row")}' for tree, count in counts)
        if len(trees) > MOST_ROWS:
            yield f'  … and {len(trees) - MOST_ROWS} more trees'
        yield f'The first {MOST_ROWS} rows:'
    yield from (f'  {row}' for row in failure.rows[:MOST_ROWS])
    yield from (f'Warning: {warning}' for warning in failure.warnings)
    if not failure.next_steps:
        yield format_next_steps(_DECIDE)


def _format_causes(causes: Iterable[Cause]) -> Iterator[str]:
    """Yield a line for each cause; one line names all trees that have the same cause."""
    sentences = ((cause.tree, cause.sentence) for cause in causes)
    yield from (f'  {line}' for line in merge_alike_sentences(sentences))
