"""The parts that every command has: a client, a microversion, an exit status, a table."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import functools
import gc
import logging
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from cliff.display import DisplayCommandBase
from osc_lib.command import command

from placementclient import plugin
from placementclient.api import conflict
from placementclient.client import errors
from placementclient.client.microversion import LOWEST, Microversion
from placementclient.client.printable import (
    Cells,
    RightAligned,
    Screen,
    flat,
    number,
    printable,
    shown,
)
from placementclient.client.wording import without_credentials
from placementclient.commands.framework.option import Option
from placementclient.loading import coexistence
from placementclient.render import failures

if TYPE_CHECKING:
    from placementclient.client.endpoints import Endpoint
    from placementclient.client.http import Change, Client
    from placementclient.model.freshness import Read
    from placementclient.render.columns import Output

T = TypeVar('T')

#: What cliff says of a command that another package than the program's has.
_ORIGIN = '\n\nThis command is provided by the python-placementclient plugin.'

#: An example of a command of ours in a docstring: it is written for OpenStackClient.
_EXAMPLE = re.compile(r'^( +)openstack(?= (?:resource|allocation|trait) )', re.MULTILINE)

#: Where the operator leaves the microversion to the client, commands ask for and print what they
#: did up to this one, whatever the service knows: 1.38 made an option required and changed tables.
#: An operator asks for it by its number. Requests are sent at the highest version all the same.
STABLE = Microversion(1, 37)


#: The exit statuses of every command.
USUAL = (
    (errors.ExitStatus.DONE, 'done'),
    (errors.ExitStatus.ERROR, 'error: Placement refuses, a file is bad'),
    (errors.ExitStatus.USAGE, 'wrong usage'),
)
#: Formats of output and pictures: the file of no option is called so.
_FORMATS = ('csv', 'dot', 'html', 'json', 'svg', 'yaml')
#: How a dry run ends, so that scripts see whether there is something to do.
WOULD_DO = (errors.ExitStatus.DIFFERS, 'a dry run has found something to do')


class _Placement(command.Command):
    """The common part of the three kinds of commands.

    A subclass says what it needs as data: the endpoint that it stands for, and its options.
    """

    #: OpenStackClient's application, or :class:`placementclient.cli.shell.Shell`.
    app: Any
    #: The route of the service that the command stands for; None for what combines several.
    endpoint: ClassVar[Endpoint | None] = None
    options: ClassVar[Sequence[Option]] = ()
    #: The exit statuses beside 0 (done), 1 (error) and 2 (wrong usage), and what each says.
    statuses: ClassVar[Sequence[tuple[errors.ExitStatus, str]]] = ()
    #: OpenStackClient does not authenticate for a command that says False.
    auth_required = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log.addFilter(_make_printable)
        # Here, as a command that only prints its help does not run.
        if not self._is_lean:
            _leave_garbage()

    @property
    def _is_lean(self) -> bool:
        """Return whether the program is ``placement``: it does not look through all that is
        installed."""
        return hasattr(self.app, 'formatters')

    @property
    def program(self) -> str:
        """The name of the program that is running, as commands are typed."""
        return 'placement' if self._is_lean else 'openstack'

    def get_description(self) -> str:
        """The docstring, with examples of the program that is running."""
        description: str = super().get_description()
        return _EXAMPLE.sub(rf'\1{self.program}', description)

    def get_epilog(self) -> str:
        """Return the exit statuses and the origin; cliff reads all metadata to find the origin."""
        lines = (f'  {int(status)}  {text}\n' for status, text in (*USUAL, *self.statuses))
        ends = f'Exit status:\n\n{"".join(lines)}'
        if next(iter(self._hooks), None) is not None:
            return f'{ends}{super().get_epilog()}'
        return ends if self._is_lean else f'{ends}{_ORIGIN}'

    #: How the command ends where nothing is raised.
    exit_status: int = errors.ExitStatus.DONE

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        # A batch has many commands of a kind.
        known: dict[str, argparse.ArgumentParser] = self.app.parsers if self._is_lean else {}
        if prog_name not in known:
            known[prog_name] = self._new_parser(prog_name)
        self._parser = known[prog_name]
        return self._parser

    def _new_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        # Keeps the examples of the docstrings as they are.
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        # An error repeats unknown words as they were typed: maybe a name of another user.
        error = parser.error
        vars(parser)['error'] = lambda message: error(printable(message))
        if self._is_lean:
            parser.allow_abbrev = False
            vars(parser)['error'] = functools.partial(_refuse, parser)
        for option in self.options:
            option.add_to(parser)
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Carry the command out; what the package raises becomes a line and an exit status."""
        self._check_values(parsed_args)
        with _terminable():
            try:
                self._check(parsed_args)
                status: int = super().run(parsed_args)
                with self._printing():
                    print(end='', flush=True, file=self.app.stdout)
            except errors.PlacementError as failure:
                self.log_failure(failure)
                return failure.exit_status
            except KeyboardInterrupt:
                self.tell_interruption()
                return errors.ExitStatus.INTERRUPTED
            except Exception as failure:
                # cliff prints the text alone, and exits with 1.
                if str(failure).strip() or isinstance(failure, BrokenPipeError):
                    raise
                self.log_failure(errors.Unexpected(failure))
                return errors.ExitStatus.ERROR
        return status or self.exit_status

    @contextlib.contextmanager
    def _printing(self) -> Iterator[None]:
        """Report output that cannot be written, unless its reader has gone.

        :raises errors.PlacementError: with what was changed before
        """
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as full:
            from placementclient.commands.framework import interruption

            raise interruption.not_printed(self.app.stdout, full, self._last_change) from full

    def tell_interruption(self) -> None:
        """Say what a signal has ended, where that has changed something or may have."""
        if self._last_change is not None:
            from placementclient.commands.framework import interruption

            self.log.error(f'Interrupted: {interruption.sentence(self._last_change)}')

    @property
    def _last_change(self) -> Change | None:
        client: Client | None = vars(self).get('client')
        return client.last_change if client else None

    def _check_values(self, parsed_args: argparse.Namespace) -> None:
        """See whether each option has a value: some releases of argparse make [] of ``--x=--``.

        The file of ``-o`` is hardly called as a format.
        """
        if (format := getattr(parsed_args, 'output', None)) in _FORMATS:
            said = f'-f {format} or ' if 'formatter' in parsed_args else ''
            self._parser.error(
                f'argument -o: {format} is a format, not a file. Did you mean {said}-o x.{format}?'
            )
        for dest, value in vars(parsed_args).items():
            is_list = isinstance(value, list) and value != self._parser.get_default(dest)
            if is_list and (not value or [] in value):
                self._parser.error(f'argument --{dest.replace("_", "-")}: expected one argument')

    def log_failure(self, failure: errors.PlacementError) -> None:
        """Log an error, with the names of providers and suggestions."""
        named, client = failure, vars(self).get('client')
        if isinstance(failure, errors.HTTPError) and client is not None:
            named = failure.with_names(client.names)
        said = '\n'.join(failures.lines(named)) + self._suggestion(failure)
        if self.app.options.debug:
            import traceback

            # Not as a record's exc_info, which the log of OpenStackClient would print as it is.
            said += '\n' + ''.join(traceback.format_exception(failure)).rstrip()
        self.log.error(without_credentials(said))

    def _suggestion(self, failure: errors.PlacementError) -> str:
        if not isinstance(failure, errors.BadRequest | errors.NotFound | errors.NoSuchProvider):
            return ''
        from placementclient.workflows import unknown_names

        return unknown_names.suggestion(self.client, failure)

    def hint(self, sentence: str) -> None:
        """Print a sentence on stderr beside a success, in the program ``placement`` alone.

        Scripts for osc-placement may take any text on stderr for a failure.
        """
        if self._is_lean:
            self.log.warning(sentence)

    def end_dry_run(self, is_pending: bool) -> None:
        """End as :data:`WOULD_DO` says, where there is something to do."""
        self.exit_status = errors.ExitStatus.DIFFERS if is_pending else errors.ExitStatus.DONE

    def confirm(self, question: str, parsed_args: argparse.Namespace) -> None:
        """Ask before something that is hard to take back, unless ``--yes`` was given.

        :raises errors.UsageError: if there is no terminal to ask on
        :raises errors.Unconfirmed: if the answer is no
        """
        if parsed_args.yes:
            return
        if not self.app.stdin.isatty():
            raise errors.UsageError(f'{question} There is nobody to ask: give --yes')
        print(f'{printable(question)} [y/N] ', end='', file=self.app.stderr, flush=True)
        if self.app.stdin.readline().strip().lower() not in ('y', 'yes'):
            raise errors.Unconfirmed('Nothing was done')

    @functools.cached_property
    def client(self) -> Client:
        """The client of this run of the program."""
        manager = self.app.client_manager
        if self._is_lean or not coexistence.is_needed():
            client: Client = manager.placement
            return client
        # There it may be the client of osc-placement.
        if not hasattr(manager, '_placementclient'):
            manager._placementclient = plugin.make_client(manager)
        ours: Client = manager._placementclient
        return ours

    @property
    def version(self) -> Microversion:
        """The microversion whose tables are printed and whose arguments are required."""
        version = self.client.assumed_microversion
        return version if self.client.version_is_chosen else min(version, STABLE)

    def since(self, parsed_args: argparse.Namespace) -> Microversion:
        """The first microversion with which the command can do what is asked."""
        return self.endpoint.since if self.endpoint else LOWEST

    def retried(self, attempt: Callable[[], T], given: object = None) -> T:
        """Read and write, and again, as :func:`placementclient.api.conflict.retried` does.

        :param given: the generation of the operator, or a body with generations; with it a conflict
            is the answer
        """
        return conflict.retried(attempt, **self._limits(given))

    def guarded(self, write: Callable[[int], T], given: int | None, read: Callable[[], int]) -> T:
        """Replace something that a generation guards.

        :param write: sends the replacement with a generation
        :param given: the operator's, with which a conflict is the answer
        :param read: reads the generation that there is now, before each attempt
        """
        return self.retried(lambda: write(read() if given is None else given), given)

    def confirmed(
        self, write: Callable[[], T], is_done: Callable[[], bool], given: int | None = None
    ) -> T | None:
        """Write what cannot be written twice, as :func:`placementclient.api.conflict.confirmed`.

        :param is_done: reads whether the write was carried out
        :param given: the generation of the operator, with which a conflict is the answer
        """
        return conflict.confirmed(write, is_done, **self._limits(given))

    def _limits(self, given: object) -> dict[str, Any]:
        deadline = conflict.DEADLINE if given is None else 0
        return {'max_retries': self.client.max_retries, 'deadline': deadline}

    def _check(self, parsed_args: argparse.Namespace) -> None:
        """Compare what is asked for with the microversion, before anything is sent."""
        if not self.auth_required:
            return
        self.client.require('', self.since(parsed_args))
        missing = []
        for option in self.options:
            if option.is_given(parsed_args):
                self.client.require(option.flags[-1], option.since, option.until)
                if option.instead:
                    self.deprecated_option_warning(option.flags[-1], option.instead)
            elif option.is_required(self.version):
                missing.append(option.flags[-1])
        if missing:
            self._parser.error(f'the following arguments are required: {", ".join(missing)}')


