"""Many changes, one after the other, of which one may fail without ending them all."""

from __future__ import annotations

from collections.abc import Callable

from placementclient import errors
from placementclient.errors import ExitStatus


class Run:
    """What the changes of a run have in common: the service, and who may end it.

    :ivar is_over: whether no change is begun any more: the next would fare no better than the last,
        or the operator has ended it
    :ivar is_interrupted: whether the operator has
    """

    def __init__(self) -> None:
        self.is_over = False
        self.is_interrupted = False

    def failure(self, make: Callable[[], object], is_made: Callable[[], bool]) -> str:
        """Make a change: why that has failed; nothing if it has not.

        :param make: writes it
        :param is_made: reads whether it is made; asked where no answer came to what was written
        """
        try:
            return self._failure(make, is_made)
        except KeyboardInterrupt:
            self.is_over = self.is_interrupted = True
            return 'interrupted: it may be done'

    def _failure(self, make: Callable[[], object], is_made: Callable[[], bool]) -> str:
        try:
            make()
        except errors.PlacementError as failure:
            last = failure
            if isinstance(failure, errors.NoAnswer) and failure.may_be_done:
                try:
                    if is_made():
                        return ''
                except errors.PlacementError as another:
                    last = another
            self.is_over = isinstance(last, (*errors.SHUT_OUT, errors.NoAnswer))
            return str(failure)
        return ''

    def exit_status(self, *, is_failed: bool, is_done: bool) -> ExitStatus:
        """How a command ends.

        :param is_failed: whether something is not done that had to be
        :param is_done: whether something is
        """
        if self.is_interrupted:
            return ExitStatus.INTERRUPTED
        if not is_failed:
            return ExitStatus.DONE
        return ExitStatus.PARTIAL if is_done else ExitStatus.ERROR
