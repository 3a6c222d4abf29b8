# SPDX-License-Identifier: Apache-2.0
"""The journal of a plan: every intent before its request goes out, every outcome after.

A run always reads back what is done. Only the journal knows which trees have ended, which temporary
values were written, and the new plans of trees that were planned again.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from placementclient.basis import errors
from placementclient.changes.records import changes, journals
from placementclient.changes.records.journals import FORMAT, UNKNOWN, VERSION, JournalEntry
from placementclient.files import system
from placementclient.model.outcomes import TreeState
from placementclient.model.plans import Change

if TYPE_CHECKING:
    from placementclient.client.http import Client


class JournalLocked(errors.PlacementError):
    """The plan is being applied or rolled back by another process."""

    def __init__(self, path: str, holder: str) -> None:
        self.path = path
        super().__init__(f'{path}: another apply or rollback of this plan is running ({holder})')


class JournalFailed(errors.BadFile):
    """The journal cannot be written: nothing more may be sent."""


@dataclass(slots=True)
class TreeRecord:
    """The entries of a journal about a tree.

    :param ended: the last end that is noted: ``applied``, ``rolled back``, ``left alone``,
        ``done in part``
    :param reason: why it is not done
    :param ended_at: when that was noted, as ISO 8601
    :param is_begun: whether a request may ever have been sent for it
    :param plan: the last new plan of the tree; ``None``: it was not planned again
    :param sent: the records of the requests that were sent and not refused; ``None``: the journal
        has no values, as that of a reshape
    :param is_open: whether it is not known if the last of them was carried out
    :param done: the records of the requests that were carried out, or may be, since the tree was
        wholly as before or as after its change
    :param backward: whether the requests in ``done`` take the change back
    """

    ended: str | None = None
    reason: str = ''
    ended_at: str = ''
    is_begun: bool = False
    plan: Change | None = None
    sent: list[Mapping[str, object]] | None = None
    is_open: bool = False
    done: list[Mapping[str, object]] = field(default_factory=list)
    backward: bool = False

    @property
    def is_unfinished(self) -> bool:
        """Return True if the last run tried the tree and did not reach its goal."""
        return self.ended in (TreeState.LEFT_ALONE, TreeState.DONE_IN_PART)

    def add_intent(self, intent: Mapping[str, object], backward: bool) -> None:
        """Add the intent to send a request, which is one of a rollback if ``backward``."""
        self.is_begun, self.ended, self.is_open = True, None, True
        if self.backward is not backward:
            self.backward, self.done = backward, []
        self.done.append(intent)
        if 'values' in intent:
            self.sent = self.sent if self.sent is not None else []
            self.sent.append(intent)

    def add_end(self, entry: JournalEntry) -> None:
        """Add the end of a run of the tree."""
        self.ended, self.reason, self.ended_at = entry.end, entry.reason, entry.at
        is_other_way = entry.end == TreeState.LEFT_ALONE and self.backward is not entry.back
        if entry.end != TreeState.DONE_IN_PART and not is_other_way:
            self.done = []


class Journal:
    """An open journal; threads may share it. Each write raises :class:`JournalFailed` if it fails.

    :param file: where entries are written; ``None``: they are kept in memory
    :param records: the records of the trees, by the UUIDs of their roots
    :param beginning: what comes before the first entry of this run
    :param backward: whether this run takes the plan back
    """

    def __init__(
        self,
        file: JournalFile | None,
        records: dict[str, TreeRecord],
        beginning: bytes = b'',
        *,
        backward: bool = False,
    ) -> None:
        self.file, self.records, self._beginning = file, records, beginning
        self.backward = backward

    def get_record(self, root_provider_uuid: str) -> TreeRecord:
        """Return the record of a tree: an empty one if no line is about it."""
        return self.records.get(root_provider_uuid) or TreeRecord()

    def list_done_requests(self, root_provider_uuid: str) -> Sequence[Mapping[str, object]]:
        """Return the requests for a tree that are carried out, or may be, in this direction."""
        record = self.get_record(root_provider_uuid)
        return record.done if record.backward is self.backward else ()

    def write_beginning(self) -> None:
        """Write the first line of a new journal, or the mark that the last run was cut off."""
        beginning, self._beginning = self._beginning, b''
        if beginning and self.file:
            self.file.append(beginning, synced=True)
            system.sync_folder(os.path.dirname(self.file.path))

    def write_intent(
        self, root_provider_uuid: str, intent: Mapping[str, object], *, synced: bool = True
    ) -> None:
        """Write the intent to send a request, which must not be sent if that fails.

        :param synced: whether it is on the disk on return; otherwise after :meth:`sync`
        """
        entry = JournalEntry(at=_format_now(), tree=root_provider_uuid, intent=intent)
        self._write_entry(entry, synced=synced)

    def sync(self) -> None:
        """Flush all entries to the disk."""
        if self.file:
            self.file.append(b'', synced=True)

    def write_outcome(
        self, root_provider_uuid: str, outcome: str, client: Client, *, undone: int = 0
    ) -> None:
        """Write the outcome of the last intent, with the IDs of this thread's last request.

        :param undone: how many of the last intents were not carried out
        :param outcome: in words: ``done``, ``taken back``, ``refused: …``
        """
        entry = JournalEntry(
            at=_format_now(),
            tree=root_provider_uuid,
            outcome=outcome,
            undone=undone,
            request_id=client.request_id,
            global_request_id=client.global_request_id,
        )
        self._write_entry(entry, synced=False)

    def write_lost_intent(self, root_provider_uuid: str) -> None:
        """Write that the last intent was not carried out, as the service shows."""
        outcome = 'not carried out'
        entry = JournalEntry(at=_format_now(), tree=root_provider_uuid, outcome=outcome, undone=1)
        self._write_entry(entry, synced=False)

    def write_new_plan(self, change: Change) -> None:
        """Write a new plan of a tree; on return it is on the disk."""
        uuid, plan = change.root_provider_uuid, changes.encode_change(change)
        self._write_entry(JournalEntry(at=_format_now(), tree=uuid, plan=plan))

    def write_end(self, root_provider_uuid: str, ended: str, reason: str = '') -> None:
        """Write the result of a tree.

        :param ended: the value of a :class:`.TreeState`
        """
        self._write_entry(
            JournalEntry(at=_format_now(), tree=root_provider_uuid, end=ended, reason=reason)
        )

    def _write_entry(self, entry: JournalEntry, *, synced: bool = True) -> None:
        """Write an entry to the file, if there is one, and add it to the records.

        :param synced: whether it is on the disk on return
        """
        self.write_beginning()
        entry = structs.replace(entry, back=self.backward)
        if self.file:
            self.file.append(journals.encode(entry), synced=synced)
        _add_entry(self.records, entry)


class JournalFile:
    """The file of a journal, locked by this process; threads may share it."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self._writing, self._syncing = threading.Lock(), threading.Lock()
        #: How often something was written, and how much of it is on the disk.
        self._written = self._synced = 0
        self._failure: JournalFailed | None = None

    def read_content(self) -> bytes:
        """Return all bytes of the file."""
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)

    def append(self, content: bytes, *, synced: bool = False) -> None:
        """Append complete lines; with ``synced`` all that was written is on the disk on return.

        :raises JournalFailed: if that is impossible, and ever after
        """
        with self._writing, self._stop_after_failure():
            _write_all(self._descriptor, content)
            self._written += 1
            written = self._written
        if not synced:
            return
        with self._syncing, self._stop_after_failure():
            # One sync brings the lines of all threads to the disk that were written during the last
            # sync.
            if self._synced < written:
                written = self._written
                if not os.fstat(self._descriptor).st_nlink:
                    raise FileNotFoundError(errno.ENOENT, 'it was removed')
                os.fsync(self._descriptor)
                self._synced = written

    @contextlib.contextmanager
    def _stop_after_failure(self) -> Iterator[None]:
        """Turn a failure of the disk into :class:`JournalFailed`, now and for each later write."""
        # Nothing is written after a failure: it would continue a line that is not complete.
        if self._failure is not None:
            raise self._failure
        try:
            yield
        except OSError as reason:
            self._failure = JournalFailed(
                self.path, f'{reason.strerror}: nothing more is sent without a journal'
            )
            raise self._failure from None


