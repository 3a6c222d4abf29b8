# SPDX-License-Identifier: Apache-2.0
"""Values to bytes, one item on each line, so that ``grep`` finds a tree in a file.

A file may end with a digest of its content.
"""

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

#: The same value gives the same bytes: sets and mappings in the order of their texts.
_ORDERED = msgspec.json.Encoder(order='deterministic')


def encode_json(value: object) -> bytes:
    """Return a value as JSON; equal values give equal bytes."""
    return _ORDERED.encode(value)


def encode_member(key: str, value: object) -> bytes:
    """Return a key and its value as JSON, without braces and line breaks."""
    return b'%b:%b' % (_ORDERED.encode(key), _ORDERED.encode(value))


def convert_to_json(record: msgspec.Struct) -> dict[str, object]:
    """Return a record as JSON values: objects, lists, strings and numbers."""
    # Not to_builtins(), which leaves tuples: YAML has no word for them.
    values: dict[str, object] = msgspec.json.decode(encode_json(record))
    return values


def make_opening_line(header: bytes, name: str, bracket: bytes) -> bytes:
    """Return the first line of a file: a JSON object, left open for its last member.

    :param header: the object
    :param name: the key of the last member
    :param bracket: the opening bracket of its value
    """
    return b'%b,"%b":%b\n' % (header[:-1], name.encode(), bracket)


def join_with_commas(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield JSON values as lines, with a comma at the end of all but the last."""
    before = None
    for line in lines:
        if before is not None:
            yield before + b',\n'
        before = line
    if before is not None:
        yield before + b'\n'


def seal_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of an open JSON object, and a line that closes it with their SHA-256."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line)
        yield line
    yield _make_closing_line(f'sha256:{sha256.hexdigest()}')


def compute_digest(lines: Iterable[bytes | memoryview]) -> str:
    """Return the digest of the content of lines: ``sha256:`` and 64 digits."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line)
    return f'sha256:{sha256.hexdigest()}'


def is_sealed(content: bytes, digest: str) -> bool:
    """Return whether a file ends with ``digest``, and that is the digest of all content before."""
    end = _make_closing_line(digest)
    return content.endswith(end) and compute_digest([memoryview(content)[: -len(end)]]) == digest


def _make_closing_line(digest: str) -> bytes:
    return b'],"digest":"%b"}\n' % digest.encode()
