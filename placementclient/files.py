"""Snapshots, plans, specifications and assignments in files.

What they hold is the business of :mod:`placementclient.codec` and the planner; how a file comes to
be, whole or not at all, is that of this module.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import json
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

from placementclient import errors
from placementclient.codec import plans, snapshots
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan.plan import Plan
from placementclient.planner.spec import assignments, documents, specification
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.specification import Spec

#: Stands for standard input or standard output.
STANDARD = '-'
_GZIP = b'\x1f\x8b'
_PLANTED = 'is a symbolic link, in a folder where others may write'


def read_text(path: str) -> str:
    """The text of a file, which is UTF-8 and may be compressed with gzip.

    :param path: ``-`` is standard input
    :raises errors.BadFile: if it cannot be read as that
    """
    content = _read(path)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise errors.BadFile(path, 'not UTF-8 text') from None


def write_text(path: str, text: str) -> None:
    """Write a text, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        stream.write(text.encode())


def read_document(path: str) -> Any:
    """What a JSON or YAML file says.

    :raises errors.BadFile: if it cannot be read as that
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except RecursionError:
        raise errors.BadFile(path, 'nested too deeply') from None
    except ValueError:
        return documents.read(text, path).value


def read_spec(path: str) -> Spec:
    """The specification of a reshape.

    The names of its assignment files are relative to it, and come back relative to here.

    :raises errors.BadFile: if it is none
    """
    wanted = specification.parse(read_text(path), path)
    folder = '' if path == STANDARD else os.path.dirname(path)
    return replace(
        wanted, assignments=tuple(os.path.join(folder, name) for name in wanted.assignments)
    )


def read_assignments(path: str) -> list[Row]:
    """The rows of an assignments file.

    :raises errors.BadFile: if it is none
    """
    return assignments.parse(read_text(path), path)


def read_snapshot(path: str) -> Snapshot:
    """A snapshot.

    :raises errors.BadFile: if it is none
    """
    return snapshots.decode(_read(path), path)


def write_snapshot(path: str, snapshot: Snapshot) -> None:
    """Write a snapshot; compressed, if the name ends with ``.gz``.

    The file appears at once and whole, or not at all.

    :raises errors.BadFile: if that is impossible; a file that was there stays as it was then
    """
    with _writing(path) as stream:
        stream.writelines(snapshots.encode(snapshot))


def read_plan(path: str) -> Plan:
    """A plan.

    :raises errors.BadFile: if it is none, or not as it was written
    """
    return plans.decode(_read(path), path)


def write_plan(path: str, plan: Plan) -> None:
    """Write a plan, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        stream.writelines(plans.encode(plan))


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Say which file it was, and make one kind of error of all that files can do.

    :raises errors.BadFile: instead of what the system raises
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise errors.BadFile(path, 'damaged or truncated gzip file') from None
    except OSError as reason:
        what = _PLANTED if reason.errno == errno.ELOOP else reason.strerror
        raise errors.BadFile(path, what or str(reason)) from None


def open_own(path: str, flags: int) -> int:
    """Open a file that nobody else is to read, and that nobody else may have put there.

    :param flags: of :func:`os.open`
    :return: its descriptor
    :raises OSError: also where it is a symbolic link, and others may write in its folder
    """
    guard = os.O_NOFOLLOW if _others_may_write(os.path.dirname(path)) else 0
    return os.open(path, flags | guard | os.O_CLOEXEC, 0o600)


def _others_may_write(folder: str) -> bool:
    return bool(os.stat(folder or '.').st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _read(path: str) -> bytes:
    """The content of a file, decompressed."""
    with explained(path), contextlib.ExitStack() as stack:
        if path == STANDARD:
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open(path, 'rb'))
        # By its content: the name of a pipe says nothing.
        if raw.peek(2)[:2] == _GZIP:
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        content: bytes = raw.read()
    return content.removeprefix(codecs.BOM_UTF8)


@contextlib.contextmanager
def _writing(path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with explained(path):
        if path == STANDARD:
            with _compressed(sys.stdout.buffer, path) as stream:
                yield stream
            sys.stdout.buffer.flush()
            return
        # A link stays one, unless somebody else may have made it.
        is_shared = _others_may_write(os.path.dirname(path))
        target = path if is_shared else os.path.realpath(path)
        if os.path.islink(target):
            raise errors.BadFile(path, _PLANTED)
        if os.path.exists(target) and not os.path.isfile(target):
            # Nothing that could be replaced: a device, a pipe; or a directory, which open() tells.
            descriptor = open_own(target, os.O_WRONLY)
            with open(descriptor, 'wb') as device, _compressed(device, path) as stream:
                yield stream
            return
        with _replacing(target) as raw, _compressed(raw, path) as stream:
            yield stream


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[IO[bytes]]:
    """A new file that takes the place of another when it is complete and on the disk."""
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f'.{name}.{secrets.token_hex(4)}')
    # Who may use which capacity for whom is nobody else's business.
    descriptor = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with open(descriptor, 'wb') as raw:
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


@contextlib.contextmanager
def _compressed(raw: Any, path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """What is written to a stream, compressed if the name of the file says so."""
    if not path.endswith('.gz'):
        yield raw
        return
    # No name and no time, so that the same content gives the same bytes.
    with gzip.GzipFile('', 'wb', 6, raw, 0) as stream:
        yield stream