@contextlib.contextmanager
def open_journal(path: str, identity: str, *, backward: bool = False) -> Iterator[Journal]:
    """Open or create the journal of a plan, and lock it.

    :param identity: of the plan
    :param backward: whether this run takes the plan back
    :raises JournalLocked: if another process has it open
    :raises errors.BadFile: if it belongs to another plan, or cannot be read or written
    """
    with system.translate_system_errors(path):
        descriptor = system.open_own_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        with system.translate_system_errors(path):
            if not _try_to_lock(descriptor, path):
                raise JournalLocked(path, system.describe_lock_holder(descriptor))
            journal = _start_journal(JournalFile(path, descriptor), identity, backward)
        yield journal
        journal.write_beginning()
    finally:
        with contextlib.suppress(OSError):
            _remove_file_if_empty(path, descriptor)
        os.close(descriptor)


def _try_to_lock(descriptor: int, path: str) -> bool:
    """Lock a journal; return False if another process has it, or has just removed it."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    return False


def read_records(path: str, identity: str) -> dict[str, TreeRecord]:
    """Return by root UUID the records of the trees in a plan's journal; none without a journal.

    :raises errors.BadFile: if it belongs to another plan or cannot be read
    """
    if not os.path.lexists(path):
        return {}
    content = system.read_own_file(path)
    return _collect_records(_decode_journal_of_plan(path, content, identity).entries)


def _start_journal(file: JournalFile, identity: str, backward: bool) -> Journal:
    """Return the journal in a locked file.

    With its first entry it gets the first line of a journal, or the mark that a run was cut off.
    """
    content = file.read_content()
    entries, is_torn = _decode_journal_of_plan(file.path, content, identity)
    beginning = b''
    if not entries:
        first = JournalEntry(journal=FORMAT, version=VERSION, at=_format_now(), plan=identity)
        beginning = journals.encode(first)
    elif is_torn:
        beginning = journals.encode(JournalEntry(at=_format_now(), resumed=True))
    if content and not content.endswith(b'\n'):
        # Nothing is taken away of a line that is not whole: it is ended, and passed over.
        beginning = b'\n' + beginning
    return Journal(file, _collect_records(entries), beginning, backward=backward)


def _remove_file_if_empty(path: str, descriptor: int) -> None:
    """Remove the file of a journal that this process has opened, if it is empty."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not while another process has it
    opened = os.fstat(descriptor)
    if not opened.st_size and os.path.samestat(opened, os.stat(path)):
        os.unlink(path)


