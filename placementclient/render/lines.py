# SPDX-License-Identifier: Apache-2.0
"""Lines of text as wide as a terminal."""

import re
from collections.abc import Iterable, Iterator

from placementclient.basis.wording import split_last_command, wrap_words

#: The space before an amount and before its unit.
_IN_AMOUNT = re.compile(r'(?<=\w) (?=\d)|(?<=\d) (?=[KMGTPE]iB)')
#: The beginning of a line of a tree, and its signs as the next line has them.
_BEGINNING, _CONTINUED = re.compile('[ │├└─]*'), str.maketrans('├└─', '│  ')
#: The words between two gaps of several spaces, or in a whole line.
_PART = re.compile(r'\S+(?: \S+)*')


def wrap_lines(lines: Iterable[str], width: int, hanging: int = 4) -> Iterator[str]:
    """Yield lines of limited width; the further lines of a long one are indented.

    A line with gaps of several spaces is wrapped in the gaps, if each of its parts fits a line. A
    line with colours stays whole. A command at the end of a line has a line of its own.

    :param width: of the longest line, in characters; names, UUIDs and amounts are never broken
    :param hanging: how many characters more the further lines are indented
    """
    for line in lines:
        if len(line) <= width or '\x1b' in line:
            yield line
            continue
        beginning = _BEGINNING.match(line)
        indent = beginning[0].translate(_CONTINUED) if beginning else ''
        before, command = split_last_command(line)
        if command and not before:
            yield line
            continue
        text = _IN_AMOUNT.sub('\xa0', before)
        if '  ' in line[len(indent) :]:
            text = _bind_short_parts(text, width - len(indent) - hanging)
        wrapped = wrap_words(text, width, indent + ' ' * hanging)
        yield from (line.replace('\xa0', ' ') for line in wrapped)
        if command:
            yield f'{indent}{" " * hanging}{command}'


def _bind_short_parts(text: str, longest: int) -> str:
    """Return a text with no-break spaces in its parts, except in parts longer than ``longest``.

    Gaps of several spaces separate the parts.
    """
    return _PART.sub(
        lambda part: part[0].replace(' ', '\xa0') if len(part[0]) <= longest else part[0], text
    )
