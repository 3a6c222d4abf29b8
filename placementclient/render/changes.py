# SPDX-License-Identifier: Apache-2.0
"""The table of a change, for every command that changes several objects."""

from collections.abc import Iterable, Iterator, Sequence

from placementclient.basis.printable import format_cell
from placementclient.basis.wording import summarize_states
from placementclient.model.findings import Finding
from placementclient.model.outcomes import ChangeRow, TreeResult, TreeState
from placementclient.model.plans import Change
from placementclient.render.columns import Output
from placementclient.render.facts import Facts
from placementclient.render.lines import wrap_lines

PLANNED = ('object', 'change', 'before', 'after')
CARRIED = (*PLANNED, 'state', 'reason')
_SIGNS = {'create': '+', 'delete': '-'}
#: How many objects with the same outcome are named.
_NAMED = 10
#: The states that a line leaves out.
_EXPECTED = ('', 'planned', 'done')


def make_planned_table(rows: Iterable[ChangeRow], notes: Sequence[Finding] | None = None) -> Output:
    """Return a table with a row for each part of a planned change, then one for each note.

    :param notes: findings on what the command leaves as it is; ``None``: the command has none, and
        the table no columns for them
    """
    if notes is None:
        return PLANNED, [_make_cells(row) for row in rows]
    return CARRIED, [
        *((*_make_cells(row), 'planned', '') for row in rows),
        *map(_make_note_row, notes),
    ]


def make_results_table(results: Iterable[TreeResult], notes: Iterable[Finding] = ()) -> Output:
    """Return a table with the applied parts of a change, then the failed trees and the notes.

    :param notes: findings on what the command has left as it was
    """
    made, failed = [], []
    for result in results:
        made += [(*_make_cells(row), 'done', '') for row in result.rows]
        reason = str(result.error or '')
        failed += [(*_make_cells(row), 'not known', reason) for row in result.unknown]
        # A tree has a row of its own if it failed, or ended in a state that its rows do not show.
        is_told = result.unknown or (result.rows and result.error is None)
        if not is_told and (result.error or not result.is_unsuccessful):
            name, state = result.root_provider_name, result.state.value
            failed.append((name, '', Facts(None), Facts(None), state, reason))
    return CARRIED, [*made, *failed, *map(_make_note_row, notes)]


def summarize_results(
    changes: Iterable[Change], results: Iterable[TreeResult], notes: Iterable[Finding]
) -> str:
    """Return how many trees or consumers are in each state, with the names of unchanged ones.

    :param notes: findings of the command; an error counts as the state of its subject
    """
    undone = [(note.subject, note.kind) for note in notes if note.is_error]
    left_out = {subject for subject, _ in undone}
    states = (
        state for pair in zip(changes, results, strict=False) for state in _list_states(*pair)
    )
    return summarize_states([*(state for state in states if state[0] not in left_out), *undone])


def _list_states(change: Change, result: TreeResult) -> Iterator[tuple[str, str]]:
    """Yield the name and the state of a tree, or of each consumer if only consumers change."""
    state = 'not known' if result.unknown else result.state
    if any(provider.is_changed for provider in change.providers):
        yield change.root_provider_name, state
        return
    done = {row.object for row in result.rows}
    for pair in change.consumers:
        name = f'consumer {pair.uuid}'
        yield name, TreeState.APPLIED if name in done else state


def _make_note_row(note: Finding) -> tuple[object, ...]:
    return note.subject, '', Facts(None), Facts(None), note.kind, note.reason


def format_change_rows(
    names: Sequence[str], rows: Iterable[Sequence[object]], width: int
) -> Iterator[str]:
    """Yield rows of the table of a change as lines: ``+``, ``~`` or ``-``, the object and the part.

    :param names: of the columns
    :param width: of the longest line, in characters
    """
    lines, outcomes = list[str](), dict[str, list[str]]()
    for row in rows:
        if not row[1]:
            outcomes.setdefault(_format_outcome(row), []).append(format_cell(row[0]))
            continue
        lines.append(_format_row_of_cells(row))
    for outcome, objects in sorted(outcomes.items(), key=lambda item: -len(item[1])):
        lines += _format_objects_of_outcome(outcome, objects)
    return wrap_lines(lines, width)


def _format_objects_of_outcome(outcome: str, objects: Sequence[str]) -> Iterator[str]:
    """Yield the lines about objects with the same outcome: their names, and the outcome once.

    :param outcome: the state and the reason, in words
    """
    if len(objects) == 1:
        yield f'{objects[0]}: {outcome}'
        return
    state, _, reason = outcome.partition(': ')
    yield f'{len(objects)} {state}{reason and f", each because {reason}"}'
    yield from (f'    {name}' for name in objects[:_NAMED])
    if len(objects) > _NAMED:
        yield f'    and {len(objects) - _NAMED} more: --wide prints all'


def format_planned_parts(rows: Iterable[ChangeRow]) -> Iterator[str]:
    """Yield a line for each part of a planned change: ``+``, ``~`` or ``-``, object and part."""
    return map(_format_row_of_cells, map(_make_cells, rows))


def _format_row_of_cells(row: Sequence[object]) -> str:
    """Return the cells of a row of the table of a change as one line of text."""
    name, change, before, after, *_ = map(format_cell, row)
    outcome = _format_outcome(row)
    if change in _SIGNS:
        sign = _SIGNS[change]
    elif before and after:
        sign = '~'
    else:
        sign = '-' if before else '+'
    part = '' if change in _SIGNS else change
    values = ' → '.join(filter(None, (before, after)))
    return ' '.join(filter(None, (sign, name, part, values, outcome and f'({outcome})')))


def _format_outcome(row: Sequence[object]) -> str:
    """Return the state and the reason of a row as text; empty if it is as expected."""
    _, _, _, _, *result = map(format_cell, row)
    state, reason = result or ('', '')
    if state in _EXPECTED:
        return ''
    return f'{state}: {reason}' if reason else str(state)


def _make_cells(row: ChangeRow) -> tuple[str, str, Facts, Facts]:
    """Return the object, the part that changes, and its values before and after, as cells."""
    return row.object, row.change, Facts(row.before), Facts(row.after)
