"""The journal of a plan: every intent before its request goes out, every outcome after.

What is done is always read back from the service. What only the journal knows is which trees have
ended, and what a tree was planned to become when it had to be planned again.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from placementclient import errors
from placementclient.codec import operations, plans
from placementclient.codec.encoding import encoded
from placementclient.planner.plan.operations import Operation
from placementclient.planner.plan.plan import Plan, TreePlan

FORMAT = 'placementclient/reshape-journal'
VERSION = 1
SUFFIX = '.journal'


class Busy(errors.PlacementError):
    """The plan is being applied or rolled back by another process."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f'{path}: another apply or rollback of this plan is running')


class JournalFailed(errors.BadFile):
    """The journal cannot be written: nothing more may be sent."""


@dataclass(slots=True)
class Record:
    """What a journal knows of a tree.

    :param ended: the last end that is noted: ``applied``, ``rolled back``, ``left alone``
    :param begun: whether a request may have been sent since
    :param plan: the last plan that was made for it again, from the live state
    """

    ended: str | None = None
    begun: bool = False
    plan: TreePlan | None = None


@dataclass(slots=True)
class Journal:
    """An open journal. Its methods may be called by several threads.

    :param records: what it knew when it was opened, and has learned since, by the tree's root
    """

    path: str
    records: dict[str, Record] = field(default_factory=dict)
    _descriptor: int = -1
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _failure: JournalFailed | None = None

    def of(self, root_provider_uuid: str) -> Record:
        """What is known of a tree."""
        return self.records.setdefault(root_provider_uuid, Record())

    def intend(self, root_provider_uuid: str, operation: Operation) -> None:
        """Note a request that is to be sent; when this returns, it is on the disk.

        :raises JournalFailed: if that is impossible; the request must not be sent then
        """
        self._write(
            {'tree': root_provider_uuid, 'intent': operations.record(operation)}, synced=True
        )

    def note(self, root_provider_uuid: str, outcome: str) -> None:
        """Note what became of the intent before.

        :raises JournalFailed: if that is impossible
        """
        self._write({'tree': root_provider_uuid, 'outcome': outcome})

    def revise(self, tree: TreePlan) -> None:
        """Note what a tree is planned to become instead; when this returns, it is on the disk.

        :raises JournalFailed: if that is impossible
        """
        record = plans.tree_record(tree)
        self._write({'tree': tree.root_provider_uuid, 'plan': record}, synced=True)

    def end(self, root_provider_uuid: str, ended: str, reason: str = '') -> None:
        """Note that a tree has ended.

        :raises JournalFailed: if that is impossible
        """
        record = {'tree': root_provider_uuid, 'end': ended}
        self._write(record | ({'reason': reason} if reason else {}), synced=True)

    def _write(self, record: Mapping[str, Any], *, synced: bool = False) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')
        line = encoded({'at': now, **record}) + b'\n'
        with self._writing:
            if self._failure is not None:
                # What comes now would continue a line that is not complete.
                raise self._failure
            try:
                _write_all(self._descriptor, line)
                if synced:
                    os.fsync(self._descriptor)
            except OSError as reason:
                self._failure = JournalFailed(
                    self.path, f'{reason.strerror}: nothing more is sent without a journal'
                )
                raise self._failure from None
            _learn(self.records, record)


@contextlib.contextmanager
def opened(path: str, plan: Plan) -> Iterator[Journal]:
    """Open the journal of a plan, or begin it, and keep others out meanwhile.

    :param path: of the journal
    :raises Busy: if another process has it open
    :raises errors.BadFile: if it belongs to another plan, or cannot be read or written
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as reason:
        raise errors.BadFile(path, reason.strerror or str(reason)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(path) from None
        yield _begun(path, descriptor, plan)
    finally:
        os.close(descriptor)


def revised(plan: Plan, path: str) -> Plan:
    """A plan with the trees as they were planned again while it was applied.

    :param path: of the journal, which need not exist
    :raises errors.BadFile: if it belongs to another plan or cannot be read
    """
    records = read(path, plan)
    again = {uuid: record.plan for uuid, record in records.items() if record.plan is not None}
    return replace(
        plan, trees=tuple(again.get(tree.root_provider_uuid, tree) for tree in plan.trees)
    )


def read(path: str, plan: Plan) -> dict[str, Record]:
    """What the journal of a plan knows of each tree; nothing, if there is none.

    :param path: of the journal
    :raises errors.BadFile: if it belongs to another plan or cannot be read
    """
    try:
        with open(path, 'rb') as stream:
            return _read(path, stream.read(), plan) or {}
    except FileNotFoundError:
        return {}
    except OSError as reason:
        raise errors.BadFile(path, reason.strerror or str(reason)) from None


def _begun(path: str, descriptor: int, plan: Plan) -> Journal:
    try:
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        records = _read(path, content, plan)
        journal = Journal(path, records or {}, descriptor)
        if content and not content.endswith(b'\n'):
            # Whoever wrote this was killed while writing. Nothing is taken away: the rest of the
            # line is no JSON, and is passed over from now on.
            _write_all(descriptor, b'\n')
    except OSError as reason:
        raise errors.BadFile(path, reason.strerror or str(reason)) from None
    if records is None:
        journal._write(
            {'journal': FORMAT, 'version': VERSION, 'plan': plans.identity(plan)}, synced=True
        )
        _sync_folder(path)
    return journal


def _read(path: str, content: bytes, plan: Plan) -> dict[str, Record] | None:
    """What the lines say; ``None`` if not even the first one was written."""
    records: dict[str, Record] = {}
    header: dict[str, Any] | None = None
    for number, line in enumerate(content.split(b'\n'), 1):
        try:
            entry = json.loads(line)
        except ValueError:
            # Torn, as its writer was killed.
            continue
        if not isinstance(entry, dict):
            raise errors.BadFile(path, 'not a journal')
        if header is None:
            header = entry
            _check(path, header, plan)
            continue
        try:
            _learn(records, entry)
        except (KeyError, TypeError, AttributeError, ValueError) as reason:
            raise errors.BadFile(path, f'damaged journal: {reason!r}', number) from None
    if header is None and len(content.splitlines()) > 1:
        raise errors.BadFile(path, 'not a journal')
    return None if header is None else records


def _check(path: str, header: Mapping[str, Any], plan: Plan) -> None:
    if header.get('journal') != FORMAT:
        raise errors.BadFile(path, 'not a journal')
    if header.get('version') != VERSION:
        raise errors.BadFile(path, f'journal version {header.get("version")} is not known')
    if header.get('plan') != plans.identity(plan):
        raise errors.BadFile(
            path,
            'belongs to another plan than the one in the file beside it; apply that one, or move '
            'the journal away if it is of no more use',
        )


def _learn(records: dict[str, Record], entry: Mapping[str, Any]) -> None:
    if 'tree' not in entry:
        return
    record = records.setdefault(entry['tree'], Record())
    if 'intent' in entry:
        record.begun, record.ended = True, None
    elif 'plan' in entry:
        record.plan = plans.tree_plan(
            msgspec.convert(msgspec.to_builtins(entry['plan']), plans.TreeRecord)
        )
    elif 'end' in entry:
        record.ended = entry['end']


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _sync_folder(path: str) -> None:
    descriptor = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
