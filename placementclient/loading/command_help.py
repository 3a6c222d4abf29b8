"""The commands by subject, and those that an unknown one may have meant."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import util
from importlib.metadata import EntryPoint
from types import CodeType
from typing import Any

#: How many words of a command's name make its subject.
DEPTH = 3
#: How many suggestions are still read, and how alike they must be to what was typed.
SUGGESTIONS, ALIKE = 3, 0.75


def subject(command: str) -> str:
    """``'resource provider'`` of ``'resource provider list'``."""
    return ' '.join(command.split()[:-1][:DEPTH]) or 'this program'


def lines(commands: Mapping[str, Any], beginning: str = '') -> Iterator[str]:
    """Return the lines of ``--help`` about the commands, by subject.

    :param commands: their entry points by their names
    :param beginning: only those whose names begin so
    """
    chosen = [name for name in commands if f'{name} '.startswith(f'{beginning} '.lstrip())]
    width = max(map(len, chosen), default=0)
    heading = None
    for name in sorted(chosen, key=lambda name: (' ' not in name, subject(name), name)):
        if subject(name) != heading:
            heading = subject(name)
            yield f'\n{heading}:'
        yield f'  {name:<{width}}  {_summary(commands[name])}'


def _summary(point: EntryPoint) -> str:
    """The first line of a command's help."""
    try:
        documentation = _docstring(point) or inspect.getdoc(point.load()) or ''
    except ImportError as missing:
        return f'cannot be loaded: {missing}'
    return documentation.partition('\n')[0].rstrip('.')


def _docstring(point: EntryPoint) -> str:
    """The docstring of a command's class, empty if there is none in its module.

    It is taken from the compiled module, which is not run: that would load all that it stands on,
    for every command there is.
    """
    body = _bodies(point.module).get(point.attr)
    text = None
    for instruction in dis.get_instructions(body) if body else ():
        if instruction.opname == 'STORE_NAME' and instruction.argval == '__doc__':
            return str(text)
        text = instruction.argval
    return ''


@functools.cache
def _bodies(module: str) -> dict[str, CodeType]:
    """Return the compiled classes and functions of a module, by their names."""
    spec = util.find_spec(module)
    code = spec.loader.get_code(module) if spec and spec.loader else None  # type: ignore[attr-defined]
    constants = code.co_consts if code else ()
    return {each.co_name: each for each in constants if isinstance(each, CodeType)}


def near(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the commands that may have been meant, the likeliest first.

    :param words: what was typed, up to the first option; arguments may follow the command
    """
    from difflib import SequenceMatcher

    names = list(commands)
    # Arguments may follow the first words of a command, as in "drain compute1".
    for length in range(len(words), min(DEPTH, len(words)) - 1, -1):
        typed = ' '.join(words[:length])
        below = [command for command in names if command.startswith(f'{typed} ')]
        if 0 < len(below) <= SUGGESTIONS:
            return sorted(below)
    matcher, alike = SequenceMatcher(), []
    for command in sorted(names):
        matcher.set_seqs(command, ' '.join(words[: len(command.split())]))
        if matcher.real_quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE:
            alike.append((-matcher.ratio(), command))
    return [command for _, command in sorted(alike)[:SUGGESTIONS]]
