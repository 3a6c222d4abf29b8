# SPDX-License-Identifier: Apache-2.0
"""The base classes of commands: those that print rows, fields, or nothing."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from osc_lib.command import command

from placementclient.api import attempts
from placementclient.basis import errors
from placementclient.basis.printable import (
    PrintableFormatter,
    RightAligned,
    flat,
    number,
    shown,
    spreadsheet_cell,
)
from placementclient.cli.help_formatter import OUTPUT
from placementclient.commands.framework import table_width
from placementclient.commands.framework.placement_command import (
    PlacementCommand as PlacementCommand,
)

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read
    from placementclient.render.columns import Output as Output

#: The formats of rows that can also be printed as lines of text for people.
LINES = 'placementclient.formatter.lines'
#: How a dry run ends, so that scripts see whether there is something to do.
WOULD_CHANGE = (errors.ExitStatus.DIFFERS, 'a dry run has found something to do')

#: The function for a cell, by the name of the format.
_CELLS = {'table': shown, 'csv': spreadsheet_cell, 'shell': flat, 'value': flat}


class NameCommand(PlacementCommand):
    """A command that creates or deletes something by its name."""

    #: The functions of the API that write it, and that show whether it exists.
    functions: tuple[Callable[[Client, str], object], Callable[[Client, str], Read[Any]]]
    deletes = False

    def execute(self) -> None:
        write, show = self.functions
        subject = self.provider_uuid if 'provider' in self.args else self.args.name
        attempts.confirmed(
            self.client,
            lambda: write(self.client, subject),
            lambda: self.deletes is attempts.is_gone(lambda: show(self.client, subject)),
        )


class Lister(PlacementCommand, command.Lister):
    """A command that prints rows."""

    #: The sentence on stderr for people if there is no row; empty: none. The commands of the
    #: endpoints print an empty line instead, as those of osc-placement do.
    empty_message: str = 'Nothing found'

    @property
    def formatter_default(self) -> str:
        """The format where the operator asks for none: lines of text only on a terminal."""
        stdout = getattr(self.app, 'stdout', None)
        is_seen = stdout is not None and stdout.isatty()
        return 'text' if self.formatter_namespace == LINES and is_seen else 'table'

    def _new_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super()._new_parser(prog_name)
        parser.add_argument_group(OUTPUT).add_argument(
            '--wide',
            action='store_true',
            help='Print all columns of a table, however wide the terminal is.',
        )
        return parser

    def check_options(self) -> None:
        if self.args.formatter == 'text' and (self.args.wide or not self.can_print_text()):
            self.args.formatter = 'table'
        super().check_options()

    def can_print_text(self) -> bool:
        """Return whether the rows can be printed as text: columns are those of a table."""
        return not self.args.columns

    def has_empty_message(self) -> bool:
        """Return whether the command prints :attr:`empty_message` instead of an empty table."""
        return self.endpoint is None

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], rows: Any
    ) -> int:
        """Print the rows; of no rows, print a table only if the format asks for it."""
        listed = list(rows)
        is_for_people = parsed_args.formatter in ('table', 'text')
        is_empty = not listed and is_for_people and not parsed_args.print_empty
        if is_empty and self.has_empty_message():
            self.check_columns(self.list_column_names() or names)
            if self.empty_message:
                self.log.warning(self.empty_message)
            return 0
        _prepare_formatter(self, names, self._fit_to_terminal)
        with self.report_print_errors():
            status: int = super().produce_output(parsed_args, names, listed)
        return status

    def _fit_to_terminal(self, formatter: Any) -> Any:
        """Return the formatter of a table that a terminal of this width can show."""
        if self.args.wide:
            self.args.max_width = table_width.UNLIMITED
        return _fit_table(self, formatter, hides=not self.args.columns)

    def add_modified_date(self, output: Output, read: Read[Any]) -> Output:
        """Return the table; with ``--long``, ``last_modified`` is its last column."""
        if not self.args.long:
            return output
        return add_column(output, 'last_modified', lambda row: read.last_modified)

    def add_names(
        self, output: Output, names: Callable[[], Mapping[str, str]], position: int = 0
    ) -> Output:
        """Return the table; with ``--long`` or ``-c``, ``name`` is its last column.

        :param names: returns the names by the values of the column at ``position``
        """
        is_long = getattr(self.args, 'long', False)
        if not is_long and 'name' not in map(str.lower, self.args.columns):
            return output
        name_of = names()
        return add_column(output, 'name', lambda row: name_of.get(row[position].lower(), ''))


class ShowOne(PlacementCommand, command.ShowOne):
    """A command that prints the fields of one object."""

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], values: Any
    ) -> int:
        """Print the fields."""
        _prepare_formatter(self, names, lambda formatter: _fit_table(self, formatter, hides=False))
        with self.report_print_errors():
            status: int = super().produce_output(parsed_args, names, values)
        return status

    def add_modified_date(self, output: Output, read: Read[Any]) -> Output:
        """Return the fields; with --long, ``last_modified`` is the last."""
        names, values = output
        if not self.args.long:
            return output
        return (*names, 'last_modified'), (*values, read.last_modified)


def _fit_table(command: Lister | ShowOne, formatter: Any, *, hides: bool) -> Any:
    """Return the formatter of a table that this terminal can show, unless the user has a width."""
    if command.args.max_width > 0 or command.args.fit_width:
        return formatter
    width = shutil.get_terminal_size().columns
    return table_width.FittedFormatter(formatter, width, command.log.warning, hides=hides)


def _prepare_formatter(
    command: Lister | ShowOne, names: Sequence[str], fit: Callable[[Any], Any]
) -> None:
    """Let a command print printable text for people, and unchanged data for programs.

    :param fit: makes of the formatter for a table one for this terminal
    """
    if not command.column_names:
        command.check_columns(names)
    formatter: Any = command.formatter
    name, stdout = command.args.formatter, command.app.stdout
    # The output of a command in a batch is captured before it is shown.
    is_seen = stdout.isatty() or getattr(stdout, 'is_for_terminal', False)
    if name == 'table':
        formatter.ALIGNMENTS = {**formatter.ALIGNMENTS, RightAligned: 'r'}
        if is_seen:
            formatter = fit(formatter)
    cell = _shown_number if name == 'value' and is_seen else _CELLS.get(name)
    # Texts have colours; the cells of tables and of values are printable already.
    on_screen = is_seen and name not in ('table', 'text', 'value')
    formatter = PrintableFormatter(formatter, cell, on_screen=on_screen)
    command.formatter = formatter


def _shown_number(cell: Any) -> Any:
    return shown(number(cell))


def add_column(output: Output, name: str, value: Callable[[Any], Any]) -> Output:
    """Return a table with one more column, of which ``value`` returns the cell of a row."""
    names, rows = output
    return (*names, name), [(*row, value(row)) for row in rows]
