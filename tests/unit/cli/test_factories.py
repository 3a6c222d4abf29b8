# SPDX-License-Identifier: Apache-2.0
"""The factories that the entry points of the commands name."""

from placementclient.cli.factories import commands
from placementclient.commands.providers.trait import ListTrait


def test_a_factory_makes_the_command_of_its_path():
    factory = commands.providers.trait.ListTrait
    assert factory.load() is ListTrait
    assert type(factory(None, None)) is ListTrait
