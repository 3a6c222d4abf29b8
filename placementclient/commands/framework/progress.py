"""Progress of long work: on stderr, never on stdout."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from placementclient.client.printable import printable
from placementclient.render.style import Style

#: Erases the line of the cursor.
_ERASE = '\r\x1b[K'
#: At least so many seconds are between two drawings for parts that end.
_PAUSE = 0.1
_STYLE = Style(bars=True)


@dataclass(frozen=True, slots=True)
class Progress:
    """A function to call with a line for each part that has ended.

    :param show: shows the line
    :param warn: to be called with a sentence that is printed in any case
    :param expect: to be called with the number of parts, as soon as it is known
    """

    show: Callable[[str], None]
    warn: Callable[[str], None]
    expect: Callable[[int], None] = lambda total: None

    def __call__(self, line: str) -> None:
        self.show(line)


@contextlib.contextmanager
def shown(app: Any, log: logging.Logger, total: int | None = None) -> Iterator[Progress]:
    """Show the progress of long work.

    With ``-v`` the lines are printed. Without it there is a bar, where stderr is a terminal and not
    redirected to stdout.

    :param total: how many parts there are, where that is known
    """
    has_screen = app.stderr.isatty() and app.stderr is not app.stdout
    if log.isEnabledFor(logging.INFO) or not has_screen:
        yield Progress(log.info, log.warning)
        return
    bar = _Bar(app.stderr, total)
    try:
        yield Progress(bar.advance, bar.warn, bar.expect)
    finally:
        bar.clear()


class _Bar:
    """One line of a terminal: a bar, the number of parts, the seconds, and the last part.

    :param total: the number of parts, if it is known
    """

    def __init__(self, stream: TextIO, total: int | None) -> None:
        self._stream, self._total = stream, total
        self._done, self._line = 0, ''
        self._began, self._drawn = time.monotonic(), float('-inf')
        self._lock = threading.Lock()
        self._draw()

    def expect(self, total: int) -> None:
        """Draw the bar for another number of parts."""
        with self._lock:
            self._total = total
            self._draw()

    def advance(self, line: str) -> None:
        """Count one more part, with a line about it."""
        with self._lock:
            self._done, self._line = self._done + 1, line
            if time.monotonic() - self._drawn > _PAUSE:
                self._draw()

    def warn(self, sentence: str) -> None:
        """Print a sentence above the bar."""
        with self._lock:
            self._stream.write(f'{_ERASE}{printable(sentence)}\n')
            self._draw()

    def clear(self) -> None:
        """Leave nothing of the bar."""
        self._stream.write(_ERASE)
        self._stream.flush()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        bar = f'{_STYLE.bar(self._done, self._total)} ' if self._total else ''
        count = f'{self._done}/{self._total or "?"}  {self._drawn - self._began:.0f} s'
        # A line that is too long is cut, not wrapped: its second line would stay.
        self._stream.write(f'{_ERASE}\x1b[?7l{bar}{count}  {printable(self._line)}\x1b[?7h')
        self._stream.flush()
