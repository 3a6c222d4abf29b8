"""Snapshots, plans, specifications and assignments in files.

What they hold is the business of :mod:`placementclient.codec` and the planner; how a file comes to
be, whole or not at all, is that of this module.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import json
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any, cast

from placementclient import errors
from placementclient.changes.plan import ChangePlan
from placementclient.codec import change_plans, plans, snapshots
from placementclient.codec.decoding import kind_of
from placementclient.codec.documents import json_text, yaml_text
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan.plan import Plan
from placementclient.planner.spec import assignments, documents, specification
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.values import Spec
from placementclient.render.printable import printable

#: Stands for standard input or standard output.
STANDARD = '-'
#: Of files that others read too, as far as the umask lets them.
READABLE = 0o644
# Who may use which capacity for whom is nobody else's business.
_OWN = 0o600
_GZIP = b'\x1f\x8b'
_CHUNK = 1 << 20
#: How many bytes a file may have: what this program writes, what others do for many consumers, and
#: what people write.
_WRITTEN, _LISTED, _TYPED = 1 << 32, 1 << 28, 1 << 25
#: How many times smaller a file may be when it is compressed: of 10,000 equal hosts it is 54 times,
#: of nothing but spaces 1,000 times. Files that are small anyway may be what they like.
_MOST_PACKED, _SMALL = 300, 1 << 26
#: How many objects and lists a document may have, and up to how many bytes one that is damaged is
#: read as YAML too, which takes a hundred times as long.
_MOST_OBJECTS, _BRIEF = 2_000_000, 1 << 20
_PLANTED = 'is a symbolic link, in a folder where others may write'


def read_text(path: str, most: int = _TYPED) -> str:
    """The text of a file, which is UTF-8 and may be compressed with gzip.

    :param path: ``-`` is standard input
    :param most: how many bytes it may have
    :raises errors.BadFile: if it cannot be read as that
    """
    return _text(_read(path, most), path)


def _text(content: bytes, path: str) -> str:
    if kind := kind_of(content):
        raise errors.BadFile(path, f'a {kind}, where another kind of file is expected')
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise errors.BadFile(path, 'not UTF-8 text') from None


def write_text(path: str, text: str, mode: int = _OWN) -> None:
    """Write a text, as :func:`write_snapshot` does; a terminal gets it printable.

    :param mode: who may read a file that is new
    """
    if path == STANDARD and sys.stdout.isatty():
        text = printable(text)
    with _writing(path, mode) as stream:
        stream.write(text.encode())


def write_document(path: str, document: Any) -> None:
    """Write a document that people may edit: as JSON if the name ends with ``.json``, else YAML.

    :param document: of mappings, lists, texts and numbers
    :raises errors.BadFile: as :func:`write_compared`
    """
    _check_depth(document, path)
    text = (json_text if path.endswith('.json') else yaml_text)(document)
    write_compared(path, text, document, lambda text, path: documents.read(text, path).value)


def write_compared(path: str, text: str, meant: Any, read: Callable[[str, str], Any]) -> None:
    """Write a text, as :func:`write_text` does, if it says what it is meant to say.

    :param meant: what has to be read back
    :param read: reads the text; its second argument is the path
    :raises errors.BadFile: if something else is read back; nothing is written then
    """
    try:
        found = read(_text(text.encode(errors='surrogatepass'), path), path)
    except errors.BadFile as refusal:
        raise errors.BadFile(
            path, f'not written, as it could not be read again: {refusal.reason}'
        ) from None
    if found != meant:
        raise errors.BadFile(
            path,
            'not written, as names in it would be read back as others: rename the providers whose '
            'names have line breaks, or spaces at their ends',
        )
    write_text(path, text)


def read_document(path: str) -> Any:
    """What a JSON or YAML file says.

    :raises errors.BadFile: if it cannot be read as that
    """
    text = read_text(path)
    if text.count('{') + text.count('[') > _MOST_OBJECTS:
        raise errors.BadFile(path, f'has more than {_MOST_OBJECTS} objects and lists')
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except RecursionError:
        raise errors.BadFile(path, 'nested too deeply') from None
    except ValueError as reason:
        if len(text) > _BRIEF and text.lstrip()[:1] in ('{', '['):
            line = getattr(reason, 'lineno', None)
            raise errors.BadFile(path, f'not JSON, or not complete: {reason}', line) from None
        # Also of what YAML tells better: with its line.
        value = documents.read(text, path).value
    _check_depth(value, path)
    return value


def read_specified(path: str, rows: Sequence[str] = ()) -> tuple[Spec, list[Row]]:
    """The specification of a reshape, and the rows of all assignment files.

    :param path: the file of a specification, or of a plan, which has both in it
    :param rows: the files of further rows; instead of those that a plan has in it
    :raises errors.BadFile: if one is none
    """
    content = _read(path, _WRITTEN)
    if kind_of(content) == 'plan':
        plan = plans.decode(content, path)
        if not rows:
            return plan.spec, list(plan.assignments)
        return plan.spec, [row for name in rows for row in read_assignments(name)]
    if len(content) > _TYPED:
        raise _too_large(path, _TYPED)
    spec = _spec(_text(content, path), path)
    return spec, [row for name in (*spec.assignments, *rows) for row in read_assignments(name)]


def read_spec(path: str) -> Spec:
    """The specification of a reshape.

    The names of its assignment files are relative to it, and come back relative to here.

    :raises errors.BadFile: if it is none
    """
    return _spec(read_text(path), path)


def _spec(text: str, path: str) -> Spec:
    wanted = specification.parse(text, path)
    folder = '' if path == STANDARD else os.path.dirname(path)
    return replace(
        wanted, assignments=tuple(os.path.join(folder, name) for name in wanted.assignments)
    )


def read_assignments(path: str) -> list[Row]:
    """The rows of an assignments file.

    :raises errors.BadFile: if it is none
    """
    return assignments.parse(read_text(path, _LISTED), path)


def read_snapshot(path: str) -> Snapshot:
    """A snapshot.

    :raises errors.BadFile: if it is none
    """
    return snapshots.decode(_read(path, _WRITTEN), path)


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
    return plans.decode(_read(path, _WRITTEN), path)


def read_any_plan(path: str) -> Plan | ChangePlan:
    """Return a plan of a reshape, or of changes.

    :raises errors.BadFile: if it is neither, or not as it was written
    """
    content = _read(path, _WRITTEN)
    if kind_of(content) == change_plans.KIND:
        return change_plans.decode(content, path)
    return plans.decode(content, path)


def write_plan(path: str, plan: Plan) -> None:
    """Write a plan, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        stream.writelines(plans.encode(plan))


