"""The table of a change, for every command that changes several objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from placementclient.changes.results import ChangeResult, Note
from placementclient.changes.summary import ChangeRow
from placementclient.client.printable import printable
from placementclient.client.wording import tally
from placementclient.model.outcomes import State
from placementclient.render.columns import Output
from placementclient.render.facts import Facts

if TYPE_CHECKING:
    from prettytable import PrettyTable

PLANNED = ('object', 'change', 'before', 'after')
CARRIED = (*PLANNED, 'state', 'reason')


def planned(rows: Iterable[ChangeRow], notes: Sequence[Note] | None = None) -> Output:
    """Return the parts of a planned change.

    :param notes: the things that the command leaves as they are; ``None`` for a command that has
        none, whose table has no state
    """
    if notes is None:
        return PLANNED, [_cells(row) for row in rows]
    return CARRIED, [*((*_cells(row), 'planned', '') for row in rows), *map(_noted, notes)]


def carried(results: Iterable[ChangeResult], notes: Iterable[Note] = ()) -> Output:
    """Return the applied parts of a change, then the failed trees.

    :param notes: the things that the command left as they are; a tree that was left alone has some
    """
    made, failed = [], []
    for result in results:
        made += [(*_cells(row), 'done', '') for row in result.rows]
        reason = str(result.error or '')
        failed += [(*_cells(row), 'not known', reason) for row in result.unknown]
        is_told = result.unknown or (result.rows and result.error is None)
        if not is_told and result.state is not State.LEFT_ALONE:
            name = result.tree.root_provider_name
            failed.append((name, '', Facts(None), Facts(None), result.state.value, reason))
    return CARRIED, [*made, *failed, *map(_noted, notes)]


def ending(
    results: Iterable[ChangeResult], notes: Iterable[Note], refused: Iterable[str] = ()
) -> str:
    """Return how many trees are changed, and the names of those that are not.

    :param refused: the names of providers that cannot be changed
    """
    return tally(
        [
            *(
                (result.tree.root_provider_name, 'not known' if result.unknown else result.state)
                for result in results
            ),
            *((note.object, note.state) for note in notes if note.is_undone),
            *((name, State.FAILED) for name in refused),
        ]
    )


def _noted(note: Note) -> tuple[object, ...]:
    return note.object, '', Facts(None), Facts(None), note.state, note.reason


def with_refused(output: Output, reasons: Mapping[str, str]) -> Output:
    """Add the providers that could not be changed to the applied parts of a change.

    :param reasons: by the name of the provider
    """
    names, rows = output
    if names != CARRIED:
        return output
    refused = [
        (name, '', Facts(None), Facts(None), State.FAILED.value, reason)
        for name, reason in reasons.items()
    ]
    return names, [*rows, *refused]


def lines(rows: Iterable[ChangeRow]) -> list[str]:
    """Return the table as text, for a confirmation on a terminal."""
    from prettytable import PrettyTable  # takes long to load

    table: PrettyTable = PrettyTable(PLANNED, align='l')
    for row in rows:
        cells = (row.object, row.change, Facts(row.before), Facts(row.after))
        table.add_row([printable(c.human_readable() if isinstance(c, Facts) else c) for c in cells])
    return table.get_string().splitlines()


def _cells(row: ChangeRow) -> tuple[str, str, Facts, Facts]:
    return row.object, row.change, Facts(row.before), Facts(row.after)
