# SPDX-License-Identifier: Apache-2.0
"""Results of applied changes. Pure."""

from dataclasses import dataclass, field

from placementclient.basis import errors
from placementclient.changes.summary import ChangeRow, rows
from placementclient.model.outcomes import State
from placementclient.model.plans import Change


@dataclass(slots=True)
class ChangeResult:
    """The result of the changes of one tree.

    :param rows: the parts of the change that are made
    :param lost: the part with an unknown result, as no answer came
    :param error: the error that stopped it
    """

    tree: Change
    state: State = State.NOT_STARTED
    rows: list[ChangeRow] = field(default_factory=list)
    lost: Change | None = None
    error: errors.PlacementError | None = None

    @property
    def unknown(self) -> list[ChangeRow]:
        """The rows of the part that was lost."""
        return list(rows(self.lost.before, self.lost.after)) if self.lost else []
