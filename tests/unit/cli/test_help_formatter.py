# SPDX-License-Identifier: Apache-2.0
"""The layout of help."""

import argparse

import pytest

from placementclient.cli.entry_points import load_command
from placementclient.cli.help_formatter import HelpFormatter, wrap_help_text
from tests.unit.commands.test_registry import every_command, parser_of


@pytest.fixture(params=[60, 80, 132])
def width(request, monkeypatch):
    monkeypatch.setenv('COLUMNS', str(request.param))
    return request.param


def test_the_overview_fits_the_terminal(placement, width):
    lines = placement('--help').stdout.splitlines()
    assert [line for line in lines if len(line) > width] == []


@every_command
def test_the_help_of_a_command_fits_the_terminal(point, monkeypatch):
    monkeypatch.setenv('COLUMNS', '80')
    lines = parser_of(point).format_help().splitlines()
    assert [line for line in lines if len(line) > 80] == []


@every_command
def test_the_help_has_usage_sentence_examples_arguments_and_options_in_this_order(point):
    command, lines = load_command(point), parser_of(point).format_help().splitlines()
    assert lines[0].startswith('usage: ')
    sentence = lines[lines.index('') + 1]
    assert command.__doc__.startswith(sentence)
    headings = [line for line in lines if line.endswith(':') and not line.startswith(' ')]
    wanted = ['Example:', 'Examples:', 'arguments:', 'options:', 'output:', 'Exit status:']
    places = [wanted.index(line) for line in headings if line in wanted]
    assert places == sorted(places)
    assert len(headings) == len(set(headings))


def parser(**settings):
    made = argparse.ArgumentParser('p', formatter_class=HelpFormatter, **settings)
    made.add_argument('host', metavar='<host>', nargs='*', help='A host.')
    made.add_argument('--spec', metavar='<file>', required=True, help='The specification.')
    made.add_argument('--hidden', help=argparse.SUPPRESS)
    return made


def test_the_usage_has_the_arguments_and_the_required_options():
    assert parser().format_usage() == 'usage: p [<host> ...] --spec <file> [options]\n'


def test_groups_with_one_heading_are_one_and_those_of_formats_are_last():
    made = parser()
    made.add_argument_group('json formatter').add_argument('--indent', help='Indent it.')
    made.add_argument_group('changes').add_argument('--yes', help='Do not ask.')
    made.add_argument_group('CSV Formatter').add_argument('--lines', help='Line it.')
    made.add_argument_group('changes').add_argument('--plan', help='Plan it.')
    shown = made.format_help()
    assert shown.endswith(
        """
changes:
  --yes YES             Do not ask.
  --plan PLAN           Plan it.

output:
  --indent INDENT       Indent it.
  --lines LINES         Line it.
"""
    )
    assert '--hidden' not in shown


@pytest.mark.parametrize(
    ('text', 'lines'),
    [
        ('one two three four five six', ['one two three four five', 'six']),
        ('one\ntwo\n\nthree', ['one two', '', 'three']),
        (
            '  * one two three four five\n    six\n  * seven',
            ['  * one two three four', '    five six', '  * seven'],
        ),
        ('  3  one two three four five', ['  3  one two three four', '     five']),
        (
            "  program --name 'one two three' --yes",
            ['  program --name \\', "    'one two three' \\", '    --yes'],
        ),
        ('  program --max-width 8', ['  program --max-width 8']),
        (
            '  program a --tree compute1 --yes',
            ['  program a \\', '    --tree compute1 \\', '    --yes'],
        ),
    ],
)
def test_paragraphs_and_items_are_wrapped_and_commands_stay_commands(text, lines):
    assert list(wrap_help_text(text, 24)) == lines
