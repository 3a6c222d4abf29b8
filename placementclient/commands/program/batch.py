# SPDX-License-Identifier: Apache-2.0
"""Many commands in one process."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import shlex
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, NamedTuple, TextIO

from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.basis.printable import cut_text, escape_text
from placementclient.basis.wording import listed
from placementclient.cli.batch_runner import BatchRunner, CommandOutput
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Flag, Option
from placementclient.files import system

#: The exit statuses from good to bad; :func:`_rank_status` ranks others, as of signals, last.
STATUSES_BY_RANK: tuple[int, ...] = (
    ExitStatus.DONE,
    ExitStatus.DIFFERS,
    ExitStatus.UNDECIDED,
    ExitStatus.INFEASIBLE,
    ExitStatus.PARTIAL,
    ExitStatus.ERROR,
    ExitStatus.USAGE,
    ExitStatus.INTERRUPTED,
)
#: The beginning of a line that looks like the head of a command; readers split lines differently.
_HEAD_OF_COMMAND = re.compile('(^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])(?=# line )')
#: How many bytes a line may have: a shell takes no longer argument either.
LONGEST_LINE = 1 << 17
#: How many characters of a line are shown with its output.
_SHOWN_CHARACTERS = 1000
#: The first word that a line may have before the command.
_PROGRAMS = ('openstack', 'placement')
#: Ends of lines for some programs, and control characters. A tab is a space.
_CONTROL = re.compile('[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]')
#: The end of a command: nothing follows, or a comment.
_END_OF_COMMAND = re.compile(r'[ \t]*(?:#|$)')


class CommandLine(NamedTuple):
    """A line of a batch.

    :ivar line: its number, from 1 on
    :ivar text: the line as it was typed
    :ivar words: the words of the command
    :ivar refusal: the error of a line that cannot be run; else empty
    """

    line: int
    text: str
    words: Sequence[str]
    refusal: str


class RunBatch(base.PlacementCommand):
    """Run the command on each line, in one process and on one authenticated connection.

    Each line is a command as you type it, with or without openstack or placement before it, quoted
    as for a shell. # before a word begins a comment. Control characters other than tabs are errors,
    and so are lines longer than 128 KiB. Each line may have its own --os-placement-api-version,
    --debug and --timing.

    The command prints each line with its number and exit status, then the output. It stops at the
    first line that fails, unless you give --keep-going. The exit status is the worst of all lines.

    Example:

      printf 'trait create CUSTOM_A\\ntrait list --name startswith:CUSTOM_' | placement batch -
    """

    auth_required = False
    options = (
        Option('file', nargs='?', default='-', help='The commands; - for stdin'),
        Flag('--keep-going', help='Go on after a command that fails'),
        Flag('--json-lines', help='Print line, command, status, stdout and stderr of each as JSON'),
        option.make_workers_option('commands of a file that change nothing to run'),
    )

    def execute(self) -> int:
        if self.app.is_in_batch:
            raise errors.UsageError('A batch cannot run a batch')
        runner = BatchRunner(self.app, is_data=self.args.json_lines)
        show = self._print_json if self.args.json_lines else self._print_output
        # A program that writes to stdin may wait for the answer before its next line.
        path = self.args.file
        ahead = 0 if path == '-' else self.args.workers - 1
        worst, done, failed = 0, 0, list[str]()
        with (
            _open_commands(path, self.app.stdin) as file,
            _close_stdin(),
            runner.redirect_streams(),
            contextlib.closing(_run_lines(runner, read_lines(file, path), ahead)) as lines,
        ):
            for command, output in lines:
                line, status = f'line {command.line}', output.status
                # Commands run ahead of it only read.
                with self.report_print_errors(
                    f'{line} was carried out, with exit status {status}; '
                    'the lines after it have changed nothing'
                ):
                    show(command, output)
                worst = max(worst, status, key=_rank_status)
                if not status:
                    done += 1
                    continue
                failed.append(line)
                if status == ExitStatus.INTERRUPTED:
                    break
                if not self.args.keep_going:
                    self.explanation = [f'Stopped at {line}: with --keep-going the batch goes on']
                    break
        lines_failed = f', {len(failed)} failed: {listed(failed, 5)}' if failed else ''
        self.ending = f'{done} done{lines_failed}'
        return worst

    def _print_output(self, command: CommandLine, output: CommandOutput) -> None:
        """Print a line with the number, the exit status and the command, then its output."""
        shown = cut_text(command.text, _SHOWN_CHARACTERS)
        head = f'# line {command.line}, exit status {output.status}: {shown}\n'
        for stream, text in (
            (self.app.stdout, head + _indent_heads(output.stdout)),
            (self.app.stderr, _indent_heads(output.stderr)),
        ):
            stream.write(escape_text(text) if stream.isatty() else text)
            stream.flush()

    def _print_json(self, command: CommandLine, output: CommandOutput) -> None:
        """Print a command and its output as one line of JSON."""
        record = {'line': command.line, 'command': command.text, **output._asdict()}
        self.app.stdout.write(f'{json.dumps(record)}\n')
        self.app.stdout.flush()


def _run_lines(
    runner: BatchRunner, commands: Iterable[CommandLine], ahead: int
) -> Generator[tuple[CommandLine, CommandOutput]]:
    """Run commands in order, and yield each with its output; read-only ones run in parallel."""
    running: deque[tuple[CommandLine, Future[CommandOutput]]] = deque()
    pool = ThreadPoolExecutor(ahead + 1)
    try:
        for command in commands:
            reads = ahead and not command.refusal and runner.is_read_only(command.words)
            while len(running) > (ahead if reads else 0):
                yield _await_output(*running.popleft())
            if reads:
                running.append((command, pool.submit(runner.run_read_only, command.words)))
            elif command.refusal:
                yield command, CommandOutput(ExitStatus.USAGE, '', command.refusal)
            else:
                yield command, runner.run(command.words)
        while running:
            yield _await_output(*running.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _await_output(
    command: CommandLine, running: Future[CommandOutput]
) -> tuple[CommandLine, CommandOutput]:
    """Return a command with its output as soon as it has ended."""
    try:
        return command, running.result()
    except KeyboardInterrupt:
        return command, CommandOutput(ExitStatus.INTERRUPTED, '', '')


def _indent_heads(printed: str) -> str:
    """Return the output of a command, with a space before each line that begins with ``# line``."""
    if printed and not printed.endswith('\n'):
        printed += '\n'
    return _HEAD_OF_COMMAND.sub(r'\1 ', printed)


