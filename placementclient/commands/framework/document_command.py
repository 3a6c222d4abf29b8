# SPDX-License-Identifier: Apache-2.0
"""Commands that print a text for people, or the same as data."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from cliff.formatters.base import ListFormatter, SingleFormatter

from placementclient.basis.printable import printable, shown, unbroken
from placementclient.cli.help_formatter import line_width
from placementclient.commands.framework import base
from placementclient.render.style import painted


class Text(NamedTuple):
    """A printable text, and its fields for ``-f json`` and ``-f yaml``."""

    data: Mapping[str, Any]
    lines: Iterable[str]
    #: Whether there are colours in it.
    has_colours: bool = False


class TextFormatter(SingleFormatter, ListFormatter):
    """The format ``text``: prints the text of a document, or rows as lines."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no options."""

    def emit_one(
        self, column_names: Sequence[str], data: Any, stdout: TextIO, parsed_args: Any
    ) -> None:
        as_seen = painted if parsed_args.text.has_colours else printable
        stdout.writelines(f'{as_seen(unbroken(line))}\n' for line in parsed_args.text.lines)

    def emit_list(
        self, column_names: Sequence[str], data: Any, stdout: TextIO, parsed_args: Any
    ) -> None:
        rows = (tuple(map(shown, row)) for row in data)
        lines = parsed_args.lines(column_names, rows, line_width())
        stdout.writelines(f'{line}\n' for line in lines)


class DocumentCommand(base.ShowOne):
    """A command that prints a text; a subclass returns it from :meth:`text`."""

    formatter_namespace = 'placementclient.formatter.document'
    formatter_default = 'text'

    def execute(self) -> base.Output:
        self.args.text = text = self.text()
        assume = getattr(self.args, 'assume', ())
        data = {**({'assuming': assume} if assume else {}), **text.data}
        return tuple(data), tuple(data.values())

    @abc.abstractmethod
    def text(self) -> Text:
        """Return the text to print."""
