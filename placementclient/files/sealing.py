"""Files that end with a digest of their content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator


def sealed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Return the lines of an open object, closed with a digest of them."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line)
        yield line
    yield _end(f'sha256:{sha256.hexdigest()}')


def digest(lines: Iterable[bytes | memoryview]) -> str:
    """Return the digest of lines, as in a file."""
    sha256 = hashlib.sha256()
    for line in lines:
        sha256.update(line)
    return f'sha256:{sha256.hexdigest()}'


def is_whole(content: bytes, given: str, lines: Iterable[bytes]) -> bool:
    """Return True if a digest matches a file, or its values if the JSON has another layout.

    :param lines: what its values would be written as
    """
    end = _end(given)
    if content.endswith(end) and digest([memoryview(content)[: -len(end)]]) == given:
        return True
    return given == digest(lines)


def _end(given: str) -> bytes:
    return b'],"digest":"%b"}\n' % given.encode()
