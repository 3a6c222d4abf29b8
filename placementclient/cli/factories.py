# SPDX-License-Identifier: Apache-2.0
"""The factories of the commands, which the entry points name.

OpenStackClient loads the entry points of all commands of all plugins at each start, and its help
makes all commands to list their summaries. A factory costs next to nothing; the module of a command
loads when more is asked of it than its summary.
"""

from __future__ import annotations

import argparse
import functools
import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cliff.app import App
    from cliff.command import Command


class CommandFactory:
    """Makes a command; only then it loads the module of the command's class.

    :param path: the dotted path of the class; or of a package or module, whose factory has those of
        its members as attributes
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> CommandFactory:
        """Return the factory whose dotted path is that of this one with a name added."""
        if name.startswith('__'):
            raise AttributeError(name)
        return CommandFactory(f'{self.path}.{name}')

    def __call__(
        self, app: App, app_args: argparse.Namespace | None, cmd_name: str | None = None
    ) -> Command | ListedCommand:
        """Return the command.

        :param app_args: the options of the application; None: it only lists its commands
        """
        if app and app_args is None:  # cliff's directive for Sphinx has no application
            return ListedCommand(self, app)
        return self.load()(app, app_args, cmd_name)

    def load(self) -> type[Command]:
        """Return the class of the command."""
        module, _, name = self.path.rpartition('.')
        command: type[Command] = getattr(importlib.import_module(module), name)
        return command


class ListedCommand:
    """A command in a list: it has its summary, and loads its module for every other attribute."""

    deprecated = False

    def __init__(self, factory: CommandFactory, app: App) -> None:
        self._factory, self._app = factory, app

    def get_description(self) -> str:
        """Return the first line of the help."""
        return _read_summaries_by_class()[self._factory.path]

    def __getattr__(self, name: str) -> object:
        return getattr(self._command, name)

    @functools.cached_property
    def _command(self) -> Command:
        return self._factory.load()(self._app, None)


@functools.cache
def _read_summaries_by_class() -> Mapping[str, str]:
    from placementclient.cli import command_help, entry_points

    summaries = command_help.read_summaries()
    return {
        f'placementclient.{point.attr}': summaries[point.name.replace('_', ' ')]
        for point in entry_points.list_entry_points(entry_points.COMMANDS)
    }


#: The factory of ``commands.providers.trait.ListTrait`` makes that command.
commands = CommandFactory('placementclient.commands')
