"""The program ``placement``: the commands of the plugin without the rest of OpenStackClient."""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any

from cliff import app, commandmanager
from keystoneauth1 import exceptions, loading

from placementclient import errors, http, plugin

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


class Connection:
    """What OpenStackClient's ClientManager is for a plugin: a session and what selects the service.

    Nothing is loaded and nobody is authenticated before a command asks for it.

    :param session: a session to use instead of one that the options describe
    """

    def __init__(self, options: argparse.Namespace, session: Any = None) -> None:
        self._options = options
        self._api_version = {plugin.API_NAME: options.os_placement_api_version}
        self._session = session
        self._client: http.Client | None = None
        self.interface: str = options.os_interface
        self.region_name: str | None = options.os_region_name

    @property
    def session(self) -> Any:
        """An authenticated ``keystoneauth1.session.Session``."""
        if self._session is None:
            self._session = self._from_cloud() if self._options.os_cloud else self._from_options()
        return self._session

    @property
    def placement(self) -> http.Client:
        """The client of the Placement service."""
        if self._client is None:
            self._client = plugin.make_client(self)
        return self._client

    def _from_options(self) -> Any:
        auth = loading.load_auth_from_argparse_arguments(self._options)
        return loading.load_session_from_argparse_arguments(
            self._options, auth=auth, collect_timing=self._options.timing
        )

    def _from_cloud(self) -> Any:
        # Only clouds.yaml needs the SDK, which takes longer to load than all the rest.
        from openstack import config

        region = config.OpenStackConfig().get_one(
            cloud=self._options.os_cloud, argparse=self._options
        )
        self.interface = region.get_interface('placement') or self.interface
        self.region_name = region.get_region_name('placement')
        return region.get_session()


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
        parser.allow_abbrev = False
        plugin.build_option_parser(parser)
        for flag, variable, default, help in (
            ('--os-cloud', 'OS_CLOUD', None, 'A cloud of clouds.yaml'),
            ('--os-region-name', 'OS_REGION_NAME', None, 'The region of the service'),
            ('--os-interface', 'OS_INTERFACE', 'public', 'public, internal or admin'),
        ):
            parser.add_argument(
                flag, default=os.environ.get(variable, default), help=f'{help} (Env: {variable})'
            )
        parser.add_argument(
            '--timing', action='store_true', help='Print how long each request took'
        )
        loading.register_session_argparse_arguments(parser)
        loading.register_auth_argparse_arguments(parser, self._argv, default='password')
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
        self.client_manager = Connection(self.options, self._session)

    def clean_up(self, cmd: Any, result: int, err: BaseException | None) -> None:
        if self.options.timing and self.client_manager._session is not None:
            for timing in self.client_manager.session.get_timings():
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
    except exceptions.NoMatchingPlugin as failure:
        print(failure, file=sys.stderr)
        return errors.ExitStatus.USAGE
