# SPDX-License-Identifier: Apache-2.0
"""Virtual time, and chance that a seed decides, for everything in this process."""

import concurrent.futures
import datetime
import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from oslo_utils import timeutils

#: When each history begins.
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class Clock:
    """The time of one history; it passes only where somebody lets it.

    :ivar now: seconds since its beginning
    :ivar asleep: called with the seconds that somebody wants to wait
    """

    def __init__(self):
        self.now = 0.0
        self.asleep: Callable[[float], None] = self.advance

    def advance(self, seconds):
        """Let time pass, for the server too."""
        self.now += seconds
        moment = EPOCH + datetime.timedelta(seconds=self.now)
        timeutils.set_time_override(moment.replace(tzinfo=None))


class InlineExecutor(concurrent.futures.Executor):
    """Runs what it is given at once: threads would come in an order that nobody can repeat."""

    def __init__(self, *_, **__):
        self._is_shut = False

    def submit(self, function, /, *args, **kwargs):
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def inline_threads():
    """Let this process have no pools of threads; to be called before the product is imported."""
    concurrent.futures.ThreadPoolExecutor = InlineExecutor  # type: ignore[misc]


@contextmanager
def virtual(clock, seed):
    """Make a clock that of the process, and a seed the source of all chance."""
    source = random.Random(f'chance {seed}')
    random.seed(seed)
    clock.advance(0)
    start = EPOCH.timestamp()
    with ExitStack() as stack:
        for where, name, new in (
            (time, 'time', lambda: start + clock.now),
            (time, 'monotonic', lambda: clock.now),
            (time, 'sleep', lambda seconds: clock.asleep(seconds)),
            (os, 'urandom', source.randbytes),
        ):
            stack.enter_context(mock.patch.object(where, name, new))
        stack.callback(timeutils.clear_time_override)
        yield
