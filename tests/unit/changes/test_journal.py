# SPDX-License-Identifier: Apache-2.0
"""The journal of a plan, whatever happened while it was written."""

import errno
import fcntl
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from placementclient.basis import errors
from placementclient.changes import journal
from placementclient.changes.operations import CreateProvider, Reshape
from placementclient.changes.records import operations
from placementclient.client.http import Client
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot

ROOT = '9cfef3b3-1b47-4ae9-9e30-f2a1f3b9a2d7'
CHANGE = Change({ROOT: 'a'}, Snapshot((), ()), Snapshot((), ()), is_atomic=True)
CREATE, RESHAPE = CreateProvider(ROOT, 'Köln', None), Reshape((), ())


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / 'plan.journal')


def test_a_journal_returns_what_was_noted_of_each_tree(path):
    with journal.open_journal(path, 'one') as opened:
        opened.write_intent(ROOT, operations.encode_brief(CREATE))
        opened.write_outcome(ROOT, 'done', Client(None))
        assert (opened.get_record(ROOT).is_begun, opened.get_record(ROOT).ended) == (True, None)
        opened.write_new_plan(CHANGE)
    with journal.open_journal(path, 'one') as opened:
        record = opened.get_record(ROOT)
        assert (record.is_begun, record.ended) == (True, None)
        assert record.plan == CHANGE
        opened.write_end(ROOT, 'applied')
    assert journal.read_records(path, 'one')[ROOT].ended == 'applied'


def test_a_missing_journal_is_an_empty_one(path):
    assert journal.read_records(path, 'one') == {}


def test_a_journal_is_only_appended_to(path, monkeypatch):
    with journal.open_journal(path, 'one') as opened:
        opened.write_intent(ROOT, operations.encode_brief(CREATE))
        opened.write_end(ROOT, 'applied')
    whole = Path(path).read_bytes()
    monkeypatch.setattr(os, 'fsync', lambda descriptor: None)
    for length in range(len(whole) + 1):
        Path(path).write_bytes(whole[:length])
        with journal.open_journal(path, 'one') as opened:
            opened.write_intent(ROOT, operations.encode_brief(RESHAPE))
        assert Path(path).read_bytes().startswith(whole[:length])
        record = journal.read_records(path, 'one')[ROOT]
        assert (record.is_begun, record.ended) == (True, None)


def test_a_journal_belongs_to_one_plan(path):
    with journal.open_journal(path, 'one'):
        pass
    with pytest.raises(errors.BadFile, match='another plan'), journal.open_journal(path, 'two'):
        pass
    with pytest.raises(errors.BadFile, match='another plan'):
        journal.read_records(path, 'two')


@pytest.mark.parametrize(
    'content',
    [
        *('hello\nworld\n', '[]\n', '{"journal": "other"}\n', '{"a": 1}\n{"b": 2}\n'),
        *('hello', '{"at": "2026', 'precious: 1', '{"journal":"placementclient/other'),
    ],
)
def test_a_journal_is_not_appended_to_another_file(path, content):
    Path(path).write_text(content)
    with pytest.raises(errors.BadFile, match='not a journal'), journal.open_journal(path, 'one'):
        pass
    assert Path(path).read_text() == content


def test_a_journal_is_open_once_at_a_time(path):
    with (
        journal.open_journal(path, 'one'),
        pytest.raises(journal.JournalLocked) as caught,
        journal.open_journal(path, 'one'),
    ):
        pass
    assert caught.value.path == path
    with journal.open_journal(path, 'one'):
        pass


def test_a_journal_that_another_run_removed_before_it_was_locked_is_not_open(path, monkeypatch):
    def replace_file(descriptor, operation):
        os.unlink(path)
        Path(path).touch()

    monkeypatch.setattr(fcntl, 'flock', replace_file)
    with pytest.raises(journal.JournalLocked), journal.open_journal(path, 'one'):
        pass


