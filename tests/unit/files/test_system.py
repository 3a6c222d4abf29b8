# SPDX-License-Identifier: Apache-2.0
"""Files of the program: only its own are used, and none of them stops it."""

import fcntl
import os

import pytest

from placementclient.basis import errors
from placementclient.files import system


def fifo(path, monkeypatch):
    os.mkfifo(path, 0o600)


def device(path, monkeypatch):
    path.symlink_to('/dev/zero')


def writable_for_others(path, monkeypatch):
    path.touch()
    path.chmod(0o620)


def of_another_user(path, monkeypatch):
    path.touch(0o600)
    if os.geteuid():
        monkeypatch.setattr(os, 'geteuid', lambda: 4711)
    else:
        os.chown(path, 4711, -1)


def huge(path, monkeypatch):
    path.touch(0o600)
    os.truncate(path, 3 << 30)


@pytest.mark.parametrize(
    ('prepare', 'reason'),
    [
        (fifo, 'is not a regular file'),
        (device, 'is not a regular file'),
        (writable_for_others, 'others may write to it'),
        (of_another_user, 'belongs to another user'),
        (huge, 'is larger than 1024 MiB'),
    ],
)
@pytest.mark.parametrize('flags', [os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_APPEND])
def test_files_that_others_may_write_are_refused(tmp_path, monkeypatch, prepare, reason, flags):
    path = tmp_path / 'plan.json.journal'
    prepare(path, monkeypatch)
    with pytest.raises(errors.BadFile, match=reason) as refusal:
        system.open_own_file(str(path), flags)
    assert refusal.value.path == str(path)


def test_files_of_the_user_are_read(tmp_path):
    path = tmp_path / 'own'
    os.close(system.open_own_file(str(path), os.O_RDWR | os.O_CREAT))
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text('content')
    assert system.read_own_file(str(path)) == b'content'


def test_the_process_that_has_a_lock_is_named(tmp_path):
    path = tmp_path / 'own'
    path.touch()
    with path.open() as stream, path.open() as other:
        assert system.describe_lock_holder(other.fileno()) == 'another process'
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert system.describe_lock_holder(other.fileno()) == f'process {os.getpid()}'
