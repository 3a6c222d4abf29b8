# SPDX-License-Identifier: Apache-2.0
"""The commands by subject, their arguments, and suggestions for unknown ones."""

import argparse
import functools
import itertools
import pkgutil
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from placementclient.basis.wording import (
    find_closest_words,
    format_suggestion,
    suggest_similar,
    wrap_words,
)
from placementclient.cli import entry_points

#: How many words of a command's name make its subject.
DEPTH = 3
#: The most suggestions, and their least similarity to the typed words.
SUGGESTIONS, ALIKE = 3, 0.75

#: The beginnings of errors of argparse.
MISSING = 'the following arguments are required: '
_UNKNOWN = 'unrecognized arguments: '
_WRONG_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*?)'")
#: The options of all commands that print a table.
_OUTPUT = {'c', 'f', 'column', 'format'}
#: The option that a word probably means where a command has no such option, but that one.
_SYNONYMS = {
    'y': 'yes',
    'trait': 'required',
    'with-trait': 'required',
    'with-class': 'resource',
    'json': 'format',
    'servers': 'requests',
    'aggregate': 'member-of',
    'sort': 'sort-column',
    'force': 'yes',
}

#: A field of an inventory as an option.
_FIELD = re.compile(r'--([a-z_-]+)[ =](\S+)')

#: The command that takes arguments which another does not, and the option for each of them.
_OTHER_FORMS = {
    'inventory delete': ('resource provider inventory delete', '--resource-class'),
    'aggregate set': ('resource provider aggregate set', '--aggregate'),
    'resource provider set': ('resource provider set', '--name'),
    'provider trait delete': ('resource provider trait remove', ''),
}

#: The command that people look for under another name.
_OTHER_NAMES = {
    'provider tree delete': 'resource provider purge',
    'provider remove': 'resource provider delete',
    'provider rename': 'resource provider set',
    'provider capacity': 'resource capacity show',
    'provider usage list': 'resource usage list',
    'provider update': 'resource provider set',
    'inventory update': 'resource provider inventory set',
    'inventory add': 'resource provider inventory class create',
    'allocation create': 'resource provider allocation set',
}


def extract_subject(command: str) -> str:
    """Return the subject of a command: ``resource provider`` of ``resource provider list``."""
    return ' '.join(command.split()[:-1][:DEPTH]) or 'this program'


def format_overview(
    commands: Iterable[str], beginning: str = '', width: int = 100
) -> Iterator[str]:
    """Yield the lines of ``--help`` about commands, grouped by their subjects.

    :param beginning: the first words of the commands; empty: all commands
    :param width: the length of the longest line, in characters
    """
    chosen = [name for name in commands if f'{name} '.startswith(f'{beginning} '.lstrip())]
    ordered = sorted(chosen, key=lambda name: (' ' not in name, extract_subject(name), name))
    for heading, group in itertools.groupby(ordered, extract_subject):
        yield f'\n{heading}:'
        names = list(group)
        longest = max(map(len, names))
        for name in names:
            line = f'  {name:<{longest}}  {read_summaries()[name]}'
            yield from wrap_words(line, width, ' ' * (longest + 4))


def format_daily_tasks() -> Iterator[str]:
    """Yield one screen of lines: the daily tasks with their commands, and how to get more help."""
    tasks = _read_pairs('tasks.txt')
    longest = max(map(len, tasks))
    yield 'Daily tasks. Type each command after the word placement:'
    yield from (f'  {task:<{longest}}  {command}' for task, command in tasks.items())
    yield 'All commands: placement --help. Options and examples: placement COMMAND --help'
    yield 'Completion of commands and names: placement complete --help'


@functools.cache
def read_summaries() -> dict[str, str]:
    """Return the first line of the help of each command, by its name.

    They are read from a file, because loading all commands would double the time of ``--help``.
    """
    return _read_pairs('summaries.txt')


def _read_pairs(file: str) -> dict[str, str]:
    """Return the texts before and after the colon of each line of a file of this folder."""
    content = pkgutil.get_data(__package__, file) or b''
    rows = (line.partition(': ') for line in content.decode().splitlines())
    return {first: second for first, _, second in rows}


def describe_missing_arguments(message: str, parser: argparse.ArgumentParser) -> str:
    """Return the help of the arguments and options that an error of argparse says are missing."""
    helps = {
        '/'.join(action.option_strings) or action.metavar: str(action.help).removesuffix('.')
        for action in list_actions(parser)
    }
    missing = message.removeprefix(MISSING).split(', ')
    return ''.join(f'. {name}: {helps[name]}' for name in missing if name in helps)


