# SPDX-License-Identifier: Apache-2.0
"""The commands by subject, their arguments, and suggestions for unknown ones."""

import argparse
import functools
import itertools
import pkgutil
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from placementclient.basis.wording import find_closest_words, format_suggestion

#: How many words of a command's name make its subject.
DEPTH = 3
#: The most suggestions, and their least similarity to the typed words.
SUGGESTIONS, ALIKE = 3, 0.75

#: The option that a word probably means where a command has no such option, but that one.
_SYNONYMS = {
    'trait': 'required',
    'with-trait': 'required',
    'with-class': 'resource',
    'json': 'format',
}

#: The command that takes arguments which another does not; {} stands for the first of them.
_OTHER_FORMS = {
    'inventory set': 'placement resource provider inventory class set PROVIDER CLASS --total N',
    'inventory delete': 'placement resource provider inventory delete PROVIDER --resource-class '
    'CLASS',
    'aggregate set': 'placement resource provider aggregate set PROVIDER --aggregate AGGREGATE',
    'resource provider list': 'placement resource provider show {}',
}

#: The command that people look for under another name.
_OTHER_NAMES = {
    'provider tree delete': 'resource provider purge',
    'provider remove': 'resource provider delete',
    'provider rename': 'resource provider set',
    'provider update': 'resource provider set',
    'inventory update': 'resource provider inventory set',
    'inventory add': 'resource provider inventory class create',
    'allocation create': 'resource provider allocation set',
}


def find_subject(command: str) -> str:
    """Return ``'resource provider'`` of ``'resource provider list'``."""
    return ' '.join(command.split()[:-1][:DEPTH]) or 'this program'


def format_overview(
    commands: Iterable[str], beginning: str = '', width: int = 100
) -> Iterator[str]:
    """Yield the lines of ``--help`` about commands, grouped by their subjects.

    :param beginning: the first words of the commands; empty: all commands
    :param width: the length of the longest line, in characters
    """
    chosen = [name for name in commands if f'{name} '.startswith(f'{beginning} '.lstrip())]
    ordered = sorted(chosen, key=lambda name: (' ' not in name, find_subject(name), name))
    for heading, group in itertools.groupby(ordered, find_subject):
        yield f'\n{heading}:'
        names = list(group)
        longest = max(map(len, names))
        for name in names:
            yield from textwrap.wrap(
                f'  {name:<{longest}}  {read_summaries()[name]}',
                width,
                subsequent_indent=' ' * (longest + 4),
                break_on_hyphens=False,
            )


@functools.cache
def read_summaries() -> dict[str, str]:
    """Return the first line of the help of each command, by its name.

    They stand in a file, as to load all commands would take twice as long as ``--help``.
    """
    content = pkgutil.get_data(__package__, 'summaries.txt') or b''
    rows = (line.partition(': ') for line in content.decode().splitlines())
    return {name: summary for name, _, summary in rows}


