"""Many commands in one process."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from placementclient import errors
from placementclient.commands import base
from placementclient.commands.base import Option
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


@dataclass(frozen=True, slots=True)
class Line:
    """A command that was run, where it stands, and what became of it."""

    line: int
    command: str
    status: int
    stdout: str
    stderr: str


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
    )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if self.app.is_typed:
            raise errors.UsageError('A batch cannot run a batch')
        show = self._show_json if parsed_args.json_lines else self._show
        worst = 0
        with _opened(parsed_args.file, self.app.stdin) as file, _nothing_to_read():
            for line in self._run_each(file):
                show(line)
                worst = max(worst, line.status, key=_badness)
                if line.status == ExitStatus.INTERRUPTED or (
                    line.status and not parsed_args.keep_going
                ):
                    break
        self.app.configure_logging()
        return worst

    def _run_each(self, file: Iterable[str]) -> Iterator[Line]:
        for number, text in enumerate(file, 1):
            command, stdout, stderr = text.strip(), io.StringIO(), io.StringIO()
            try:
                words = shlex.split(command, comments=True)
                ''.join(words).encode()
            except UnicodeEncodeError:
                readable = command.encode(errors='surrogateescape').decode(
                    errors='backslashreplace'
                )
                yield Line(number, readable, ExitStatus.USAGE, '', 'The line is not UTF-8\n')
                continue
            except ValueError as unreadable:
                yield Line(number, command, ExitStatus.USAGE, '', f'{unreadable}\n')
                continue
            if words and words[0] in _PROGRAMS:
                del words[0]
            if not words:
                continue
            status = self.app.type(words, stdout, stderr)
            yield Line(number, command, int(status), stdout.getvalue(), stderr.getvalue())

    def _show(self, line: Line) -> None:
        out: TextIO = self.app.stdout
        command = printable(line.command)
        out.write(f'# line {line.line}, exit status {line.status}: {command}\n{line.stdout}')
        out.flush()
        self.app.stderr.write(line.stderr)
        self.app.stderr.flush()

    def _show_json(self, line: Line) -> None:
        self.app.stdout.write(f'{json.dumps(asdict(line))}\n')
        self.app.stdout.flush()


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
