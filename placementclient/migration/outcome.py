"""How the trees of a run ended."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from placementclient import errors
from placementclient.errors import ExitStatus


class State(enum.StrEnum):
    """How a tree ended."""

    APPLIED = 'applied'
    ALREADY_APPLIED = 'already applied'
    ROLLED_BACK = 'rolled back'
    ALREADY_BACK = 'not applied'
    LEFT_ALONE = 'left alone'
    FAILED = 'failed'
    NOT_STARTED = 'not started'


_UNDONE = frozenset({State.LEFT_ALONE, State.FAILED})


@dataclass(frozen=True, slots=True)
class TreeResult:
    """How one tree ended.

    :param reason: why it is not done, or what else there is to know; without its full stop
    :param error: what was raised, where something was
    """

    root_provider_uuid: str
    root_provider_name: str
    state: State
    reason: str = ''
    error: errors.PlacementError | None = None

    @property
    def is_done(self) -> bool:
        """Whether the tree is where the run was to bring it."""
        return self.state is not State.NOT_STARTED and self.state not in _UNDONE

    @property
    def differs(self) -> bool:
        """Whether what is there is not what was expected, rather than that something failed."""
        return self.state is State.LEFT_ALONE or isinstance(self.error, errors.Differs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    :param trees: in the order of the plan
    :param stopped: what ended the run before its time: then trees that were not started may be
        left, and of one that has failed it may be unknown whether its last request was granted
    """

    trees: Sequence[TreeResult]
    stopped: errors.PlacementError | None = None

    @property
    def exit_status(self) -> ExitStatus:
        """0: all that was asked for; 6: some of it; 3: trees were left alone; 1: errors.

        Trees that were not started because no more were asked for do not count.
        """
        undone = [tree for tree in self.trees if tree.state in _UNDONE]
        if not undone and self.stopped is None:
            return ExitStatus.DONE
        if any(tree.is_done for tree in self.trees):
            return ExitStatus.PARTIAL
        if self.stopped is not None:
            return self.stopped.exit_status
        if all(tree.differs for tree in undone):
            return ExitStatus.DIFFERS
        return ExitStatus.ERROR

    def of(self, *states: State) -> list[TreeResult]:
        """The trees that ended in one of these states."""
        return [tree for tree in self.trees if tree.state in states]
