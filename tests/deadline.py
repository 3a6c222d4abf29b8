# SPDX-License-Identifier: Apache-2.0
"""A limit for code that might not end."""

import signal
from contextlib import contextmanager


class Endless(BaseException):
    """The code has not ended in time; nothing in the product handles this."""


@contextmanager
def ends_within(seconds):
    """Raise :class:`Endless` in the main thread if the code takes longer."""

    def stop(*_):
        raise Endless

    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
