# SPDX-License-Identifier: Apache-2.0
"""The writes of a client that were sent, for whoever ends it in the middle of one."""

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from placementclient.basis.errors import PlacementError
from placementclient.client import errors

T = TypeVar('T')


class SentChange(NamedTuple):
    """A write that was sent.

    :param request: method and path
    :param is_done: whether the service has confirmed it
    """

    request: str
    is_done: bool

    def __str__(self) -> str:
        if self.is_done:
            return f'the last change, {self.request}, was done'
        return f'whether {self.request} was done is not known'


class SentChanges:
    """The last write of each thread that was sent and not refused."""

    def __init__(self) -> None:
        # The latest is at the end.
        self._by_thread: dict[int, SentChange] = {}

    @property
    def last(self) -> SentChange | None:
        """A write with an unknown outcome, if there is one, else the last write; ``None``: none."""
        changes = list(self._by_thread.values())
        latest = changes[-1] if changes else None
        return next((change for change in changes if not change.is_done), latest)

    def record_write(self, request: str, attempt: Callable[[], T]) -> T:
        """Return what an attempt to write returns; remember the write unless it is refused.

        :param request: method and path
        """
        # Before it is sent: a signal may come at any time from here on.
        before = self._replace_last(SentChange(request, is_done=False))
        try:
            answer = attempt()
        except PlacementError as failure:
            if isinstance(failure, errors.NoAnswer) and not isinstance(failure, errors.NotSent):
                failure.may_be_done = True
            else:
                self._replace_last(before)
            raise
        self._replace_last(SentChange(request, is_done=True))
        return answer

    def _replace_last(self, change: SentChange | None) -> SentChange | None:
        """Set the last write of this thread, and return the one before; ``None``: none."""
        thread = threading.get_ident()
        before = self._by_thread.pop(thread, None)
        if change is not None:
            self._by_thread[thread] = change
        return before
