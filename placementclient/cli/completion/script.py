# SPDX-License-Identifier: Apache-2.0
"""The completion script of a shell: tables of words, and code that looks them up."""

import argparse
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from placementclient.cli import command_help

SHELLS = ('bash', 'zsh', 'fish')
#: Patterns, and the entry of the table for them.
Rows = Iterable[tuple[Sequence[str], str]]
BY_METAVAR = {
    '<provider>': 'providers',
    '<resource_class>': 'classes',
    '<resource_class>=<value>': 'amounts',
    '<resource_class>[:<field>]=<value>': 'amounts',
    '<trait>': 'traits',
    '<host>': 'providers',
    '<old>': 'providers',
    '<before>': 'files',
    '<after>': 'files',
    '<folder>': 'files',
    '<plan>': 'plans',
    '<consumer>': 'consumers',
}
#: The kinds of ``<name>``, by the subject of the command.
BY_SUBJECT = {'resource provider': 'providers', 'resource class': 'classes', 'trait': 'traits'}
ANYTHING = 'anything'


@dataclass(frozen=True, slots=True)
class Syntax:
    """The options and arguments of a command, for its completion.

    :param options: the kind of the value of each option, such as ``traits``; ``''``: it has none
    :param arguments: the kinds of the positional arguments
    :param endless: whether the last argument may be repeated
    """

    options: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    endless: bool = False


def read_syntax(parser: argparse.ArgumentParser, command: str = '') -> Syntax:
    """Return the syntax that the parser of a command, or of the program (``''``), accepts."""
    options, arguments, endless = {}, [], False
    for action in command_help.list_actions(parser):
        if action.help == argparse.SUPPRESS:
            continue
        kind = _find_value_kind(action, command)
        if not action.option_strings:
            arguments.append(kind)
            endless = action.nargs in (argparse.ZERO_OR_MORE, argparse.ONE_OR_MORE)
        for option in action.option_strings:
            options[option] = '' if action.nargs == 0 else kind
    return Syntax(options, tuple(arguments), endless)


def _find_value_kind(action: argparse.Action, command: str) -> str:
    """Return the kind of the value of an option or argument: ``traits``, ``words json yaml``."""
    if action.choices:
        return ' '.join(['words', *map(str, action.choices)])
    if action.metavar == '<name>' and not command.endswith(' create'):
        return BY_SUBJECT.get(command_help.extract_subject(command), ANYTHING)
    metavar = str(action.metavar).removesuffix('[,...]')
    return 'files' if '<file>' in metavar else BY_METAVAR.get(metavar, ANYTHING)


def format_script(shell: str, commands: Mapping[str, Syntax]) -> Iterator[str]:
    """Yield the lines of the completion script of a shell.

    :param commands: the syntax of each command by its name; ``''``: of the program itself
    """
    if shell == 'zsh':
        yield '#compdef placement'
    yield f'# Completion of placement; made by `placement complete {shell}`.'
    write = _format_table_for_fish if shell == 'fish' else _format_table_for_sh
    for name, rows in _make_tables(commands):
        yield from write(name, rows)
    files = ('fish.fish',) if shell == 'fish' else ('engine.sh', f'{shell}.sh')
    for file in files:
        yield (resources.files(__package__) / file).read_text(encoding='utf-8')


def _make_tables(commands: Mapping[str, Syntax]) -> Iterator[tuple[str, Rows]]:
    """Yield the tables that ``_placement_candidates`` in ``engine.sh`` looks up, each by its name.

    * ``next``, the words after a part of a command: ``'trait'`` has ``'create delete list show'``.
    * ``options``, the options of a command: ``'trait list'`` has ``'--name --associated'``.
    * ``option``, the kind of the value of an option, looked up by ``_placement_follows``:
      ``'trait list --name'`` has ``'anything'``.
    * ``argument``, the kind of an argument by its number, ``*`` for all others: ``'trait show 1'``
      has ``'traits'``.
    """
    following: dict[str, set[str]] = {}
    kinds: dict[str, list[str]] = {}
    arguments: list[tuple[Sequence[str], str]] = []
    for command, its in commands.items():
        words = command.split()
        for i, word in enumerate(words):
            following.setdefault(' '.join(words[:i]), set()).add(word)
        for option, kind in its.options.items():
            if kind:
                kinds.setdefault(kind, []).append(f'{command} {option}')
        arguments += [((f'{command} {i}',), kind) for i, kind in enumerate(its.arguments, 1)]
        if its.endless:
            arguments.append(((f'{command} *',), its.arguments[-1]))
    yield 'next', [((key,), ' '.join(sorted(words))) for key, words in sorted(following.items())]
    yield 'options', [((name,), ' '.join(its.options)) for name, its in commands.items()]
    yield 'option', [(keys, kind) for kind, keys in kinds.items()]
    yield 'argument', arguments


def _format_table_for_sh(name: str, rows: Rows) -> Iterator[str]:
    """Yield the lines of a function of bash and zsh that looks ``$1`` up in a named table."""
    yield f'_placement_{name}() {{'
    yield '    case "$1" in'
    for patterns, value in rows:
        quoted = ' | '.join(_escape_sh_pattern(pattern) for pattern in patterns)
        yield f'        {quoted}) reply={shlex.quote(value)} ;;'
    yield "        *) reply='' ;;"
    yield '    esac'
    yield '}\n'


def _escape_sh_pattern(pattern: str) -> str:
    """Return a pattern of ``case`` in bash and zsh; only a ``*`` at its end is special."""
    return f"'{pattern[:-1]}'*" if pattern.endswith('*') else f"'{pattern}'"


def _format_table_for_fish(name: str, rows: Rows) -> Iterator[str]:
    """Yield the lines of a function of fish that looks its arguments up in a named table."""
    yield f'function __placement_{name}'
    yield '    switch "$argv"'
    for patterns, value in rows:
        quoted = ' '.join(f"'{pattern}'" for pattern in patterns)
        words = [value] if name in ('option', 'argument') else value.split()
        yield f'        case {quoted}'
        yield f'            printf "%s\\n" {" ".join(map(shlex.quote, words))}'
    yield '    end'
    yield 'end\n'
