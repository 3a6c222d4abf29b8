# SPDX-License-Identifier: Apache-2.0
"""The progress of long work on a terminal."""

import io
import logging
from types import SimpleNamespace

import pytest

from placementclient.commands.framework import progress

ERASE = '\r\x1b[K'


class Terminal(io.StringIO):
    """A stream that draws."""

    def isatty(self):
        return True


def command(app, log):
    return SimpleNamespace(app=app, log=logging.getLogger(log))


def test_progress_counts_states_on_one_line_and_removes_it(monkeypatch):
    monkeypatch.setattr(progress, '_PAUSE', -1)
    app = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    with progress.show_progress(command(app, 'quiet')) as show:
        show('host1')
        show.set_total(4)
        show.warn('host\x1b[2J is gone')
        show('host\x1b[2J', 'applied', 'it took long')
        show('host3', 'applied')
        show('host4', 'left alone')
    first, *drawn, last = app.stderr.getvalue().split(ERASE)
    assert (first, last) == ('', '')
    assert [line.replace('\x1b[?7l', '').replace('\x1b[?7h', '') for line in drawn] == [
        '0 done, 0 s',
        '1 done, 0 s: host1',
        '▕███         ▏ 1 of 4 done, 0 s: host1',
        'host\\x1b[2J is gone\n',
        '▕███         ▏ 1 of 4 done, 0 s: host1',
        '▕██████      ▏ 2 of 4 done, 0 s: 1 applied',
        '▕█████████   ▏ 3 of 4 done, 0 s: 2 applied',
        '▕████████████▏ 4 of 4 done, 0 s: 2 applied, 1 left alone: host4',
    ]


def test_progress_draws_few_of_many_steps():
    app = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    with progress.show_progress(command(app, 'quiet'), 10000) as show:
        for number in range(10000):
            show(f'host{number}')
    assert app.stderr.getvalue().count(ERASE) < 1000


@pytest.mark.parametrize('stream', [io.StringIO, Terminal])
def test_progress_is_logged_without_a_terminal_or_with_v(stream, caplog):
    app = SimpleNamespace(stderr=stream(), stdout=io.StringIO())
    caplog.set_level(logging.INFO)
    with progress.show_progress(command(app, 'told'), 2) as show:
        show('host1')
        show.warn('careful')
        show('host2', 'left alone', 'it differs')
    assert app.stderr.getvalue() == ''
    assert caplog.messages == ['host1', 'careful', 'host2: left alone: it differs']


def test_no_bar_is_drawn_where_stderr_goes_to_stdout():
    screen = Terminal()
    app = SimpleNamespace(stderr=screen, stdout=screen)
    with progress.show_progress(command(app, 'quiet'), 2) as show:
        show('host1: done')
    assert screen.getvalue() == ''


def test_a_dumb_terminal_gets_no_escape_codes(monkeypatch):
    monkeypatch.setenv('TERM', 'dumb')
    app = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    with progress.show_progress(command(app, 'quiet'), 2) as show:
        show('host1')
    assert app.stderr.getvalue() == ''
