# SPDX-License-Identifier: Apache-2.0
"""The program ``placement``: the commands of the plugin without the rest of OpenStackClient."""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from cliff import app, commandmanager
from cliff.command import Command

from placementclient import DISTRIBUTION
from placementclient.basis import errors
from placementclient.basis.printable import cut_text, escape_text
from placementclient.basis.wording import format_suggestion, mask_credentials
from placementclient.cli import command_help, connection, entry_points, plugin
from placementclient.cli.entry_points import COMMANDS
from placementclient.cli.help_formatter import HelpFormatter, get_line_width
from placementclient.cli.messages import get_message_width, print_message, wrap_message

if TYPE_CHECKING:
    from keystoneauth1.session import Session

#: The status that a shell gives a program whose output is not read on.
BROKEN_PIPE = 141
#: How many words the name of a command may have.
LONGEST_NAME = 8
#: How many characters of an unknown command are shown.
_SHOWN_CHARACTERS = 200


class _LogFormatter(logging.Formatter):
    """Formats log records without control characters and credentials.

    :param width: the width of the terminal, to wrap warnings and errors; None: they stay one line
    """

    def __init__(self, layout: str, width: int | None = None) -> None:
        super().__init__(layout)
        self._width = width

    def format(self, record: logging.LogRecord) -> str:
        text = escape_text(mask_credentials(super().format(record)))
        if self._width is None or record.levelno < logging.WARNING:
            return text
        return wrap_message(text, self._width)


class _PrivateLogFile(logging.FileHandler):
    """A log file that only its owner can read, and that is no link of another user."""

    def _open(self) -> TextIOWrapper:
        """Open the file to append to it; a new one has the mode 0600."""
        from placementclient.files import system

        with system.translate_system_errors(self.baseFilename):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            return open(system.open_user_file(self.baseFilename, flags), 'a', encoding='utf-8')


class CommandManager(commandmanager.CommandManager):
    """Finds the commands of this distribution without a search through all installed packages."""

    def load_commands(self, namespace: str) -> None:
        """Register the commands of a group of entry points; their modules are loaded later."""
        self.group_list.append(namespace)
        for point in entry_points.list_entry_points(namespace):
            self.commands[point.name.replace('_', ' ')] = point

    def find_command(self, argv: list[str]) -> tuple[type[Command], str, list[str]]:
        """Return the class and the name of the command in the first words, and the other words.

        :raises ValueError: if no command has such a name
        """
        factory: Any  # cliff calls it a class
        factory, name, arguments = super().find_command(argv[:LONGEST_NAME])
        return factory.load(), name, [*arguments, *argv[LONGEST_NAME:]]