def _refuse(parser: argparse.ArgumentParser, message: str) -> NoReturn:
    """Exit for wrong usage: the message first, then one line of usage."""
    arguments = ' '.join(
        action.metavar or action.dest
        for action in parser._actions
        if not action.option_strings and isinstance(action.metavar, str | None)
    )
    usage = ' '.join(f'{parser.prog} [options] {arguments}'.split())
    parser.exit(
        errors.ExitStatus.USAGE,
        f'{parser.prog}: error: {printable(message)}\nusage: {usage} (see {parser.prog} --help)\n',
    )


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Have a SIGTERM end a command as Ctrl-C does, unless it has a handler.

    Only the main thread gets signals.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave_garbage() -> None:
    """Have the process end without a last look for garbage, as ``placement`` does.

    In all that OpenStackClient has loaded that takes a quarter of the time of a short command.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def _make_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable(record.getMessage()), None
    return True


class Command(_Placement):
    """A command that prints nothing of its own."""


if TYPE_CHECKING:
    _Display = DisplayCommandBase[Any]
else:
    _Display = DisplayCommandBase  # no generic class before cliff 4.9


class _Table(_Placement, _Display):
    """The common part of commands that print a table, or the same as data."""

    #: The names of the columns of a command that writes: cliff looks at -c when all is done.
    prints: ClassVar[Sequence[str]] = ()

    def _check(self, parsed_args: argparse.Namespace) -> None:
        super()._check(parsed_args)
        if names := self.printed(parsed_args):
            self._check_columns(parsed_args.columns, names)

    def printed(self, parsed_args: argparse.Namespace) -> Sequence[str]:
        """Return the names of the columns of what is asked for, as :attr:`prints`."""
        return self.prints

    def _check_columns(self, given: Sequence[str], names: Sequence[str]) -> None:
        """See whether each column that was asked for is there; cliff is content with one that is.

        The commands of the endpoints go on then, as those of osc-placement do: which columns they
        have depends on the microversion.

        :raises errors.BadArgument: if one is not, or none is
        """
        unknown = [name for name in given if not self._is_column(name, names)]
        if not unknown:
            return
        said = f'No recognized column names in {unknown}. Recognized columns are {tuple(names)}.'
        if self.endpoint is None or len(unknown) == len(given):
            raise errors.BadArgument(said)
        self.log.warning(said)

    def _is_column(self, name: str, names: Sequence[str]) -> bool:
        try:
            self._generate_columns_and_selector(argparse.Namespace(columns=[name]), names)
        except ValueError:
            return False
        return True

    def _load_formatter_plugins(self) -> Any:
        if self._is_lean:
            return self.app.formatters(self.formatter_namespace)
        return super()._load_formatter_plugins()

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], values: Any
    ) -> int:
        """Print it; for people what others wrote is made printable, for programs it is data."""
        if not self.prints:
            self._check_columns(parsed_args.columns, names)
        name, is_seen = parsed_args.formatter, self.app.stdout.isatty()
        if name == 'table':
            self.formatter.ALIGNMENTS = {**self.formatter.ALIGNMENTS, RightAligned: 'r'}
        if name == 'value' and is_seen:
            self.formatter = Cells(self.formatter, lambda cell: shown(number(cell)))
        elif name == 'table':
            self.formatter = Cells(self.formatter, shown)
        elif name in ('csv', 'shell', 'value'):
            self.formatter = Cells(self.formatter, flat)
        # What is no data writes colours, or has looked at each cell.
        if is_seen and name not in ('table', 'text', 'value'):
            self.formatter = Screen(self.formatter)
        with self._printing():
            status: int = super().produce_output(  # type: ignore[safe-super]
                parsed_args, names, values
            )
        return status


class Lister(_Table, command.Lister):
    """A command that prints rows."""

    #: What is said to people, on stderr, where there is no row. The commands of the endpoints print
    #: an empty line instead, as those of osc-placement do.
    nothing: str = 'Nothing found'

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], rows: Any
    ) -> int:
        """Print them; no empty table, unless it is asked for."""
        found = list(rows)
        is_for_people = parsed_args.formatter in ('table', 'text')
        is_empty = not found and is_for_people and not parsed_args.print_empty
        if is_empty and self.says_nothing(parsed_args):
            self._check_columns(parsed_args.columns, self.printed(parsed_args) or names)
            self.log.warning(self.nothing)
            return 0
        return super().produce_output(parsed_args, names, found)

    def says_nothing(self, parsed_args: argparse.Namespace) -> bool:
        """Return whether it says :attr:`nothing` where there is no row."""
        return self.endpoint is None


class ShowOne(_Table, command.ShowOne):
    """A command that prints the fields of one thing."""


def with_last_modified(output: Output, read: Read[Any], *, one: bool = True) -> Output:
    """A table with ``last_modified`` as its last column.

    :param one: whether it is the fields of one thing
    """
    if not one:
        return with_column(output, 'last_modified', lambda row: read.last_modified)
    names, values = output
    return (*names, 'last_modified'), (*values, read.last_modified)


def with_column(output: Output, name: str, value: Callable[[Any], Any]) -> Output:
    """A table of rows with one more column.

    :param value: returns its value for a row
    """
    names, rows = output
    return (*names, name), [(*row, value(row)) for row in rows]


def is_wanted(parsed_args: argparse.Namespace, name: str) -> bool:
    """Return whether a column is asked for that tables have with ``--long`` or ``-c`` alone."""
    return getattr(parsed_args, 'long', False) or name in map(str.lower, parsed_args.columns)