def write_change_plan(path: str, plan: ChangePlan) -> None:
    """Write a plan of changes, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        stream.writelines(change_plans.encode(plan))


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError('a key is there twice')
    return members


def _refused(constant: str) -> None:
    raise ValueError(f'{constant} is no JSON')


def _check_depth(value: Any, path: str) -> None:
    level = [value]
    for _ in range(documents.MOST_LEVELS):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise errors.BadFile(path, 'nested too deeply')


class _Counted:
    """A compressed stream, and how much of it was read."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self.count = raw, 0

    def read(self, size: int) -> bytes:
        chunk = self._raw.read(size)
        self.count += len(chunk)
        return chunk


def _read(path: str, most: int) -> bytes:
    """The content of a file, decompressed.

    :param most: how many bytes it may have
    """
    content = io.BytesIO()
    with explained(path), contextlib.ExitStack() as stack:
        if path == STANDARD:
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open(path, 'rb'))
        counted = _Counted(raw)
        # By its content: the name of a pipe says nothing.
        is_packed = raw.peek(2)[:2] == _GZIP
        stream: Any = counted
        if is_packed:
            stream = stack.enter_context(gzip.GzipFile(fileobj=cast(IO[bytes], counted)))
        while chunk := stream.read(_CHUNK):
            content.write(chunk)
            size = content.tell()
            if size > most:
                raise _too_large(path, most)
            if is_packed and size > max(_SMALL, _MOST_PACKED * counted.count):
                raise errors.BadFile(path, 'is compressed as no file of this kind can be')
    return content.getvalue().removeprefix(codecs.BOM_UTF8)


def _too_large(path: str, most: int) -> errors.BadFile:
    return errors.BadFile(path, f'is larger than {most >> 20} MiB')


@contextlib.contextmanager
def _writing(path: str, mode: int = _OWN) -> Iterator[IO[bytes] | gzip.GzipFile]:
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
        with _replacing(target, mode) as raw, _compressed(raw, path) as stream:
            yield stream


@contextlib.contextmanager
def _replacing(target: str, mode: int) -> Iterator[IO[bytes]]:
    """A new file that takes the place of another when it is complete and on the disk.

    :param mode: who may read it; nobody else than could read the one that is there
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


@contextlib.contextmanager
def _compressed(raw: Any, path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """What is written to a stream, compressed if the name of the file says so."""
    if not path.endswith('.gz'):
        yield raw
        return
    # No name and no time, so that the same content gives the same bytes.
    with gzip.GzipFile('', 'wb', 6, raw, 0) as stream:
        yield stream