def _decode_journal_of_plan(path: str, content: bytes, identity: str) -> journals.JournalContent:
    """Return the content of the journal of a plan, by its identity; refuse any other journal."""
    decoded = journals.decode(content, path)
    if decoded.entries and decoded.entries[0].plan != identity:
        raise errors.BadFile(
            path,
            'belongs to another plan than the file beside it: apply that plan, or move the '
            'journal away if you do not need it',
        )
    return decoded


def _collect_records(entries: Iterable[JournalEntry]) -> dict[str, TreeRecord]:
    """Return the records of trees that entries make, by the UUIDs of the roots."""
    records: dict[str, TreeRecord] = {}
    for entry in entries:
        _add_entry(records, entry)
    return records


def _add_entry(records: dict[str, TreeRecord], entry: JournalEntry) -> None:
    """Add an entry to the record of its tree, if it is about one."""
    if entry.tree is None:
        return
    record = records.setdefault(entry.tree, TreeRecord())
    if entry.intent is not None:
        record.add_intent(entry.intent, entry.back)
    elif entry.outcome is not None:
        record.is_open = entry.outcome.startswith(UNKNOWN)
        for requests in (record.sent, record.done):
            if entry.undone and requests:
                del requests[-entry.undone :]
    elif entry.plan is not None and not isinstance(entry.plan, str):
        record.plan = changes.decode_change(entry.plan)
    elif entry.end is not None:
        record.add_end(entry)


def _format_now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
