"""The program ``placement``: the commands of the plugin without the rest of OpenStackClient."""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import sys
from collections.abc import Iterable
from typing import Any

from cliff import app, commandmanager

from placementclient import connection, errors, plugin

DISTRIBUTION = 'python-placementclient'
COMMANDS = 'openstack.placement.v1'


class CommandManager(commandmanager.CommandManager):
    """Knows the commands of this distribution alone, without looking through all that is installed.

    The names are the entry points that OpenStackClient finds too.
    """

    def load_commands(self, namespace: str) -> None:
        self.group_list.append(namespace)
        points = importlib.metadata.distribution(DISTRIBUTION).entry_points
        for point in points.select(group=namespace):
            self.commands[point.name.replace('_', ' ')] = point


class Shell(app.App):
    """The application, for cliff.

    :param argv: the arguments: they say which options of authentication there are
    :param session: a session to use instead of one that the arguments describe
    """

    NAME = 'placement'
    LOG = logging.getLogger(__name__)

    def __init__(self, argv: Iterable[str], session: Any = None) -> None:
        self._argv, self._session = list(argv), session
        super().__init__(
            description='Resource providers, inventories, traits and allocations of OpenStack '
            'Placement. The commands are those of the OpenStackClient plugin.',
            version=importlib.metadata.version(DISTRIBUTION),
            command_manager=CommandManager(COMMANDS),
            deferred_help=True,
        )

    def build_option_parser(self, *args: Any, **kwargs: Any) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().build_option_parser(*args, **kwargs)
        parser.prog, parser.allow_abbrev = self.NAME, False
        plugin.build_option_parser(parser)
        parser.add_argument(
            '--timing', action='store_true', help='Print how long each request took'
        )
        if self._session is None:
            connection.add_options(parser, self._argv)
        else:
            parser.set_defaults(os_interface=None, os_region_name=None)
        return parser

    def configure_logging(self) -> None:
        """Send to stderr what is asked for, as OpenStackClient does."""
        levels = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
        level = levels[3 if self.options.debug else min(self.options.verbose_level, 3)]
        logging.basicConfig(
            format=self.CONSOLE_MESSAGE_FORMAT, level=level, stream=self.stderr, force=True
        )
        if self.options.log_file:
            handler = logging.FileHandler(self.options.log_file)
            handler.setFormatter(logging.Formatter(self.LOG_FILE_MESSAGE_FORMAT))
            logging.getLogger().addHandler(handler)

    def initialize_app(self, argv: list[str]) -> None:
        self.client_manager = connection.Connection(self.options, self._session)

    def clean_up(self, cmd: Any, result: int, err: BaseException | None) -> None:
        if self.options.timing:
            for timing in self.client_manager.timings():
                seconds = timing.elapsed.total_seconds()
                print(f'{timing.method} {timing.url} {seconds:.3f}', file=self.stderr)

    def interact(self) -> None:
        """Without a command: say what there is."""
        self.options.deferred_help = True
        self.print_help_if_requested()


def main(argv: list[str] | None = None, *, session: Any = None) -> int:
    """Run one command.

    :param argv: the arguments; those of the process if not given
    :param session: a ``keystoneauth1.session.Session`` to use instead of the one that the
        arguments and the environment describe
    :return: an :class:`placementclient.errors.ExitStatus`
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        return Shell(argv, session).run(argv)
    except errors.PlacementError as failure:
        print(failure, file=sys.stderr)
        return failure.exit_status
