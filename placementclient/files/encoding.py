"""From values to bytes, one item to a line, so that ``grep`` finds a tree in a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

#: The same value gives the same bytes: sets and mappings in the order of their texts.
_ORDERED = msgspec.json.Encoder(order='deterministic')


def encoded(value: Any) -> bytes:
    """A value on one line."""
    return _ORDERED.encode(value)


def member(key: str, value: Any) -> bytes:
    """A member of an object, on one line."""
    return b'%b:%b' % (_ORDERED.encode(key), _ORDERED.encode(value))


def builtins(record: msgspec.Struct) -> dict[str, Any]:
    """A record as JSON has it: objects, lists, texts and numbers."""
    # Not to_builtins(), which leaves tuples: YAML has no word for them.
    values: dict[str, Any] = msgspec.json.decode(encoded(record))
    return values


def opened(header: bytes, name: str, bracket: bytes) -> bytes:
    """The first line of a file: an object to which a long member is added.

    :param header: an object on one line
    """
    return b'%b,"%b":%b\n' % (header[:-1], name.encode(), bracket)


def separated(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Each item on its line; all but the last with a comma."""
    before = None
    for line in lines:
        if before is not None:
            yield before + b',\n'
        before = line
    if before is not None:
        yield before + b'\n'
