# SPDX-License-Identifier: Apache-2.0
"""Concurrent requests."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event
from typing import TypeVar

T = TypeVar('T')
U = TypeVar('U')


def call_in_parallel(function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
    """Call a function for each item in threads; return the results in order, or the first error.

    With one worker, this thread makes the calls. After an error no further call begins.
    """
    if workers <= 1:
        yield from map(function, items)
        return
    has_failed = Event()

    def call(item: T) -> U:
        if has_failed.is_set():
            # Calls begin in order: the error comes first in the results, and this is never seen.
            raise CancelledError
        try:
            return function(item)
        except BaseException:
            has_failed.set()
            raise

    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(call, items)
    finally:
        pool.shutdown(cancel_futures=True)
