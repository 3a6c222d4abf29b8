"""A table that is repeated until Ctrl-C: ``--watch``."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from placementclient.client import errors
from placementclient.client.printable import printable
from placementclient.commands.framework import base
from placementclient.commands.framework.option import Option
from placementclient.commands.framework.signals import terminable

WATCH = Option(
    '--watch <seconds>',
    help='Read and redraw the table at this interval, until Ctrl-C; only on a terminal. Default: '
    'print once',
)


class _WatchedOutput(NamedTuple):
    """The output of one run of the command.

    :param said: what it would have written on stderr
    """

    status: int
    table: str
    said: str

    @property
    def has_failed(self) -> bool:
        """Return whether there was nothing to read from, and not only nothing to be read."""
        return self.status not in (errors.ExitStatus.DONE, errors.ExitStatus.DIFFERS)


class Watching(base._Table):
    """A command that prints something, and repeats it with ``--watch``."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Print the rows once, or repeat them until Ctrl-C."""
        if parsed_args.watch is None:
            return super().run(parsed_args)
        if not _is_drawable(self.app.stdout):
            self.log.error('--watch draws on a terminal: without one, run the command in a loop')
            return errors.ExitStatus.USAGE
        first = self._read(parsed_args, self.app.stderr)
        # What cannot be read at all is an error, as without --watch.
        return first.status if first.has_failed else self._watch(parsed_args, first.table)

    def _watch(self, parsed_args: argparse.Namespace, table: str) -> int:
        read_at, messages = _now(), ''
        about = f'{self._parser.prog}, every {parsed_args.watch} s until Ctrl-C'
        # Whatever ends it, the terminal is as it was.
        on_screen = _screen(self.app.stdout)
        with contextlib.suppress(KeyboardInterrupt), terminable(), on_screen as draw:
            while True:
                head = f'{read_at}  {about}', self.ending, *messages.splitlines()
                draw([*filter(None, head), '', *table.splitlines()])
                time.sleep(parsed_args.watch)
                reading = self._read(parsed_args)
                messages = reading.said
                if reading.has_failed:
                    messages = f'{_now()}  {messages}'
                else:
                    read_at, table = _now(), reading.table
        self.app.stdout.write(table)
        self.log_interruption()
        return errors.ExitStatus.INTERRUPTED

    def _read(self, parsed_args: argparse.Namespace, stderr: Any = None) -> _WatchedOutput:
        """Run the command once.

        :param stderr: the stream for progress and errors; ``None``: none
        """
        printed, messages = io.StringIO(), io.StringIO()
        with _written_to(self.app, printed, stderr or messages):
            try:
                status = super().run(parsed_args)
            except Exception as failure:
                # The next reading may be a good one.
                self.log_failure(errors.Unexpected(failure))
                status = errors.ExitStatus.ERROR
        return _WatchedOutput(status, printed.getvalue(), messages.getvalue())


class WatchingLister(Watching, base.Lister):
    """A command that prints rows, and repeats them with ``--watch``."""


def _now() -> str:
    return time.strftime('%H:%M:%S')


def _is_drawable(stdout: Any) -> bool:
    return stdout.isatty() and os.environ.get('TERM') not in (None, '', 'dumb', 'unknown')


@contextlib.contextmanager
def _written_to(app: Any, stdout: Any, stderr: Any) -> Iterator[None]:
    """Have an application print, and log what it would on stderr, to other streams meanwhile."""
    before = app.stdout, app.stderr
    handlers = [
        handler
        for handler in logging.getLogger().handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is app.stderr
    ]
    try:
        app.stdout, app.stderr = stdout, stderr
        for handler in handlers:
            handler.setStream(stderr)
        yield
    finally:
        app.stdout, app.stderr = before
        for handler in handlers:
            handler.setStream(app.stderr)


@contextlib.contextmanager
def _screen(stdout: Any) -> Iterator[Callable[[Sequence[str]], None]]:
    """A screen beside the shell's, and what draws lines on it: as many as there is room for."""

    def draw(lines: Sequence[str]) -> None:
        room = shutil.get_terminal_size().lines
        shown = list(lines)
        if len(shown) > room:
            shown[room - 1 :] = [f'and {len(shown) - room + 1} more lines']
        # From the corner on; names in the lines steer nothing.
        stdout.write('\x1b[H\x1b[J' + printable('\n'.join(shown)))
        stdout.flush()

    # The cursor is hidden, and long lines are cut, not wrapped.
    stdout.write('\x1b[?1049h\x1b[?25l\x1b[?7l')
    try:
        yield draw
    finally:
        stdout.write('\x1b[?7h\x1b[?25h\x1b[?1049l')
        stdout.flush()