def _rank_status(status: int) -> int:
    """Return a number that is higher the worse an exit status is."""
    return STATUSES_BY_RANK.index(status) if status in STATUSES_BY_RANK else len(STATUSES_BY_RANK)


@contextlib.contextmanager
def _close_stdin() -> Iterator[None]:
    """Give commands an empty stdin, so that none reads the lines of the batch."""
    stdin = sys.stdin
    with open(os.devnull, encoding='utf-8') as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = stdin


def read_lines(file: BinaryIO, path: str) -> Iterator[CommandLine]:
    """Yield the command lines of a file; comments and empty lines are skipped.

    :param path: the path of the file, for errors
    """
    for number, line in enumerate(file, 1):
        content = line.removesuffix(b'\n').removesuffix(b'\r')
        if number == 1:
            content = content.removeprefix(codecs.BOM_UTF8)
        text, words, refusal = content.decode(errors='backslashreplace').strip(' \t'), [], ''
        try:
            words = _split_words(content)
        except ValueError as reason:
            text = text if len(content) <= LONGEST_LINE else f'{text[:60]}…'
            refusal = f'{errors.BadFile(path, str(reason), number)}\n'
        if words or refusal:
            yield CommandLine(number, text, words, refusal)


def _split_words(content: bytes) -> list[str]:
    """Return the words of a line as a shell splits them, without the name of the program."""
    if len(content) > LONGEST_LINE:
        raise ValueError(f'the line is longer than {LONGEST_LINE >> 10} KiB')
    try:
        text = content.decode()
    except UnicodeDecodeError:
        if content.lstrip(b' \t').startswith(b'#'):
            return []
        raise ValueError('the line is not UTF-8') from None
    if control := _CONTROL.search(text):
        name = control[0].encode('unicode_escape').decode()
        raise ValueError(f'control character {name} at column {control.start() + 1}')
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ''
    words: list[str] = []
    # A comment begins where a word would begin.
    while not _END_OF_COMMAND.match(text, stream.tell()):
        words.append(lexer.get_token() or '')
    return words[1:] if words and words[0] in _PROGRAMS else words


def _open_commands(path: str, stdin: TextIO) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file of commands; ``-`` is standard input."""
    if path == '-':
        return contextlib.nullcontext(stdin.buffer)
    with system.explain_errors(path):
        return open(path, 'rb')
