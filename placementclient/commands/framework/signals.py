# SPDX-License-Identifier: Apache-2.0
"""Signals that stop a command."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn


@contextlib.contextmanager
def handle_signals() -> Iterator[None]:
    """Let SIGTERM stop a command as Ctrl-C does, and a second signal stop the process at once."""
    # The first waits for answers to what was sent. Only the main thread gets signals; one that has
    # a handler of its own keeps it.
    usual: dict[signal.Signals, Any] = {}

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for interruption in usual:
            signal.signal(interruption, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                usual[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
