"""SIGINT and SIGTERM: stop a command with the results so far, or at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM stop a command as Ctrl-C does, and a second signal stop the process at once.

    The first waits for answers to what was sent. Only the main thread gets signals; one that has a
    handler of its own keeps it.
    """
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    is_main = threading.current_thread() is threading.main_thread()
    ours = [each for each in usual if is_main and signal.getsignal(each) is usual[each]]

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    for each in ours:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, usual[each])


class Terminated(KeyboardInterrupt):
    """A SIGTERM. Handlers of Ctrl-C handle it too."""


@contextlib.contextmanager
def terminable(stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Call ``stop`` and raise :class:`Terminated` at a SIGTERM."""

    def terminate(number: int, frame: FrameType | None) -> None:
        stop()
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
