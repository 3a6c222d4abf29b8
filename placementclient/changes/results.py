"""The result of a change that was carried out. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from placementclient import errors
from placementclient.changes.plan import ChangeSet
from placementclient.changes.summary import Row
from placementclient.model.outcomes import State


@dataclass(slots=True)
class Carried:
    """How the changes of one tree have ended.

    :param rows: the parts of the change that are made
    :param unknown: the parts of which it is not known, as no answer came
    :param error: what stopped it
    """

    tree: ChangeSet
    state: State = State.NOT_STARTED
    rows: list[Row] = field(default_factory=list)
    unknown: list[Row] = field(default_factory=list)
    error: errors.PlacementError | None = None
