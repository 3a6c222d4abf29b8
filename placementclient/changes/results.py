"""Results of applied changes, and notes on objects that a command does not change. Pure."""

from dataclasses import dataclass, field
from typing import NamedTuple

from placementclient.changes.summary import ChangeRow, rows
from placementclient.client import errors
from placementclient.model.outcomes import State
from placementclient.model.plans import TreeChange


class Note(NamedTuple):
    """An object that the command was given and does not change.

    :param object: the name of a provider or host; ``consumer UUID``
    :param state: ``not known``, ``failed``, ``left alone``, …
    :param reason: a clause, without its full stop
    """

    object: str
    state: str
    reason: str

    @property
    def is_undone(self) -> bool:
        """Return True if something is left to do, so that the command has not succeeded."""
        return self.state in ('not known', 'failed')


@dataclass(slots=True)
class ChangeResult:
    """The result of the changes of one tree.

    :param rows: the parts of the change that are made
    :param lost: the part of which it is not known, as no answer came
    :param error: what stopped it
    """

    tree: TreeChange
    state: State = State.NOT_STARTED
    rows: list[ChangeRow] = field(default_factory=list)
    lost: TreeChange | None = None
    error: errors.PlacementError | None = None

    @property
    def unknown(self) -> list[ChangeRow]:
        """The rows of the part that was lost."""
        return list(rows(self.lost.before, self.lost.after)) if self.lost else []
