# SPDX-License-Identifier: Apache-2.0
"""The argument parser of a command: the examples in its help, and its error messages."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

from placementclient.basis.errors import ExitStatus
from placementclient.basis.printable import cut_text, escape_text
from placementclient.basis.wording import replace_program
from placementclient.cli.help_formatter import HelpFormatter, summarize_usage
from placementclient.cli.messages import print_message

if TYPE_CHECKING:
    from placementclient.client.endpoints import Endpoint
    from placementclient.commands.framework.option import Option

#: The exit statuses of all commands.
COMMON_STATUSES = (
    (ExitStatus.DONE, 'done'),
    (ExitStatus.ERROR, 'error: Placement refuses, a file is bad'),
    (ExitStatus.USAGE, 'wrong usage'),
)
#: The beginnings of the paths of objects that a snapshot has.
_SAVED = ('/resource_providers/', '/allocations', '/reshaper')
#: How many characters of the words that a command refuses are shown.
_MOST_CHARACTERS = 1000


def add_options_and_help(
    parser: argparse.ArgumentParser,
    options: Sequence[Option],
    examples: Sequence[str],
    endpoint: Endpoint | None,
    *,
    writes: bool,
) -> None:
    """Add the options of a command to its parser, and to the help the examples and the warning.

    The examples follow the first sentence; the warning about writes ends the description.

    :param examples: the arguments of each command line
    :param endpoint: the request of the command, if it has just one
    :param writes: whether a command without an endpoint writes at once
    """
    sentence, _, details = (parser.description or '').partition('\n\n')
    heading = 'Examples:' if examples[1:] else 'Example:'
    lines = [f'  {parser.prog} {arguments}'.rstrip() for arguments in examples]
    warning = ' '.join(_describe_writing(options, endpoint, writes=writes))
    shown = (sentence, '\n'.join((heading, '', *lines)) if lines else '', details, warning)
    parser.description = '\n\n'.join(filter(None, shown))
    parser.formatter_class = HelpFormatter
    for option in options:
        option.add_to(parser)


def _describe_writing(
    options: Iterable[Option], endpoint: Endpoint | None, *, writes: bool
) -> Iterator[str]:
    """Yield the sentences that say if a command asks before it writes, and what undoes it.

    :param endpoint: the request of the command, if it has just one
    :param writes: whether a command without an endpoint writes at once
    """
    names = {option.dest for option in options}
    asks, is_dry_run_possible = 'yes' in names and not writes, 'dry_run' in names
    is_write = writes or (endpoint is not None and not endpoint.is_read)
    if {'yes', 'provider', 'match'} <= names:
        yield 'Without a selector such as --match, the command writes at once and asks nothing.'
        yield 'With a selector it asks before it changes anything, unless you give --yes.'
    elif asks:
        subject = 'With --fix, the' if 'fix' in names else 'The'
        yield f'{subject} command asks before it changes anything, unless you give --yes.'
    elif is_dry_run_possible or is_write:
        yield 'The command writes at once and asks nothing.'
    if is_dry_run_possible:
        yield '--dry-run prints the changes and makes none.'
    elif is_write and endpoint is not None and endpoint.template.startswith(_SAVED):
        yield 'To be able to go back, first save a snapshot: resource provider snapshot save FILE.'


def format_statuses(statuses: Sequence[tuple[ExitStatus, str]]) -> str:
    """Return the part of the help about exit statuses: the common ones, and the given ones."""
    listed = sorted((int(status), text) for status, text in (*COMMON_STATUSES, *statuses))
    lines = (f'  {status}  {text[0].lower()}{text[1:]}\n' for status, text in listed)
    return f'Exit status:\n\n{"".join(lines)}'


def add_suggestions(
    parser: argparse.ArgumentParser,
    program: argparse.ArgumentParser | None,
    examples: Sequence[str],
) -> None:
    """Let the errors of a parser suggest what to type instead; ``placement`` refuses abbreviations.

    The parser keeps the last command line as ``typed``.

    :param program: the parser of the program ``placement``; ``None`` in OpenStackClient
    :param examples: the arguments of command lines that errors on missing ones show
    """
    refuse, parsers, typed = parser.error, [parser], list[str]()
    parse_known_args = parser.parse_known_args
    if program is not None:
        parser.allow_abbrev = False
        refuse, parsers = functools.partial(_exit_with_usage, parser), [parser, program]

    def refuse_with_suggestion(message: str) -> NoReturn:
        from placementclient.cli import command_help

        # The message repeats unknown words as they were typed: maybe a name of another user.
        suggestion = escape_text(command_help.suggest_arguments(message, parsers, typed))
        if not suggestion and message.startswith(command_help.MISSING):
            suggestion = command_help.describe_missing_arguments(message, parser)
            suggestion += ''.join(f'. Example: {parser.prog} {example}' for example in examples)
        suggestion = replace_program(suggestion, 'openstack' if program is None else 'placement')
        refuse(f'{cut_text(message, _MOST_CHARACTERS)}{suggestion}')

    def parse_and_keep_arguments(
        args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        typed[:] = args or ()
        return parse_known_args(args, namespace)

    vars(parser)['typed'], vars(parser)['error'] = typed, refuse_with_suggestion
    vars(parser)['parse_known_args'] = parse_and_keep_arguments


def _exit_with_usage(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    from placementclient.cli import command_help

    usage = summarize_usage(parser.prog, command_help.list_actions(parser))
    print_message(f'{parser.prog}: error: {message}\nusage: {usage} (see --help)', sys.stderr)
    parser.exit(ExitStatus.USAGE)
