# SPDX-License-Identifier: Apache-2.0
"""Texts, documents and snapshots in files that are written atomically.

All raise :class:`errors.BadFile` with the path.
"""

import codecs
import contextlib
import gzip
import io
import logging
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from placementclient.basis import errors
from placementclient.basis.errors import FileKind
from placementclient.basis.printable import escape_text
from placementclient.basis.wording import describe_unsteady_trees, join_names
from placementclient.files import cursors, kinds, snapshots, system, texts
from placementclient.files.decoding import FileContent
from placementclient.files.documents import format_json, format_yaml
from placementclient.model.snapshots import Snapshot

LOG = logging.getLogger(__name__)

#: The name of standard input or standard output.
STANDARD = '-'
#: The mode of files that others may read, as far as the umask allows.
READABLE = 0o644
# Allocations and owners are readable by the owner of the file only.
_PRIVATE = 0o600
_GZIP = b'\x1f\x8b'
_CHUNK = 1 << 20
#: How many bytes a file may have that this program has written, that lists many consumers, and that
#: a person has written.
WRITTEN_LIMIT, LISTED_LIMIT, TYPED_LIMIT = system.WRITTEN_LIMIT, 1 << 28, 1 << 25
#: How many times smaller a file may be when it is compressed: of 10,000 equal hosts it is 54 times,
#: of nothing but spaces 1,000 times. The limit is not for small files.
_MOST_PACKED, _SMALL = 300, 1 << 26
#: How many objects and lists a document may have, and up to how many bytes one that is damaged is
#: read as YAML too, which takes a hundred times as long.
_MOST_OBJECTS, _BRIEF = 2_000_000, 1 << 20
_JSON = msgspec.json.Decoder()


def read_text(path: str, needed: FileKind, *others: FileKind, most_bytes: int = TYPED_LIMIT) -> str:
    """Return the text of a UTF-8 file, which may be compressed with gzip.

    :param needed: the kind that errors name
    :param others: further kinds that the file may be of
    :param most_bytes: the most bytes of the decompressed text; a longer one is refused
    """
    return decode_text_of_kind(read_bytes(path, needed, most_bytes), path, needed, *others)


def decode_text_of_kind(content: bytes, path: str, needed: FileKind, *others: FileKind) -> str:
    """Return the text of a UTF-8 file; refuse a file of another kind.

    :param needed: the kind that errors name
    :param others: further kinds that the file may be of
    """
    kinds.refuse_other_kind(content, path, needed, *others)
    return texts.decode_text(content, path)


def write_text(path: str, text: str, mode: int = _PRIVATE) -> None:
    """Write a text to a file as a whole, or not at all; on a terminal escape control characters.

    :param mode: the permissions of a new file
    """
    if path == STANDARD and sys.stdout.isatty():
        text = escape_text(text)
    with open_output(path, mode) as stream:
        stream.write(text.encode())


def write_document(path: str, document: object) -> None:
    """Write a document that people may edit: as JSON if the name ends in ``.json``, else YAML."""
    is_json = path.endswith('.json')
    write_text(path, f'{format_json(document)}\n' if is_json else format_yaml(document))


def read_document(path: str, needed: FileKind, *others: FileKind) -> Any:
    """Return a document of JSON or YAML, as OpenStackClient and the APIs print lists.

    :param needed: the kind that errors name
    :param others: further kinds that the file may be of
    """
    content = read_bytes(path, needed, TYPED_LIMIT)
    text = decode_text_of_kind(content, path, needed, *others)
    source = FileContent(path, content, needed)
    if text.count('{') + text.count('[') > _MOST_OBJECTS:
        raise errors.BadFile(path, f'has more than {_MOST_OBJECTS} objects and lists')
    try:
        value = source.decode(_JSON)
        source.refuse_duplicate_keys()
    except errors.BadFile:
        if len(text) > _BRIEF and text.lstrip()[:1] in ('{', '['):
            raise
        # Also of files for which YAML has the better error: with its line.
        return cursors.parse_document(text, path).value
    return value


def read_snapshot(path: str) -> Snapshot:
    """Return the snapshot of a file; warn about missing usages and about unsteady trees."""
    snapshot = snapshots.decode_snapshot(read_bytes(path, kinds.SNAPSHOT, WRITTEN_LIMIT), path)
    if snapshot.unsteady:
        LOG.warning(f'{path}: {describe_unsteady_trees(snapshot.unsteady_names())}')
    if names := [state.name for state in snapshot.list_providers_without_usages()]:
        LOG.warning(
            f'{path}: no usages of {join_names(names, 3)}, on which consumers have allocations, so '
            'that they seem to be free. Save another one with "placement resource provider '
            'snapshot save"'
        )
    return snapshot


