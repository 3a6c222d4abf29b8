# SPDX-License-Identifier: Apache-2.0
"""The progress of long work, on stderr."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from placementclient.basis.printable import escape_text
from placementclient.basis.wording import summarize_states
from placementclient.render.style import Style

if TYPE_CHECKING:
    from placementclient.commands.framework.placement_command import PlacementCommand

_ERASE = '\r\x1b[K'
#: The least time between two drawings, in seconds.
_PAUSE = 0.1
_STYLE = Style(bars=True)


@contextlib.contextmanager
def show_progress(
    command: PlacementCommand, total: int | None = None
) -> Iterator[_ProgressLog | _ProgressBar]:
    """Show the progress of long work: a line for each finished part with ``-v``, else a bar.

    The block calls the value with the name, state and reason of each finished part. Without a
    terminal and without ``-v`` nothing is shown.

    :param total: the number of parts, if it is known
    """
    is_dumb = os.environ.get('TERM') == 'dumb'
    stdout, stderr = command.app.stdout, command.app.stderr
    has_screen = stderr.isatty() and stderr is not stdout and not is_dumb
    if command.log.isEnabledFor(logging.INFO) or not has_screen:
        yield _ProgressLog(command.log)
        return
    bar = _ProgressBar(stderr, total)
    try:
        yield bar
    finally:
        bar.clear()


class _ProgressLog:
    """Logs each finished part, with its state and reason."""

    def __init__(self, log: logging.Logger) -> None:
        self._log, self.warn = log, log.warning

    def __call__(self, name: str, state: str = '', reason: str = '') -> None:
        self._log.info(': '.join(filter(None, (name, state, reason))))

    def set_total(self, total: int) -> None:
        """Do nothing: a log has no total."""


class _ProgressBar:
    """A line on a terminal: a bar, the number of finished parts, the time and the states."""

    def __init__(self, stream: TextIO, total: int | None) -> None:
        self._stream, self._total = stream, total
        self._done, self._last = 0, ''
        self._states: list[tuple[str, str]] = []
        self._began, self._drawn = time.monotonic(), float('-inf')
        self._lock = threading.Lock()
        self._draw()

    def set_total(self, total: int) -> None:
        """Set the number of parts, and draw the bar again."""
        with self._lock:
            self._total = total
            self._draw()

    def __call__(self, name: str, state: str = '', reason: str = '') -> None:
        """Count a finished part; draw the bar again, unless it was drawn just before."""
        with self._lock:
            self._done, self._last = self._done + 1, name
            self._states += [(name, state)] if state else []
            if time.monotonic() - self._drawn > _PAUSE:
                self._draw()

    def warn(self, sentence: str) -> None:
        """Print a sentence above the bar."""
        with self._lock:
            self._stream.write(f'{_ERASE}{escape_text(sentence)}\n')
            self._draw()

    def clear(self) -> None:
        """Erase the bar."""
        self._stream.write(_ERASE)
        self._stream.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        bar = f'{_STYLE.draw_bar(self._done, self._total)} ' if self._total else ''
        count = f'{self._done} of {self._total} done' if self._total else f'{self._done} done'
        last = summarize_states(self._states) or self._last
        text = f'{count}, {self._drawn - self._began:.0f} s{last and f": {last}"}'
        # A line that is too long is cut, not wrapped: its second line would stay.
        self._stream.write(f'{_ERASE}\x1b[?7l{bar}{escape_text(text)}\x1b[?7h')
        self._stream.flush()
