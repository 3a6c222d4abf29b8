# SPDX-License-Identifier: Apache-2.0
"""The factories that the entry points of the commands name."""

from importlib.metadata import distribution

import pytest

from placementclient.cli import shell
from placementclient.cli.command_help import read_summaries
from placementclient.cli.factories import commands
from placementclient.commands.providers.trait import ListTrait


@pytest.mark.parametrize('options', [None, shell.Shell().parser.parse_args([])])
def test_a_factory_makes_the_command_of_its_path(options):
    factory = commands.providers.trait.ListTrait
    assert factory.load() is ListTrait
    assert type(factory(shell.Shell() if options else None, options)) is ListTrait


def test_each_command_of_a_list_has_its_summary():
    points = distribution(shell.DISTRIBUTION).entry_points.select(group=shell.COMMANDS)
    for point in points:
        listed = point.load()(shell.Shell(), None)
        assert listed.get_description() == read_summaries()[point.name.replace('_', ' ')]
        assert not listed.deprecated


def test_a_command_of_a_list_has_the_options_of_the_command():
    listed = commands.providers.trait.ListTrait(shell.Shell(), None)
    assert '--associated' in listed.get_parser('openstack trait list').format_help()
