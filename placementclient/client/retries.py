# SPDX-License-Identifier: Apache-2.0
"""Retries of one request after lost answers and temporary refusals (5xx, 429), with pauses.

After a conflict, :mod:`placementclient.api.attempts` decides and writes again.
"""

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from placementclient.client import errors

T = TypeVar('T')

LOG = logging.getLogger(__name__)

#: How much longer each pause between two attempts is than the one before, what chance adds to it,
#: the longest, and the longest that is waited where Retry-After asks for it; in seconds.
BACKOFF, JITTER, LONGEST_BACKOFF, LONGEST_PAUSE = 0.25, 0.25, 120.0, 30


def repeat_request(
    attempt: Callable[[], T],
    max_retries: int,
    warn: Callable[[str], None],
    after: type[errors.Transient] = errors.Transient,
) -> T:
    """Return what an attempt returns; repeat it, after growing pauses, while it fails.

    :param attempt: sends a request
    :param warn: is called with a sentence before each pause; there is none before the first
        retry, unless the answer has Retry-After
    :param after: the failures after which the request may be sent again
    """
    pauses = [min(BACKOFF * 2**number, LONGEST_BACKOFF) for number in range(max_retries)]
    number = 0
    while True:
        try:
            return attempt()
        except after as lost:
            if number == max_retries:
                raise
            backoff = pauses[number] + random.uniform(0, JITTER) if number else 0  # noqa: S311
            pause = max(backoff, read_retry_after(lost))
            LOG.info('%s; trying again in %.1f s', lost, pause)
            if pause:
                seconds = max(pause, sum(pauses[1:]))
                warn(f'{lost}. Trying again, with pauses of about {seconds:.0f} s in all')
            number += 1
            time.sleep(pause)


def read_retry_after(lost: errors.Transient) -> float:
    """Return the seconds that an answer asks to wait (Retry-After), up to a limit; else 0."""
    from urllib3 import exceptions
    from urllib3.util import Retry

    try:
        return min(Retry().parse_retry_after(lost.retry_after or '0'), LONGEST_PAUSE)
    except (exceptions.InvalidHeader, ValueError, OverflowError):
        # A year that no calendar has, a number that no clock has.
        return 0.0