def test_after_a_failure_nothing_is_written_any_more(path, monkeypatch):
    """Not even if there is room again: it would continue a line that is not complete."""
    with journal.open_journal(path, 'one') as opened:

        def full(descriptor, content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(os, 'write', full)
            with pytest.raises(journal.JournalFailed, match='No space left'):
                opened.write_intent(ROOT, operations.encode_brief(RESHAPE))
        with pytest.raises(journal.JournalFailed):
            opened.write_outcome(ROOT, 'done', Client(None))
        assert not opened.get_record(ROOT).is_begun


def test_a_disk_that_does_not_sync_stops_an_intent(path, monkeypatch):
    with journal.open_journal(path, 'one') as opened:

        def broken(descriptor):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        monkeypatch.setattr(os, 'fsync', broken)
        with pytest.raises(journal.JournalFailed, match='Input/output error'):
            opened.write_intent(ROOT, operations.encode_brief(RESHAPE))


def test_a_journal_that_was_removed_stops_an_intent(path):
    with journal.open_journal(path, 'one') as opened:
        opened.write_beginning()
        os.unlink(path)
        with pytest.raises(journal.JournalFailed, match='it was removed: nothing more'):
            opened.write_intent(ROOT, operations.encode_brief(RESHAPE))


def test_threads_share_a_sync_and_wait_for_their_lines(path, monkeypatch):
    """The first sync lasts until all others have written; the next is for all of them.

    A third may be, for the thread whose line is written and not counted yet.
    """
    threads = 8
    syncs = []
    with journal.open_journal(path, 'one') as opened:
        opened.write_beginning()

        def slow(descriptor):
            content = Path(path).read_bytes()
            end = time.monotonic() + 5
            while not syncs and Path(path).read_bytes().count(b'\n') < 1 + threads:
                assert time.monotonic() < end
                time.sleep(0.001)
            syncs.append(content)

        def intend(number):
            opened.write_intent(f'tree {number}', operations.encode_brief(CREATE))
            return any(b'tree %d' % number in content for content in syncs)

        monkeypatch.setattr(os, 'fsync', slow)
        with ThreadPoolExecutor(threads) as pool:
            assert all(pool.map(intend, range(threads)))
    assert len(syncs) <= 3


def test_every_line_of_a_journal_has_its_time_in_utc(path):
    with journal.open_journal(path, 'one') as opened:
        opened.write_outcome(ROOT, 'done', Client(None))
    lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert all(line['at'].endswith('+00:00') for line in lines)


@pytest.mark.parametrize('path', ['/nowhere/plan.journal', '/'])
def test_a_path_without_a_journal_is_an_error(path):
    with pytest.raises(errors.BadFile), journal.open_journal(path, 'one'):
        pass


def test_a_link_that_others_may_have_made_is_not_followed(tmp_path):
    (tmp_path / 'precious').write_text('')
    path = tmp_path / 'plan.journal'
    path.symlink_to(tmp_path / 'precious')
    tmp_path.chmod(0o1777)
    with (
        pytest.raises(errors.BadFile, match='symbolic link'),
        journal.open_journal(str(path), 'one'),
    ):
        pass
    with pytest.raises(errors.BadFile, match='symbolic link'):
        journal.read_records(str(path), 'one')
    assert (tmp_path / 'precious').read_text() == ''


def test_a_file_system_without_locks_is_an_error(path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, 'flock', flock)
    with (
        pytest.raises(errors.BadFile, match='No locks available'),
        journal.open_journal(path, 'one'),
    ):
        pass


def test_an_intent_that_was_refused_or_taken_back_was_not_sent(path):
    with journal.open_journal(path, 'one') as opened:
        for outcome, undone in [('done', 0), ('done', 0), ('refused: no', 1), ('taken back', 1)]:
            if outcome != 'taken back':
                opened.write_intent(ROOT, operations.encode_whole(CREATE) | {'outcome': outcome})
            opened.write_outcome(ROOT, outcome, Client(None), undone=undone)
    (sent,) = journal.read_records(path, 'one')[ROOT].sent
    assert sent['values']['name'] == 'Köln'


@pytest.mark.parametrize(
    ('ended', 'is_other_way', 'count'),
    [
        ('applied', False, 0),
        ('rolled back', True, 0),
        ('left alone', False, 0),
        ('left alone', True, 1),
        ('done in part', False, 1),
    ],
)
def test_a_journal_counts_what_is_done_of_an_unfinished_tree(path, ended, is_other_way, count):
    with journal.open_journal(path, 'one') as opened:
        opened.write_intent(ROOT, operations.encode_brief(CREATE))
        opened.write_outcome(ROOT, 'done', Client(None))
        opened.write_intent(ROOT, operations.encode_brief(RESHAPE))
        opened.write_outcome(ROOT, 'refused: no', Client(None), undone=1)
        assert [request['name'] for request in opened.list_done_requests(ROOT)] == ['Köln']
    with journal.open_journal(path, 'one', backward=is_other_way) as opened:
        assert len(opened.list_done_requests(ROOT)) == (not is_other_way)
        opened.write_end(ROOT, ended)
    with journal.open_journal(path, 'one') as opened:
        assert len(opened.list_done_requests(ROOT)) == count
