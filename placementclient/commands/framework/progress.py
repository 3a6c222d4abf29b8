# SPDX-License-Identifier: Apache-2.0
"""The progress of long work, on stderr."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

from placementclient.basis.printable import printable
from placementclient.basis.wording import tally
from placementclient.render.style import Style

_ERASE = '\r\x1b[K'
#: The least time between two drawings, in seconds.
_PAUSE = 0.1
_STYLE = Style(bars=True)


@contextlib.contextmanager
def show_progress(
    app: Any, log: logging.Logger, total: int | None = None
) -> Iterator[_ProgressLog | _ProgressBar]:
    """Show a line for each finished part with ``-v``, else a bar if stderr is a terminal."""
    is_dumb = os.environ.get('TERM') == 'dumb'
    has_screen = app.stderr.isatty() and app.stderr is not app.stdout and not is_dumb
    if log.isEnabledFor(logging.INFO) or not has_screen:
        yield _ProgressLog(log)
        return
    bar = _ProgressBar(app.stderr, total)
    try:
        yield bar
    finally:
        bar.clear()


class _ProgressLog:
    """Logs each finished part, with its state and reason."""

    def __init__(self, log: logging.Logger) -> None:
        self._log, self.warn = log, log.warning

    def __call__(self, *facts: str) -> None:
        self._log.info(': '.join(filter(None, facts)))

    def expect(self, total: int) -> None:
        """A line needs no number of all parts."""


class _ProgressBar:
    """One line of a terminal: a bar, the number of parts, the seconds, and the states of parts."""

    def __init__(self, stream: TextIO, total: int | None) -> None:
        self._stream, self._total = stream, total
        self._done, self._last = 0, ''
        self._states: list[tuple[str, str]] = []
        self._began, self._drawn = time.monotonic(), float('-inf')
        self._lock = threading.Lock()
        self._draw()

    def expect(self, total: int) -> None:
        """Draw the bar for another number of parts."""
        with self._lock:
            self._total = total
            self._draw()

    def __call__(self, name: str, state: str = '', reason: str = '') -> None:
        with self._lock:
            self._done, self._last = self._done + 1, name
            self._states += [(name, state)] if state else []
            if time.monotonic() - self._drawn > _PAUSE:
                self._draw()

    def warn(self, sentence: str) -> None:
        """Print a sentence above the bar."""
        with self._lock:
            self._stream.write(f'{_ERASE}{printable(sentence)}\n')
            self._draw()

    def clear(self) -> None:
        self._stream.write(_ERASE)
        self._stream.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        bar = f'{_STYLE.bar(self._done, self._total)} ' if self._total else ''
        count = f'{self._done}/{self._total}' if self._total else str(self._done or 'starting')
        text = f'{count}  {self._drawn - self._began:.0f} s  {tally(self._states) or self._last}'
        # A line that is too long is cut, not wrapped: its second line would stay.
        self._stream.write(f'{_ERASE}\x1b[?7l{bar}{printable(text)}\x1b[?7h')
        self._stream.flush()