class Shell(app.App):
    """The program ``placement``, an application of cliff.

    :param session: used instead of one that the arguments describe
    :param existing: the connection of another program, used instead of a new one
    """

    NAME = 'placement'
    LOG = logging.getLogger(__name__)

    def __init__(
        self,
        argv: Iterable[str] = (),
        session: Session | None = None,
        existing: connection.Connection | None = None,
    ) -> None:
        self._argv, self._session, self._existing = list(argv), session, existing
        #: The commands that were run, by the words of the command line.
        self.parsers: dict[str, argparse.ArgumentParser] = {}
        self.client_manager: Any = None
        super().__init__(
            description='Resource providers, inventories, traits and allocations of OpenStack '
            'Placement. The commands are those of the OpenStackClient plugin.',
            version=importlib.metadata.version(DISTRIBUTION),
            command_manager=CommandManager(COMMANDS),
            deferred_help=True,
        )
        self.command_manager.commands.pop('help')
        self.command_manager.load_commands(entry_points.PROGRAM)

    def build_option_parser(self, *args: Any, **kwargs: Any) -> argparse.ArgumentParser:
        """Return the parser of the program's options, of cliff's and of the connection."""
        parser: argparse.ArgumentParser = super().build_option_parser(*args, **kwargs)
        parser.prog, parser.allow_abbrev = self.NAME, False
        parser.formatter_class = HelpFormatter
        parser.usage = '%(prog)s [options] <command> [arguments]'
        plugin.add_shared_options(parser)
        parser.add_argument(
            '--timing', action='store_true', help='Print how long each request took'
        )
        if self._session is None and self._existing is None:
            connection.add_connection_options(parser)
        else:
            parser.set_defaults(os_interface=None, os_region_name=None)
        return parser

    def configure_logging(self) -> None:
        """Log to stderr at the selected level, as OpenStackClient does."""
        levels = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
        level = levels[3 if self.options.debug else min(self.options.verbose_level, 3)]
        logging.basicConfig(level=level, stream=self.stderr, force=True)
        # They log every entry point, and every step to a database.
        logging.getLogger('stevedore').setLevel(logging.CRITICAL)
        logging.getLogger('alembic').setLevel(logging.WARNING)
        width = None if self.options.debug else get_message_width(self.stderr)
        formatter = _LogFormatter(self.CONSOLE_MESSAGE_FORMAT, width)
        logging.getLogger().handlers[0].setFormatter(formatter)
        if self.options.log_file:
            handler = _PrivateLogFile(self.options.log_file)
            handler.setFormatter(_LogFormatter(self.LOG_FILE_MESSAGE_FORMAT))
            logging.getLogger().addHandler(handler)

    def run(self, argv: list[str]) -> int:
        """Run a command line; return its exit status."""
        try:
            self.options, words = self.parser.parse_known_args(argv)
            self.configure_logging()
            if self._existing:
                self.client_manager = self._existing
                self._existing.prepare_next_command(self.options.os_placement_api_version)
            else:
                new = connection.Connection(self.options, self._argv, self._session)
                self.client_manager, words = new, new.remove_authentication_options(words)
            return self._run_words(words)
        except BrokenPipeError:
            return BROKEN_PIPE
        except KeyboardInterrupt:
            print('Interrupted', file=self.stderr)
            return errors.ExitStatus.INTERRUPTED
        finally:
            if self.client_manager and self._session is None and self._existing is None:
                self.client_manager.close()

    def _run_words(self, words: list[str]) -> int:
        """Run a command, or print help or the version; return the exit status.

        :param words: the command line without the options of the program
        """
        helping = self.options.deferred_help
        if words[:1] == ['help']:
            helping, words = True, words[1:]
        if words[:1] == ['version']:
            print(f'{self.NAME} {importlib.metadata.version(DISTRIBUTION)}', file=self.stdout)
            return errors.ExitStatus.DONE
        if not words:
            if helping:
                self._print_overview()
            else:
                print(*command_help.format_daily_tasks(), sep='\n', file=self.stdout)
            return errors.ExitStatus.DONE
        name = ' '.join(words)
        if helping and any(command.startswith(f'{name} ') for command, _ in self.command_manager):
            for line in command_help.format_overview(
                self.command_manager.commands, name, get_line_width()
            ):
                print(line, file=self.stdout)
            return errors.ExitStatus.DONE
        return self.run_subcommand([*words, '--help'] if helping else words)

    def run_subcommand(self, argv: list[str]) -> int:
        """Run the command that the first words name; return its exit status."""
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            return self._refuse_unknown_command(argv)
        status: int = super().run_subcommand(argv)
        return status

    def _refuse_unknown_command(self, argv: Sequence[str]) -> int:
        """Print an error with the group's commands, or similar ones; return the exit status 2."""
        words = [*itertools.takewhile(lambda word: not word.startswith('-'), argv)]
        commands = self.command_manager.commands
        name = ' '.join(command_help.extract_command_words(words, commands)) or argv[0]
        words, name = words[:LONGEST_NAME], cut_text(name, _SHOWN_CHARACTERS)
        group = list(command_help.format_overview(commands, name, get_line_width()))
        if group:
            print(f'{name!r} is a group of commands:', *group, sep='\n', file=self.stderr)
            return errors.ExitStatus.USAGE
        near = format_suggestion(command_help.find_meant_commands(words, commands))
        refusal = f'{name!r} is not a command' + (f'. {near}' if near else '.')
        if not words:
            refusal = f'unrecognized arguments: {name}'
            near = command_help.suggest_arguments(refusal, [self.parser])
            refusal += near or '. Options of a command come after its name.'
        print_message(f'{refusal} See {self.NAME} --help', self.stderr)
        return errors.ExitStatus.USAGE

    def _print_overview(self) -> None:
        """Print the options of the program, and all commands by subject."""
        from autopage.argparse import help_pager

        commands = command_help.format_overview(
            self.command_manager.commands, width=get_line_width()
        )
        self.parser.description = '\n'.join([str(self.parser.description), *commands])
        with help_pager(self.stdout) as out:
            # argparse would ignore that the text cannot be written.
            out.write(self.parser.format_help())
            if getattr(self.options, 'os_auth_type', None):
                out.write(f'\n{self.client_manager.format_authentication_help()}')

    def clean_up(self, cmd: Command, result: int, err: BaseException | None) -> None:
        """Print the durations of the requests after a command, with ``--timing``."""
        if self.options.timing:
            timings = self.client_manager.timings
            while timings:  # a batch has printed those of its lines
                method, url, seconds = timings.popleft()
                print(f'{method} {mask_credentials(url)} {seconds:.3f}', file=self.stderr)

    @property
    def is_in_batch(self) -> bool:
        """Return whether the commands are lines of a batch."""
        return self._existing is not None


def main(argv: list[str] | None = None, *, session: Session | None = None) -> int:
    """Run one command; return an :class:`placementclient.basis.errors.ExitStatus`.

    :param argv: default: the arguments of the process
    :param session: a keystoneauth session instead of the one that the arguments describe
    """
    argv = sys.argv[1:] if argv is None else argv
    try:
        return Shell(argv, session).run(argv)
    except errors.PlacementError as failure:
        print_message(escape_text(str(failure)), sys.stderr)
        return failure.exit_status
