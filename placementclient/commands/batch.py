"""Many commands in one process."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TextIO

from placementclient import errors
from placementclient.commands import base, option
from placementclient.commands.option import Option
from placementclient.errors import ExitStatus
from placementclient.render.printable import printable

#: From good to bad; what is not among them, such as a signal, is worse.
WORSE = (
    ExitStatus.DONE,
    ExitStatus.DIFFERS,
    ExitStatus.UNDECIDED,
    ExitStatus.INFEASIBLE,
    ExitStatus.PARTIAL,
    ExitStatus.ERROR,
    ExitStatus.USAGE,
    ExitStatus.INTERRUPTED,
)
#: What a line may begin with: no command does.
_PROGRAMS = ('openstack', 'placement')


class Line(NamedTuple):
    """A command that was run, where it stands, and what became of it."""

    line: int
    command: str
    status: int
    stdout: str
    stderr: str


class _Command(NamedTuple):
    """A line of a batch.

    :param refusal: why it cannot be run
    """

    line: int
    text: str
    words: Sequence[str]
    refusal: str


class Batch(base.Command):
    """Run one command a line, in one process and on one authenticated connection.

    A line is what would be typed, with the program's name, openstack or placement, or without it;
    quoted as for a shell; # begins a comment. Each may have --os-placement-api-version, --debug and
    --timing of its own. Each is printed with its number and its exit status, then what it prints.
    The first that fails is the last; the exit status is the worst.

    Example:

      printf 'trait create CUSTOM_A\\ntrait list --name startswith:CUSTOM_' | placement batch -
    """

    auth_required = False
    options = (
        Option('file', metavar='<file>', nargs='?', default='-', help='The commands; - for stdin'),
        Option('--keep-going', action='store_true', help='Go on after a command that fails'),
        Option(
            '--json-lines',
            action='store_true',
            help='Print a JSON object for each command: line, command, status, stdout, stderr',
        ),
        option.workers('commands of a file that change nothing to run'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if self.app.is_typed:
            raise errors.UsageError('A batch cannot run a batch')
        show = self._show_json if parsed_args.json_lines else self._show
        # Who writes to stdin may wait for an answer before the next line.
        ahead = 0 if parsed_args.file == '-' else parsed_args.workers - 1
        worst = 0
        with (
            _opened(parsed_args.file, self.app.stdin) as file,
            _nothing_to_read(),
            self.app.typist.typing(),
            contextlib.closing(self._run_each(_commands(file), ahead)) as lines,
        ):
            for line in lines:
                show(line)
                worst = max(worst, line.status, key=_badness)
                if line.status == ExitStatus.INTERRUPTED or (
                    line.status and not parsed_args.keep_going
                ):
                    break
        return worst

    def _run_each(self, commands: Iterable[_Command], ahead: int) -> Generator[Line]:
        """Run each, in order; those that only read beside those before that only read.

        :param ahead: how many are run before the first has ended
        """
        typist = self.app.typist
        running: deque[tuple[_Command, Future[Any]]] = deque()
        pool = ThreadPoolExecutor(ahead + 1)
        try:
            for command in commands:
                reads = ahead and not command.refusal and typist.only_reads(command.words)
                while len(running) > (ahead if reads else 0):
                    yield _ended(*running.popleft())
                if reads:
                    running.append((command, pool.submit(typist.read, command.words)))
                elif command.refusal:
                    yield Line(command.line, command.text, ExitStatus.USAGE, '', command.refusal)
                else:
                    yield Line(command.line, command.text, *typist.type(command.words))
            while running:
                yield _ended(*running.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    def _show(self, line: Line) -> None:
        out: TextIO = self.app.stdout
        command = printable(line.command)
        out.write(f'# line {line.line}, exit status {line.status}: {command}\n{line.stdout}')
        out.flush()
        self.app.stderr.write(line.stderr)
        self.app.stderr.flush()

    def _show_json(self, line: Line) -> None:
        self.app.stdout.write(f'{json.dumps(line._asdict())}\n')
        self.app.stdout.flush()


def _ended(command: _Command, running: Future[Any]) -> Line:
    try:
        return Line(command.line, command.text, *running.result())
    except KeyboardInterrupt:
        return Line(command.line, command.text, ExitStatus.INTERRUPTED, '', '')


def _commands(file: Iterable[str]) -> Iterator[_Command]:
    """What there is to be run, without comments and empty lines."""
    for number, line in enumerate(file, 1):
        text, refusal = line.strip(), ''
        words: list[str] = []
        try:
            words = shlex.split(text, comments=True)
            ''.join(words).encode()
        except UnicodeEncodeError:
            text = text.encode(errors='surrogateescape').decode(errors='backslashreplace')
            refusal = 'The line is not UTF-8\n'
        except ValueError as unreadable:
            refusal = f'{unreadable}\n'
        if words and words[0] in _PROGRAMS:
            del words[0]
        if words or refusal:
            yield _Command(number, text, words, refusal)


def _badness(status: int) -> tuple[int, int]:
    known = status in tuple(WORSE)
    return (WORSE.index(ExitStatus(status)), 0) if known else (len(WORSE), status)


def _opened(path: str, stdin: Any) -> contextlib.AbstractContextManager[Iterable[str]]:
    """The lines of a file.

    :param path: ``-`` for ``stdin``
    :raises errors.BadFile: if it cannot be read
    """
    if path == '-':
        if stdin is None:
            raise errors.BadFile(path, 'there is no standard input')
        if hasattr(stdin, 'reconfigure'):
            stdin.reconfigure(encoding='utf-8', errors='surrogateescape')
        return contextlib.nullcontext(stdin)
    try:
        return open(path, encoding='utf-8-sig', errors='surrogateescape')
    except OSError as unreadable:
        raise errors.BadFile(path, unreadable.strerror or str(unreadable)) from None


@contextlib.contextmanager
def _nothing_to_read() -> Iterator[None]:
    """Keep a command from reading what follows it in a batch that comes from stdin."""
    stdin = sys.stdin
    with open(os.devnull, encoding='utf-8') as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = stdin
