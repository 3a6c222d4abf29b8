# SPDX-License-Identifier: Apache-2.0
"""Messages for people: on a terminal, no line breaks inside a word or a command to be typed."""

import shutil
from collections.abc import Iterator
from typing import TextIO

from placementclient.basis.wording import split_last_command, wrap_words


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
    text, command = split_last_command(line)
    if text:
        yield from wrap_words(text, width, indent)
    if command:
        yield f'{" " * (start + 2)}{command}' if text else line


def print_message(text: str, stream: TextIO, end: str = '\n') -> None:
    """Print a text, wrapped if a terminal shows the stream."""
    print(wrap_message(text, get_message_width(stream)), end=end, file=stream, flush=True)