def list_actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Return the options and arguments of a parser, in the order in which they were added."""
    collected: list[argparse.Action] = []

    class CollectingFormatter(argparse.HelpFormatter):
        def add_usage(
            self, usage: str | None, list_actions: Iterable[argparse.Action], *_: object
        ) -> None:
            collected.extend(list_actions)

    formatter, parser.formatter_class = parser.formatter_class, CollectingFormatter
    parser.format_usage()
    parser.formatter_class = formatter
    return collected


def suggest_options(
    message: str, parsers: Iterable[argparse.ArgumentParser], arguments: Sequence[str] = ()
) -> str:
    """Return suggestions for a mistyped option, to follow an error of argparse.

    :param arguments: the arguments of the command, of which argparse names the missing ones first
    """
    listed = list(parsers)
    if message.startswith('the following arguments are required: '):
        return _suggest_instead_of_missing(listed, arguments)
    if message.startswith('unrecognized arguments: '):
        return _suggest_instead_of_unknown(listed, message)
    return ''


def _suggest_instead_of_missing(
    parsers: Sequence[argparse.ArgumentParser], arguments: Sequence[str]
) -> str:
    """Return the options that unknown ones among the arguments of a command may mean."""
    options = _list_documented_options(parsers)
    names = [word.partition('=')[0].lstrip('-') for word in arguments if word[:2] == '--']
    missed = find_closest_words([name for name in names if name not in options], options)
    hint = format_suggestion(f'--{option}' for option in missed)
    return f'. {hint}' if hint else ''


def _suggest_instead_of_unknown(parsers: Sequence[argparse.ArgumentParser], message: str) -> str:
    """Return what the unknown arguments in an error of argparse may mean."""
    options = _list_documented_options(parsers)
    typed = [word.partition('=')[0] for word in message.split() if word.startswith('--')]
    words = [word.lstrip('-') for word in typed]
    for word in _list_argument_names(parsers):
        if word in words:
            return f'. Type the {word} without --{word}'
    if form := _suggest_other_command(message, parsers, options):
        return form
    near = find_closest_words(words, options) or [
        _SYNONYMS[word] for word in words if _SYNONYMS.get(word) in options
    ]
    return f'. {format_suggestion(f"--{option}" for option in near)}' if near else ''


def _list_documented_options(parsers: Iterable[argparse.ArgumentParser]) -> list[str]:
    """Return the names of all options that the help shows, without their dashes."""
    shown = [
        action for p in parsers for action in list_actions(p) if action.help != argparse.SUPPRESS
    ]
    return [option.lstrip('-') for action in shown for option in action.option_strings]


def _list_argument_names(parsers: Iterable[argparse.ArgumentParser]) -> list[str]:
    """Return the names of all arguments that have no dashes."""
    found = (a for parser in parsers for a in list_actions(parser) if not a.option_strings)
    return [str(action.metavar or action.dest).strip('<>') for action in found]


def _suggest_other_command(
    message: str, parsers: Iterable[argparse.ArgumentParser], options: Sequence[str]
) -> str:
    """Return the command line that takes an argument which this command does not take."""
    arguments = message.removeprefix('unrecognized arguments: ').split()
    commands = [str(parser.prog) for parser in parsers]
    if not arguments or arguments[0].startswith('-'):
        return ''
    if 'resource' in options and all('=' in word for word in arguments):
        return f'. Type: {" ".join(f"--resource {word}" for word in arguments)}'
    if arguments[0].replace('.', '').isdecimal():
        return f'. A value follows its = without a blank: NAME={arguments[0]}'
    forms = (form for end, form in _OTHER_FORMS.items() for c in commands if c.endswith(end))
    form = next(forms, '').format(shlex.quote(arguments[0]))
    return f'. Type: {form}' if form else '. The command takes no more arguments'


def strip_arguments(words: Sequence[str], commands: Iterable[str]) -> Sequence[str]:
    """Return the name of an unknown command: ``reshape verfy`` of ``reshape verfy plan.json``."""
    # It ends with the last word of any command, or with the first word of none.
    known = {word for command in commands for word in command.split()}
    first_unknown = next((n for n, word in enumerate(words) if word not in known), 0)
    last_known = max((n for n, word in enumerate(words) if word in known), default=0)
    return words[: max(first_unknown, last_known) + 1]


def suggest_commands(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the commands, or the group of commands, that an unknown one may mean."""
    names, least = sorted(commands), min(DEPTH, len(words))
    typed = ' '.join(words)
    meant = [name for other, name in _OTHER_NAMES.items() if f'{other} ' in f'{typed} ']
    return (
        [name for name in meant if name in names]
        or _find_commands_containing(words, range(len(words), least - 1, -1), names)
        or _find_most_similar_command(words, names)
        or _find_commands_containing(words, range(least - 1, 0, -1), names)
    )


def _find_commands_containing(
    words: Sequence[str], lengths: Iterable[int], names: Sequence[str]
) -> list[str]:
    """Return the few commands whose names contain the first words, or the group that ends so.

    :param words: the words that were typed
    :param lengths: how many of them are looked for, one number after the other
    """
    for length in lengths:
        typed = f' {" ".join(words[:length])} '
        commands = [name for name in names if typed in f' {name} ']
        groups = {f' {name} '.partition(typed)[0].strip() for name in commands}
        if 0 < len(commands) <= SUGGESTIONS:
            return commands
        if len(groups) == 1 and groups != {''}:
            return [f'{groups.pop()}{typed}'.strip()]
    return []


def _find_most_similar_command(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the command that is spelled most like the words, if any is."""
    from difflib import SequenceMatcher

    def measure_similarity(name: str) -> float:
        typed = ' '.join(words[: len(name.split())])
        return SequenceMatcher(None, name, typed).ratio()

    best = max(names, key=measure_similarity)
    return [best] if measure_similarity(best) >= ALIKE else []
