# SPDX-License-Identifier: Apache-2.0
"""The base classes of commands by their output: rows, the fields of one object, or nothing."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TextIO, TypeVar

from osc_lib.command import command

from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.basis.printable import (
    PrintableFormatter,
    RightAligned,
    escape_cell,
    flatten_cell,
    format_cell,
    strip_unit,
)
from placementclient.cli.help_formatter import OUTPUT
from placementclient.commands.framework.option import describe_unknown_columns, normalize_column
from placementclient.commands.framework.placement_command import (
    PlacementCommand as PlacementCommand,
)

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read
    from placementclient.render.columns import Output as Output

T = TypeVar('T')

#: The formatters of rows, with that of lines of text for people.
LINES = 'placementclient.formatter.lines'
#: The exit status of a dry run that has changes to make.
WOULD_CHANGE = (errors.ExitStatus.DIFFERS, 'a dry run has found something to do')

#: The function that converts a cell, by the name of the format.
_CELL_CONVERTERS = {
    'table': format_cell,
    'csv': escape_cell,
    'shell': flatten_cell,
    'value': flatten_cell,
}


class ObjectFunctions(NamedTuple):
    """The functions of the API for an object that a command creates or deletes.

    :param write: creates or deletes the object, given by its name or the provider's UUID
    :param read: reads the same object, which shows whether the write was carried out
    :param deletes: whether the write deletes the object
    """

    write: Callable[[Client, str], object]
    read: Callable[[Client, str], Read[Any]]
    deletes: bool = False


class CreateOrDeleteCommand(PlacementCommand):
    """A command without output that creates or deletes the object ``<provider>`` or ``<name>``."""

    functions: ClassVar[ObjectFunctions]

    def execute(self) -> None:
        write, read, deletes = self.functions
        subject = self.provider_uuid if 'provider' in self.args else self.args.name

        def is_written() -> bool:
            return deletes is attempts.is_gone_or_empty(lambda: read(self.client, subject))

        attempts.confirm_write(self.client, lambda: write(self.client, subject), is_written)


class Lister(PlacementCommand, command.Lister):
    """A command that prints rows."""

    #: The sentence on stderr for people if there is no row; empty: print nothing. Commands of one
    #: endpoint print an empty line instead, as those of osc-placement do.
    empty_message: str = 'Nothing found'
    #: The columns that are hidden first, and those that are never hidden, on a narrow terminal.
    spare_columns: Sequence[str] = ()
    needed_columns: Sequence[str] = ()

    @property
    def formatter_default(self) -> str:
        """The format without ``-f``: ``text`` on a terminal if the command has it; else a table."""
        stdout = getattr(self.app, 'stdout', None)
        is_seen = stdout is not None and stdout.isatty()
        return 'text' if self.formatter_namespace == LINES and is_seen else 'table'

    def _new_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser with the options of the command, and ``--wide`` for its table."""
        parser = super()._new_parser(prog_name)
        parser.add_argument_group(OUTPUT).add_argument(
            '--wide',
            action='store_true',
            help='Print all columns of a table, however wide the terminal is.',
        )
        return parser

    def check_options(self) -> None:
        """Refuse wrong options; print a table with ``--wide`` and where no text can be printed."""
        if self.args.formatter == 'text' and (self.args.wide or not self.can_print_text()):
            self.args.formatter = 'table'
        super().check_options()

    def can_print_text(self) -> bool:
        """Return whether the command can print lines of text: not with columns of ``-c``."""
        return not self.args.columns

    def format_lines(
        self, names: Sequence[str], rows: Iterable[Sequence[object]], width: int
    ) -> Iterable[str]:
        """Return the lines of rows for ``-f text``; each command with this format defines it.

        :param names: the names of the columns
        :param width: the length of the longest line, in characters
        """
        raise NotImplementedError

    def prints_empty_message(self) -> bool:
        """Return whether the command prints :attr:`empty_message` instead of an empty table."""
        return self.endpoint is None

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        names: Sequence[str],
        rows: Iterable[Sequence[object]],
    ) -> int:
        """Print the rows, or :attr:`empty_message` if there are none; return the exit status."""
        listed = list(rows)
        is_for_people = parsed_args.formatter in ('table', 'text')
        is_empty = not listed and is_for_people and not parsed_args.print_empty
        if is_empty and self.prints_empty_message():
            self.check_columns(self.list_column_names() or names)
            if self.empty_message:
                self.log.warning(self.empty_message)
            return 0
        self._log_unknown_sort_columns(names)
        if self.args.wide:
            from placementclient.commands.framework.table_width import UNLIMITED

            self.args.max_width = UNLIMITED
        _prepare_formatter(self, names, can_hide=not self.args.columns)
        with self.report_print_errors():
            status: int = super().produce_output(parsed_args, names, listed)
        return status

    def _log_unknown_sort_columns(self, names: Sequence[str]) -> None:
        """Log a hint for a column of ``--sort-column`` that the table lacks: cliff ignores it."""
        for column in self.args.sort_columns:
            if normalize_column(column) not in map(normalize_column, names):
                self.log_hint(f'Not sorted. {describe_unknown_columns([column], names)}')

    def add_modified_date(self, output: Output, read: Read[T]) -> Output:
        """Return a table, with the column ``last_modified`` of an answer if ``--long`` is given."""
        if not self.args.long:
            return output
        names, rows = output
        return (*names, 'last_modified'), [(*row, read.last_modified) for row in rows]

    def add_names(
        self,
        output: Output,
        names: Callable[[], Mapping[str, str]],
        position: int = 0,
        *,
        for_people: bool = False,
    ) -> Output:
        """Return a table with the column ``name`` added if ``--long`` or ``-c name`` is given.

        :param names: returns the names by UUID
        :param position: the position of the column that has the UUIDs
        :param for_people: whether a table on a terminal has the column too, if names can be read
        """
        is_asked = getattr(self.args, 'long', False) or 'name' in map(str.lower, self.args.columns)
        is_seen = self.args.formatter == 'table' and _is_on_terminal(self.app.stdout)
        if not is_asked and (self.args.columns or not (for_people and is_seen)):
            return output
        name_of: Mapping[str, str] = {}
        with contextlib.suppress(*(() if is_asked else (errors.PlacementError,))):
            name_of = names()
        columns, rows = output
        # Scripts may count on the columns before those of --long.
        place = len(columns) if is_asked else position + 1
        return (*columns[:place], 'name', *columns[place:]), [
            (*row[:place], name_of.get(str(row[position]).lower(), ''), *row[place:])
            for row in rows
        ]


