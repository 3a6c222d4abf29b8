"""Concurrent requests."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')
U = TypeVar('U')


def parallel(function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
    """Call a function for each item in threads; return the results in order, or the first error."""
    pool = ThreadPoolExecutor(max(1, workers))
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