def list_actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Return the options and arguments of a parser, in the order in which they were added."""
    collected: list[argparse.Action] = []

    class CollectingFormatter(argparse.HelpFormatter):
        """Collects the actions of the parser in place of help."""

        def add_usage(
            self, usage: str | None, actions: Iterable[argparse.Action], *_: object
        ) -> None:
            collected.extend(actions)

    formatter, parser.formatter_class = parser.formatter_class, CollectingFormatter
    parser.format_usage()
    parser.formatter_class = formatter
    return collected


def suggest_arguments(
    message: str, parsers: Sequence[argparse.ArgumentParser], typed: Sequence[str] = ()
) -> str:
    """Return the end of an error of argparse: what the operator probably meant; empty: unknown.

    :param parsers: that of the command, and that of the program
    :param typed: the arguments of the command as they were typed
    """
    if message.startswith(MISSING):
        options = _list_documented_options(parsers)
        names = [word.partition('=')[0].lstrip('-') for word in typed if word[:2] == '--']
        near = find_closest_words([name for name in names if name not in options], options)
        return _format_option_suggestion(near)
    if message.startswith(_UNKNOWN):
        return _suggest_for_unknown_words(parsers, message.removeprefix(_UNKNOWN).split(), typed)
    if match := _WRONG_CHOICE.match(message):
        actions = (action for parser in parsers for action in list_actions(parser))
        choices = (a.choices or () for a in actions if '/'.join(a.option_strings) == match[1])
        return suggest_similar(match[2], map(str, next(choices, ())))
    return ''


def _suggest_for_unknown_words(
    parsers: Sequence[argparse.ArgumentParser], unknown: Sequence[str], typed: Sequence[str]
) -> str:
    """Return a sentence on the meaning of unknown arguments of a command; empty: no idea.

    :param parsers: that of the command, and that of the program
    :param typed: the arguments of the command as they were typed
    """
    options = _list_documented_options(parsers)
    words = [word.partition('=')[0].lstrip('-') for word in unknown if word.startswith('-')]
    for word in _list_positional_names(parsers):
        if word in words:
            return f'. Type the {word} without --{word}'
    if 'dry-run' in words and 'plan' in _list_positional_names(parsers):
        command = 'placement resource provider reshape'
        plan = shlex.quote(next((word for word in typed if word[:1] != '-'), 'PLAN'))
        return (
            f'. To see what a plan would do: {command} show {plan}. To try it, and the way back, '
            f'on a copy: {command} rehearse {plan} --snapshot cloud.json'
        )
    if form := _suggest_for_surplus_words(parsers, options, unknown, typed):
        return form
    if meant := [_SYNONYMS[word] for word in words if _SYNONYMS.get(word) in options]:
        return _format_option_suggestion(meant)
    return _suggest_similar_options(parsers[0].prog, words, options)


def _suggest_similar_options(program: str, words: Sequence[str], options: Sequence[str]) -> str:
    """Return sentences on options like unknown ones, and on commands that have the first one.

    :param words: the unknown options, without their dashes
    :param options: the options that the command has
    """
    near = find_closest_words([word for word in words if word[1:]], options)
    # The name of the program is one word.
    if not words or ' ' not in program:
        return _format_option_suggestion(near)
    if not near and 'column' not in options and _OUTPUT & set(words):
        return '. The command prints no table'
    commands = _describe_commands_with_option(f'--{words[0]}')
    return f'{_format_option_suggestion(near)}{commands}'.replace('?.', '?')


def _format_option_suggestion(near: Iterable[str]) -> str:
    """Return ``. Did you mean "--a" or "--b"?`` for options without dashes; empty without any."""
    hint = format_suggestion(f'--{option}' for option in near)
    return f'. {hint}' if hint else ''


def _describe_commands_with_option(option: str) -> str:
    """Return a sentence on the other commands that have an option; empty: none has it."""
    commands = [
        point.name.replace('_', ' ')
        for point in entry_points.list_entry_points(entry_points.COMMANDS)
        for other in getattr(entry_points.load_command(point), 'options', ())
        if option in other.flags
    ]
    if commands and option == '--yes':
        return '. The command does not ask: leave out --yes'
    if len(commands) > SUGGESTIONS:
        return f'. {option} is an option of other commands, not of this one'
    return f'. {option} is an option of: {", ".join(commands)}' if commands else ''


def _list_documented_options(parsers: Iterable[argparse.ArgumentParser]) -> list[str]:
    """Return the names of all options that the help shows, without their dashes."""
    shown = [
        action for p in parsers for action in list_actions(p) if action.help != argparse.SUPPRESS
    ]
    return [option.lstrip('-') for action in shown for option in action.option_strings]


def _list_positional_names(parsers: Iterable[argparse.ArgumentParser]) -> list[str]:
    found = (a for parser in parsers for a in list_actions(parser) if not a.option_strings)
    return [str(action.metavar or action.dest).strip('<>') for action in found]


def _suggest_for_surplus_words(
    parsers: Sequence[argparse.ArgumentParser],
    options: Sequence[str],
    unknown: Sequence[str],
    typed: Sequence[str],
) -> str:
    """Return a sentence on what to type for words that a command does not take; empty: no idea.

    :param options: those of the command, without their dashes
    :param unknown: the words, among all that were ``typed``
    """
    if not unknown or unknown[0].startswith('-'):
        return ''
    if 'resource' in options and all('=' in word for word in unknown):
        return f'. Type: {" ".join(f"--resource {word}" for word in unknown)}'
    if unknown[0].replace('.', '').isdecimal():
        return f'. A value follows its = without a blank: NAME={unknown[0]}'
    return _suggest_line_with_words(parsers[0].prog, options, unknown, typed)


def _suggest_line_with_words(
    program: str, options: Sequence[str], unknown: Sequence[str], typed: Sequence[str]
) -> str:
    """Return a sentence with a line that takes the unknown words, maybe of another command.

    :param options: those of the command, without their dashes
    :param unknown: some of the words that were ``typed``
    """
    before = [word for word in typed[:1] if word not in unknown and word[:1] != '-']
    if program.endswith('inventory set'):
        words = [*before, '--amend', *_make_resource_options(unknown)]
        return f'. Type: placement resource provider inventory set {shlex.join(words)}'
    forms = (form for end, form in _OTHER_FORMS.items() if program.endswith(end))
    command, option = next(forms, ('', ''))
    if not command and 'tree' in options:
        return f'. Type: {" ".join(f"--tree {shlex.quote(word)}" for word in unknown)}'
    command = command or _find_show_command(program, len([*before, *unknown]))
    if not command:
        return '. The command takes no more arguments'
    words = [*before, *(part for word in unknown for part in (option, word) if part)]
    return f'. Type: placement {command} {shlex.join(words)}'


def _find_show_command(program: str, count: int) -> str:
    """Return ``trait show`` for ``placement trait list`` if it takes so many arguments."""
    name = f'{program.partition(" ")[2].removesuffix(" list")} show'
    for point in entry_points.list_entry_points(entry_points.COMMANDS):
        if program.endswith(' list') and point.name.replace('_', ' ') == name:
            options = getattr(entry_points.load_command(point), 'options', ())
            if sum(not option.flags[0].startswith('-') for option in options) == count:
                return name
    return ''


def _make_resource_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the words ``--resource VCPU=64`` for ``VCPU --total 64`` of ``inventory class set``."""
    fields = _FIELD.findall(' '.join(words[1:])) or [('total', 'TOTAL')]
    for field, value in fields:
        name = '' if field == 'total' else f':{field.replace("-", "_")}'
        yield from ('--resource', f'{words[0]}{name}={value}')


