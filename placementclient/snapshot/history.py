"""A folder of snapshots, most of which are kept as the differences from the one before."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import itemgetter

from placementclient import files
from placementclient.client import errors
from placementclient.codec import histories
from placementclient.codec.histories import Header, Records
from placementclient.files import system
from placementclient.model.origin import Origin, is_elsewhere
from placementclient.model.snapshots import Snapshot
from placementclient.snapshot import times

#: After how many differences all of a snapshot is kept again: damage reaches no further.
_DIFFERENCES = 30
_NAME = re.compile(r'(\d{6,})-(\w+)\.(?:whole|difference)')
#: What a process leaves that was killed while it wrote.
_UNFINISHED = re.compile(rf'\.{_NAME.pattern}\.[0-9a-f]+')
_LONGEST_HEADER = 1 << 24

#: Called with every file that cannot be read, and what cannot be known without it.
Warn = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Entry:
    """A snapshot of a history.

    :param number: its place among the others, from 1
    :param size: of the file, in bytes
    :param digest: identifies the file
    :param begin: where the blocks begin in the file, in bytes
    """

    path: str
    number: int
    time: datetime
    header: Header
    size: int
    digest: str
    begin: int

    @property
    def at(self) -> str:
        """The time when it was read, UTC, as ISO 8601."""
        return times.written(self.time)

    @property
    def is_whole(self) -> bool:
        """Return whether it can be read without others."""
        return self.header.after is None


def entries(folder: str, warn: Warn) -> list[Entry]:
    """Return the snapshots of a history in the order in which they were saved.

    :raises errors.BadFile: if the folder cannot be read, or has none
    """
    found = []
    with system.explained(folder):
        names = _names(folder)
    for number, name, _ in names:
        path = os.path.join(folder, name)
        try:
            found.append(opened(path, number))
        except errors.BadFile as reason:
            warn(f'{reason}: this snapshot is left out')
    if not names:
        raise errors.BadFile(folder, 'has no snapshots: snapshot save --history puts them there')
    return found


def _names(folder: str) -> list[tuple[int, str, datetime]]:
    """Return number, name and time of each file. The time is the first of all if it has none."""
    matches = [match for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
    none = datetime.min.replace(tzinfo=UTC)
    return sorted((int(found[1]), found[0], times.known(found[2]) or none) for found in matches)


def opened(path: str, number: int) -> Entry:
    """Return the snapshot of a file.

    :param number: its place among the others
    :raises errors.BadFile: if it is none, or not complete
    """
    with system.explained(path), open(system.open_own(path, os.O_RDONLY), 'rb') as stream:
        line = stream.readline(_LONGEST_HEADER)
        header = histories.decode_header(line, path)
        size = os.fstat(stream.fileno()).st_size
    time = times.known(header.origin.captured_at)
    if time is None or size != len(line) + sum(header.blocks.values()):
        raise errors.BadFile(path, histories.DAMAGED)
    return Entry(path, number, time, header, size, histories.digest(line), len(line))


def walk(
    found: Sequence[Entry], warn: Warn, keys: Collection[str] | None = None
) -> Iterator[tuple[Entry, Records]]:
    """Return each snapshot that can be read, with its records.

    :param found: a snapshot that is whole, and those that follow it
    :param keys: of the records that are wanted; ``None``: all
    :return: the mapping is the same one each time, and changed in place
    """
    return _walk(found, warn, lambda entry: changes(entry, keys))


def readable(found: Sequence[Entry], warn: Warn) -> list[Entry]:
    """Return the snapshots that can be read: their files, and those that they need, are undamaged.

    :param found: a snapshot that is whole, and those that follow it
    """

    def check(entry: Entry) -> Records:
        changes(entry)
        return Records()

    return [entry for entry, _ in _walk(found, warn, check)]


def _walk(
    found: Sequence[Entry], warn: Warn, read_changes: Callable[[Entry], Records]
) -> Iterator[tuple[Entry, Records]]:
    current, records = '', Records()
    skipped: list[Entry] = []
    for entry in found:
        if not entry.is_whole and entry.header.after != current:
            skipped.append(entry)
            continue
        try:
            read = read_changes(entry)
            if entry.is_whole:
                records.clear()
            # Where it cannot be applied, some of it may be: what follows needs a whole one then.
            current = ''
            histories.apply(records, read, entry.path)
        except errors.BadFile as reason:
            warn(f'{reason}: this snapshot is left out')
            continue
        _warn_skipped(skipped, warn)
        current = entry.digest
        yield entry, records
    _warn_skipped(skipped, warn)


def _warn_skipped(skipped: list[Entry], warn: Warn) -> None:
    if skipped:
        paths = ' to '.join(dict.fromkeys((skipped[0].path, skipped[-1].path)))
        warn(
            f'{paths}: left out, as the snapshot before is missing or damaged, and these have only '
            f'the differences from it ({len(skipped)})'
        )
    skipped.clear()


def changes(entry: Entry, keys: Collection[str] | None = None) -> Records:
    """Return the records of a file, or those that differ from the ones of the file before.

    :param keys: of the records that are wanted; ``None``: all
    :raises errors.BadFile: if it is damaged
    """
    offsets = histories.offsets(entry.header)
    wanted = offsets if keys is None else offsets.keys() & set(map(histories.block_of, keys))
    with (
        system.explained(entry.path),
        open(system.open_own(entry.path, os.O_RDONLY), 'rb') as stream,
    ):
        blocks = [
            os.pread(stream.fileno(), offsets[number][1], entry.begin + offsets[number][0])
            for number in wanted
        ]
    return histories.decode_blocks(blocks, keys, entry.path)


def snapshot_of(entry: Entry, records: Records) -> Snapshot:
    """Return the snapshot that was saved.

    :param records: all of :func:`walk`
    :raises errors.BadFile: if they are none
    """
    found = histories.snapshot(records, entry.header.origin, entry.path)
    return histories.check_whole(found, entry.path)


def at(folder: str, time: datetime | None, warn: Warn) -> Snapshot:
    """Return the last snapshot that was read at a time or before it.

    :param time: UTC; ``None``: the one that was saved last
    :raises errors.BadFile: if there is none, or it cannot be read
    """
    with system.explained(folder):
        names = _names(folder)
    found = entries(folder, warn)
    known = {entry.path: entry.time for entry in found}
    paths = [(number, os.path.join(folder, name), named) for number, name, named in names]
    # A snapshot that cannot be read counts too: an earlier one must not stand in for it.
    every = [(known.get(path, named), number, path) for number, path, named in paths]
    chosen = [each for each in every if time is None or each[0] <= time]
    if time and not chosen:
        asked, first = times.written(time), times.written(min(every)[0])
        raise errors.BadFile(folder, f'has no snapshot of {asked} or before: the first is {first}')
    moment, number, wanted = max(chosen, key=itemgetter(0, 1) if time else itemgetter(1))
    last = _last([entry for entry in found if entry.number <= number], warn)
    if last is None or last[0].path != wanted:
        raise errors.BadFile(
            wanted,
            f'the snapshot of {times.written(moment)} cannot be read: choose '
            f'another one of resource provider snapshot history {folder}',
        )
    return snapshot_of(*last)


def _last(found: Sequence[Entry], warn: Warn) -> tuple[Entry, Records] | None:
    """Return the last snapshot that can be read, with all its records."""
    return next(iter(deque(walk(_chain(found), warn), 1)), None)


def _chain(found: Sequence[Entry]) -> Sequence[Entry]:
    """Return the last snapshot that is whole, and those that follow it."""
    whole = [number for number, entry in enumerate(found) if entry.is_whole]
    return found[whole[-1] :] if whole else []


def append(
    folder: str, snapshot: Snapshot, totals: Mapping[str, tuple[int, int]], warn: Warn
) -> str:
    """Save a snapshot in a history. Others who save in it at the same time wait.

    :param totals: the capacity and the usage of all providers together, by resource class
    :param warn: called with damage, and with a clock that went back
    :return: the path of its file
    :raises errors.BadFile: if it cannot be written, or the history is that of another service
    """
    moment = times.known(snapshot.origin.captured_at) if snapshot.origin else None
    if moment is None or snapshot.origin is None:
        raise errors.BadFile(
            folder, 'not saved: the snapshot does not say when it was read; take a new one'
        )
    origin = replace(snapshot.origin, captured_at=times.written(moment))
    with system.explained(folder), _locked(folder):
        found = entries(folder, warn) if (names := _names(folder)) else []
        if found:
            _check_origin(origin, moment, found[-1], folder, warn)
        chain = _chain(found)
        base = _last(found, warn)
        content, after = histories.records(snapshot), None
        if base and len(chain) <= _DIFFERENCES:
            content, after = histories.difference(base[1], content), base[0].digest
        number = names[-1][0] + 1 if names else 1
        kind = 'difference' if after else 'whole'
        path = os.path.join(folder, f'{number:06}-{moment:%Y%m%dT%H%M%SZ}.{kind}')
        with files.written(path) as stream:
            stream.writelines(histories.encode(content, snapshot, origin, totals, after))
    return path


def _check_origin(origin: Origin, moment: datetime, last: Entry, folder: str, warn: Warn) -> None:
    before = last.header.origin
    if origin.service and is_elsewhere(before, origin.service):
        raise errors.BadFile(
            folder,
            f'has the history of {before.service}, not of {origin.service}: give another folder',
        )
    if moment < last.time:
        warn(
            f'the snapshot before was read at {last.at}, this one at {origin.captured_at}: a clock '
            'was wrong. The history has them in the order in which they were saved'
        )


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Keep others from saving in a folder, which is made if it is missing."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for name in os.listdir(folder):
            if _UNFINISHED.fullmatch(name):
                os.unlink(os.path.join(folder, name))
        yield
    finally:
        os.close(descriptor)
