"""Commands that print a text for people, or the same as data."""

from __future__ import annotations

import abc
import argparse
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from cliff.formatters import base as formatters

from placementclient.client.printable import printable, shown, unbroken
from placementclient.commands.framework import base
from placementclient.render.style import painted

#: The longest line of a text for people, in characters, also on a wider terminal.
_WIDEST = 100


class Text(NamedTuple):
    """A printable text.

    :param data: its fields, for ``-f json`` and ``-f yaml``
    :param lines: the text
    :param painted: whether there are colours in it
    """

    data: Mapping[str, Any]
    lines: Iterable[str]
    painted: bool = False


class TextFormatter(formatters.SingleFormatter):
    """The format ``text``: prints the text of the command."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no options."""

    def emit_one(
        self,
        column_names: Sequence[str],
        data: Any,
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        as_seen = painted if parsed_args.text.painted else printable
        for line in parsed_args.text.lines:
            stdout.write(f'{as_seen(unbroken(line))}\n')


class DocumentCommand(base.ShowOne):
    """A command that prints a text; a subclass returns it from :meth:`text`."""

    formatter_namespace = 'placementclient.formatter.document'
    formatter_default = 'text'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        parsed_args.text = text = self.text(parsed_args)
        assume = getattr(parsed_args, 'assume', ())
        data = {**({'assuming': assume} if assume else {}), **text.data}
        return tuple(data), tuple(data.values())

    @abc.abstractmethod
    def text(self, parsed_args: argparse.Namespace) -> Text:
        """Return the text to print."""


class LinesFormatter(formatters.ListFormatter):
    """The format ``text``: prints rows as lines of text."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """Add no options."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        rows = (tuple(map(shown, row)) for row in data)
        for line in parsed_args.lines(column_names, rows, width()):
            stdout.write(f'{line}\n')


class LineLister(base.Lister):
    """A command that prints rows: as text on a terminal, otherwise as a table.

    Its :meth:`take_action` sets ``lines`` of the arguments: a function of the names of the columns,
    the rows as texts, and the width of a line.
    """

    formatter_namespace = 'placementclient.formatter.lines'

    @property
    def formatter_default(self) -> str:
        stdout = getattr(self.app, 'stdout', None)
        return 'text' if stdout is not None and stdout.isatty() else 'table'

    def _check(self, parsed_args: argparse.Namespace) -> None:
        has_text = self.has_text(parsed_args) and not parsed_args.wide
        if parsed_args.formatter == 'text' and not has_text:
            parsed_args.formatter = 'table'
        super()._check(parsed_args)

    def has_text(self, parsed_args: argparse.Namespace) -> bool:
        """Return whether the rows can be printed as text: columns are those of a table."""
        return not parsed_args.columns


def width() -> int:
    """Return the line length of this terminal, in characters."""
    return min(_WIDEST, shutil.get_terminal_size().columns)
