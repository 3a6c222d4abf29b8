"""The pages for those who come from elsewhere name commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.commands.test_registry import POINTS, name

_SOURCE = Path(__file__).parents[3] / 'doc' / 'source'
PAGES = ''.join((_SOURCE / f'{page}.rst').read_text() for page in ('coming-from', 'nova-manage'))
#: Those of osc-placement 4.9.1.
THEIRS = {
    'allocation candidate list',
    'resource class create',
    'resource class delete',
    'resource class list',
    'resource class set',
    'resource class show',
    'resource provider aggregate list',
    'resource provider aggregate set',
    'resource provider allocation delete',
    'resource provider allocation set',
    'resource provider allocation show',
    'resource provider allocation unset',
    'resource provider create',
    'resource provider delete',
    'resource provider inventory class set',
    'resource provider inventory delete',
    'resource provider inventory list',
    'resource provider inventory set',
    'resource provider inventory show',
    'resource provider list',
    'resource provider set',
    'resource provider show',
    'resource provider trait delete',
    'resource provider trait list',
    'resource provider trait set',
    'resource provider usage show',
    'resource usage show',
    'trait create',
    'trait delete',
    'trait list',
    'trait show',
}
#: The two cells of a row of a table.
ROW = r'\* - ((?:.|\n)+?)\n     - ((?:.|\n)+?)(?=\n   \* -|\n\n\S|$)'
COMMANDS = {name(point) for point in POINTS}


def test_every_command_of_osc_placement_is_here():
    assert COMMANDS > THEIRS


def test_the_commands_that_are_named_exist():
    literal = r'``(?:placement )?((?:resource|allocation candidate) [a-z ]+)``'
    named = set(re.findall(literal, PAGES))
    assert len(named) > 20
    assert named <= COMMANDS


def test_the_options_that_are_named_exist():
    """Those of the command in the heading of each table."""
    tables = re.split(r'\.\. list-table::', PAGES)[1:]
    checked = 0
    for table in tables:
        heading, *rows = re.findall(ROW, table)
        command = re.match(r'``(resource [a-z ]+)``', heading[1])
        if command is None:
            continue
        [point] = [point for point in POINTS if name(point) == command[1]]
        known = point.load()(None, None).get_parser(command[1])._option_string_actions
        for _, ours in rows:
            for option in re.findall(r'``(--[a-z-]+)', ours):
                assert option in known, f'{command[1]} {option}'
                checked += 1
    assert checked > 8
