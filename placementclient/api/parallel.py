# SPDX-License-Identifier: Apache-2.0
"""Concurrent requests."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')
U = TypeVar('U')


def parallel(function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
    """Call a function for each item in threads; return the results in order, or the first error.

    One worker is the calling thread itself.
    """
    if workers <= 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
