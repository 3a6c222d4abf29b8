"""Read, decide, write; and again, where somebody else wrote in between."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from placementclient import errors

T = TypeVar('T')

ATTEMPTS = 4


def retried(attempt: Callable[[], T]) -> T:
    """Call ``attempt``, which reads and writes, until no other writer comes between the two.

    :raises errors.ConcurrentUpdate: if that fails :data:`ATTEMPTS` times
    """
    for number in range(1, ATTEMPTS):
        try:
            return attempt()
        except errors.ConcurrentUpdate:
            # With jitter, so that two writers that met do not meet again.
            time.sleep(random.uniform(0, 0.1 * 2**number))  # noqa: S311
    return attempt()
