# SPDX-License-Identifier: Apache-2.0
"""Assignments: rows of a CSV, JSON or YAML file."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from placementclient.basis import errors
from placementclient.basis.wording import format_count, split_lines
from placementclient.files import kinds
from placementclient.files.cursors import Cursor, Faults, parse_document
from placementclient.model.assignments import COLUMNS, TO_CLASS, UNEXPLAINED, AssignmentRow
from placementclient.model.inventories import UNLIMITED
from placementclient.planner.infeasibility import UndecidedRow

_ALLOWED = (*COLUMNS, TO_CLASS)
_NEEDED = COLUMNS[:2]


def parse_assignments(text: str, path: str) -> list[AssignmentRow]:
    """Return the assignments in a text.

    Rows without ``to_provider`` are skipped, except those with the evidence ``unexplained``.

    :param text: CSV with the header of :data:`COLUMNS`, or JSON or YAML with the same fields
    :raises errors.BadFile: if the text is something else, or has a row twice; with all faults and
        their lines
    """
    written = next((line for line in split_lines(text) if _is_data_line(line)), '')
    _refuse_other_separators(written, path)
    rows: dict[tuple[str, ...], AssignmentRow] = {}
    faults = Faults()
    read = _read_csv if _is_csv(written) else _read_document
    for cells in read(text, path, faults):
        with faults.collect():
            row = _read_row(cells)
            if row is not None:
                _add_row(rows, row)
    faults.raise_collected()
    return list(rows.values())


def _refuse_other_separators(first_line: str, path: str) -> None:
    """Refuse a table whose header has semicolons or tabs, as spreadsheets write them."""
    for character, name in (';', 'semicolons'), ('\t', 'tabs'):
        first, separator, _ = first_line.lstrip('\ufeff').partition(character)
        if separator and first.strip(' "') in _ALLOWED:
            raise errors.BadFile(path, f'has {name} between its fields: save it with commas')


def _is_csv(first_line: str) -> bool:
    """Return whether a file is CSV by its first line with data; otherwise it is JSON or YAML."""
    begins_document = first_line.lstrip('\ufeff \t')[:1] in '[{-'
    return not begins_document and ',' in first_line


def _add_row(rows: dict[tuple[str, ...], AssignmentRow], row: AssignmentRow) -> None:
    """Add a row under its consumer, class and target; refuse it if there is one already."""
    key: tuple[str, ...] = (row.consumer_uuid, row.resource_class, row.to_provider)
    if row.to_resource_class is not None:
        key += (row.to_resource_class,)
    if key in rows:
        where = f'line {rows[key].line}' if rows[key].line else 'above'
        raise row.make_error(f'the same row as {where}: {", ".join(key)}')
    rows[key] = row


def format_skeleton(undecided: Iterable[UndecidedRow]) -> str:
    """Return a CSV file of undecided rows to fill in; comments give the choices."""
    rows = list(undecided)
    is_named = any(row.classes for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator='\n')
    writer.writerow((*COLUMNS, TO_CLASS) if is_named else COLUMNS)
    choices: tuple[Sequence[str], Sequence[str]] | None = None
    for row in rows:
        if (row.choices, row.classes) != choices:
            choices = (row.choices, row.classes)
            out.write(f'# to_provider is one of: {_join_choices(row.choices)}\n')
            if row.classes:
                out.write(f'# {TO_CLASS} is one of: {_join_choices(row.classes)}\n')
        cells = (row.consumer_uuid, row.resource_class, row.amount, '', '')
        writer.writerow((*cells, '') if is_named else cells)
    return out.getvalue()


def _join_choices(names: Iterable[str]) -> str:
    """Return names for a comment, with bars between them: ``gpu0 | gpu1``."""
    return ' | '.join(name if name.isprintable() else ascii(name) for name in names)


def _is_data_line(line: str) -> bool:
    """Return whether a line is neither empty nor a comment."""
    return bool(line.strip()) and not line.startswith('#')


def _read_csv(text: str, path: str, faults: Faults) -> Iterator[Mapping[str, Cursor]]:
    """Yield the cells of each row of a CSV file that are not empty, by the name of their column.

    :param faults: gets those of rows that are not yielded
    :raises errors.BadFile: if the header has not the columns of assignments
    """
    header: list[str] | None = None
    written = split_lines(text.lstrip('\ufeff'))
    lines = (f'{line}\n' if _is_data_line(line) else '\n' for line in written)
    reader = csv.reader(lines, strict=True)
    again = '' if text.endswith('\n') else '. If the last line is cut off, copy the file again'
    try:
        for cells in reader:
            if not any(cells):
                continue
            row = Cursor(cells, path, '', reader.line_num)
            if header is None:
                header = [cell.strip() for cell in cells]
                # The header is checked as the members of a mapping are, with the same messages.
                Cursor(dict.fromkeys(header), path, '', reader.line_num).read_members(
                    _ALLOWED, COLUMNS[:4]
                )
            elif len(cells) != len(header):
                fields = format_count(len(cells), 'field')
                end = again if reader.line_num == len(written) else ''
                faults.errors.append(row.make_error(f'{fields}, the header has {len(header)}{end}'))
            else:
                yield {
                    name: Cursor(cell.strip(), path, name, reader.line_num)
                    for name, cell in zip(header, cells, strict=True)
                    if cell.strip()
                }
    except csv.Error as reason:
        faults.errors.append(errors.BadFile(path, f'{reason}{again}', reader.line_num))


def _read_document(text: str, path: str, faults: Faults) -> Iterator[Mapping[str, Cursor]]:
    """Yield the fields of each row of a JSON or YAML file that are not empty, by their name.

    :param faults: gets those of rows that are not yielded
    :raises errors.BadFile: if it is no list
    """
    document = parse_document(text, path)
    if not isinstance(document.value, list):
        raise errors.WrongFile(path, kinds.UNKNOWN, kinds.ASSIGNMENTS)
    for item in document.iterate_items():
        with faults.collect():
            inside = item.read_members(_ALLOWED, _NEEDED)
            yield {name: at for name, at in inside.items() if at.value not in (None, '')}


def _read_row(cells: Mapping[str, Cursor]) -> AssignmentRow | None:
    """Return a row with its values checked; ``None`` if nobody has filled in its provider.

    :param cells: the values that are not empty, by the name of the column
    :raises errors.BadFile: if a field is missing or wrong
    """
    if not cells:
        return None
    first = next(iter(cells.values()))
    for name in _NEEDED:
        if name not in cells:
            raise errors.BadFile(first.path, f'{name} is empty', first.line)
    evidence = cells.get('evidence')
    if 'to_provider' not in cells and (evidence is None or evidence.value != UNEXPLAINED):
        return None
    faults, values = Faults(), dict[str, Any]()
    for name, cursor in cells.items():
        with faults.collect():
            values[name] = _READERS[name](cursor)
    faults.raise_collected()
    values = {'amount': None, 'to_provider': ''} | values
    return AssignmentRow(**values, path=first.path, line=first.line)


def _read_amount(cursor: Cursor) -> int:
    """Return an amount of at least 1; in CSV it is a text of digits."""
    value = cursor.value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return Cursor(value, cursor.path, cursor.name, cursor.line).read_integer(1, UNLIMITED)


#: The parser of each field.
_READERS: Mapping[str, Callable[[Cursor], Any]] = {
    'consumer_uuid': Cursor.read_uuid,
    'resource_class': Cursor.read_class_or_trait,
    'amount': _read_amount,
    'to_provider': Cursor.read_text,
    'evidence': Cursor.read_text,
    TO_CLASS: Cursor.read_class_or_trait,
}
