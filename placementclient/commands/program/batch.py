# SPDX-License-Identifier: Apache-2.0
"""Many commands in one process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO

from placementclient.basis import errors
from placementclient.basis.errors import ExitStatus
from placementclient.basis.printable import cut_text, escape_text
from placementclient.basis.wording import join_names
from placementclient.cli.batch_runner import BatchRunner, CommandOutput
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.program.command_lines import CommandLine, read_lines
from placementclient.files import kinds, system

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
#: How many characters of a line are shown with its output.
_SHOWN_CHARACTERS = 1000


class RunBatch(base.PlacementCommand):
    """Run the command on each line, in one process and on one authenticated connection.

    Example:

      printf 'trait create CUSTOM_A\\ntrait list --name startswith:CUSTOM_' | placement batch -

    Each line is a command as you type it, with or without openstack or placement before it, quoted
    as for a shell. # before a word begins a comment. Control characters other than tabs are errors,
    and so are lines longer than 128 KiB. Each line may have its own --os-placement-api-version,
    --debug and --timing.

    The command prints each line with its number and exit status, then the output. It stops at the
    first line that fails, unless you give --keep-going. The exit status is the worst of all lines.
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
        # A program that writes to stdin may wait for the answer before its next line.
        path = self.args.file
        ahead = 0 if path == '-' else self.args.workers - 1
        runner = BatchRunner(self.app, is_data=self.args.json_lines)
        with (
            _open_commands(path, self.app.stdin) as file,
            _close_stdin(),
            runner.redirect_streams(),
            contextlib.closing(_run_lines(runner, read_lines(file, path), ahead)) as results,
        ):
            tally = self._print_results(results)
        self.ending = tally.describe()
        return tally.worst

    def _print_results(self, results: Iterable[tuple[CommandLine, CommandOutput]]) -> _Tally:
        """Print the output of command lines until the batch stops; return their counts."""
        tally = _Tally()
        show = self._print_output_as_json if self.args.json_lines else self._print_output
        for command, output in results:
            line, status = f'line {command.number}', output.status
            # Commands that were run ahead only read.
            with self.report_print_errors(
                f'{line} was carried out, with exit status {status}; '
                'the lines after it have changed nothing'
            ):
                show(command, output)
            tally.add(line, status)
            if status == ExitStatus.INTERRUPTED:
                break
            if status and not self.args.keep_going:
                self.explanation = [f'Stopped at {line}: with --keep-going the batch goes on']
                break
        return tally

    def _print_output(self, command: CommandLine, output: CommandOutput) -> None:
        """Print a command with its number and exit status, then its output."""
        shown = cut_text(command.text, _SHOWN_CHARACTERS)
        head = f'# line {command.number}, exit status {output.status}: {shown}\n'
        for stream, text in (
            (self.app.stdout, head + _indent_comment_lines(output.stdout)),
            (self.app.stderr, _indent_comment_lines(output.stderr)),
        ):
            stream.write(escape_text(text) if stream.isatty() else text)
            stream.flush()

    def _print_output_as_json(self, command: CommandLine, output: CommandOutput) -> None:
        record = {'line': command.number, 'command': command.text, **output._asdict()}
        self.app.stdout.write(f'{json.dumps(record)}\n')
        self.app.stdout.flush()


@dataclass
class _Tally:
    """The number of command lines that succeeded, and those that failed."""

    done: int = 0
    failed: list[str] = field(default_factory=list)
    worst: int = ExitStatus.DONE

    def add(self, line: str, status: int) -> None:
        self.worst = max(self.worst, status, key=_rank_status)
        if status:
            self.failed.append(line)
        else:
            self.done += 1

    def describe(self) -> str:
        """Return the counts as a sentence, without its full stop."""
        count = len(self.failed)
        failed = f', {count} failed: {join_names(self.failed, 5)}' if count else ''
        return f'{self.done} done{failed}'


def _run_lines(
    runner: BatchRunner, commands: Iterable[CommandLine], ahead: int
) -> Generator[tuple[CommandLine, CommandOutput]]:
    """Run commands in order, and yield each with its output; read-only ones run in parallel.

    :param ahead: the number of commands that may run while an earlier one is waited for
    """
    running: deque[tuple[CommandLine, Future[CommandOutput]]] = deque()
    pool = ThreadPoolExecutor(ahead + 1)
    try:
        for command in commands:
            can_run_ahead = (
                ahead and not command.refusal and runner.can_run_beside_others(command.words)
            )
            while len(running) > (ahead if can_run_ahead else 0):
                yield _await_output(*running.popleft())
            if can_run_ahead:
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
    """Wait for a command; return it with its output."""
    try:
        return command, running.result()
    except KeyboardInterrupt:
        return command, CommandOutput(ExitStatus.INTERRUPTED, '', '')


def _indent_comment_lines(printed: str) -> str:
    """Return the output of a command, with a space before each line that begins with ``# line``."""
    if printed and not printed.endswith('\n'):
        printed += '\n'
    return _HEAD_OF_COMMAND.sub(r'\1 ', printed)


def _rank_status(status: int) -> int:
    """Return a number that is higher for a worse exit status."""
    return STATUSES_BY_RANK.index(status) if status in STATUSES_BY_RANK else len(STATUSES_BY_RANK)


@contextlib.contextmanager
def _close_stdin() -> Iterator[None]:
    """In the block, give commands an empty stdin: none may read the lines of the batch."""
    stdin = sys.stdin
    with open(os.devnull, encoding='utf-8') as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = stdin


def _open_commands(path: str, stdin: TextIO) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file of commands; ``-`` is standard input."""
    if path == '-':
        return contextlib.nullcontext(stdin.buffer)
    with system.translate_system_errors(path, kinds.COMMANDS), contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, 'rb'))
        kinds.refuse_other_kind(file.peek(), path, kinds.COMMANDS)
        stack.pop_all()
        return file
