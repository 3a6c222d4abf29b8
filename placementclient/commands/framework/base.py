# SPDX-License-Identifier: Apache-2.0
"""The base classes of commands: those that print rows, fields, or nothing."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cliff.display import DisplayCommandBase
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
from placementclient.commands.framework import fitting
from placementclient.commands.framework.placement_command import (
    PlacementCommand as PlacementCommand,
)

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read
    from placementclient.render.columns import Output as Output

#: How a dry run ends, so that scripts see whether there is something to do.
WOULD_DO = (errors.ExitStatus.DIFFERS, 'a dry run has found something to do')

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


class _Table(PlacementCommand, DisplayCommandBase[Any]):
    """The common part of commands that print a table, or the same as data."""

    #: The names of the columns of a command that writes: cliff checks -c only after the write.
    prints: ClassVar[Sequence[str]] = ()

    def _check(self) -> None:
        super()._check()
        if names := self.printed():
            self._check_columns(names)

    def printed(self) -> Sequence[str]:
        """Return the names of the columns under the present options, as :attr:`prints`."""
        return self.prints

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse a column of ``-c`` that the table does not have."""
        # Commands of endpoints only warn if other columns exist, as those of osc-placement do:
        # their columns depend on the microversion.
        normalized = set(map(_normalized, names))
        unknown = [name for name in self.args.columns if _normalized(name) not in normalized]
        if not unknown:
            return
        message = f'No recognized column names in {unknown}. Recognized columns are {tuple(names)}.'
        if self.endpoint is None or len(unknown) == len(self.args.columns):
            raise errors.BadArgument(message)
        self.log.warning(message)

    def _fitted(self) -> Any:
        return self.formatter

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], values: Any
    ) -> int:
        """Print the table: printable text for people, unchanged data for programs."""
        if not self.prints:
            self._check_columns(names)
        name, is_seen = parsed_args.formatter, self.app.stdout.isatty()
        if name == 'table':
            self.formatter.ALIGNMENTS = {**self.formatter.ALIGNMENTS, RightAligned: 'r'}
            if is_seen:
                self.formatter = self._fitted()
        cell = _shown_number if name == 'value' and is_seen else _CELLS.get(name)
        # Texts have colours; the cells of tables and of values are printable already.
        on_screen = is_seen and name not in ('table', 'text', 'value')
        self.formatter = PrintableFormatter(self.formatter, cell, on_screen=on_screen)
        with self._printing():
            status: int = super().produce_output(  # type: ignore[safe-super]
                parsed_args, names, values
            )
        return status


class Lister(_Table, command.Lister):
    """A command that prints rows."""

    #: The sentence on stderr for people if there is no row; empty: none. The commands of the
    #: endpoints print an empty line instead, as those of osc-placement do.
    nothing: str = 'Nothing found'

    def _new_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super()._new_parser(prog_name)
        parser.add_argument(
            '--wide',
            action='store_true',
            help='Print all columns of a table, however wide the terminal is.',
        )
        return parser

    def _fitted(self) -> Any:
        if self.args.wide:
            self.args.max_width = fitting.UNLIMITED
        if self.args.columns or self.args.max_width > 0 or self.args.fit_width:
            return self.formatter
        width = shutil.get_terminal_size().columns
        return fitting.Fitted(self.formatter, width, self.log.warning)

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], rows: Any
    ) -> int:
        """Print the rows; of no rows, print a table only if the format asks for it."""
        listed = list(rows)
        is_for_people = parsed_args.formatter in ('table', 'text')
        is_empty = not listed and is_for_people and not parsed_args.print_empty
        if is_empty and self.says_nothing():
            self._check_columns(self.printed() or names)
            if self.nothing:
                self.log.warning(self.nothing)
            return 0
        return super().produce_output(parsed_args, names, listed)

    def dated(self, output: Output, read: Read[Any]) -> Output:
        """Return the table; with ``--long``, ``last_modified`` is its last column."""
        if not self.args.long:
            return output
        return with_column(output, 'last_modified', lambda row: read.last_modified)

    def named(
        self, output: Output, names: Callable[[], Mapping[str, str]], position: int = 0
    ) -> Output:
        """Return the table; with ``--long`` or ``-c``, ``name`` is its last column.

        :param names: returns the names by the values of the column at ``position``
        """
        is_long = getattr(self.args, 'long', False)
        if not is_long and 'name' not in map(str.lower, self.args.columns):
            return output
        name_of = names()
        return with_column(output, 'name', lambda row: name_of.get(row[position].lower(), ''))

    def says_nothing(self) -> bool:
        """Return whether the command prints :attr:`nothing` instead of an empty table."""
        return self.endpoint is None


class ShowOne(_Table, command.ShowOne):
    """A command that prints the fields of one object."""

    def dated(self, output: Output, read: Read[Any]) -> Output:
        """Return the fields; with --long, ``last_modified`` is the last."""
        names, values = output
        if not self.args.long:
            return output
        return (*names, 'last_modified'), (*values, read.last_modified)


def _shown_number(cell: Any) -> Any:
    return shown(number(cell))


def _normalized(column: str) -> str:
    """Return the name of a column as cliff compares it with those of -c."""
    return column.lower().strip().replace(' ', '_')


def with_column(output: Output, name: str, value: Callable[[Any], Any]) -> Output:
    """Return a table with one more column, of which ``value`` returns the cell of a row."""
    names, rows = output
    return (*names, name), [(*row, value(row)) for row in rows]
