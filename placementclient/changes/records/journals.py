# SPDX-License-Identifier: Apache-2.0
"""Journals: one entry on each line, which ends with a checksum.

A run may be killed within a line. The next run begins a new line and notes that. An unreadable line
is passed over only before such a line, or at the end.
"""

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from placementclient.basis import errors
from placementclient.basis.strict_json import InvalidJSON, describe_fault, refuse_duplicate_keys
from placementclient.changes.records.changes import ChangeRecord
from placementclient.files.encoding import encode_json

FORMAT: Final = 'placementclient/reshape-journal'
VERSION: Final = 1
#: How the outcome begins of a request that may have been carried out.
UNKNOWN: Final = 'not known'

_SEALED = re.compile(rb'(.*),"crc32":"([0-9a-f]{8})"\}', re.DOTALL)


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line of a journal. The first one names the plan; all others are about a tree.

    :param at: when it was written, UTC, as ISO 8601
    :param tree: the UUID of the tree's root
    :param intent: an operation that is about to be carried out
    :param outcome: of the intent before
    :param undone: with an outcome, how many of the last intents were not carried out
    :param request_id: with an outcome, the service's ID of its last request
    :param global_request_id: with an outcome, the ID that all requests of the run carry
    :param plan: of the first line, the digest of the plan; of another, the record of a new plan of
        the tree
    :param end: how the tree ended
    :param resumed: whether the run that wrote the line before was cut off
    :param back: whether the run takes the plan back
    """

    # These three come first: a first line that was cut off is known by its beginning.
    journal: str | None = None
    version: int | None = None
    at: str
    tree: str | None = None
    intent: Mapping[str, object] | None = None
    outcome: str | None = None
    undone: int = 0
    request_id: str = ''
    global_request_id: str = ''
    plan: str | ChangeRecord | None = None
    end: str | None = None
    reason: str = ''
    resumed: bool = False
    back: bool = False


class JournalContent(NamedTuple):
    """The entries of a journal; ``is_torn``: its last line is incomplete."""

    entries: list[JournalEntry]
    is_torn: bool


_DECODER = msgspec.json.Decoder(JournalEntry)
#: The common beginning of every first line.
_BEGINNING = encode_json(JournalEntry(journal=FORMAT, version=VERSION, at='')).removesuffix(b'"}')


def encode(entry: JournalEntry) -> bytes:
    """Return an entry as a line, with its checksum."""
    line = encode_json(entry).removesuffix(b'}')
    return b'%b,"crc32":"%08x"}\n' % (line, zlib.crc32(line))


def decode(content: bytes, path: str) -> JournalContent:
    """Return the entries of lines that :func:`encode` wrote.

    :raises errors.BadFile: if it is no journal, or damaged
    """
    lines = content.removesuffix(b'\n').split(b'\n') if content else []
    entries = [_decode_line(number, line, path) for number, line in enumerate(lines, 1)]
    _refuse_other_first_line(lines, entries, path)
    _refuse_damaged_lines(entries, path)
    is_torn = bool(content) and not (content.endswith(b'\n') and entries[-1])
    return JournalContent([entry for entry in entries if entry], is_torn)


def _decode_line(number: int, line: bytes, path: str) -> JournalEntry | None:
    """Return the entry of a line; ``None`` for a line that is no JSON, or that was changed."""
    sealed = _SEALED.fullmatch(line)
    if sealed is not None and zlib.crc32(sealed[1]) != int(sealed[2], 16):
        return None
    try:
        entry = _DECODER.decode(line)
        refuse_duplicate_keys(line)
    except (msgspec.ValidationError, InvalidJSON) as reason:
        raise _make_line_error(path, number, describe_fault(str(reason))) from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if sealed is None:
        raise _make_line_error(path, number, 'the line has no checksum')
    return entry


def _make_line_error(path: str, number: int, reason: str) -> errors.BadFile:
    """Return the error about a line; about the first one, that the file is no journal."""
    if number == 1:
        return errors.BadFile(path, 'not a journal')
    return errors.BadFile(path, f'damaged journal: {reason}', number)


def _refuse_other_first_line(
    lines: Sequence[bytes], entries: Sequence[JournalEntry | None], path: str
) -> None:
    """Refuse a first line that names no journal; incomplete copies of it may come before.

    :param entries: those of the lines; ``None`` for an unreadable line
    """
    first = next(filter(None, entries), None)
    torn = lines if first is None else lines[: entries.index(first)]
    are_beginnings = all(
        line and (_BEGINNING.startswith(line) or line.startswith(_BEGINNING)) for line in torn
    )
    if not are_beginnings or (first is not None and first.journal != FORMAT):
        raise errors.BadFile(path, 'not a journal')
    if first is not None and first.version != VERSION:
        raise errors.BadFile(path, f'journal version {first.version} is not known')


def _refuse_damaged_lines(entries: Sequence[JournalEntry | None], path: str) -> None:
    """Refuse an unreadable line, unless it is the last or the next one reports a killed run.

    :param entries: those of the lines; ``None`` for an unreadable line
    """
    following: JournalEntry | None = None
    for number, entry in reversed(list(enumerate(entries, 1))):
        if entry is not None:
            following = entry
        # A run may be killed within the first line, too; the next one begins with a first line.
        elif following is not None and not (following.resumed or following.journal):
            raise _make_line_error(path, number, 'the line cannot be read')
