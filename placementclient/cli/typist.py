"""Command lines that another command types: a batch."""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from placementclient.client import errors
from placementclient.client.printable import printable


class Typed(NamedTuple):
    """The result of a command.

    :param status: the exit status that the program would have had
    """

    status: int
    stdout: str
    stderr: str


class Typist:
    """Types commands on the connection of a program, and survives whatever becomes of them.

    While it does, what is printed on ``sys.stdout`` and ``sys.stderr`` is what the command that
    prints it has printed.

    :param program: a :class:`placementclient.cli.shell.Shell`
    :param shell: one more on the same connection
    """

    def __init__(self, program: Any, shell: Any) -> None:
        self._program, self._shell = program, shell
        self._options = _options(shell.parser)
        self._stdout, self._stderr = _OfThread(sys.stdout), _OfThread(sys.stderr)
        shell.stdin, shell.stdout, shell.stderr = sys.stdin, self._stdout, self._stderr
        shell.parser.set_defaults(**vars(program.options))
        self._as_the_program()

    @contextlib.contextmanager
    def typing(self) -> Iterator[None]:
        """Be ready."""
        with contextlib.redirect_stdout(self._stdout), contextlib.redirect_stderr(self._stderr):
            try:
                yield
            finally:
                self._program.configure_logging()

    def type(self, words: Sequence[str]) -> Typed:
        """Run a command.

        :param words: what is typed after the program's name; options of authentication are none
        """
        try:
            return self._typed(lambda: self._shell.run(list(words)))
        finally:
            self._as_the_program()

    def only_reads(self, words: Sequence[str]) -> bool:
        """Return whether a command changes nothing, so that it can run beside others of which that
        holds.

        It says so only of what follows the options of the program, and where all is known that a
        first command finds out.
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
            and self._options.isdisjoint(map(_option, arguments))
            and self._program.client_manager.is_settled(options.os_placement_api_version)
        )

    def read(self, words: Sequence[str]) -> Typed:
        """Run a command that only reads, in whatever thread this is called."""
        shell = copy.copy(self._shell)
        shell.client_manager = self._program.client_manager.beside(
            shell.options.os_placement_api_version
        )
        return self._typed(lambda: shell.run_subcommand(list(words)))

    def _typed(self, run: Callable[[], int]) -> Typed:
        stdout, stderr = _Captured(), _Captured()
        with self._stdout.turned(stdout), self._stderr.turned(stderr):
            status = _survived(run)
        return Typed(status, stdout.text(), stderr.text())

    def _as_the_program(self) -> None:
        """Forget the options that a command has had for itself."""
        self._shell.options = self._program.options
        self._shell.configure_logging()


class _Captured(io.TextIOWrapper):
    """A stream of text that keeps what is written, also what is written to its ``buffer``."""

    def __init__(self) -> None:
        super().__init__(
            io.BytesIO(), 'utf-8', 'backslashreplace', newline='\n', write_through=True
        )

    def text(self) -> str:
        """Return the text that was written."""
        content: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return content.decode(errors='backslashreplace')


class _OfThread:
    """A stream that is another one for a thread that says so.

    :param otherwise: what it is for all others
    """

    def __init__(self, otherwise: Any) -> None:
        self._otherwise, self._turned = otherwise, threading.local()

    @contextlib.contextmanager
    def turned(self, stream: Any) -> Iterator[None]:
        """Be another one for this thread."""
        self._turned.stream = stream
        try:
            yield
        finally:
            del self._turned.stream

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._turned, 'stream', self._otherwise), name)


def _survived(run: Callable[[], int]) -> int:
    """The exit status of a command, however it ends."""
    try:
        return int(run())
    except errors.PlacementError as failure:
        print(printable(str(failure)), file=sys.stderr)
        return failure.exit_status
    except SystemExit as exit:
        if exit.code is None or isinstance(exit.code, int):
            return exit.code or errors.ExitStatus.DONE
        print(exit.code, file=sys.stderr)
        return errors.ExitStatus.ERROR


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a parser, as they are typed."""
    return {_option(text) for action in parser._actions for text in action.option_strings}


def _option(word: str) -> str:
    """The option that a word is, without the value that it may have."""
    return word.partition('=')[0] if word.startswith('--') else word[:2]
