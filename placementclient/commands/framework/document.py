"""Commands that print a text as a person reads it, or the same as data."""

from __future__ import annotations

import abc
import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from cliff.formatters import base as formatters

from placementclient.client.printable import printable, unbroken
from placementclient.commands.framework import base
from placementclient.render.style import painted


class Text(NamedTuple):
    """Something to print.

    :param data: its fields, for ``-f json`` and ``-f yaml``
    :param lines: the text
    :param painted: whether there are colours in it
    """

    data: Mapping[str, Any]
    lines: Iterable[str]
    painted: bool = False


class TextFormatter(formatters.SingleFormatter):
    """``-f text``: what the command itself has written."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        """It has no options."""

    def emit_one(
        self,
        column_names: Sequence[str],
        data: Any,
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        """Print the lines, as they come."""
        shown = painted if parsed_args.text.painted else printable
        for line in parsed_args.text.lines:
            stdout.write(f'{shown(unbroken(line))}\n')


class DocumentCommand(base.ShowOne):
    """A command that prints a text; a subclass says which in :meth:`text`."""

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
