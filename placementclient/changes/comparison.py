"""A plan of changes compared with the service: the status of each tree, and its deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from placementclient.changes.journal import Record
from placementclient.changes.operations import Operation
from placementclient.changes.rebase import Obstacle, Rebased
from placementclient.changes.records import operations
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import obstacle_sentence, row_sentence, rows
from placementclient.client import errors
from placementclient.client.wording import first
from placementclient.model.outcomes import Deviation, State, Status, Verdict
from placementclient.model.plans import TreeChange
from placementclient.model.snapshots import Snapshot


class LeftAlone(errors.Differs):
    """The tree has changed since the plan, and the plan no longer fits."""


class Obstructed(LeftAlone):
    """Another client has changed a part of the change since the review.

    :param obstacles: the parts
    """

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        self.obstacles = tuple(obstacles)
        super().__init__(first([obstacle_sentence(each) for each in self.obstacles]))


def sent(record: Record) -> Sequence[Operation]:
    """Return the operations of a tree that were sent, according to the journal.

    :raises errors.PlacementError: if the journal was edited
    """
    try:
        return tuple(filter(None, map(operations.parsed, record.sent)))
    except ValueError as reason:
        raise errors.PlacementError(f'The journal of the plan is damaged: {reason}') from None


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """A tree as it was read, compared with its plan.

    :param forward: the change that is left to make
    :param back: the change that takes back what is made
    :param record: of the journal, if it has one
    """

    tree: TreeChange
    there: Snapshot
    forward: Rebased
    back: Rebased
    record: Record | None

    def status(self) -> tuple[Status, str]:
        """Return the status of a tree, and the reason if it is neither as before nor as planned."""
        record = self.record
        if not self.forward.operations and not self.forward.obstacles:
            return Status.APPLIED, ''
        if not self.back.operations and not self.back.obstacles:
            is_back = record is not None and record.ended == State.ROLLED_BACK
            return (Status.ROLLED_BACK if is_back else Status.PENDING), ''
        if self.forward.obstacles:
            return Status.DIFFERS, str(Obstructed(self.forward.obstacles))
        return Status.DIFFERS, 'it is made in part: apply completes it, rollback takes it back'

    def deviations(self, has_journal: bool) -> Iterator[Deviation]:
        """Return all deviations from the plan.

        :param has_journal: whether a journal of the plan knows any tree
        """
        name = self.tree.root_provider_name
        found, _ = self.status()
        if found in (Status.PENDING, Status.ROLLED_BACK):
            yield not_applied(name, self.record, has_journal)
            return
        for obstacle in self.forward.obstacles:
            facts = {'expected': obstacle.after, 'actual': obstacle.found}
            yield Deviation(
                name, obstacle.field, obstacle_sentence(obstacle), facts, Verdict.CHANGED_LATER
            )
        is_ended = self.record is not None and self.record.ended == State.APPLIED
        for row in rows(self.there, simulate(self.there, self.forward.operations)):
            yield Deviation(
                name,
                row.change,
                row_sentence(row),
                {'expected': row.after, 'actual': row.before},
                Verdict.CHANGED_LATER if is_ended else Verdict.DAMAGED,
            )


def not_applied(name: str, record: Record | None, has_journal: bool) -> Deviation:
    """Return the deviation of a tree that is as before the plan.

    :param name: of its root
    :param record: of the tree, if the journal has one
    :param has_journal: whether a journal of the plan knows any tree
    """
    ended = record.ended if record is not None else None
    is_back = ended == State.ROLLED_BACK
    return Deviation(
        name,
        'not-applied',
        'the plan was taken back' if is_back else 'the plan is not applied to this tree',
        verdict=Verdict.DAMAGED if ended == State.APPLIED else Verdict.PENDING,
        is_overdue=not has_journal or (record is not None and not is_back),
    )
