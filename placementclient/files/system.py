"""Files of the operating system: whose they are, and how one appears at once and whole."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from typing import IO

from placementclient.client import errors

#: Why a file is refused that another user may have put there.
PLANTED = 'is a symbolic link, in a folder where others may write'


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Say which file it was, and make one kind of error of all that files can do.

    :raises errors.BadFile: instead of what the system raises
    """
    if '\0' in path:
        raise errors.BadFile(path, 'a name has no NUL byte')
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise errors.BadFile(path, 'damaged or truncated gzip file') from None
    except OSError as reason:
        what = PLANTED if reason.errno == errno.ELOOP else reason.strerror
        raise errors.BadFile(path, what or str(reason)) from None


def open_own(path: str, flags: int) -> int:
    """Open a file that only its owner may read, and that no other user may have put there.

    :param flags: of :func:`os.open`
    :return: its descriptor
    :raises OSError: also where it is a symbolic link, and others may write in its folder
    """
    guard = os.O_NOFOLLOW if others_may_write(os.path.dirname(path)) else 0
    return os.open(path, flags | guard | os.O_CLOEXEC, 0o600)


def read_own(path: str) -> bytes:
    """Return the content of a file of :func:`open_own`.

    :raises errors.BadFile: if it cannot be read
    """
    with explained(path), open(open_own(path, os.O_RDONLY), 'rb') as stream:
        return stream.read()


def others_may_write(folder: str) -> bool:
    return bool(os.stat(folder or '.').st_mode & (stat.S_IWGRP | stat.S_IWOTH))


@contextlib.contextmanager
def replacing(target: str, mode: int) -> Iterator[IO[bytes]]:
    """A new file that takes the place of another when it is complete and on the disk.

    :param mode: who may read it; no one who could not read the file before
    """
    with contextlib.suppress(FileNotFoundError):
        mode &= os.stat(target).st_mode
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f'.{name}.{secrets.token_hex(4)}')
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    try:
        with open(descriptor, 'wb') as raw:
            os.fchmod(descriptor, mode)
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """Bring the names in a folder onto the disk."""
    descriptor = os.open(folder or '.', os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
