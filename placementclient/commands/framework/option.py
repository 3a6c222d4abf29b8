# SPDX-License-Identifier: Apache-2.0
"""Options that depend on the microversion, and options that several commands share."""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypedDict, Unpack

from placementclient.basis.errors import BadFile, WrongFile
from placementclient.basis.wording import suggest_similar
from placementclient.cli.plugin import parse_number
from placementclient.client.microversion import HIGHEST, LOWEST, Microversion
from placementclient.model.providers import normalize_uuid

_NUMBERS = ('<number>', '<seconds>')
_FLAGS = ('store_true', argparse.BooleanOptionalAction)


class ArgumentSettings(TypedDict, total=False):
    """The keyword arguments of ``argparse.ArgumentParser.add_argument`` that options have."""

    action: str | type[argparse.Action]
    choices: Sequence[str]
    default: object
    dest: str
    metavar: str
    nargs: int | str
    required: bool
    type: Callable[[str], object]


class Option:
    """An option or a positional argument.

    :param flags: as ``add_argument`` takes them, and its keyword arguments as ``settings``; the
        last may have the metavar behind it, as in ``'--limit <number>'``; ``'--id <id>...'`` may be
        repeated, its values begin with ``[]``; a number is from 1 on, unless its type says
        otherwise
    :param help: a sentence without its full stop; the default and the microversions are appended
    :param since: the lowest microversion that has the option, such as ``'1.14'``
    :param until: the highest microversion that has it
    :param required_since: the lowest microversion that requires it
    :param replacement: the option that has replaced this one, which is deprecated: it works, with
        a warning, and the help does not have it
    :param is_checked_later: whether the command itself refuses a missing positional argument,
        not argparse
    :param output: the kind of the file to write, as :mod:`.files.kinds` names it, or another name;
        empty: the value is no path of a file to write
    """

    def __init__(
        self,
        *flags: str,
        help: str,
        since: str = str(LOWEST),
        until: str = str(HIGHEST),
        required_since: str | None = None,
        replacement: str | None = None,
        is_checked_later: bool = False,
        output: str = '',
        **settings: Unpack[ArgumentSettings],
    ) -> None:
        last, _, metavar = flags[-1].partition(' ')
        if metavar:
            settings['metavar'] = metavar.removesuffix('...')
        if metavar.endswith('...'):
            settings['action'] = 'append'
        if metavar in _NUMBERS:
            settings.setdefault('type', parse_number)
        self.flags, self.settings = (*flags[:-1], last), settings
        self.dest = settings.get('dest') or last.lstrip('-').replace('-', '_')
        if settings.get('action') == 'append':
            settings.setdefault('default', [])
        has_value = settings.get('action') not in _FLAGS
        if has_value and 'choices' not in settings:
            settings.setdefault('metavar', f'<{self.dest}>')
        self.since, self.until = Microversion.parse(since), Microversion.parse(until)
        self.required_since = Microversion.parse(required_since) if required_since else None
        self.replacement, self._is_checked_later = replacement, is_checked_later
        self.output = output
        #: The heading of the help under which it stands, if it does not stand with the others.
        self.heading: str | None = None
        facts = ', '.join(self._list_help_clauses(help))
        self.help = f'{help} ({facts}).' if facts else f'{help}.'

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the option to a parser, under its heading."""
        help = argparse.SUPPRESS if self.replacement else self.help
        group = parser.add_argument_group(self.heading) if self.heading else parser
        action = group.add_argument(*self.flags, help=help, **self.settings)
        if self._is_checked_later:
            action.required = False

    @property
    def name(self) -> str:
        """The option, or the name of the argument, as the line of usage has it."""
        last = self.flags[-1]
        return last if last.startswith('-') else str(self.settings.get('metavar', last))

    @property
    def effective_since(self) -> Microversion:
        """The lowest microversion that requires the option, or if none does, that has it."""
        return max(self.since, self.required_since or LOWEST)

    def is_set(self, parsed_args: argparse.Namespace) -> bool:
        """Return whether the operator has given the option, with another value than its default."""
        value = getattr(parsed_args, self.dest)
        # By identity where 0 is meant: it equals False.
        return value is not False and value not in (None, [], self.settings.get('default'))

    def _list_help_clauses(self, help: str) -> Iterator[str]:
        """Yield the clauses that the help lacks: repetition, default, microversions."""
        is_repeated = self.settings.get('action') not in (None, *_FLAGS)
        if is_repeated and 'repeated' not in help.lower():
            yield 'may be repeated'
        default = self.settings.get('default')
        if default not in (None, '', '-', []) and default is not False:
            yield f'default: {default}'
        if self.since > LOWEST:
            yield f'from API version {self.since} on'
        if self.until < HIGHEST:
            yield f'up to API version {self.until}'
        if self.required_since:
            yield f'required from {self.required_since} on'


def group_options(heading: str, *options: Option) -> tuple[Option, ...]:
    """Return copies of options, which the help of a command shows under a heading."""
    grouped = tuple(map(copy.copy, options))
    for option in grouped:
        option.heading = heading
    return grouped


def name_options_of_wrong_file(
    options: Sequence[Option], parsed_args: argparse.Namespace, fault: WrongFile
) -> BadFile:
    """Return the error with the option that took the file, or with two whose files are swapped."""
    taker = _find_option_of_wrong_file(options, parsed_args, fault)
    if not taker:
        return fault
    flags = {flag: option for option in options for flag in option.flags}
    if other := flags.get(fault.taken.partition(' ')[0]):
        from placementclient.files import disk

        value = getattr(parsed_args, other.dest)
        paths = value if isinstance(value, list) else [value or '']
        if any(disk.is_file_of_kind(path, fault.needed) for path in paths):
            return fault.with_swapped_options(taker, other.flags[-1])
    return fault.with_taker(taker, flags)


def _find_option_of_wrong_file(
    options: Sequence[Option], parsed_args: argparse.Namespace, fault: WrongFile
) -> str:
    """Return the option or argument that took a wrong file; empty if another file has its path."""
    for option in options:
        value = getattr(parsed_args, option.dest, None)
        words = list(map(str, value if isinstance(value, list) else [value]))
        # One option takes HOST=FILE. Of several with the same file, one may take its kind.
        paths = {*words, *(word.rpartition('=')[2] for word in words)}
        is_right = option.output or fault.taken.startswith(f'{option.name} ')
        if fault.path in paths and not is_right:
            return option.name
    return ''


def describe_ignored_options(
    options: Sequence[Option], parsed_args: argparse.Namespace, version: Microversion
) -> Iterator[str]:
    """Yield a sentence, as osc-placement words it, on options that the microversion ignores."""
    conditional = [option for option in options if option.required_since]
    given = [option.required_since for option in conditional if option.is_set(parsed_args)]
    for since in dict.fromkeys(given):
        if since and version < since:
            flags = [option.flags[-1] for option in conditional if option.required_since == since]
            verb = 'options do not' if flags[1:] else 'option does not'
            yield (
                f'{" and ".join(flags)} {verb} affect allocation for '
                f'--os-placement-api-version less than {since}'
            )


def normalize_column(column: str) -> str:
    """Return the name of a column as cliff compares it with those of -c."""
    return column.lower().strip().replace(' ', '_')


def describe_unknown_columns(unknown: Sequence[str], names: Sequence[str]) -> str:
    """Return a sentence on columns that a table does not have, with those that it has."""
    parts = [part for column in unknown for part in column.split(',')]
    near = suggest_similar(unknown, names) or '.'
    if len(parts) > len(unknown) and set(map(normalize_column, parts)) <= set(
        map(normalize_column, names)
    ):
        near = f'. Type: {" ".join(f"-c {part.strip()}" for part in parts)}.'
    return f'There is no column {" or ".join(unknown)}{near} Columns: {", ".join(names)}'


class Flag(Option):
    """An option without a value."""

    def __init__(self, *flags: str, help: str, since: str = str(LOWEST)) -> None:
        super().__init__(*flags, help=help, since=since, action='store_true')


PROVIDER = Option('provider', help='Name or UUID of the resource provider')
CONSUMER = Option('consumer', type=normalize_uuid, help='UUID of the consumer')
RESOURCE_CLASS = Option('resource_class', help='Name of the resource class')


#: The generation that the provider must still have when it is written.
GENERATION = Option(
    '--generation',
    type=int,
    help='Write only if the provider still has this generation; default: retry after a conflict',
)
CONSUMER_GENERATION = Option(
    '--generation',
    type=int,
    since='1.28',
    help='Write only if the consumer still has this generation; default: retry after a conflict',
)
#: The default number of concurrent workers.
WORKERS = 4
MOST_WORKERS = 1000


def make_workers_option(work: str) -> Option:
    """Return ``--workers``, whose help names the parallel work, such as ``'trees to read'``."""
    return Option(
        '--workers <number>',
        type=_parse_workers,
        default=WORKERS,
        help=f'Number of {work} at the same time, or auto: two for each processor of this machine',
    )


def _parse_workers(text: str) -> int:
    """Return the number of workers; ``auto`` is two for each processor, as they mostly wait."""
    return 2 * (os.cpu_count() or 1) if text == 'auto' else parse_number(text, most=MOST_WORKERS)


OVERWRITE = Flag('--overwrite', help='Overwrite the file if it exists')
YES = Flag('--yes', help='Do not ask for confirmation')
PRESENCE = (
    Flag('--long', help='Also print how many providers and hosts have it, and the only host'),
    Option('--snapshot <file>', help='Like --long, for this snapshot file, not the live cloud'),
)
LONG = Flag('--long', since='1.15', help='Also print last_modified')


def make_output_option(kind: str) -> Option:
    """Return the option for the file to write, by default standard output.

    :param kind: the kind of the file, as :class:`Option` takes it
    """
    return Option(
        '-o', '--output <file>', default='-', help='File to write; default: stdout', output=kind
    )