def is_file_of_kind(path: str, kind: FileKind) -> bool:
    """Return True if there is a file at a path, and its beginning looks like a kind."""
    found = _recognize_kind_of_file(path)
    return found is not None and found.name == kind.name


def _recognize_kind_of_file(path: str) -> FileKind | None:
    """Return the kind of a file; ``None`` also if there is no file, or if it cannot be read."""
    if not os.path.isfile(path):
        return None
    try:
        with system.translate_system_errors(path), open(path, 'rb') as raw:
            is_packed = raw.peek(2).startswith(_GZIP)
            stream = gzip.GzipFile(fileobj=raw) if is_packed else raw
            return kinds.recognize_kind(stream.read(kinds.LOOKED_AT))
    except errors.BadFile:
        return None


def refuse_output_path(path: str, kind: str, overwrite: bool | None = None) -> None:
    """Refuse a path where no file can be written, or where a file of another kind would be lost.

    :param kind: the name of the kind of the new file; one of the same kind is replaced
    :param overwrite: whether any file is replaced; ``None``: the command has no such option
    :raises errors.BadFile: if it is refused
    """
    system.refuse_unwritable_path(path)
    found = None if overwrite else _recognize_kind_of_file(path)
    if found and found.name != kind:
        option = '' if overwrite is None else ', or --overwrite'
        raise errors.BadFile(path, f'is {found.name}: give another name for {kind}{option}')


def write_snapshot(path: str, snapshot: Snapshot) -> None:
    """Write a snapshot as a whole, or not at all; compress it if the name ends with ``.gz``."""
    with open_output(path) as stream:
        stream.writelines(snapshots.encode_snapshot(snapshot))


def read_bytes(path: str, needed: FileKind, most_bytes: int) -> bytes:
    """Return the decompressed content of a file; refuse more than ``most_bytes``.

    :param needed: the kind that errors name
    """
    with system.translate_system_errors(path, needed), contextlib.ExitStack() as stack:
        is_named = path != STANDARD
        raw = stack.enter_context(open(path, 'rb')) if is_named else sys.stdin.buffer
        content = _read_beginning(raw, most_bytes)
        # By its content: the name of a pipe has no ending.
        if content.startswith(_GZIP) and len(content) <= most_bytes:
            largest = max(_SMALL, _MOST_PACKED * len(content))
            packed = gzip.GzipFile(fileobj=io.BytesIO(content))
            content = _read_beginning(packed, min(most_bytes, largest))
            if len(content) > largest:
                raise errors.BadFile(path, 'is compressed as no file of this kind can be')
        if len(content) > most_bytes:
            raise system.make_size_error(path, most_bytes)
    return content.removeprefix(codecs.BOM_UTF8)


def _read_beginning(stream: IO[bytes] | gzip.GzipFile, most: int) -> bytes:
    """Return the content of a stream; of one of more than ``most`` bytes only the beginning.

    That has more than ``most`` bytes, too, which shows that the stream is too long.
    """
    content = io.BytesIO()
    while content.tell() <= most and (chunk := stream.read(_CHUNK)):
        content.write(chunk)
    return content.getvalue()


@contextlib.contextmanager
def open_output(path: str, mode: int = _PRIVATE) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file that appears whole after the block; ``-`` and devices are written at once.

    :param mode: the permissions of a new file
    """
    with system.translate_system_errors(path):
        if path == STANDARD:
            with _compress_output(sys.stdout.buffer, path) as stream:
                yield stream
            sys.stdout.buffer.flush()
            return
        # A link stays one, unless another user may have made it.
        is_shared = system.is_writable_by_others(os.path.dirname(path))
        target = path if is_shared else os.path.realpath(path)
        if os.path.islink(target):
            raise errors.BadFile(path, system.PLANTED)
        if os.path.exists(target) and not os.path.isfile(target):
            # It cannot be replaced: a device, a pipe; or a directory, for which open() fails.
            descriptor = system.open_user_file(target, os.O_WRONLY)
            with open(descriptor, 'wb') as device, _compress_output(device, path) as stream:
                yield stream
            return
        with system.open_replacement(target, mode) as raw, _compress_output(raw, path) as stream:
            yield stream


@contextlib.contextmanager
def _compress_output(raw: IO[bytes], path: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Compress the output to a stream if the name of the file ends in ``.gz``."""
    if not path.endswith('.gz'):
        yield raw
        return
    # No name and no time, so that the same content gives the same bytes.
    with gzip.GzipFile('', 'wb', 6, raw, 0) as stream:
        yield stream
