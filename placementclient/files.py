"""Snapshots, plans, specifications and assignments in files.

A snapshot or a plan has thousands of items. They are written one to a line, so that neither
writing nor reading holds the whole file beside the values, and so that a ``grep`` finds a tree.
Any other JSON of the same content is read too.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import IO, Any

from placementclient import errors
from placementclient.model import snapshots
from placementclient.model.snapshots import Snapshot
from placementclient.planner.plan import digest
from placementclient.planner.plan.plan import Plan
from placementclient.planner.spec import assignments, documents, specification
from placementclient.planner.spec.assignments import Row
from placementclient.planner.spec.specification import Spec

#: Stands for standard input or standard output.
STANDARD = '-'
_GZIP = b'\x1f\x8b'
#: How the first line of a file begins that has one item to a line.
_OURS = '{"format": '


def read_text(path: str) -> str:
    """The text of a file, which is UTF-8 and may be compressed with gzip.

    :param path: ``-`` is standard input
    :raises errors.BadFile: if it cannot be read as that
    """
    with _reading(path) as stream:
        return stream.read()


def write_text(path: str, text: str) -> None:
    """Write a text, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        stream.write(text)


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
    with _reading(path) as stream:
        return Snapshot.from_json(_document(stream, path), path)


def write_snapshot(path: str, snapshot: Snapshot) -> None:
    """Write a snapshot; compressed, if the name ends with ``.gz``.

    The file appears at once and whole, or not at all.

    :raises errors.BadFile: if that is impossible; a file that was there stays as it was then
    """
    providers = (
        _line(state.to_json()) for root in snapshot.roots() for state in snapshot.tree(root.uuid)
    )
    consumers = (
        f'{json.dumps(uuid)}: {_line(snapshot.consumers[uuid].to_json())}'
        for uuid in sorted(snapshot.consumers)
    )
    header = _line({'format': snapshots.FORMAT, 'version': snapshots.VERSION})[:-1]
    with _writing(path) as stream:
        stream.write(f'{header}, "providers": [\n')
        stream.writelines(_separated(providers))
        stream.write('], "consumers": {\n')
        stream.writelines(_separated(consumers))
        stream.write('}}\n')


def read_plan(path: str) -> Plan:
    """A plan.

    :raises errors.BadFile: if it is none, or not as it was written
    """
    with _reading(path) as stream:
        document = _document(stream, path)
        plan = Plan.from_json(document, path)
    written = document.get('digest')
    if written is not None and written != digest.of(plan):
        raise errors.BadFile(path, 'was edited: its digest is not that of its content')
    return plan


def write_plan(path: str, plan: Plan) -> None:
    """Write a plan, as :func:`write_snapshot` does."""
    with _writing(path) as stream:
        header = {**plan.header(), 'digest': digest.of(plan)}
        stream.write(f'{_line(header)[:-1]}, "trees": [\n')
        stream.writelines(_separated(_line(tree.to_json()) for tree in plan.trees))
        stream.write(']}\n')


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _separated(lines: Iterable[str]) -> Iterator[str]:
    """Each line; all but the last with a comma."""
    before = None
    for line in lines:
        if before is not None:
            yield f'{before},\n'
        before = line
    if before is not None:
        yield f'{before}\n'


def _document(stream: IO[str], path: str) -> Any:
    """A JSON object; what is written one item to a line is read while it is asked for."""
    first = stream.readline()
    opens_section = first.endswith(('[\n', '{\n'))
    if first.startswith(_OURS) and opens_section:
        return _Sections(stream, path, first)
    try:
        return json.loads(first + stream.read())
    except json.JSONDecodeError as reason:
        raise errors.BadFile(path, f'not JSON: {reason.msg}', reason.lineno) from None


class _Sections(Mapping[str, Any]):
    """The object of a file that has one item to a line.

    Its last members are long: a list, or a mapping that has only ``items()``. Each can be gone
    through once, in the order of the file.
    """

    def __init__(self, stream: IO[str], path: str, first: str) -> None:
        self._stream, self._path = stream, path
        self._line_number = 0
        self._members: dict[str, Any] = {}
        self._open(first)

    def __getitem__(self, key: str) -> Any:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def _open(self, line: str) -> None:
        """Take what precedes a section, and the section itself."""
        self._line_number += 1
        opening = line.rstrip()[-1:]
        closing = {'[': ']', '{': '}'}.get(opening)
        if closing is None:
            raise self._damaged()
        before: dict[str, Any] = self._decoded(f'{line.rstrip()}{closing}}}')
        name = list(before)[-1]
        self._members |= before
        self._members[name] = self._items() if opening == '[' else _Items(self._pairs())

    def _items(self) -> Iterator[Any]:
        return (self._decoded(line) for line in self._lines(']'))

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        for line in self._lines('}'):
            pair: dict[str, Any] = self._decoded(f'{{{line}}}')
            yield from pair.items()

    def _lines(self, closing: str) -> Iterator[str]:
        """The items of a section, without their commas; then the next section is opened."""
        for line in self._stream:
            if line.startswith(closing):
                rest = line.rstrip()[1:]
                if rest.startswith(', '):
                    self._open('{' + rest[2:])
                elif rest != '}':
                    break
                return
            self._line_number += 1
            yield line.rstrip().removesuffix(',')
        raise self._damaged()

    def _decoded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            raise self._damaged() from None

    def _damaged(self) -> errors.BadFile:
        return errors.BadFile(self._path, 'damaged or not complete', self._line_number)


class _Items:
    """Pairs that can be gone through once."""

    def __init__(self, pairs: Iterator[tuple[str, Any]]) -> None:
        self.items: Callable[[], Iterator[tuple[str, Any]]] = lambda: pairs


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Say which file it was, and make one kind of error of all that files can do."""
    try:
        yield
    except UnicodeError:
        raise errors.BadFile(path, 'not UTF-8 text') from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise errors.BadFile(path, 'damaged or truncated gzip file') from None
    except OSError as reason:
        raise errors.BadFile(path, reason.strerror or str(reason)) from None
    except RecursionError:
        raise errors.BadFile(path, 'nested too deeply') from None


@contextlib.contextmanager
def _reading(path: str) -> Iterator[IO[str]]:
    with _explained(path), contextlib.ExitStack() as stack:
        if path == STANDARD:
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open(path, 'rb'))
        # By its content: the name of a pipe says nothing.
        if raw.peek(2)[:2] == _GZIP:
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw))
        text = io.TextIOWrapper(raw, 'utf-8-sig')
        stack.callback(text.detach)
        yield text


@contextlib.contextmanager
def _writing(path: str) -> Iterator[IO[str]]:
    with _explained(path):
        if path == STANDARD:
            with _encoded(sys.stdout.buffer, path) as text:
                yield text
            sys.stdout.buffer.flush()
            return
        # A link stays one.
        target = os.path.realpath(path)
        if os.path.exists(target) and not os.path.isfile(target):
            # Nothing that could be replaced: a device, a pipe; or a directory, which open() tells.
            with open(target, 'wb') as device, _encoded(device, path) as text:
                yield text
            return
        with _replacing(target) as raw, _encoded(raw, path) as text:
            yield text


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
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder or '.', os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _encoded(raw: Any, path: str) -> Iterator[IO[str]]:
    with contextlib.ExitStack() as stack:
        if path.endswith('.gz'):
            # No name and no time, so that the same content gives the same bytes.
            raw = stack.enter_context(gzip.GzipFile('', 'wb', 6, raw, 0))
        text = io.TextIOWrapper(raw, 'utf-8', newline='\n')
        yield text
        text.flush()
        text.detach()
