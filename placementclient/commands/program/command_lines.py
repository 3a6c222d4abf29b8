"""The command lines of a batch."""

from __future__ import annotations

import codecs
import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

from placementclient.client import errors
from placementclient.files import system

#: How many bytes a line may have: a shell takes no longer argument either.
LONGEST = 1 << 17
#: How much of a line that is longer is shown, in characters.
_SHOWN = 60
#: What a line may begin with: no command does.
_PROGRAMS = ('openstack', 'placement')
#: What some programs take for the end of a line, or steers a terminal. A tab is a space.
_CONTROL = re.compile('[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]')
#: The end of a command: nothing follows, or a comment.
_END = re.compile(r'[ \t]*(?:#|$)')


class CommandLine(NamedTuple):
    """A line of a batch, or the reason why it cannot be run."""

    line: int
    text: str
    words: Sequence[str]
    refusal: str


def read(file: BinaryIO, path: str) -> Iterator[CommandLine]:
    """Yield the command lines of a file, without comments and empty lines."""
    for number, content in enumerate(_lines(file), 1):
        if number == 1:
            content = content.removeprefix(codecs.BOM_UTF8)
        text, words, refusal = _read(content)
        if refusal:
            message = f'{errors.BadFile(path, refusal, number)}\n'
            yield CommandLine(number, text, (), message)
        elif words:
            yield CommandLine(number, text, words, '')


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file without their ends; of one that is too long no more than shows it."""
    size = LONGEST + len(b'\r\n')
    while line := file.readline(size):
        yield line.removesuffix(b'\n').removesuffix(b'\r') if line.endswith(b'\n') else line
        while len(line) == size and not line.endswith(b'\n'):
            line = file.readline(size)


def _read(content: bytes) -> tuple[str, list[str], str]:
    """The text of a line, its words without the program's name, and why it cannot be run."""
    if len(content) > LONGEST:
        text = content[:_SHOWN].decode(errors='backslashreplace')
        return f'{text}…', [], f'the line is longer than {LONGEST >> 10} KiB'
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode(errors='backslashreplace').strip(' \t')
        return text, [], '' if text.startswith('#') else 'the line is not UTF-8'
    if control := _CONTROL.search(text):
        name = control[0].encode('unicode_escape').decode()
        return text, [], f'control character {name} at column {control.start() + 1}'
    text = text.strip(' \t')
    try:
        words = _words(text)
    except ValueError as unreadable:
        return text, [], str(unreadable)
    if words and words[0] in _PROGRAMS:
        del words[0]
    return text, words, ''


def _words(text: str) -> list[str]:
    """The words of a line, as a shell splits them: # begins a comment where a word would begin."""
    lexer: Any = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ''
    words: list[str] = []
    while not _END.match(text, lexer.instream.tell()):
        words.append(lexer.get_token())
    return words


def opened(path: str, stdin: Any) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file of commands; ``-`` is standard input."""
    if path == '-':
        if stdin is None:
            raise errors.BadFile(path, 'there is no standard input')
        return contextlib.nullcontext(stdin.buffer)
    with system.explained(path):
        return open(path, 'rb')
