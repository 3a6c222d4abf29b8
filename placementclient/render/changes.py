"""The table of a change: the same for every command that changes more than one thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from placementclient.changes.results import Carried
from placementclient.changes.summary import Row
from placementclient.model.outcomes import State
from placementclient.render.columns import Output
from placementclient.render.facts import Facts
from placementclient.render.printable import printable

if TYPE_CHECKING:
    from prettytable import PrettyTable

PLANNED = ('object', 'change', 'before', 'after')
CARRIED = (*PLANNED, 'state', 'reason')


def planned(rows: Iterable[Row]) -> Output:
    """Return the parts of a change."""
    return PLANNED, [_cells(row) for row in rows]


def carried(results: Iterable[Carried]) -> Output:
    """Return the parts of a change that were made, and the trees that failed."""
    found = []
    for result in results:
        found += [(*_cells(row), 'done', '') for row in result.rows]
        reason = str(result.error or '')
        found += [(*_cells(row), 'not known', reason) for row in result.unknown]
        if not result.unknown and (result.error is not None or not result.rows):
            name = result.tree.root_provider_name
            found.append((name, '', Facts(None), Facts(None), result.state.value, reason))
    return CARRIED, found


def with_refused(output: Output, reasons: Mapping[str, str]) -> Output:
    """Add the providers that could not be changed to the parts of a change that were made.

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


def lines(rows: Iterable[Row]) -> list[str]:
    """Return the table as text, for a question on a terminal."""
    from prettytable import PrettyTable  # takes long to load

    table: PrettyTable = PrettyTable(PLANNED, align='l')
    for row in rows:
        cells = (row.object, row.change, Facts(row.before), Facts(row.after))
        table.add_row([printable(c.human_readable() if isinstance(c, Facts) else c) for c in cells])
    return table.get_string().splitlines()


def _cells(row: Row) -> tuple[str, str, Facts, Facts]:
    return row.object, row.change, Facts(row.before), Facts(row.after)
