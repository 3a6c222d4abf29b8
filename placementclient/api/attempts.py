# SPDX-License-Identifier: Apache-2.0
"""Attempts to write: read, decide, write, and repeat after a conflict or a lost answer."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from placementclient.basis.errors import PlacementError
from placementclient.client import errors
from placementclient.client.retries import read_retry_after

if TYPE_CHECKING:
    from placementclient.client.http import Client
    from placementclient.model.freshness import Read

T = TypeVar('T')

#: How long a change is tried where other writers come first; in seconds. As long as a load balancer
#: of a busy cloud lets one request wait.
DEADLINE = 60.0
#: The longest pause between two attempts, in seconds.
LONGEST_PAUSE = 2.0


def retry_conflicts(
    client: Client,
    attempt: Callable[[], T],
    generation: object = None,
    *,
    conflicts: tuple[type[PlacementError], ...] = (errors.ConcurrentUpdate,),
) -> T:
    """Call a function that reads and writes, again after each conflict; return its value.

    A write without an answer may have been carried out. So the function is called again: it reads
    the present state before it writes.

    :param attempt: reads an object, decides and writes it
    :param generation: the generation, or the body with generations, that the operator has given:
        then a conflict is raised at once; ``None``: the calls go on for :data:`DEADLINE`
    :param conflicts: the errors that count as conflicts
    :raises errors.NoAnswer: if it is not known whether the write was carried out
    """
    max_retries = client.max_retries
    ends = time.monotonic() + (DEADLINE if generation is None else 0)
    lost: errors.Transient | None = None
    for number in itertools.count(1):
        pause = random.uniform(0, min(LONGEST_PAUSE, 0.1 * 2**number))  # noqa: S311
        try:
            return attempt()
        except conflicts as conflict:
            if time.monotonic() >= ends:
                # What moved the generation may be the write that was not answered.
                raise (conflict if lost is None else lost) from conflict
        except (errors.NoAnswer, errors.AuthenticationFailed) as failure:
            if not isinstance(failure, errors.Transient) or not failure.may_be_done:
                # The reading would have shown the result of the write before.
                raise (failure if lost is None else lost) from failure
            if max_retries == 0:
                raise
            lost, max_retries = failure, max_retries - 1
            pause = max(pause, read_retry_after(failure))
        # With jitter, so that two writers that met do not meet again.
        time.sleep(pause)
    raise AssertionError('unreachable')


def confirm_write(
    client: Client, write: Callable[[], T], is_done: Callable[[], bool], generation: object = None
) -> T | None:
    """Send a write that must not be sent twice; if its answer is lost, read before a retry.

    :param is_done: reads whether the write was carried out
    :param generation: as for :func:`retry_conflicts`
    :return: the value of ``write``; ``None`` if its answer was lost and ``is_done`` returns True
    """
    is_lost = False

    def write_once() -> T | None:
        nonlocal is_lost
        if is_lost and is_done():
            return None
        try:
            return write()
        except errors.Transient:
            is_lost = True
            raise

    return retry_conflicts(client, write_once, generation)


def is_gone_or_empty(read: Callable[[], Read[T]]) -> bool:
    """Return whether an object does not exist, or is empty.

    :param read: reads the object
    """
    try:
        return not read().value
    except errors.NotFound:
        return True


def edit_object(
    client: Client,
    read: Callable[[], Read[T]],
    change: Callable[[T], T],
    write: Callable[[T, int], Read[T]],
    generation: int | None = None,
) -> Read[T]:
    """Read an object, edit it, and write it if the edit has changed it; return it.

    :param change: returns the edited value
    :param write: takes the edited value and the generation that was read
    :param generation: the generation that the object has to have; ``None``: any
    :raises PlacementError: if it has another one
    """
    is_sent = False

    def read_edit_write() -> Read[T]:
        nonlocal is_sent
        current = read()
        desired = change(current.value)
        is_reached = desired == current.value
        if (
            generation is not None
            and current.generation != generation
            and not (is_sent and is_reached)
        ):
            wrong = f'The generation is {current.generation}, not {generation}'
            raise PlacementError(f'{wrong}: read it again')
        if is_reached:
            return current
        assert current.generation is not None
        is_sent = True
        return write(desired, current.generation)

    return retry_conflicts(client, read_edit_write, generation)
