"""The assignment of one tree once it is found: the place of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from placementclient.planner.infeasibility import OpenRow
from placementclient.planner.plan.plan import PlannedRow
from placementclient.planner.target.target_state import Where


class Transfer(NamedTuple):
    """An amount of a consumer that goes to a place, which may be the one where it is.

    :param source: ``None`` of what is added
    :param target: ``None`` of what is taken back after that
    """

    consumer_uuid: str
    source: Where | None
    target: Where | None
    amount: int


@dataclass(slots=True)
class Assignment:
    """The place of everything in a tree.

    :param rows: labelled, by source, consumer and class
    :param transfers: of each row, its source and target
    :param undecided: the rows that have a choice
    :param unproved: the rows that may have one: the search for it was cut short
    """

    rows: list[PlannedRow]
    transfers: list[Transfer]
    undecided: list[OpenRow]
    unproved: list[OpenRow]
