# SPDX-License-Identifier: Apache-2.0
"""Files of the operating system: their owners, locks, and atomic writes."""

import contextlib
import errno
import gzip
import itertools
import os
import pwd
import secrets
import shlex
import stat
import tempfile
import zlib
from collections.abc import Iterator
from typing import IO

from placementclient.basis import errors
from placementclient.basis.errors import FileKind
from placementclient.basis.wording import find_most_similar, format_suggestion

#: Why a file is refused that another user may have put there.
PLANTED = 'is a symbolic link, in a folder where others may write'
#: How similar the name of a file has to be to that of a missing one.
_ALIKE = 0.8
#: The number of bytes that a file of this program may have: 1 GiB.
WRITTEN_LIMIT = 1 << 30


@contextlib.contextmanager
def translate_system_errors(path: str, needed: FileKind | None = None) -> Iterator[None]:
    """Turn errors of the system in this block into :class:`errors.BadFile` with the file's name.

    :param needed: the kind of the file that is read; errors say how to get one
    """
    if '\0' in path:
        raise errors.BadFile(path, 'a name has no NUL byte')
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise errors.BadFile(path, 'a damaged or truncated gzip file: copy it again') from None
    except OSError as reason:
        mistake, near = _describe_system_error(path, reason), ''
        if reason.errno == errno.ENOENT:
            near = _suggest_similar_file(path)
        if needed and reason.errno in (errno.ENOENT, errno.EISDIR):
            raise errors.WrongFile(path, mistake, needed, near) from None
        raise errors.BadFile(path, mistake + near) from None


def _describe_system_error(path: str, reason: OSError) -> str:
    """Return an error of the system in words; if access is refused, with the owner of the file."""
    if reason.errno == errno.EISDIR:
        return 'is a folder'
    if reason.errno == errno.ELOOP:
        return PLANTED
    if reason.errno == errno.EACCES:
        return f'{reason.strerror}{_describe_owner(path)}'
    return reason.strerror or str(reason)


def _describe_owner(path: str) -> str:
    """Return a clause on the owner of a file, or of the folder that hides it; empty: unknown."""
    *folders, file = itertools.accumulate(os.path.abspath(path).split(os.sep), '{}/{}'.format)
    refused = next((folder for folder in folders[1:] if not os.access(folder, os.X_OK)), file)
    with contextlib.suppress(OSError, KeyError):
        status = os.stat(refused)
        owner, what = pwd.getpwuid(status.st_uid).pw_name, '' if refused == file else refused
        mode = f'{stat.S_IMODE(status.st_mode):04o}'
        return f': {what or "the file"} belongs to {owner}, mode {mode}. Run the command as {owner}'
    return ''


def _suggest_similar_file(path: str) -> str:
    """Return a sentence with files of similar names if a path does not exist; else nothing."""
    folder, name = os.path.split(path)
    if os.path.exists(path) or not os.path.isdir(folder or '.'):
        return ''
    names = sorted(item.name for item in os.scandir(folder or '.') if not item.is_dir())
    stem = os.path.splitext(name)[0].lower()
    same = [other for other in names if os.path.splitext(other)[0].lower() == stem]
    near = (find_most_similar(name, names, _ALIKE) or same)[:3]
    return f'. {format_suggestion([os.path.join(folder, name) for name in near])}' if near else ''


def open_user_file(path: str, flags: int) -> int:
    """Open a file that the user has named; a new file is readable only by its owner.

    :param flags: as :func:`os.open` takes them
    :return: its descriptor
    :raises OSError: also if it is a symbolic link in a folder where others may write
    """
    guard = os.O_NOFOLLOW if is_writable_by_others(os.path.dirname(path)) else 0
    return os.open(path, flags | guard | os.O_CLOEXEC, 0o600)


def open_own_file(path: str, flags: int) -> int:
    """Open a file of this program that the user has not named, such as a journal.

    :param flags: as :func:`os.open` takes them
    :return: its descriptor
    :raises errors.BadFile: if it is no regular file, belongs to another user than root and the
        effective one, is writable for others, or has more than :data:`WRITTEN_LIMIT` bytes
    """
    descriptor = open_user_file(path, flags | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        reason = 'is not a regular file: remove it'
    elif status.st_uid not in (os.geteuid(), 0):
        reason = f'belongs to another user (UID {status.st_uid}): move it away, or run as that user'
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = 'others may write to it: if its content is yours, run chmod 600 on it'
    elif status.st_size > WRITTEN_LIMIT:
        reason = make_size_error(path, WRITTEN_LIMIT).reason
    else:
        return descriptor
    os.close(descriptor)
    raise errors.BadFile(path, reason)


def read_own_file(path: str) -> bytes:
    """Return the content of a file, opened with :func:`open_own_file`."""
    with translate_system_errors(path), open(open_own_file(path, os.O_RDONLY), 'rb') as stream:
        return stream.read(WRITTEN_LIMIT)


def make_size_error(path: str, most: int) -> errors.BadFile:
    """Return the exception for a file with more than ``most`` bytes."""
    return errors.BadFile(path, f'is larger than {most >> 20} MiB')


def describe_lock_holder(descriptor: int) -> str:
    """Return ``process 4711`` for the process that has locked a file, or ``another process``."""
    status = os.fstat(descriptor)
    device = f'{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}'
    with contextlib.suppress(OSError), open('/proc/locks', encoding='ascii') as locks:
        for lock in map(str.split, locks):
            # "1: FLOCK ADVISORY WRITE 4711 fe:00:1234 0 EOF"; one that waits has "->" in it.
            if lock[1] == 'FLOCK' and lock[5] == f'{device}:{status.st_ino}':
                return f'process {lock[4]}'
    return 'another process'


def is_writable_by_others(folder: str) -> bool:
    """Return whether other users than its owner may create files in a folder."""
    return bool(os.stat(folder or '.').st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def refuse_unwritable_path(path: str) -> None:
    """Raise :class:`errors.BadFile` if no file can be written at a path."""
    with translate_system_errors(path):
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        if os.path.isdir(target):
            raise errors.BadFile(path, 'is a folder: add the name of a file')
        if not os.path.exists(folder):
            typed = shlex.quote(os.path.dirname(path))
            raise errors.BadFile(path, f'the folder does not exist: mkdir -p {typed}')
        if not os.path.isdir(folder):
            raise errors.BadFile(path, f'{os.path.dirname(path)} is no folder')
        if reason := _explain_unwritable(target, folder):
            raise errors.BadFile(path, f'{reason}: give a file in a folder of yours')


def _explain_unwritable(target: str, folder: str) -> str:
    """Return why ``target``, a file in a folder or a device, cannot be written; or nothing."""
    if os.path.exists(target) and not os.path.isfile(target):
        return '' if os.access(target, os.W_OK) else os.strerror(errno.EACCES)
    try:
        # Only an attempt tells: root may write everywhere, and yet not in /proc.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as reason:
        return f'no file can be made in {folder} ({reason.strerror})'
    return ''


@contextlib.contextmanager
def open_replacement(target: str, mode: int) -> Iterator[IO[bytes]]:
    """Open a new file that replaces ``target`` after the block, when it is on the disk.

    :param mode: the permissions, but never more than those of the file before
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
    """Flush the entries of a folder to the disk: the names of new files survive a crash."""
    descriptor = os.open(folder or '.', os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
