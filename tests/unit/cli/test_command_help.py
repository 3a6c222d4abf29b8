# SPDX-License-Identifier: Apache-2.0
"""The list of commands, and what is said of one that does not exist."""

import inspect

import pytest

from placementclient.cli import command_help, shell
from placementclient.cli.entry_points import load_command
from tests.unit.commands.test_registry import every_command

NAMES = [
    'batch',
    'trait list',
    'trait show',
    'resource provider list',
    'resource provider inventory class set',
    'resource provider drain plan',
    'resource provider inventory set',
]


@pytest.mark.parametrize(
    ('command', 'subject'),
    [
        ('resource provider list', 'resource provider'),
        ('resource provider inventory class set', 'resource provider inventory'),
        ('trait list', 'trait'),
        ('batch', 'this program'),
    ],
)
def test_a_command_has_a_subject(command, subject):
    assert command_help.extract_subject(command) == subject


@pytest.mark.parametrize(
    ('typed', 'meant'),
    [
        ('trait lst', ['trait list']),
        ('trait', ['trait list', 'trait show']),
        ('resource provder list', ['resource provider list']),
        ('resource provder list compute1 more', ['resource provider list']),
        ('resource provider drain compute1', ['resource provider drain plan']),
        ('drain plan', ['resource provider drain plan']),
        ('drain plan compute1', ['resource provider drain plan']),
        ('inventory', [f'resource provider inventory {end}' for end in ('class set', 'set')]),
        ('list', ['resource provider list', 'trait list']),
        ('something entirely different', []),
        ('', []),
    ],
)
def test_a_mistyped_command_has_suggestions(typed, meant):
    assert command_help.find_meant_commands(typed.split(), NAMES) == meant


def test_commands_are_listed_by_subject(placement):
    output = placement('--help').stdout
    headings = [line for line in output.splitlines() if line.endswith(':') and line[0] != ' ']
    assert headings[-3:] == ['trait:', 'this program:', 'options:']
    assert 'resource provider inventory:' in headings
    assert len(headings) == len(set(headings))


@pytest.mark.parametrize('argv', ['help trait', 'trait --help'])
def test_a_subject_has_a_help_of_its_own(placement, argv):
    result = placement(argv)
    assert (result.status, result.stderr) == (0, '')
    assert result.stdout.startswith('\ntrait:\n  trait create  Create a custom trait')
    assert 'resource provider trait' not in result.stdout


@pytest.mark.parametrize('variable', ['OS_CLOUD', 'OS_AUTH_TYPE'])
def test_without_authentication_it_is_said_what_to_set(capsys, monkeypatch, variable):
    assert shell.main(['trait', 'list']) == 1
    error = capsys.readouterr().err
    assert error.count('\n') == 1
    for what in ('OS_CLOUD', 'OS_AUTH_URL', 'clouds.yaml', '--os-auth-type placement_direct'):
        assert what in error
    # What needs no service needs no settings, not even right ones.
    monkeypatch.setenv(variable, 'nonsense')
    assert shell.main(['complete', 'bash']) == 0


def test_the_options_of_a_way_to_authenticate_are_in_its_help(capsys):
    assert shell.main(['--os-auth-type', 'v3token', '--help']) == 0
    assert '--os-token' in capsys.readouterr().out
    assert shell.main(['--help']) == 0
    assert '--os-token' not in capsys.readouterr().out


@every_command
def test_a_summary_is_that_of_the_command(point):
    documentation = inspect.getdoc(load_command(point)) or ''
    summary = command_help.read_summaries()[point.name.replace('_', ' ')]
    assert summary == documentation.partition('\n')[0].rstrip('.'), 'see cli/summaries.txt'


def test_each_summary_is_that_of_a_command():
    names = {name for name, _ in shell.Shell().command_manager}
    assert set(command_help.read_summaries()) == names
