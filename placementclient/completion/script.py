"""The completion script of a shell: tables of words, and code that looks them up."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources

from placementclient.completion import tables
from placementclient.completion.tables import Syntax

SHELLS = ('bash', 'zsh', 'fish')
#: Patterns, and what the table says of them.
Rows = Iterable[tuple[Sequence[str], str]]


def lines(shell: str, commands: Mapping[str, Syntax]) -> Iterator[str]:
    """Return the script; the program itself has the name ``''``."""
    if shell == 'zsh':
        yield '#compdef placement'
    yield f'# Completion of placement; made by `placement complete {shell}`.'
    write = _fish if shell == 'fish' else _sh
    for name, rows in _tables(commands):
        yield from write(name, rows)
    files = ('fish.fish',) if shell == 'fish' else ('engine.sh', f'{shell}.sh')
    for file in files:
        yield (resources.files(__package__) / file).read_text(encoding='utf-8')


def _tables(commands: Mapping[str, Syntax]) -> Iterator[tuple[str, Rows]]:
    names = [name for name in commands if name]
    yield 'next', [((key,), ' '.join(words)) for key, words in tables.following(names).items()]
    yield 'options', [((name,), ' '.join(its.options)) for name, its in commands.items()]
    yield 'option', [(keys, kind) for kind, keys in tables.option_kinds(commands).items()]
    arguments: list[tuple[Sequence[str], str]] = []
    for command, its in commands.items():
        arguments += [((f'{command} {i}',), kind) for i, kind in enumerate(its.arguments, 1)]
        if its.endless:
            arguments.append(((f'{command} *',), its.arguments[-1]))
    yield 'argument', arguments


def _sh(name: str, rows: Rows) -> Iterator[str]:
    yield f'_placement_{name}() {{'
    yield '    case "$1" in'
    for patterns, value in rows:
        quoted = ' | '.join(_sh_pattern(pattern) for pattern in patterns)
        yield f'        {quoted}) reply={shlex.quote(value)} ;;'
    yield "        *) reply='' ;;"
    yield '    esac'
    yield '}\n'


def _sh_pattern(pattern: str) -> str:
    return f"'{pattern[:-1]}'*" if pattern.endswith('*') else f"'{pattern}'"


def _fish(name: str, rows: Rows) -> Iterator[str]:
    yield f'function __placement_{name}'
    yield '    switch "$argv"'
    for patterns, value in rows:
        quoted = ' '.join(f"'{pattern}'" for pattern in patterns)
        words = [value] if name in ('option', 'argument') else value.split()
        yield f'        case {quoted}'
        yield f'            printf "%s\\n" {" ".join(map(shlex.quote, words))}'
    yield '    end'
    yield 'end\n'
