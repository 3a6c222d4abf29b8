"""Several requests at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')
U = TypeVar('U')


def parallel(function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
    """Return the results of a function, in order; after a failure no further call begins."""
    pool = ThreadPoolExecutor(max(1, workers))
    try:
        yield from pool.map(function, items)
    finally:
        pool.shutdown(cancel_futures=True)
