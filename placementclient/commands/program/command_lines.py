# SPDX-License-Identifier: Apache-2.0
"""The lines of a batch, as the words of commands."""

import codecs
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from placementclient.basis import errors

#: How many bytes a line may have: a shell takes no longer argument either.
LONGEST_LINE = 1 << 17
#: The first word that a line may have before the command.
_PROGRAMS = ('openstack', 'placement')
#: Control characters, and what some programs take for the end of a line. A tab is a space.
_CONTROL = re.compile('[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]')
#: The end of a command: nothing follows, or a comment.
_END_OF_COMMAND = re.compile(r'[ \t]*(?:#|$)')


class CommandLine(NamedTuple):
    """A line of a batch.

    :ivar number: its number, from 1 on
    :ivar text: the line as it was typed
    :ivar words: the words of the command
    :ivar refusal: the error of a line that cannot be run; else empty
    """

    number: int
    text: str
    words: Sequence[str]
    refusal: str


def read_lines(file: BinaryIO, path: str) -> Iterator[CommandLine]:
    """Yield the command lines of a file, without comments and empty lines.

    :param path: the path of the file, for errors
    """
    for number, line in enumerate(file, 1):
        content = line.removesuffix(b'\n').removesuffix(b'\r')
        if number == 1:
            content = content.removeprefix(codecs.BOM_UTF8)
        text, words, refusal = content.decode(errors='backslashreplace').strip(' \t'), [], ''
        try:
            words = _split_words(content)
        except ValueError as reason:
            text = text if len(content) <= LONGEST_LINE else f'{text[:60]}…'
            refusal = f'{errors.BadFile(path, str(reason), number)}\n'
        if words or refusal:
            yield CommandLine(number, text, words, refusal)


def _split_words(content: bytes) -> list[str]:
    """Return the words of a line as a shell splits them, without the name of the program."""
    if len(content) > LONGEST_LINE:
        raise ValueError(f'the line is longer than {LONGEST_LINE >> 10} KiB')
    try:
        text = content.decode()
    except UnicodeDecodeError:
        if content.lstrip(b' \t').startswith(b'#'):
            return []
        raise ValueError('the line is not UTF-8') from None
    if control := _CONTROL.search(text):
        name = control[0].encode('unicode_escape').decode()
        raise ValueError(f'control character {name} at column {control.start() + 1}')
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    # With its own commenters, shlex takes a # within a word for a comment too, as in rack#7. In a
    # shell only a # where a word would begin is one, which is what follows the last word read.
    lexer.whitespace_split, lexer.commenters = True, ''
    words: list[str] = []
    while not _END_OF_COMMAND.match(text, stream.tell()):
        words.append(lexer.get_token() or '')
    return words[1:] if words and words[0] in _PROGRAMS else words
