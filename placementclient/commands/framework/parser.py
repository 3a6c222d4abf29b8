# SPDX-License-Identifier: Apache-2.0
"""The parser of a command: its examples, and what it says of a mistake."""

import argparse
import functools
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from placementclient.basis.errors import ExitStatus
from placementclient.basis.printable import excerpt, printable
from placementclient.cli import command_help

#: How many characters of the words that a command refuses are shown.
_SHOWN = 1000


def add_examples(parser: argparse.ArgumentParser, examples: Sequence[str]) -> None:
    """Add command lines to the description of a parser, which is printed as it is."""
    if examples:
        lines = (_example(f'{parser.prog} {arguments}') for arguments in examples)
        parser.description = '\n'.join((f'{parser.description}\n\nExample:\n', *lines))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter


def catch_mistakes(
    parser: argparse.ArgumentParser, program: argparse.ArgumentParser | None
) -> None:
    """Let a parser suggest the option that was meant, and never guess an abbreviation.

    :param program: the parser of the program ``placement``; ``None`` in OpenStackClient
    """
    refuse, parsers = parser.error, [parser]
    if program is not None:
        parser.allow_abbrev = False
        refuse, parsers = functools.partial(_refuse, parser), [parser, program]
    # An error repeats unknown words as they were typed: maybe a name of another user.
    vars(parser)['error'] = lambda message: refuse(
        f'{excerpt(message, _SHOWN)}{printable(command_help.meant(message, parsers))}'
    )


def _example(line: str) -> str:
    """Return a command line as indented lines, broken as a shell takes them."""
    lines = textwrap.wrap(
        line, 96, initial_indent='  ', subsequent_indent='    ', break_on_hyphens=False
    )
    return ' \\\n'.join(lines)


def _refuse(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """Exit for wrong usage: the message first, then one line of usage."""
    arguments = [a.metavar for a in command_help.actions(parser) if not a.option_strings]
    usage = ' '.join([parser.prog, '[options]', *filter(None, map(str, arguments))])
    parser.exit(
        ExitStatus.USAGE,
        f'{parser.prog}: error: {message}\nusage: {usage} (see {parser.prog} --help)\n',
    )
