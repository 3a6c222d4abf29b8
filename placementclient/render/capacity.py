# SPDX-License-Identifier: Apache-2.0
"""The tables of free capacity."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from placementclient.basis.wording import format_count, join_names
from placementclient.insight.capacity.fits import FallbackFits, Fits
from placementclient.insight.capacity.totals import TotalsLine
from placementclient.model.servers import Flavor
from placementclient.nova.server_request import FALLBACK
from placementclient.render.columns import Column, Columns, Output
from placementclient.render.facts import Facts, make_amount_cell, make_difference_cell

#: The numbers of servers that fit, for each flavor by its name, or for ``None``: one shape.
CountedFits = Sequence[tuple[str | None, Sequence[Fits]]]
#: The heading of what the lines of a table are for.
_SUBJECT = {'tree': 'tree', 'aggregate': 'aggregate', 'class': 'resource_class'}
_AMOUNTS = ('capacity', 'used', 'free', 'largest_fit')
_CHANGE = ('before', 'after', 'difference')
#: The number of rows from which on a table does not fit a screen.
_SCREEN = 20

K = TypeVar('K', bound=Hashable)


def _make_amount_column(name: str) -> Column:
    """Return the column of an amount, which people read with the unit of its class."""
    return Column(name, lambda line: make_amount_cell(line.resource_class, getattr(line, name)))


_FITS = Columns(
    Column('fits', attrgetter('count')),
    Column('runs_out_first'),
    Column('fits_by_class', lambda item: Facts(item.by_class)),
)


def _list_key_columns(by: str) -> tuple[Column, ...]:
    """Return the columns that identify a line of a table of amounts.

    :param by: ``tree``, ``aggregate`` or ``class``
    """
    resource_class = Column('resource_class')
    if by == 'class':
        return (resource_class,)
    subject = Column(by, attrgetter('name'))
    shared_by = Column('shared_by', lambda line: line.shared_by or '')
    return (subject, resource_class, shared_by) if by == 'tree' else (subject, resource_class)


def list_totals(totals: Iterable[TotalsLine], by: str) -> Output:
    """Return a table with the amounts of each line.

    :param by: ``tree``, ``aggregate`` or ``class``
    """
    return Columns(
        *_list_key_columns(by), Column('providers'), *map(_make_amount_column, _AMOUNTS)
    ).make_table(totals)


def compare_totals(before: Iterable[TotalsLine], after: Iterable[TotalsLine], by: str) -> Output:
    """Return a table with the amounts that change: both values and their difference.

    :param by: ``tree``, ``aggregate`` or ``class``
    """
    keys = Columns(*_list_key_columns(by))

    def index_amounts(lines: Iterable[TotalsLine]) -> dict[tuple[tuple[str, ...], str, str], int]:
        """Return each amount by the cells that identify its line, by its class and its name."""
        entries = list(lines)
        return {
            (key, line.resource_class, name): getattr(line, name)
            for key, line in zip(keys.make_table(entries)[1], entries, strict=True)
            for name in _AMOUNTS
        }

    rows = [
        (*key, name, *_make_change_cells(resource_class, first, second))
        for (key, resource_class, name), first, second in _find_changes(
            index_amounts(before), index_amounts(after)
        )
    ]
    return (*keys.names, 'amount', *_CHANGE), rows


def suggest_shorter_table(output: Output, by: str, *, compares: bool) -> Sequence[str]:
    """Return the sentence, if there is one, that suggests options for a shorter table.

    Without ``--diff`` it is ``--by class --diff``; with it, for many rows of trees, ``--by class``.

    :param compares: whether the table is one of ``--diff``
    :param by: ``tree``, ``aggregate`` or ``class``
    """
    if not compares:
        return ('Before and after: add --by class --diff',)
    return ('Only the sums: add --by class',) if by == 'tree' and len(output[1]) > _SCREEN else ()


def describe_lines_above(lines: Sequence[TotalsLine], percentage: float) -> str:
    """Return a sentence that names the given lines as used above a percentage.

    Without lines it says that nowhere is more used.

    :param lines: those above the percentage; the caller has chosen them
    """
    if not lines:
        return f'Nowhere is more than {percentage:g} percent used'
    names = (' '.join(dict.fromkeys((line.name, line.resource_class))) for line in lines)
    return f'More than {percentage:g} percent is used: {join_names([*dict.fromkeys(names)], 5)}'


def list_fits(counts: CountedFits, by: str) -> Output:
    """Return a table with how many servers fit, by flavor and by tree, aggregate or class.

    :param by: ``tree``, ``aggregate`` or ``class``
    """
    rows = [
        (*_make_fits_key(flavor, item), *values)
        for flavor, items in counts
        for item, values in zip(items, _FITS.make_table(items)[1], strict=True)
    ]
    return (*_list_fits_columns(counts, by), *_FITS.names), rows


def compare_fits(before: CountedFits, after: CountedFits, by: str) -> Output:
    """Return a table with the numbers of servers that change: both values and their difference.

    :param by: ``tree``, ``aggregate`` or ``class``
    """
    old, new = (
        {_make_fits_key(flavor, item): item.count for flavor, items in counts for item in items}
        for counts in (before, after)
    )
    rows = [
        (*key, *_make_change_cells('', first, second))
        for key, first, second in _find_changes(old, new)
    ]
    return (*_list_fits_columns(after, by), *_CHANGE), rows


def describe_vcpu_fallback(flavor: Flavor, more: FallbackFits) -> Iterator[str]:
    """Yield a sentence about the servers that fit with VCPU in place of PCPU, if there are any."""
    if more.servers:
        yield (
            f'flavor {flavor.name}: up to {format_count(more.servers, "more server")} on '
            f'{format_count(more.trees, "host")} without PCPU, as Nova asks again with VCPU in its '
            f'place. {FALLBACK}'
        )


def add_aggregate_names(output: Output, names: Mapping[str, str]) -> Output:
    """Return a table with the names of aggregates in a column behind their UUIDs.

    :param names: by UUID
    """
    columns, rows = output
    place = columns.index('aggregate')
    named = [(*row[: place + 1], names.get(row[place], ''), *row[place + 1 :]) for row in rows]
    return (*columns[: place + 1], 'name', *columns[place + 1 :]), named


def _list_fits_columns(counts: CountedFits, by: str) -> tuple[str, ...]:
    """Return the names of the columns that identify a row of a table of servers that fit."""
    is_shape = any(flavor is None for flavor, _ in counts)
    return (_SUBJECT[by],) if is_shape else ('flavor', _SUBJECT[by])


def _make_fits_key(flavor: str | None, item: Fits) -> tuple[str, ...]:
    """Return the cells that identify a row of a table of servers that fit.

    :param flavor: its name; ``None``: the amounts were given without a flavor
    """
    return (item.name,) if flavor is None else (flavor, item.name)


def _find_changes(
    before: Mapping[K, int], after: Mapping[K, int]
) -> Iterator[tuple[K, int | None, int | None]]:
    """Yield each key whose number changes, with both numbers; ``None`` where the key is absent.

    An absent key and the number 0 are equal.
    """
    removed = [key for key in before if key not in after]
    for key in (*removed, *after):
        first, second = before.get(key), after.get(key)
        if (first or 0) != (second or 0):
            yield key, first, second


def _make_change_cells(
    resource_class: str, before: int | None, after: int | None
) -> tuple[Facts, ...]:
    """Return the cells of both amounts, with units for people, and of their difference.

    :param before: ``None``: there is no line before
    :param after: ``None``: there is no line after
    """
    values = (make_amount_cell(resource_class, amount) for amount in (before, after))
    return *values, make_difference_cell(resource_class, (after or 0) - (before or 0))
