"""Journals: one entry to a line, each with a checksum of what precedes it on the line.

Whoever writes may be killed within a line. The next one who opens the journal begins a line of its
own and says so; only then, or at the end, is a line passed over that cannot be read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from placementclient.client import errors
from placementclient.client.strict_json import located
from placementclient.codec.decoding import uncollected
from placementclient.codec.encoding import encoded

FORMAT: Final = 'placementclient/reshape-journal'
VERSION: Final = 1

R = TypeVar('R')
_SEALED = re.compile(rb'(.*),"crc32":"([0-9a-f]{8})"\}', re.DOTALL)


class JournalEntry(msgspec.Struct, Generic[R], frozen=True, omit_defaults=True, kw_only=True):
    """A line. The first one names the plan; every other has a fact of a tree.

    :param journal: of the first line: the format
    :param version: of the first line
    :param at: when it was written, UTC, as ISO 8601
    :param tree: the UUID of the tree's root
    :param intent: an operation that is about to be carried out
    :param outcome: of the intent before
    :param plan: of the first line, what identifies the plan; of another, the record of another
        plan of the tree
    :param end: how the tree ended
    :param reason: why it ended so
    :param resumed: that whoever wrote the line before it was cut off
    """

    journal: str | None = None
    version: int | None = None
    at: str
    tree: str | None = None
    intent: Mapping[str, Any] | None = None
    outcome: str | None = None
    plan: str | R | None = None
    end: str | None = None
    reason: str = ''
    resumed: bool = False


class JournalContent(NamedTuple):
    """The content of a journal.

    :param entries: the first line's first; none, if not even that was written
    :param is_torn: whether its last line is not whole: what is written next begins a new one
    """

    entries: list[JournalEntry[Any]]
    is_torn: bool


class _JournalLine(NamedTuple):
    """A line as it was read.

    :param entry: ``None`` if it is no JSON, or not what its checksum was made of
    :param is_sealed: whether it has a checksum
    """

    number: int
    text: bytes
    entry: JournalEntry[Any] | None
    is_sealed: bool

    @property
    def is_cut(self) -> bool:
        """Return True for a line that looks cut, if it has no checksum."""
        return not self.is_sealed and not self.text.endswith(b'}')


#: How every first line begins, before what differs.
_BEGINNING = encoded(JournalEntry[str](journal=FORMAT, version=VERSION, at='')).removesuffix(b'"}')


def encode(entry: JournalEntry[Any]) -> bytes:
    """The line of an entry, with its end."""
    line = encoded(entry).removesuffix(b'}')
    return b'%b,"crc32":"%08x"}\n' % (line, zlib.crc32(line))


@uncollected()
def decode(content: bytes, path: str, revision: Any = dict[str, Any]) -> JournalContent:
    """Decode the lines of :func:`encode`, and those of before, which have no checksum.

    :param path: the file that the content came from, for the error
    :param revision: the type of the record of a tree that was planned again
    :raises errors.BadFile: if it is no journal, or damaged
    """
    texts = content.removesuffix(b'\n').split(b'\n') if content else []
    decoder = msgspec.json.Decoder(JournalEntry[revision])
    lines = [_line(number, text, path, decoder) for number, text in enumerate(texts, 1)]
    _check_first(lines, path)
    _check_unreadable(lines, path)
    is_whole = content.endswith(b'\n') and lines[-1].entry is not None
    entries = [line.entry for line in lines if line.entry is not None]
    return JournalContent(entries, bool(content) and not is_whole)


def _line(
    number: int, text: bytes, path: str, decoder: msgspec.json.Decoder[JournalEntry[Any]]
) -> _JournalLine:
    sealed = _SEALED.fullmatch(text)
    is_sealed = sealed is not None
    if sealed is not None and zlib.crc32(sealed[1]) != int(sealed[2], 16):
        return _JournalLine(number, text, None, is_sealed)
    try:
        return _JournalLine(number, text, decoder.decode(text), is_sealed)
    except msgspec.ValidationError as reason:
        if number == 1:
            raise errors.BadFile(path, 'not a journal') from None
        raise errors.BadFile(path, f'damaged journal: {located(str(reason))}', number) from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _JournalLine(number, text, None, is_sealed)


def _check_first(lines: Sequence[_JournalLine], path: str) -> None:
    """Nothing but the first line, or beginnings of it that were cut off, comes first."""
    for line in lines:
        if line.entry is not None:
            if line.entry.journal != FORMAT:
                break
            if line.entry.version != VERSION:
                version = line.entry.version
                raise errors.BadFile(path, f'journal version {version} is not known')
            return
        is_beginning = _BEGINNING.startswith(line.text) or line.text.startswith(_BEGINNING)
        if not line.text or not is_beginning:
            break
    else:
        return
    raise errors.BadFile(path, 'not a journal')


def _check_unreadable(lines: Sequence[_JournalLine], path: str) -> None:
    """A line that cannot be read is the last, or the next one says that its writer was cut off."""
    first_sealed = next((line.number for line in lines if line.is_sealed), len(lines) + 1)
    following: _JournalLine | None = None
    for line in reversed(lines):
        if line.entry is None:
            if following is not None and not _explains(following, line, first_sealed):
                raise errors.BadFile(path, 'damaged journal: the line cannot be read', line.number)
            continue
        if not line.is_sealed and line.number > first_sealed:
            raise errors.BadFile(path, 'damaged journal: the line has no checksum', line.number)
        following = line


def _explains(following: _JournalLine, torn: _JournalLine, first_sealed: int) -> bool:
    assert following.entry is not None
    if following.entry.resumed or following.entry.journal is not None:
        return True
    # Who wrote before there were checksums said nothing of it.
    return torn.is_cut and following.number < first_sealed
