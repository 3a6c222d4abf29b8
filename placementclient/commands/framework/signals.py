# SPDX-License-Identifier: Apache-2.0
"""The signals SIGINT and SIGTERM, which stop a command."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn


@contextlib.contextmanager
def handle_signals() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C raise KeyboardInterrupt; a second signal ends the process at once."""
    # After the first one, the command waits for the answers to its requests. Only the main thread
    # gets signals. A handler that the process has set itself stays.
    usual: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def raise_interrupt(number: int, frame: FrameType | None) -> NoReturn:
        for interruption in usual:
            signal.signal(interruption, signal.SIG_DFL)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                usual[number] = signal.signal(number, raise_interrupt)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
