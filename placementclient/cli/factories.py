# SPDX-License-Identifier: Apache-2.0
"""The factories of the commands, which the entry points name.

OpenStackClient loads the entry points of all commands of all plugins at each start. A factory costs
next to nothing; the module of a command loads when its factory makes one.
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cliff.app import App
    from cliff.command import Command


class CommandFactory:
    """Makes a command, and loads the module of its class then.

    :param path: the dotted path of the class, or the beginning of one
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> CommandFactory:
        """Return the factory of the class, or of the module, with this name below the path."""
        if name.startswith('__'):
            raise AttributeError(name)
        return CommandFactory(f'{self._path}.{name}')

    def __call__(
        self, app: App, app_args: argparse.Namespace | None, cmd_name: str | None = None
    ) -> Command:
        """Return the command of an application."""
        return self.load()(app, app_args, cmd_name)

    def load(self) -> type[Command]:
        """Return the class of the command."""
        module, _, name = self._path.rpartition('.')
        command: type[Command] = getattr(importlib.import_module(module), name)
        return command


#: The factory of ``commands.providers.trait.ListTrait`` makes that command.
commands = CommandFactory('placementclient.commands')
