"""``--watch``: a table that is drawn anew on a terminal, here a pseudo terminal."""

from __future__ import annotations

import io
import logging
import os
import pty
import signal
from argparse import Namespace
from types import SimpleNamespace

import pytest

from placementclient.commands.framework import watching as watched
from tests.unit.commands.clouds import save, small
from tests.unit.insight.clouds import cloud, provider
from tests.watching import ENTER, HEIGHT, HOME, LEAVE, TIMEOUT, watching

SHOW = 'resource capacity show --by class --snapshot cloud.json'


@pytest.mark.slow
def test_the_table_is_drawn_in_its_place_until_ctrl_c(tmp_path):
    save(tmp_path, 'cloud.json', small())
    with watching(f'{SHOW} --watch 1', tmp_path) as watch:
        # Nothing of what was on the terminal is drawn over.
        assert ENTER not in watch.wait_for(ENTER)
        drawn = watch.wait_for('placement resource capacity show, every 1 s until Ctrl-C')
        assert drawn.startswith('\x1b[?25l') or HOME in drawn
        watch.wait_for('| VGPU ')
        save(tmp_path, 'cloud.json', cloud([provider('host1', CUSTOM_NEW=7)]))
        between = watch.wait_for('| CUSTOM_NEW ')
        # From the corner, and so many lines as there are: nothing scrolls.
        assert between.rpartition(HOME)[2].count('\n') < HEIGHT
        status, left = watch.end(signal.SIGINT)
    assert status == 130
    assert 'Traceback' not in left
    # The cursor is seen again, and the last table stays below what was there before.
    assert '\x1b[?25h' in left
    assert '| CUSTOM_NEW ' in left.rpartition(LEAVE)[2]


@pytest.mark.slow
def test_a_reading_that_fails_is_said_and_the_last_good_one_stays(tmp_path):
    save(tmp_path, 'cloud.json', small())
    with watching(f'{SHOW} --watch 1', tmp_path) as watch:
        watch.wait_for('| VGPU ')
        (tmp_path / 'cloud.json').write_text('{"is": "none"}')
        watch.wait_for('  cloud.json: ')
        watch.wait_for('| VGPU ')
        save(tmp_path, 'cloud.json', cloud([provider('host1', CUSTOM_NEW=7)]))
        assert 'cloud.json: ' not in watch.wait_for('| CUSTOM_NEW ').rpartition(HOME)[2]
        # Where there is nothing any more, that is said, and no table stays.
        save(tmp_path, 'cloud.json', cloud([]))
        watch.wait_for('Nothing found')
        save(tmp_path, 'cloud.json', small())
        assert 'CUSTOM_NEW' not in watch.wait_for('| VGPU ').rpartition(HOME)[2]
        # Whoever ends it, the terminal is as it was.
        status, left = watch.end(signal.SIGTERM)
    assert (status, LEAVE in left) == (130, True)


@pytest.mark.slow
def test_what_has_no_room_is_counted_and_names_steer_nothing(tmp_path):
    hosts = [provider(f'host\x1b[2J{number}', VCPU=1) for number in range(40)]
    save(tmp_path, 'cloud.json', cloud(hosts))
    with watching('resource capacity show --snapshot cloud.json --watch 1', tmp_path) as watch:
        drawn = watch.wait_for(' more lines')
        assert r'host\x1b[2J' in drawn
        assert '\x1b[2J' not in drawn
        assert drawn.rpartition(HOME)[2].count('\n') == HEIGHT - 1
        watch.end(signal.SIGINT)


def test_what_cannot_be_read_at_all_is_an_error(tmp_path):
    with watching(f'{SHOW} --watch 1', tmp_path) as watch:
        watch.wait_for('cloud.json: No such file')
        assert watch.process.wait(TIMEOUT) == 1
        assert ENTER not in watch.written


class Failing(watched.WatchingLister):
    """Fail as nobody foresaw."""

    auth_required = False

    def take_action(self, parsed_args):
        raise KeyError('x')


def test_no_reading_ends_it():
    stderr = io.StringIO()
    handler = logging.StreamHandler(stderr)
    app = SimpleNamespace(
        options=SimpleNamespace(debug=False), stdout=io.StringIO(), stderr=stderr, parsers={}
    )
    logging.getLogger().addHandler(handler)
    reading = Failing(app, None)._read(Namespace(formatter='table'))
    assert reading == (1, '', "KeyError: 'x'\n")
    assert reading.has_failed
    assert stderr.getvalue() == ''


def test_without_a_terminal_it_is_wrong_usage(placement, tmp_path):
    file = save(tmp_path, 'cloud.json', small())
    result = placement(f'resource capacity show --snapshot {file} --watch 5')
    assert (result.status, result.stdout) == (2, '')
    assert result.stderr == '--watch draws on a terminal: without one, run the command in a loop\n'
    assert placement(f'resource capacity show --snapshot {file} --watch 0').status == 2


@pytest.mark.parametrize('term', ['dumb', ''])
def test_a_terminal_that_cannot_be_drawn_on(term, tmp_path, monkeypatch):
    from placementclient.commands.framework import watching as module

    monkeypatch.setenv('TERM', term)
    above, below = pty.openpty()
    with os.fdopen(below, 'w') as stdout:
        assert not module._is_drawable(stdout)
        monkeypatch.setenv('TERM', 'xterm')
        assert module._is_drawable(stdout)
    os.close(above)


@pytest.mark.slow
@pytest.mark.parametrize(
    ('command', 'first', 'then'),
    [
        ('tree show host1', 'VGPU', 'CUSTOM_NEW'),
        ('tree list', 'host1_gpu', 'CUSTOM_NEW'),
        ('audit', 'on-several-trees', 'Nothing found'),
    ],
)
def test_trees_and_findings_are_watched(tmp_path, command, first, then):
    save(tmp_path, 'cloud.json', small())
    typed = f'resource provider {command} --snapshot cloud.json --watch 1'
    with watching(typed, tmp_path) as watch:
        watch.wait_for(first)
        save(tmp_path, 'cloud.json', cloud([provider('host1', CUSTOM_NEW=7)]))
        watch.wait_for(then)
        assert watch.end(signal.SIGINT)[0] == 130


def test_what_changes_something_is_not_watched(placement, tmp_path):
    file = save(tmp_path, 'cloud.json', small())
    result = placement(f'resource provider audit --snapshot {file} --fix --yes --watch 1')
    assert result.status == 2
