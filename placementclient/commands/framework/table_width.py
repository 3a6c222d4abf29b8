# SPDX-License-Identifier: Apache-2.0
"""Tables as wide as the terminal.

Columns that people act on are always there, and UUIDs are whole. Other columns are hidden until the
rest fits, and long texts are cut; a sentence says so.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from cliff.formatters.table import TableFormatter

#: The columns that are hidden on every terminal: they are for programs.
_FOR_PROGRAMS = ('generation', 'consumer_generation', 'is_damage')
#: The columns that are hidden early, in this order: see :func:`_order_hideable_columns`.
_HIDDEN_FIRST = (
    'root_provider_uuid',
    'parent_provider_uuid',
    'step_size',
    'min_unit',
    'max_unit',
    'reserved',
    'last_modified',
    'user_id',
    'project_id',
    'consumer_type',
    'allocations',
    'providers',
    'before',
)
#: The UUIDs of providers, which are hidden only if the column ``name`` stands for them.
_PROVIDER_UUIDS = ('resource provider', 'resource_provider')
#: The columns that are hidden last, in this order.
_HIDDEN_LAST = (*_PROVIDER_UUIDS, 'allocation', 'resources')
#: The column whose texts are typed. Like those that say what is wrong, or what is allocated, they
#: are never cut.
_COMMAND = 'command'
_UNCUT = (_COMMAND, 'message', 'reason', 'allocation', 'resources')
#: The columns that people act on.
_NEEDED = (_COMMAND, 'uuid', 'name', 'tree', *_PROVIDER_UUIDS, 'consumer', 'state', 'free')
#: The types of cells whose text may be wrapped.
_TEXTS = (str, dict, list)
#: A width that no table has: cliff wraps nothing.
UNLIMITED = 1 << 20
#: The width of a word from which on it may be cut, and the lines of a cell from which on it is.
_LONG, _MOST_LINES = 24, 3
#: The width to which the heading of a needed column may be cut.
_HEADING = 10
#: The parts of a cell that are never broken.
_PART = re.compile(
    r"""
    \{?'\w+':\ \d+[,}]*  # an amount of a dictionary: {'VCPU': 4,
    | [A-Z][a-z]{2},\ \d\d\ [A-Z][a-z]{2}\ [\d:\ GMT]+  # a date: Mon, 02 Nov 2026 10:00:00 GMT
    | [\d.,]+\ [KMGTPE]iB\b,?  # an amount with its unit: 1,023.5 GiB
    | [^\ ,]+,? | \ + | ,  # a word, with its comma; what stands between words
    """,
    re.VERBOSE,
)
#: With or without hyphens, as Keystone writes them.
_UUID = re.compile('[0-9a-f-]{32,36}', re.IGNORECASE)


class _Column:
    """A column of a table, with its cells.

    :ivar longest: the width of its longest cell
    :ivar least: the least width, in which long words are cut, but no command and no UUID
    :ivar whole: the width in which no word is cut, if people act on the column; else ``least``
    """

    def __init__(self, name: str, cells: Sequence[object], needed: Iterable[str]) -> None:
        self.name, self.cells = name, cells
        texts = [str(cell) for cell in cells]
        self.longest = max(map(len, (name, *texts)))
        # A word of a table is often in many rows.
        parts = {part for text in texts for part in _PART.findall(text)}
        # The longest heading is cut before a column is hidden that a command needs.
        heading = min(len(name), _HEADING) if name in needed else len(name)
        self.least = max((heading, *map(self._compute_least_width, parts)))
        is_needed = name in (*_NEEDED, *_UNCUT, *needed)
        self.whole = max((self.least, *map(len, parts))) if is_needed else self.least

    def _compute_least_width(self, word: str) -> int:
        """Return the least width of a word: a long one may be cut, a command or a UUID never."""
        is_whole = self.name == _COMMAND or _UUID.search(word)
        return len(word) if is_whole else min(len(word), _LONG)

    @property
    def is_empty(self) -> bool:
        """Return whether the table has rows and none of them has a value here."""
        return bool(self.cells) and all(cell is None or not str(cell) for cell in self.cells)

    def is_within(self, other: _Column) -> bool:
        """Return whether each cell is a word in the cell of another column, such as a command."""
        pairs = zip(self.cells, other.cells, strict=True)
        return all(str(cell) in str(text).split() for cell, text in pairs)


class FittedFormatter:
    """A formatter of cliff that prints tables no wider than a terminal.

    :param formatter: prints the table that fits
    :param width: the width of the terminal, in characters
    :param warn: logs a sentence about hidden columns and cut texts
    :param can_hide: whether columns may be hidden: not those that the user has chosen
    :param spare: the names of the columns that are hidden first
    :param needed: the names of the columns that are never hidden unless they are empty
    """

    def __init__(
        self,
        formatter: TableFormatter,
        width: int,
        warn: Callable[[str], None],
        *,
        can_hide: bool = True,
        spare: Sequence[str] = (),
        needed: Sequence[str] = (),
    ) -> None:
        self._formatter, self._width, self._warn, self._can_hide = formatter, width, warn, can_hide
        self._spare, self._needed = spare, needed
        self._is_cut = False

    def emit_list(
        self,
        names: Sequence[str],
        rows: Iterable[Sequence[object]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print rows as a table, without the columns that have no room."""
        listed = [tuple(row) for row in rows]
        cells = zip(*listed, strict=True) if listed else ((),) * len(names)
        columns = [_Column(*pair, self._needed) for pair in zip(names, cells, strict=True)]
        shown = self._choose_fitting_columns(columns) if self._can_hide and listed else columns
        widths = [column.longest for column in shown]
        # Long words are cut only where the table does not fit with whole ones.
        for least in ([column.whole for column in shown], [column.least for column in shown]):
            widths = self._compute_widths(widths, least)
        wrapped = [
            [self._wrap_cell(column, cell, width) for cell in column.cells]
            for column, width in zip(shown, widths, strict=True)
        ]
        self._warn_of_incomplete_table([column.name for column in columns if column not in shown])
        # The table has its width: it is not wrapped again, within words.
        parsed_args.max_width = UNLIMITED
        self._formatter.emit_list(
            [_cut_heading(column.name, width) for column, width in zip(shown, widths, strict=True)],
            zip(*wrapped, strict=True),
            stdout,
            parsed_args,
        )

    def emit_one(
        self,
        names: Sequence[str],
        fields: Sequence[object],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print all fields of an object, with long texts on several lines."""
        width = self._width - _compute_table_width([max(map(len, names), default=0), 0])
        lines = [
            '\n'.join(_wrap_words(str(cell), width)) if isinstance(cell, _TEXTS) else cell
            for cell in fields
        ]
        parsed_args.max_width = UNLIMITED
        self._formatter.emit_one(names, lines, stdout, parsed_args)

    def _choose_fitting_columns(self, columns: Sequence[_Column]) -> list[_Column]:
        shown = [column for column in columns if column.name not in _FOR_PROGRAMS]
        for column in _order_hideable_columns(shown, self._spare, self._needed):
            if _compute_table_width([other.whole for other in shown]) <= self._width:
                break
            shown.remove(column)
        return shown

    def _compute_widths(self, longest: Sequence[int], least: Sequence[int]) -> list[int]:
        """Return widths of columns with which the table fits, but never less than the least."""
        widths = list(longest)
        for _ in range(_compute_table_width(widths) - self._width):
            slack = [place for place, width in enumerate(widths) if width > least[place]]
            if not slack:
                break
            widths[max(slack, key=widths.__getitem__)] -= 1
        return widths

    def _wrap_cell(self, column: _Column, cell: object, width: int) -> object:
        """Return the text of a cell, wrapped between its words and cut after a few lines."""
        if not isinstance(cell, _TEXTS) or len(str(cell)) <= width:
            return cell
        lines = list(_wrap_words(str(cell), width))
        if column.name in _UNCUT:
            return '\n'.join(lines)
        shown = [
            line if len(line) <= width or _UUID.search(line) else f'{line[: width - 1]}…'
            for line in lines[:_MOST_LINES]
        ]
        if lines[_MOST_LINES:]:
            last = shown.pop()
            has_room = len(last) < width or not _UUID.search(last)
            shown += [f'{last[: width - 1]}…'] if has_room else [last, '…']
        self._is_cut |= shown != lines
        return '\n'.join(shown)

    def _warn_of_incomplete_table(self, hidden_columns: Sequence[str]) -> None:
        names = f'Hidden columns: {", ".join(hidden_columns)}' if hidden_columns else ''
        cut = 'Some texts are cut' if self._is_cut else ''
        if names or cut:
            them = 'it' if len(hidden_columns) == 1 and not cut else 'them'
            self._warn(f'{"; ".join(filter(None, (names, cut)))} (--wide shows {them})')


def _order_hideable_columns(
    columns: Sequence[_Column], spare: Iterable[str], needed: Sequence[str]
) -> Iterator[_Column]:
    """Yield the columns that may be hidden, the least needed first.

    :param spare: the names of columns that the command hides first
    :param needed: the names of columns that the command keeps, unless they are empty or in
        _HIDDEN_LAST
    """
    by_name = {column.name: column for column in columns}
    # A person knows a subject or a provider by its name.
    has_names = 'name' in by_name and all(map(str, by_name['name'].cells))
    first = [*(['subject'] if has_names else []), *spare, *_HIDDEN_FIRST]
    last = [name for name in _HIDDEN_LAST if has_names or name not in _PROVIDER_UUIDS]
    kept = {*_NEEDED, *needed, *_HIDDEN_LAST}
    turn = [
        *(column for column in columns if column.is_empty),
        *(by_name[name] for name in first if name in by_name and name not in needed),
        *_list_columns_of_repeated_uuids(columns, by_name.get(_COMMAND)),
        # From right to left, as the column on the left says what a row is about.
        *(column for column in reversed(columns[1:]) if column.name not in kept),
        *filter(None, map(by_name.get, last)),
    ]
    # A column that appears twice is hidden at its first place.
    yield from dict.fromkeys(turn)


def _list_columns_of_repeated_uuids(
    columns: Sequence[_Column], commands: _Column | None
) -> list[_Column]:
    """Return the columns of UUIDs that the commands in the same rows contain."""
    return [
        column
        for column in columns
        if commands and column is not commands and column.is_within(commands)
        if any(map(_UUID.search, map(str, column.cells)))
    ]


def _cut_heading(name: str, width: int) -> str:
    return name if len(name) <= width else f'{name[: width - 1]}…'


def _compute_table_width(column_widths: Sequence[int]) -> int:
    return sum(column_widths) + 3 * len(column_widths) + 1


def _wrap_words(text: str, width: int) -> Iterator[str]:
    line = ''
    for part in _PART.findall(text):
        if line and len(line) + len(part.rstrip()) > width:
            yield line.rstrip()
            line = ''
        line += part if line else part.lstrip()
    yield line.rstrip()
