# SPDX-License-Identifier: Apache-2.0
"""Commands of a batch, run in one process."""

from __future__ import annotations

import contextlib
import copy
import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from placementclient.basis import errors
from placementclient.basis.printable import escape_text
from placementclient.cli import command_help

if TYPE_CHECKING:
    from placementclient.cli.shell import Shell


class CommandOutput(NamedTuple):
    """The exit status of a command, and the text that it has printed."""

    status: int
    stdout: str
    stderr: str


class BatchRunner:
    """Runs commands on the connection of a program; one that fails raises no exception.

    :param program: the program ``placement`` that runs the batch
    :param is_data: whether another program reads the output, so that it is never for a terminal
    """

    def __init__(self, program: Shell, *, is_data: bool = False) -> None:
        shell = type(program)(existing=program.client_manager)
        self._program, self._shell = program, shell
        actions = command_help.list_actions(shell.parser)
        self._options = {_strip_option_value(text) for a in actions for text in a.option_strings}
        self._is_for_terminal = not is_data and program.stdout.isatty()
        self._stdout, self._stderr = _ThreadStream(sys.stdout), _ThreadStream(sys.stderr)
        shell.stdin, shell.stdout, shell.stderr = sys.stdin, self._stdout, self._stderr
        shell.parser.set_defaults(**vars(program.options))
        self._restore_options()

    @contextlib.contextmanager
    def redirect_streams(self) -> Iterator[None]:
        """Give each thread its own ``sys.stdout`` and ``sys.stderr`` within the block."""
        with contextlib.redirect_stdout(self._stdout), contextlib.redirect_stderr(self._stderr):
            try:
                yield
            finally:
                self._program.configure_logging()

    def run(self, words: Sequence[str]) -> CommandOutput:
        """Run a command without authenticating again.

        :param words: its command line, after the name of the program
        """
        try:
            return self._capture_output(lambda: self._shell.run(list(words)))
        finally:
            self._restore_options()

    def can_run_beside_others(self, words: Sequence[str]) -> bool:
        """Return whether a command can run in a thread while others run.

        Such a command only reads, has no options of the program, and is not the first one with its
        microversion, which negotiates it with the service.
        """
        options = self._program.options
        if options.debug or options.log_file or options.timing or options.verbose_level > 1:
            return False
        try:
            command, _, arguments = self._shell.command_manager.find_command(list(words))
        except ValueError:
            return False
        endpoint = getattr(command, 'endpoint', None)
        return (
            endpoint is not None
            and endpoint.is_read
            and self._options.isdisjoint(map(_strip_option_value, arguments))
            and self._program.client_manager.has_negotiated(options.os_placement_api_version)
        )

    def run_read_only(self, words: Sequence[str]) -> CommandOutput:
        """Run a command for which :meth:`can_run_beside_others` is true, in any thread."""
        shell = copy.copy(self._shell)
        shell.client_manager = self._program.client_manager.copy_for_version(
            shell.options.os_placement_api_version
        )
        return self._capture_output(lambda: shell.run_subcommand(list(words)))

    def _capture_output(self, run: Callable[[], int]) -> CommandOutput:
        stdout = _CapturedStream(is_for_terminal=self._is_for_terminal)
        stderr = _CapturedStream(is_for_terminal=False)
        with self._stdout.redirect(stdout), self._stderr.redirect(stderr):
            status = _run_for_status(run)
        return CommandOutput(status, stdout.get_captured_text(), stderr.get_captured_text())

    def _restore_options(self) -> None:
        """Forget the options of the last command, and use those of the program again."""
        self._shell.options = self._program.options
        self._shell.configure_logging()


class _CapturedStream(io.TextIOWrapper):
    """A stream that stores its text, and the bytes that are written to its ``buffer``.

    :ivar is_for_terminal: whether the text will be shown on a terminal
    """

    def __init__(self, *, is_for_terminal: bool) -> None:
        super().__init__(
            io.BytesIO(), 'utf-8', 'backslashreplace', newline='\n', write_through=True
        )
        self.is_for_terminal = is_for_terminal

    def get_captured_text(self) -> str:
        content: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return content.decode(errors='backslashreplace')


class _ThreadStream:
    """A stream whose output goes to ``default``, or where the thread that writes redirects it."""

    def __init__(self, default: TextIO) -> None:
        self._default, self._redirected = default, threading.local()

    @contextlib.contextmanager
    def redirect(self, stream: TextIO) -> Iterator[None]:
        """Redirect the output of this thread to ``stream`` within the block."""
        self._redirected.stream = stream
        try:
            yield
        finally:
            del self._redirected.stream

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stream to which the output of this thread goes."""
        return getattr(getattr(self._redirected, 'stream', self._default), name)


def _run_for_status(run: Callable[[], int]) -> int:
    """Run a command; return its exit status, also if it raises an error."""
    try:
        return int(run())
    except errors.PlacementError as failure:
        print(escape_text(str(failure)), file=sys.stderr)
        return failure.exit_status
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else errors.ExitStatus.DONE


def _strip_option_value(word: str) -> str:
    """Return the option in a word of a command line, without its value."""
    return word.partition('=')[0] if word.startswith('--') else word[:2]
