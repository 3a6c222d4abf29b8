# SPDX-License-Identifier: Apache-2.0
"""Commands that print a text for people, or the same as data."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TextIO

from cliff.formatters.base import ListFormatter, SingleFormatter

from placementclient.basis.printable import escape_line, escape_text, format_cell
from placementclient.cli.help_formatter import get_line_width
from placementclient.commands.framework import base
from placementclient.render.style import escape_painted


class Text(NamedTuple):
    """The output of a command for people, and the same as data.

    :ivar data: the fields of ``-f json`` and ``-f yaml``, by name
    :ivar lines: the lines of the text
    :ivar has_colours: whether the lines have escape sequences for colours
    """

    data: Mapping[str, object]
    lines: Iterable[str]
    has_colours: bool = False


class TextFormatter(SingleFormatter, ListFormatter):
    """The formatter of ``-f text``: it prints the lines of a text, or rows as lines."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no options."""

    def emit_one(
        self,
        column_names: Sequence[str],
        data: Sequence[object],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print the lines of ``parsed_args.text``, which :class:`DocumentCommand` has set."""
        escape = escape_painted if parsed_args.text.has_colours else escape_text
        stdout.writelines(f'{escape(escape_line(line))}\n' for line in parsed_args.text.lines)

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[object]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print rows as the lines that the function ``parsed_args.lines`` makes of them."""
        rows = (tuple(map(format_cell, row)) for row in data)
        lines = parsed_args.lines(column_names, rows, get_line_width())
        stdout.writelines(f'{line}\n' for line in lines)


class DocumentCommand(base.ShowOne):
    """A command that prints a text, which a subclass makes in :meth:`make_text`."""

    formatter_namespace = 'placementclient.formatter.document'
    formatter_default = 'text'

    def execute(self) -> base.Output:
        """Keep the text for :class:`TextFormatter`; return its data, with the assumptions."""
        self.args.text = text = self.make_text()
        assume = getattr(self.args, 'assume', ())
        data = {**({'assuming': assume} if assume else {}), **text.data}
        return tuple(data), tuple(data.values())

    @abc.abstractmethod
    def make_text(self) -> Text:
        """Return the text of the command, with the same as data."""
