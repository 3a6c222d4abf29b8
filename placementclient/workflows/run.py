"""Many changes, one after the other, of which one may fail without ending them all."""

from __future__ import annotations

from collections.abc import Callable

from placementclient import errors


class Run:
    """What the changes of a run have in common: the service.

    :ivar is_over: whether the next change would fare no better than the last
    """

    def __init__(self) -> None:
        self.is_over = False

    def is_done(self, failure: errors.PlacementError, look: Callable[[], bool]) -> bool:
        """Whether a change is made all the same of which this was raised.

        :param look: reads whether it is made; not asked where the failure says that it is not
        """
        if isinstance(failure, errors.NoAnswer) and failure.may_be_done:
            try:
                return look()
            except errors.PlacementError as another:
                failure = another
        self.is_over = isinstance(failure, (*errors.SHUT_OUT, errors.NoAnswer))
        return False
