# SPDX-License-Identifier: Apache-2.0
"""Real shells on a terminal: types into them and reads what they show."""

import os
import pty
import re
import select
import time
from contextlib import contextmanager

START = {
    'bash': ['bash', '--norc', '--noprofile', '-i'],
    'zsh': ['zsh', '-f', '-i'],
    'fish': ['fish', '--no-config', '-i'],
}
#: How long a shell may take to show something, in seconds: generous, for nothing is timed.
TIMEOUT = 30


class Terminal:
    """A shell on a pseudo terminal."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def type(self, keys):
        """Press keys; ``\\t`` completes."""
        os.write(self._descriptor, keys.encode())

    def wait_for(self, expected):
        """What is shown until a text appears."""
        shown = ''
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            if not select.select([self._descriptor], [], [], 0.1)[0]:
                continue
            shown += os.read(self._descriptor, 65536).decode(errors='replace')
            if expected in _text(shown):
                return _text(shown)
        raise AssertionError(f'{expected!r} does not appear in {_text(shown)!r}')


def _text(shown):
    """What was written, without what moves the cursor or colours."""
    return re.sub(r'\x1b(\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[=>(][B0]?)|[\x00\r]', '', shown)


@contextmanager
def terminal(shell, script, environment):
    """A shell that has read a script and waits for keys."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execvpe(START[shell][0], START[shell], {**environment, 'TERM': 'dumb'})
    try:
        opened = Terminal(descriptor)
        # Not as it stands there, so that the echo of what is typed is not taken for the answer.
        opened.type(f'source {script}; echo rea""dy\n')
        opened.wait_for('ready')
        yield opened
    finally:
        os.close(descriptor)
        os.waitpid(pid, 0)
