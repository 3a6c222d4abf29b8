"""Processes that share a run: where they are refused, and what they do when nobody is left."""

from __future__ import annotations

import multiprocessing
import pickle

import pytest
from keystoneauth1 import noauth
from keystoneauth1.session import Session

from placementclient import errors
from placementclient.direct import Direct
from placementclient.http import Client
from placementclient.reshape import multiprocess
from placementclient.reshape.journal import JournalFailed


def test_over_http_the_service_has_processes_of_its_own() -> None:
    client = Client(Session(auth=noauth.NoAuth(endpoint='http://placement.test')))
    with pytest.raises(errors.UsageError, match='over HTTP the service has processes'):
        multiprocess.check(client)


def test_without_who_writes_the_journal_nothing_more_is_sent() -> None:
    ours, theirs = multiprocessing.Pipe()
    lines = multiprocess.DistantLines('plan.json.journal', theirs)
    ours.close()
    with pytest.raises(JournalFailed, match='nobody writes it any more'):
        lines.append(b'{}\n', synced=True)


def test_a_failure_of_who_writes_the_journal_is_that_of_who_asked() -> None:
    ours, theirs = multiprocessing.Pipe()
    lines = multiprocess.DistantLines('plan.json.journal', theirs)
    ours.send(JournalFailed('plan.json.journal', 'No space left on device'))
    with pytest.raises(JournalFailed, match='No space left'):
        lines.append(b'{}\n', synced=True)


def test_lines_are_sent_when_they_have_to_be_on_the_disk() -> None:
    ours, theirs = multiprocessing.Pipe()
    lines = multiprocess.DistantLines('plan.json.journal', theirs)
    lines.append(b'1\n')
    lines.append(b'2\n')
    assert not ours.poll()
    ours.send(None)
    lines.append(b'3\n', synced=True)
    assert ours.recv() == b'1\n2\n3\n'
    lines.append(b'4\n')
    assert lines.taken() == b'4\n'


def test_the_embedded_service_is_on_the_same_database_in_another_process() -> None:
    direct = Direct('mysql+pymysql://placement:secret@db/placement', None, 'service')
    there = pickle.loads(pickle.dumps(direct))
    assert there.get_headers(None) == direct.get_headers(None)
    with Direct.scratch() as scratch, pytest.raises(TypeError, match="process's own"):
        pickle.dumps(scratch)
