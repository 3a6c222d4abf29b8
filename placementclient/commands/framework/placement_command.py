# SPDX-License-Identifier: Apache-2.0
"""The base class of all commands: it checks the options, runs the command, reports errors."""

from __future__ import annotations

import abc
import argparse
import contextlib
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TextIO

from osc_lib.command import command

from placementclient import api
from placementclient.basis.errors import (
    BadArgument,
    ExitStatus,
    PlacementError,
    Unexpected,
    UsageError,
    WrongFile,
)
from placementclient.basis.printable import escape_text, replace_unencodable_characters
from placementclient.basis.wording import format_next_steps, mask_credentials
from placementclient.cli.messages import print_message
from placementclient.client import errors
from placementclient.client.microversion import LOWEST, NO_SUBJECT, Microversion
from placementclient.commands.framework.log_filters import escape_record, use_program_name_in_log
from placementclient.commands.framework.option import (
    Option,
    describe_ignored_options,
    describe_unknown_columns,
    name_options_of_wrong_file,
    normalize_column,
)
from placementclient.commands.framework.parser import (
    add_options_and_help,
    add_suggestions,
    format_statuses,
)
from placementclient.commands.framework.signals import handle_signals

if TYPE_CHECKING:
    from cliff.app import App

    from placementclient.client.endpoints import Endpoint
    from placementclient.client.http import Client
    from placementclient.client.sent_changes import SentChange
    from placementclient.commands.framework.error_hints import ErrorHints

#: The highest microversion that decides on options and columns, unless the operator chooses one:
#: 1.38 requires an option and changes tables. Requests are sent at the highest version anyway.
DEFAULT_HIGHEST = Microversion(1, 37)
#: A line of OpenStackClient's help: cliff would read all metadata to make it.
_ORIGIN = '\n\nThis command is provided by the python-placementclient plugin.'
#: The exit statuses after which a command prints the request ID, for the logs of Placement.
_FAILED = (ExitStatus.ERROR, ExitStatus.PARTIAL, ExitStatus.INTERRUPTED)