class ShowOne(PlacementCommand, command.ShowOne):
    """A command that prints the fields of one object."""

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], values: Sequence[object]
    ) -> int:
        """Print the fields; return the exit status."""
        _prepare_formatter(self, names, can_hide=False)
        with self.report_print_errors():
            status: int = super().produce_output(parsed_args, names, values)
        return status

    def add_modified_date(self, output: Output, read: Read[T]) -> Output:
        """Return the fields of an object with ``last_modified`` added, if ``--long`` is given."""
        names, values = output
        if not self.args.long:
            return output
        return (*names, 'last_modified'), (*values, read.last_modified)


def _prepare_formatter(command: Lister | ShowOne, names: Sequence[str], *, can_hide: bool) -> None:
    """Give a command a formatter that prints safe text to people, and exact data to programs.

    :param names: the names of the columns
    :param can_hide: whether columns may be hidden that have no room on the terminal
    """
    if not command.column_names:
        command.check_columns(names)
    # A formatter of any format: cliff has no common type of them.
    formatter: Any = command.formatter
    name, is_seen = command.args.formatter, _is_on_terminal(command.app.stdout)
    if isinstance(command, Lister) and name == 'text':
        formatter.format_lines = command.format_lines
    if name == 'table':
        formatter.ALIGNMENTS = {**formatter.ALIGNMENTS, RightAligned: 'r'}
        has_width = command.args.max_width > 0 or command.args.fit_width
        if is_seen and not has_width:
            from placementclient.commands.framework.table_width import FittedFormatter

            width = shutil.get_terminal_size().columns
            formatter = FittedFormatter(
                formatter,
                width,
                command.log.warning,
                can_hide=can_hide,
                spare=getattr(command, 'spare_columns', ()),
                needed=getattr(command, 'needed_columns', ()),
            )
    cell = _format_cell_without_unit if name == 'value' and is_seen else _CELL_CONVERTERS.get(name)
    # Texts have colours; the cells of tables and of values are printable already.
    on_screen = is_seen and name not in ('table', 'text', 'value')
    formatter = PrintableFormatter(formatter, cell, on_screen=on_screen)
    command.formatter = formatter


def _is_on_terminal(stdout: TextIO) -> bool:
    """Return whether a terminal shows a stream, also the captured one of a batch."""
    # The output of a command in a batch is captured before it is shown.
    return stdout.isatty() or getattr(stdout, 'is_for_terminal', False)


def _format_cell_without_unit(cell: object) -> object:
    return format_cell(strip_unit(cell))
