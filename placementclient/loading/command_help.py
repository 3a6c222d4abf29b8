"""The commands by subject, their arguments, and those that an unknown one may have meant."""

from __future__ import annotations

import argparse
import functools
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: How many words of a command's name make its subject.
DEPTH = 3
#: How many suggestions are still read, and how alike they must be to what was typed.
SUGGESTIONS, ALIKE = 3, 0.75


def subject(command: str) -> str:
    """``'resource provider'`` of ``'resource provider list'``."""
    return ' '.join(command.split()[:-1][:DEPTH]) or 'this program'


def lines(commands: Iterable[str], beginning: str = '') -> Iterator[str]:
    """Return the lines of ``--help`` about the commands, by subject.

    :param commands: their names
    :param beginning: only those whose names begin so
    """
    chosen = [name for name in commands if f'{name} '.startswith(f'{beginning} '.lstrip())]
    width = max(map(len, chosen), default=0)
    heading = None
    for name in sorted(chosen, key=lambda name: (' ' not in name, subject(name), name)):
        if subject(name) != heading:
            heading = subject(name)
            yield f'\n{heading}:'
        yield f'  {name:<{width}}  {summaries()[name]}'


@functools.cache
def summaries() -> dict[str, str]:
    """Return the first line of the help of each command, by its name.

    They stand in a file, as to load all commands would take twice as long as ``--help``.
    """
    content = pkgutil.get_data(__package__, 'summaries.txt') or b''
    rows = (line.partition(': ') for line in content.decode().splitlines())
    return {name: summary for name, _, summary in rows}


def actions(parser: argparse.ArgumentParser) -> Sequence[argparse.Action]:
    """Return the options and arguments of a parser, in the order in which they were added."""
    collected: list[argparse.Action] = []

    class CollectingFormatter(argparse.HelpFormatter):
        def add_usage(self, usage: Any, actions: Any, *_: Any) -> None:
            collected.extend(actions)

    formatter, parser.formatter_class = parser.formatter_class, CollectingFormatter
    parser.format_usage()
    parser.formatter_class = formatter
    return collected


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
