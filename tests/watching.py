"""Programs that draw on a terminal, here a pseudo terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import contextmanager
from pathlib import Path

import placementclient

SOURCES = str(Path(placementclient.__file__).parents[1])
#: What an alternate screen begins and ends with, and a page of it.
ENTER, LEAVE, HOME = '\x1b[?1049h', '\x1b[?1049l', '\x1b[H'
#: How many lines the terminal has.
HEIGHT = 12
#: How long a change may take to be drawn, in seconds: generous, for nothing is timed.
TIMEOUT = 60


class Watch:
    """A program on a pseudo terminal."""

    def __init__(self, process, descriptor):
        self.process, self._descriptor = process, descriptor
        self.written = ''

    def wait_for(self, expected):
        """What is written until a text appears; all before it is done with."""
        until = time.monotonic() + TIMEOUT
        while expected not in self.written:
            has_ended = self.process.poll() is not None or time.monotonic() > until
            self._read()
            assert expected in self.written or not has_ended, self.written[-900:]
        seen, _, self.written = self.written.partition(expected)
        return seen

    def end(self, number):
        """Send a signal; the exit status, and what is written on the way."""
        os.killpg(self.process.pid, number)
        until = time.monotonic() + TIMEOUT
        while self.process.poll() is None and time.monotonic() < until:
            self._read()
        self._read()
        return self.process.wait(0), self.written

    def _read(self):
        while select.select([self._descriptor], [], [], 0.1)[0]:
            try:
                self.written += os.read(self._descriptor, 65536).decode()
            except OSError:
                return


@contextmanager
def watching(command, folder):
    """A command of the program, as it is typed in a folder."""
    above, below = pty.openpty()
    fcntl.ioctl(below, termios.TIOCSWINSZ, struct.pack('HHHH', HEIGHT, 130, 0, 0))
    # A shell that has been started in the background has its children ignore Ctrl-C.
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    sizes = {'COLUMNS', 'LINES'}
    environment = {key: value for key, value in os.environ.items() if key not in sizes}
    try:
        process = subprocess.Popen(
            [sys.executable, '-m', 'placementclient', *command.split()],
            stdin=below, stdout=below, stderr=below, start_new_session=True, cwd=folder,
            env=environment | {'TERM': 'xterm', 'PYTHONPATH': SOURCES},
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        yield Watch(process, above)
    finally:
        process.kill()
        process.wait()
        os.close(above)
        os.close(below)
