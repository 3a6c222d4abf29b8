"""A folder of snapshots: what was saved is read again, whatever happens to the files."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import shutil
import stat
from pathlib import Path
from random import Random

import pytest

from placementclient.client import errors
from placementclient.codec import histories
from placementclient.codec.histories import Records
from placementclient.model.origin import Origin
from placementclient.model.snapshots import Snapshot
from placementclient.snapshot import history, moments, times
from tests import snapshot_pairs
from tests.unit.insight.clouds import cloud, consumer, provider

BEGUN = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SERVICE = 'http://127.0.0.1/placement'


def day(number: int) -> str:
    return (BEGUN + datetime.timedelta(number)).isoformat()


def saved(folder: Path, snapshot: Snapshot, at: str, service: str = SERVICE) -> list[str]:
    """Save a snapshot that was read at a moment, and return what was told."""
    told: list[str] = []
    snapshot.origin = Origin(at, service, 'tests')
    history.append(str(folder), snapshot, {}, told.append)
    return told


def randoms(number: int, seed: int = 0) -> list[Snapshot]:
    """Snapshots of which each has much of the one before."""
    random = Random(seed)
    found = [snapshot_pairs.snapshot(random)]
    while len(found) < number:
        found.append(snapshot_pairs.snapshot(random, found[-1], keep=0.9))
    return found


def kept(folder: Path, number: int, seed: int = 0) -> list[Snapshot]:
    """Save so many, one a day."""
    snapshots = randoms(number, seed)
    for each, snapshot in enumerate(snapshots):
        assert saved(folder, snapshot, day(each)) == []
    return snapshots


def read(folder: Path, told: list[str] | None = None) -> dict[str, Snapshot]:
    """Return all that can be read, by the time of each."""
    warn = (told if told is not None else []).append
    return {
        entry.at: history.snapshot_of(entry, records)
        for entry, records in history.walk(history.entries(str(folder), warn), warn)
    }


def at(folder: Path, time: str) -> Snapshot:
    return history.at(str(folder), times.until(time, f'{folder}@{time}'), pytest.fail)


def is_same(one: Snapshot, other: Snapshot) -> bool:
    return (one.providers, one.consumers) == (other.providers, other.consumers)


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_each_snapshot_is_read_as_it_was_saved(tmp_path: Path) -> None:
    folder = tmp_path / 'daily'
    snapshots = kept(folder, 70)
    found = read(folder)
    assert list(found) == [day(number) for number in range(70)]
    for number, snapshot in enumerate(snapshots):
        assert is_same(found[day(number)], snapshot), number
        assert is_same(at(folder, day(number)), snapshot)
    kinds = [path.suffix for path in files_of(folder)]
    assert [number for number, kind in enumerate(kinds) if kind == '.whole'] == [0, 31, 62]


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    kept(tmp_path / 'daily', 2)
    assert stat.S_IMODE((tmp_path / 'daily').stat().st_mode) == 0o700
    names = [path.name for path in files_of(tmp_path / 'daily')]
    assert names == ['000001-20260101T000000Z.whole', '000002-20260102T000000Z.difference']
    for path in files_of(tmp_path / 'daily'):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_time_is_that_of_the_last_snapshot_before_it(tmp_path: Path) -> None:
    snapshots = kept(tmp_path, 40)
    for time, number in [
        ('2026-01-03T12:00', 2),
        ('2026-01-03', 2),
        ('2026-01-03T00:00:00Z', 2),
        ('2026-01-03T00:59:59.5+01:00', 1),
        ('2026-01-03T01:00+01:00', 2),
        ('2026-01-02T23:00-01:00', 2),
        ('2026-01-02T23:59:59', 1),
        ('2027-01-01', 39),
    ]:
        assert is_same(at(tmp_path, time), snapshots[number]), time
    assert is_same(history.at(str(tmp_path), None, pytest.fail), snapshots[39])
    with pytest.raises(errors.BadFile, match='the first is 2026-01-01T00:00:00'):
        at(tmp_path, '2025-12-31')


@pytest.mark.parametrize('file', [1, 2])
def test_a_snapshot_that_cannot_be_read_is_not_replaced_by_an_earlier_one(
    tmp_path: Path, file: int
) -> None:
    snapshots = kept(tmp_path, 4)
    path = files_of(tmp_path)[file]
    path.write_bytes(path.read_bytes()[:-1])
    for time in [*['2026-01-02'] * (file == 1), '2026-01-03', '2026-01-04']:
        with pytest.raises(errors.BadFile, match='cannot be read: choose another one'):
            history.at(str(tmp_path), times.until(time, 'x'), lambda _: None)
    with pytest.raises(errors.BadFile, match='cannot be read'):
        history.at(str(tmp_path), None, lambda _: None)
    told: list[str] = []
    first = history.at(str(tmp_path), times.until('2026-01-01', 'x'), told.append)
    assert is_same(first, snapshots[0])


def damaged(folder: Path, number: int, content: bytes) -> tuple[dict[str, Snapshot], list[str]]:
    """Return what can be read where one file has another content, and what is told of it."""
    path = files_of(folder)[number]
    whole = path.read_bytes()
    path.write_bytes(content)
    told: list[str] = []
    found = read(folder, told)
    path.write_bytes(whole)
    return found, told


@pytest.mark.slow
def test_damage_leaves_out_what_needs_the_file_and_nothing_else(tmp_path: Path) -> None:
    snapshots = kept(tmp_path, 35)
    path = files_of(tmp_path)[10]
    content = path.read_bytes()
    for offset in range(0, len(content), 31):
        changed = bytearray(content)
        changed[offset] ^= 1 << offset % 8
        found, told = damaged(tmp_path, 10, bytes(changed))
        assert all(is_same(found[day(n)], snapshots[n]) for n in range(35) if day(n) in found)
        if not told:
            # Some bits of a block mean nothing.
            assert (len(found), offset > content.index(b'\n')) == (35, True)
            continue
        assert list(found) == [day(each) for each in (*range(10), *range(31, 35))], offset
        assert path.name in told[0]
        assert told[1] == (
            f'{files_of(tmp_path)[11]} to {files_of(tmp_path)[30]}: left out, as the snapshot '
            'before is missing or damaged, and these have only the differences from it (20)'
        )
        assert len(told) == 2


@pytest.mark.slow
def test_a_file_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    snapshots = kept(tmp_path, 4)
    content = files_of(tmp_path)[2].read_bytes()
    for length in range(0, len(content), 23):
        found, told = damaged(tmp_path, 2, content[:length])
        assert list(found) == [day(0), day(1)], length
        assert len(told) == 2
    assert is_same(found[day(1)], snapshots[1])
    found, told = damaged(tmp_path, 2, content + b'more')
    assert (list(found), len(told)) == ([day(0), day(1)], 2)


def test_a_file_that_is_missing_or_was_exchanged_is_noticed(tmp_path: Path) -> None:
    kept(tmp_path / 'one', 6)
    kept(tmp_path / 'other', 6, seed=1)
    third = files_of(tmp_path / 'one')[2]
    shutil.copy(tmp_path / 'other' / third.name, third)
    told: list[str] = []
    assert list(read(tmp_path / 'one', told)) == [day(0), day(1)]
    third.unlink()
    assert list(read(tmp_path / 'one', told)) == [day(0), day(1)]
    assert len(told) == 2


def test_after_a_difference_that_cannot_be_applied_a_whole_snapshot_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path, 34)
    broken = files_of(tmp_path)[3]
    apply = histories.apply

    def failing(found: Records, changes: Records, path: str) -> None:
        if path == str(broken):
            raise errors.BadFile(path, 'no changes')
        apply(found, changes, path)

    monkeypatch.setattr(histories, 'apply', failing)
    assert list(read(tmp_path)) == [day(each) for each in (0, 1, 2, 31, 32, 33)]


def test_saving_goes_on_after_damage(tmp_path: Path) -> None:
    snapshots = kept(tmp_path, 4)
    last = files_of(tmp_path)[3]
    last.write_bytes(last.read_bytes()[:-1])
    assert saved(tmp_path, snapshots[0], day(4)) == [
        f'{last}: damaged or truncated: this snapshot is left out'
    ]
    found = read(tmp_path)
    assert list(found) == [day(0), day(1), day(2), day(4)]
    assert is_same(found[day(4)], snapshots[0])
    assert files_of(tmp_path)[4].name == '000005-20260105T000000Z.difference'
    first = files_of(tmp_path)[0]
    first.write_bytes(first.read_bytes()[:-1])
    assert len(saved(tmp_path, snapshots[1], day(5))) == 2
    assert list(read(tmp_path)) == [day(5)]


def _save_many(folder: str, begin: int) -> None:
    for number in range(begin, begin + 8):
        saved(Path(folder), cloud([provider(f'host{number}')]), day(number))


def test_two_writers_take_turns(tmp_path: Path) -> None:
    folder = tmp_path / 'daily'
    context = multiprocessing.get_context('fork')
    writers = [context.Process(target=_save_many, args=(str(folder), begin)) for begin in (0, 100)]
    for each in writers:
        each.start()
    for each in writers:
        each.join(60)
        assert each.exitcode == 0
    told: list[str] = []
    found = read(folder, told)
    assert sorted(found) == sorted(day(n) for n in (*range(8), *range(100, 108)))
    assert all(len(snapshot.providers) == 1 for snapshot in found.values())
    assert (told, len(files_of(folder))) == ([], 16)


def _save_and_die(folder: str) -> None:
    os.replace = lambda *_: os._exit(9)
    saved(Path(folder), cloud([provider('host')]), day(9))


def test_a_writer_that_was_killed_leaves_nothing(tmp_path: Path) -> None:
    snapshots = kept(tmp_path, 2)
    process = multiprocessing.get_context('fork').Process(
        target=_save_and_die, args=(str(tmp_path),)
    )
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert len(files_of(tmp_path)) == 3, 'the file that was not finished'
    assert list(read(tmp_path)) == [day(0), day(1)]
    saved(tmp_path, snapshots[0], day(2))
    assert [path.name for path in files_of(tmp_path)] == [
        '000001-20260101T000000Z.whole',
        '000002-20260102T000000Z.difference',
        '000003-20260103T000000Z.difference',
    ]


def test_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / '.note').touch()
    (tmp_path / 'README').touch()
    kept(tmp_path, 1)
    assert len(files_of(tmp_path)) == 3
    assert list(read(tmp_path)) == [day(0)]


def test_a_clock_that_went_back_is_told_and_the_order_of_saving_stays(tmp_path: Path) -> None:
    one, two, three = randoms(3)
    saved(tmp_path, one, day(1))
    saved(tmp_path, two, day(365))
    assert saved(tmp_path, three, '2026-01-03T02:00:00+02:00') == [
        f'the snapshot before was read at {day(365)}, this one at {day(2)}: a clock was wrong. The '
        'history has them in the order in which they were saved'
    ]
    assert list(read(tmp_path)) == [day(1), day(365), day(2)]
    assert is_same(at(tmp_path, '2026-02-01'), three)
    assert is_same(at(tmp_path, '2026-01-02'), one)


def test_another_service_has_another_history(tmp_path: Path) -> None:
    saved(tmp_path, cloud([]), day(0))
    with pytest.raises(errors.BadFile, match='/placement, not of http'):
        saved(tmp_path, cloud([]), day(1), 'http://127.0.0.1/other')
    assert len(files_of(tmp_path)) == 1


@pytest.mark.parametrize('at', [None, '', 'yesterday'])
def test_a_snapshot_that_has_no_time_is_refused(tmp_path: Path, at: str | None) -> None:
    snapshot = cloud([])
    snapshot.origin = Origin(at)
    with pytest.raises(errors.BadFile, match='does not say when it was read'):
        history.append(str(tmp_path), snapshot, {}, pytest.fail)
    assert files_of(tmp_path) == []


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    for folder in (tmp_path / 'file', tmp_path / 'missing' / 'daily'):
        with pytest.raises(errors.BadFile):
            saved(folder, cloud([]), day(0))
    with pytest.raises(errors.BadFile, match='has no snapshots'):
        history.entries(str(tmp_path), pytest.fail)


def test_a_story_reads_the_records_that_it_needs(tmp_path: Path) -> None:
    for number, host in enumerate(['a', 'a', 'b']):
        held = [consumer('s', **{host: {'VCPU': 1}}), consumer('t', b={'VCPU': 1})]
        states = [provider('a'), provider('b'), provider('c', parent='a')]
        saved(tmp_path, cloud(states, held), day(number))
    found = history.entries(str(tmp_path), pytest.fail)
    seen = moments.of_consumer(found, 's', pytest.fail)
    assert [at for at, _ in seen] == [day(0), day(1), day(2)]
    for _, snapshot in seen:
        assert (set(snapshot.providers), set(snapshot.consumers)) == ({'a', 'b'}, {'s'})
    uuids, seen = moments.of_provider(found, 'c', pytest.fail)
    assert uuids == {'c'}
    assert all(set(snapshot.providers) == {'a', 'c'} for _, snapshot in seen)
