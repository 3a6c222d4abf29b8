# SPDX-License-Identifier: Apache-2.0
"""The commands as they are registered: endpoints, help and examples."""

import argparse
import inspect
import re
import shlex
from collections import Counter
from importlib.metadata import distribution

import pytest

from placementclient.cli import shell
from placementclient.cli.entry_points import load_command
from placementclient.cli.plugin import parse_number
from placementclient.client import endpoints
from placementclient.commands.framework import base
from placementclient.commands.framework import option as framework_option
from placementclient.commands.providers.inventory_fields import parse_amount, parse_ratio
from tests.unit.commands.arguments import ARGUMENTS
from tests.unit.test_prose import faults

POINTS = distribution(shell.DISTRIBUTION).entry_points.select(group=shell.COMMANDS)
#: How a third person's verb, or what is none, begins where an imperative should stand.
NOT_IMPERATIVE = re.compile(r'(\w+[^s]s|The|An?|This|It|To|\w+ing)\b')
#: The types of options that take a number, and the units that their help texts have.
NUMBERS = (int, float, parse_amount, parse_ratio, parse_number, framework_option._parse_workers)
#: The last words of the commands that write at once, or ask.
WRITING = {
    *('add', 'apply', 'claim', 'create', 'delete', 'heal', 'move', 'purge', 'remove', 'replace'),
    *('resize', 'restore', 'rollback', 'set', 'submit', 'sync', 'transfer', 'unset'),
}
UNIT = re.compile(
    r'seconds|days|percent|number|units of the class|ratio|generation|so many|candidates'
)


def name(point):
    return point.name.replace('_', ' ')


every_command = pytest.mark.parametrize('point', POINTS, ids=name)


def parser_of(point):
    parser: argparse.ArgumentParser = load_command(point)(None, None).get_parser(name(point))
    return parser


def rows_of(command):
    """The rows of the table that a command stands for, whatever its own version need."""
    endpoint = command.endpoint
    if endpoint is None:
        return set()
    route = endpoint.method, endpoint.template
    return {row for row in endpoints.ALL if (row.method, row.template) == route}


@every_command
def test_a_command_is_of_one_kind_with_the_others(point):
    command = load_command(point)
    assert issubclass(command, base.PlacementCommand)
    assert re.fullmatch('[A-Z][A-Za-z]+', command.__name__)


@every_command
def test_a_command_that_stands_for_an_endpoint_names_its_row(point):
    command = load_command(point)
    assert command.endpoint is None or rows_of(command)
    assert (command.endpoint is not None) == (name(point) in ARGUMENTS)


def bases_of(command):
    """The classes of the package that a command stands on, from the nearest on."""
    return [c for c in command.__mro__[1:] if c.__module__.startswith('placementclient.')]


@every_command
def test_at_most_three_classes_stand_between_a_command_and_osc_lib(point):
    assert 1 <= len(bases_of(load_command(point))) <= 3


def test_a_class_of_commands_has_several_and_is_none_itself():
    commands = {load_command(point) for point in POINTS}
    bases = Counter(kind for command in commands for kind in bases_of(command))
    assert min(bases.values()) >= 3
    assert commands.isdisjoint(bases)


#: What two commands share, or one command has beside its own.
SHARED = {endpoints.DELETE_INVENTORIES}


def test_every_endpoint_has_a_command():
    covered = set().union(*(rows_of(load_command(point)) for point in POINTS))
    assert covered | SHARED == set(endpoints.ALL)


def test_a_command_and_its_endpoint_are_found_from_each_other():
    for point in POINTS:
        command = load_command(point)
        if command.endpoint is None:
            continue
        verb = command.endpoint.method, name(point).split()[-1]
        assert verb in {
            ('GET', 'list'),
            ('GET', 'show'),
            ('POST', 'create'),
            ('POST', 'replace'),
            ('POST', 'submit'),
            ('PUT', 'set'),
            ('PUT', 'create'),
            ('PUT', 'unset'),
            ('DELETE', 'delete'),
        }


@every_command
def test_the_help_begins_with_what_the_command_does(point):
    doc = load_command(point).__doc__
    first = doc.splitlines()[0]
    assert re.match(r'[A-Z][a-z]+ ', first)
    assert not NOT_IMPERATIVE.match(first)
    assert first.endswith('.')
    assert len(first) <= 100


@every_command
def test_the_examples_parse_as_they_stand(point):
    examples = load_command(point).examples
    assert examples
    for example in examples:
        parser_of(point).parse_args(shlex.split(example))


@every_command
def test_the_help_says_if_the_command_asks_before_it_writes(point):
    *_, verb = name(point).split()
    flags = {flag for option in load_command(point).options for flag in option.flags}
    sentences = parser_of(point).description.split('\n\n')[-1]
    asks = '--yes' in flags and not load_command(point).writes
    assert ('asks before it changes anything' in sentences) == asks
    writes = verb in WRITING or flags & {'--yes', '--dry-run'}
    assert bool(re.search('writes at once|asks before', sentences)) == bool(writes)
    assert ('--dry-run prints' in sentences) == ('--dry-run' in flags)
    if verb in ('delete', 'set', 'unset', 'submit') and name(point).startswith('resource provider'):
        assert re.search('--dry-run|snapshot save FILE', sentences)


@every_command
def test_every_option_has_a_help_text(point):
    for action in parser_of(point)._actions:
        assert action.help, action.option_strings
    for option in load_command(point).options:
        assert re.search(r'[^.]\.$', option.help), option.flags


@every_command
def test_the_help_is_plain(point):
    command = load_command(point)
    text = inspect.cleandoc(command.__doc__)
    texts = [text, *(option.help for option in command.options)]
    assert [fault for text in texts for fault in faults(text)] == []


@every_command
def test_an_option_with_a_number_says_its_unit_and_default(point):
    for option in load_command(point).options:
        type_of, default = option.settings.get('type'), option.settings.get('default')
        if type_of in NUMBERS or (isinstance(default, int) and not isinstance(default, bool)):
            assert UNIT.search(f'{option.settings["metavar"]} {option.help}'), option.flags
            assert re.search(r'default|require', option.help, re.IGNORECASE), option.flags


@every_command
def test_the_help_text_names_the_versions(point):
    help = ' '.join(parser_of(point).format_help().split())
    for option in load_command(point).options:
        if option.since > endpoints.LOWEST and not option.replacement:
            assert f'from API version {option.since} on' in help
