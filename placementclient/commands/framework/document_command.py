# SPDX-License-Identifier: Apache-2.0
"""Commands that print a text for people, or the same as data."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TextIO

from cliff.formatters.base import ListFormatter

from placementclient.basis.errors import UsageError
from placementclient.basis.printable import escape_line, escape_text, format_cell
from placementclient.cli.help_formatter import get_line_width
from placementclient.commands.framework import base
from placementclient.render.style import escape_all_but_colours


class TextOutput(NamedTuple):
    """The output of a command as text and as data.

    :ivar data: the fields of ``-f json`` and ``-f yaml``, by name
    :ivar lines: the lines of the text
    :ivar has_colours: whether the lines have escape sequences for colours
    """

    data: Mapping[str, object]
    lines: Iterable[str]
    has_colours: bool = False


class TextFormatter(ListFormatter):
    """The formatter of ``-f text``, which prints rows as lines of text.

    :ivar format_lines: :meth:`.base.Lister.format_lines` of the command
    """

    format_lines: Callable[[Sequence[str], Iterable[Sequence[object]], int], Iterable[str]]

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no options."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[object]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print rows as the lines that :attr:`format_lines` returns."""
        rows = (tuple(map(format_cell, row)) for row in data)
        lines = self.format_lines(column_names, rows, get_line_width())
        stdout.writelines(f'{line}\n' for line in lines)


class DocumentCommand(base.ShowOne):
    """A command that prints a text, which a subclass makes in :meth:`make_text`."""

    formatter_namespace = 'placementclient.formatter.document'
    formatter_default = 'text'
    _text: TextOutput

    def execute(self) -> base.Output:
        """Make the text; return the names and the values of its data and of ``--assume``."""
        self._text = self.make_text()
        assume = getattr(self.args, 'assume', ())
        data = {**({'assuming': assume} if assume else {}), **self._text.data}
        return tuple(data), tuple(data.values())

    def check_options(self) -> None:
        """Refuse wrong options, and columns in the format ``text``, which has none."""
        if self.prints_text and self.args.columns:
            raise UsageError(
                f'The text has no columns. Type: -f yaml -c {" -c ".join(self.args.columns)}'
            )
        super().check_options()

    @property
    def prints_text(self) -> bool:
        """Return True if the command prints the lines of the text, and not its data."""
        return bool(self.args.formatter == self.formatter_default)

    @abc.abstractmethod
    def make_text(self) -> TextOutput:
        """Return the lines of the text to print, and the same content as data for ``-f json``."""

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], values: Sequence[object]
    ) -> int:
        """Print the lines of the text, or with another format its data."""
        if not self.prints_text:
            return super().produce_output(parsed_args, names, values)
        escape = escape_all_but_colours if self._text.has_colours else escape_text
        with self.report_print_errors():
            lines = (f'{escape(escape_line(line))}\n' for line in self._text.lines)
            self.app.stdout.writelines(lines)
        return 0
