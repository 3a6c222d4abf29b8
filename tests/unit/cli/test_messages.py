# SPDX-License-Identifier: Apache-2.0
"""Messages on a terminal: lines break between words, commands stay whole."""

import io

import pytest

from placementclient.cli import messages
from tests.unit.dialogue import RP

WIDTH = 40


@pytest.mark.parametrize(
    ('line', 'lines'),
    [
        (
            'Give the servers with --servers FILE, or their names with --gone',
            ['Give the servers with --servers FILE, or', 'their names with --gone'],
        ),
        (
            '  1. Print a script and run it on all of the hosts: placement resource provider list',
            [
                '  1. Print a script and run it on all of',
                '    the hosts:',
                '    placement resource provider list',
            ],
        ),
        (
            'Wait for them: openstack server migration list shows them. Go on',
            ['Wait for them: openstack server', 'migration list shows them. Go on'],
        ),
        *(
            (command, [command])
            for command in (
                f'placement resource provider purge {RP} --force',
                f'  openstack server delete {RP}',
                f'  2. placement resource provider show {RP}',
            )
        ),
    ],
    ids=['options', 'last', 'in a sentence', 'alone', 'indented', 'step'],
)
def test_a_message_breaks_between_words_and_a_command_has_a_whole_line(line, lines):
    assert messages.wrap_message(line, WIDTH).split('\n') == lines


def test_a_message_for_no_terminal_stays_as_it_is():
    stream, line = io.StringIO(), 'a b ' * 40
    messages.print_message(line, stream)
    assert stream.getvalue() == f'{line}\n'


@pytest.mark.parametrize(
    'command',
    [
        'resource provider list --requird CUSTOM_A',
        'resource provider list --limit',
        'resource provider inventory set',
        f'resource provider trait add {RP} CUSTOM_A --dry-run',
        'resource provider lst --name compute1',
        '--os-auth-type password resource class list',
    ],
)
def test_errors_on_a_terminal_break_between_words(placement, monkeypatch, command):
    monkeypatch.setenv('COLUMNS', str(WIDTH))
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    printed = placement(command).stderr
    assert len(printed) > WIDTH
    # A command to be copied stays one line.
    lines = [line for line in printed.splitlines() if not line.startswith('  placement ')]
    assert [line for line in lines if len(line) > WIDTH] == []