def extract_command_words(words: Sequence[str], commands: Iterable[str]) -> Sequence[str]:
    """Return the words that name an unknown command: ``reshape verfy`` of ``reshape verfy a.json``.

    :param commands: the names of the known commands
    """
    # It ends with the last word of any command, or with the first word of none.
    known = {word for command in commands for word in command.split()}
    first_unknown = next((n for n, word in enumerate(words) if word not in known), 0)
    last_known = max((n for n, word in enumerate(words) if word in known), default=0)
    return words[: max(first_unknown, last_known) + 1]


def find_meant_commands(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the commands that an unknown one may mean, or the first words that many of them have.

    :param words: the typed words
    :param commands: the names of the known commands
    """
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
    """Return commands whose names contain the first typed words; of many, their common beginning.

    :param lengths: the numbers of first words to look for, in this order
    :param names: the names of all commands
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
    """Return a list of the one name that is most similar to the typed words; empty if none is.

    :param names: the names of the known commands, at least one
    """
    from difflib import SequenceMatcher

    def measure_similarity(name: str) -> float:
        typed = ' '.join(words[: len(name.split())])
        return SequenceMatcher(None, name, typed).ratio()

    best = max(names, key=measure_similarity)
    return [best] if measure_similarity(best) >= ALIKE else []