class PlacementCommand(command.Command):
    """The base class of all commands.

    A subclass declares options and exit statuses as attributes, and implements :meth:`execute`.
    """

    #: OpenStackClient's application, or :class:`placementclient.cli.shell.Shell`.
    app: Any
    #: The route of the service for this command; None if the command combines several.
    endpoint: ClassVar[Endpoint | None] = None
    #: Whether a command without an endpoint writes and never asks, which its help says.
    writes: ClassVar[bool] = False
    #: The lowest microversion with which the command works; None: that of the endpoint.
    first_version: ClassVar[Microversion | None] = None
    options: ClassVar[Sequence[Option]] = ()
    #: The arguments of command lines that the help shows below the docstring.
    examples: ClassVar[Sequence[str]] = ()
    #: The names of the columns of a command that writes: cliff checks -c only after the write.
    column_names: ClassVar[Sequence[str]] = ()
    #: The exit statuses beside 0 (done), 1 (error) and 2 (wrong usage), and what each says.
    statuses: ClassVar[Sequence[tuple[ExitStatus, str]]] = ()
    #: OpenStackClient does not authenticate for a command that says False.
    auth_required = True
    #: The exit status of a run that raises nothing.
    exit_status: int = ExitStatus.DONE
    #: The last sentence after the output, without its full stop; empty: that of the exit status.
    ending = ''
    #: Sentences after the last one, which explain it.
    explanation: Sequence[str] = ()
    #: What to do next: each a command, or a clause that may end with a colon and a command.
    next_steps: Sequence[str] = ()
    args: argparse.Namespace

    def __init__(
        self, app: App, app_args: argparse.Namespace | None, cmd_name: str | None = None
    ) -> None:
        super().__init__(app, app_args, cmd_name)
        self.log.addFilter(escape_record)
        self._provider_uuid: str | None = None

    @property
    def _is_placement_program(self) -> bool:
        """Return whether the command runs in ``placement``, not in ``openstack``."""
        return hasattr(self.app, 'parsers')

    @property
    def program(self) -> str:
        """The name of the running program, as the user types it."""
        return 'placement' if self._is_placement_program else 'openstack'

    def get_epilog(self) -> str:
        """Return the end of the help: the exit statuses, and in OpenStackClient the package."""
        origin = '' if self._is_placement_program else _ORIGIN
        return f'{format_statuses(self.statuses)}{origin}'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command, which a batch creates only once."""
        parsers: dict[str, argparse.ArgumentParser] = getattr(self.app, 'parsers', {})
        if prog_name not in parsers:
            parsers[prog_name] = self._new_parser(prog_name)
        self._parser = parsers[prog_name]
        return self._parser

    def _new_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return a parser of the options, with the help and the errors of this package."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        add_options_and_help(parser, self.options, self.examples, self.endpoint, writes=self.writes)
        add_suggestions(
            parser, self.app.parser if self._is_placement_program else None, self.examples[:1]
        )
        vars(parser)['print_help'] = functools.partial(self._print_help, parser)
        return parser

    def _print_help(self, parser: argparse.ArgumentParser, file: TextIO | None = None) -> None:
        """Print the help of a parser, or raise an error if it cannot be written.

        :param file: ``None``: standard output
        """
        # argparse ignores the error, and loses a text that is longer than the buffer.
        out = file or self.app.stdout
        with self.report_print_errors():
            out.write(parser.format_help())
            out.flush()

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command until its end or a signal; log errors, and return the exit status."""
        self.args = parsed_args
        self._refuse_missing_option_values()
        replace_unencodable_characters(self.app.stdout, self.app.stderr)
        with handle_signals(), use_program_name_in_log(self.log, self.program):
            try:
                status = self._run_and_log_errors()
            except KeyboardInterrupt:
                self.log_interruption()
                status = ExitStatus.INTERRUPTED
            if self.app.options.debug:
                self._log_global_request_id()
            return status

    def _run_and_log_errors(self) -> int:
        """Check the options, run the command, log its error, and return its exit status."""
        try:
            self.check_options()
            if names := self.list_column_names():
                self.check_columns(names)
            status: int = super().run(self.args)
            with self.report_print_errors():
                print(end='', flush=True, file=self.app.stdout)
            status = status or self.exit_status
            self._log_ending(status)
        except PlacementError as failure:
            self.log_failure(failure)
            self._log_last_change(failure)
            return failure.exit_status
        except Exception as failure:
            # cliff prints the text alone, and exits with 1.
            if str(failure).strip() or isinstance(failure, BrokenPipeError):
                raise
            self.log_failure(Unexpected(failure))
            return ExitStatus.ERROR
        return status

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        """Call :meth:`execute`, which needs no arguments."""
        return self.execute()

    @abc.abstractmethod
    def execute(self) -> object:
        """Run the command after its options were checked; return what it prints, or its status."""

    def check_options(self) -> None:
        """Refuse unusable paths, and options of other microversions, before the first request."""
        for option in self.options:
            path = option.output and getattr(self.args, option.dest)
            if path and path != '-':
                from placementclient.files import disk

                disk.refuse_output_path(path, option.output, getattr(self.args, 'overwrite', None))
        if not self.auth_required:
            return
        self.client.require_feature('', self.find_lowest_version())
        missing = []
        is_chosen = self.client.version_is_chosen
        for option in self.options:
            since = option.since if is_chosen else option.effective_since
            if option.is_set(self.args):
                self.client.require_feature(option.flags[-1], since, option.until)
                if option.replacement:
                    self.deprecated_option_warning(option.flags[-1], option.replacement)
            elif option.required_since and self.version >= option.required_since:
                missing.append(option.flags[-1])
        if missing:
            self.exit_with_usage(f'the following arguments are required: {", ".join(missing)}')
        if is_chosen:
            version = self.client.assumed_microversion
            self.warn(describe_ignored_options(self.options, self.args, version))

    def _refuse_missing_option_values(self) -> None:
        """Exit for wrong usage if an option lacks its value."""
        # In Python 3.11, argparse makes an empty list of --x=--.
        for dest, value in vars(self.args).items():
            is_list = isinstance(value, list) and value != self._parser.get_default(dest)
            if is_list and (not value or [] in value):
                self.exit_with_usage(f'argument --{dest.replace("_", "-")}: expected one argument')

    def find_lowest_version(self) -> Microversion:
        """Return the lowest microversion with which the command works."""
        return self.first_version or (self.endpoint.since if self.endpoint else LOWEST)

    def list_column_names(self) -> Sequence[str]:
        """Return the names of the columns, which options may change in a subclass."""
        return self.column_names

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns of ``-c`` that are not among ``names``, the columns of the table.

        A command of osc-placement only warns, if another column of ``-c`` is among them.
        """
        normalized = set(map(normalize_column, names))
        unknown = [name for name in self.args.columns if normalize_column(name) not in normalized]
        if not unknown:
            return
        message = describe_unknown_columns(unknown, names)
        if self.endpoint is None or len(unknown) == len(self.args.columns):
            raise BadArgument(message)
        self.log.warning(message)

    def exit_with_usage(self, message: str) -> NoReturn:
        """Exit with the status of wrong usage, after the message and a line of usage."""
        self._parser.error(message)

    def confirm(self, question: str) -> None:
        """Ask before a change; raise an error without a terminal, or if the answer is not yes."""
        if not self.app.stdin.isatty():
            raise UsageError(f'{question} This is not a terminal: use --yes to confirm')
        print_message(f'{escape_text(question)} [y/N]', self.app.stderr, end=' ')
        if self.app.stdin.readline().strip().lower() not in ('y', 'yes'):
            raise PlacementError('Nothing was done')

    @functools.cached_property
    def client(self) -> Client:
        """The client of Placement for this run."""
        if not self.auth_required:
            # OpenStackClient has not authenticated, as the command can do without.
            self.auth_required = True
            self.app.prepare_to_run_command(self)
        client: Client = self.app.client_manager.placement
        return client

    @property
    def client_if_used(self) -> Client | None:
        """The client of this run if it was used already, else ``None``."""
        return vars(self).get('client')

    @property
    def _last_sent_change(self) -> SentChange | None:
        return self.client_if_used.last_change if self.client_if_used else None

    @property
    def provider_uuid(self) -> str:
        """The UUID of the argument ``<provider>``."""
        # Not a cached_property: with Python 3.11, commands of a batch would wait for each other.
        if self._provider_uuid is None:
            self._provider_uuid = api.resource_provider.find(self.client, self.args.provider)
        return self._provider_uuid

    @property
    def version(self) -> Microversion:
        """The microversion that decides on columns and required options.

        Without a choice of the operator it is at most :data:`DEFAULT_HIGHEST`.
        """
        version = self.client.assumed_microversion
        return version if self.client.version_is_chosen else min(version, DEFAULT_HIGHEST)

    def warn(self, sentences: Iterable[str]) -> None:
        """Log several warnings."""
        for sentence in sentences:
            self.log.warning(sentence)

    @property
    def prints_hints(self) -> bool:
        """True if stderr has hints after a success: in ``openstack`` only on a terminal.

        Scripts for osc-placement may take any text on stderr for a failure.
        """
        return self._is_placement_program or self.app.stderr.isatty()

    def log_hint(self, sentence: str) -> None:
        """Print a sentence about a success on stderr at once, if :attr:`prints_hints`."""
        if self.prints_hints:
            self.log.warning(sentence)

    @functools.cached_property
    def _error_hints(self) -> ErrorHints:
        from placementclient.commands.framework.error_hints import ErrorHints

        return ErrorHints()

    def log_failure(self, failure: PlacementError) -> None:
        """Log an error, with the names of providers and suggestions."""
        from placementclient.render import failures

        named: PlacementError = failure
        if isinstance(failure, WrongFile):
            named = name_options_of_wrong_file(self.options, self.args, failure)
        elif isinstance(failure, errors.HTTPError) and self.client_if_used:
            named = failure.with_names(self.client_if_used.names)
        typed = [self._parser.prog, *vars(self._parser)['typed']]
        hint = self._error_hints.find_hint(failure, self.client_if_used, self.args, typed)
        message = '\n'.join(failures.format_failure(named, hint))
        if message.startswith(NO_SUBJECT):
            message = f'{self._parser.prog}: {message}'
        if self.app.options.debug:
            import traceback

            # Not as a record's exc_info, which the log of OpenStackClient would print as it is.
            message += '\n' + ''.join(traceback.format_exception(failure)).rstrip()
        self.log.error(mask_credentials(message))

    def log_interruption(self) -> None:
        """Log that a signal has stopped the command, and the result of the last write."""
        change = self._last_sent_change
        self.log.error(f'Interrupted: {change}' if change else 'Interrupted')

    def _log_last_change(self, failure: PlacementError) -> None:
        """Log the result of the last write, unless the error that follows it names the result."""
        change = self._last_sent_change
        if change is None or (isinstance(failure, errors.NoAnswer) and failure.may_be_done):
            return
        # A run of many changes reports itself what was done.
        if not change.is_done or isinstance(failure, errors.NoAnswer | errors.HTTPError):
            self.log.error(f'Before this error: {change}')

    def _log_ending(self, status: int) -> None:
        """Log the written file, the meaning of the exit status, and the next steps."""
        path = getattr(self.args, 'output', None)
        if path not in (None, '-'):
            self.log_hint(f'wrote {path}')
        sentence = self.ending or dict(self.statuses).get(ExitStatus(status), '')
        if sentence:
            self.log.warning(f'{sentence} (exit {int(status)})' if status else sentence)
        self.warn(self.explanation)
        if steps := format_next_steps(self.next_steps):
            (self.log.warning if status else self.log_hint)(steps)
        client, change = self.client_if_used, self._last_sent_change
        is_logged = bool(client and client.has_error_answer) or bool(change and not change.is_done)
        if is_logged and sentence and status in _FAILED and not self.app.options.debug:
            self._log_global_request_id()

    def _log_global_request_id(self) -> None:
        if self.client_if_used is not None:
            request_id = self.client_if_used.global_request_id
            self.log.warning(f"In Placement's log, search for {request_id}")

    @contextlib.contextmanager
    def report_print_errors(self, done: str = '') -> Iterator[None]:
        """Raise a readable error if stdout cannot be written, such as to a full disk.

        :param done: a clause for the error: what the command has changed before
        :raises PlacementError: instead of an OSError, but not of a closed pipe
        """
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as full:
            _discard_further_output(self.app.stdout)
            change = done or str(self._last_sent_change or '')
            reason = f'Cannot write to stdout: {full.strerror or full}'
            raise PlacementError(f'{reason}; {change}' if change else reason) from full


def _discard_further_output(stdout: TextIO) -> None:
    """Discard further output, so that Python does not report the same failure when it ends."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stdout.fileno())
        os.close(null)
