# SPDX-License-Identifier: Apache-2.0
"""Messages for people: on a terminal, no line breaks inside a word or a command to be typed."""

import re
import shutil
from collections.abc import Iterator
from typing import TextIO

from placementclient.basis.wording import wrap_words

#: A command at the end of a line: after a colon, after the number of a step, or alone. A word
#: that ends as a clause does belongs to a sentence.
_COMMAND = re.compile(
    r'(?:(?P<text>.*:) +| *(?:\d+\. )?)'
    r'(?P<command>(?:placement|openstack|nova-manage|mkdir|iconv|pip|rm)(?: +\S*[^\s.,;:?!)])+)'
)


def get_message_width(stream: TextIO) -> int | None:
    """Return the width of the terminal that shows a stream; ``None`` if none does."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wrap_message(text: str, width: int | None) -> str:
    """Return a text whose long lines are broken between words; a command gets a line of its own.

    :param width: the length of the longest line, in characters, but for a command, which stays one
        line; ``None``: the text stays as it is
    """
    if width is None:
        return text
    return '\n'.join(part for line in text.split('\n') for part in _wrap_line(line, width))


def _wrap_line(line: str, width: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
        return
    start = len(line) - len(line.lstrip())
    indent = ' ' * (start + 2) if start else ''
    match = _COMMAND.fullmatch(line)
    if match is None:
        yield from wrap_words(line, width, indent)
    elif match['text'] is None:
        yield line
    else:
        yield from wrap_words(match['text'], width, indent)
        yield f'{" " * (start + 2)}{match["command"]}'


def print_message(text: str, stream: TextIO, end: str = '\n') -> None:
    """Print a text, wrapped if a terminal shows the stream."""
    print(wrap_message(text, get_message_width(stream)), end=end, file=stream, flush=True)
