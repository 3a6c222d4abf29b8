"""A plan of changes against what is there: where each tree is, and what deviates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from placementclient.api.conflict import retried
from placementclient.api.parallel import parallel
from placementclient.changes import journal, region
from placementclient.changes.journal import Record
from placementclient.changes.operations import Operation
from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.rebase import Obstacle, Rebased, rebase
from placementclient.changes.records import change_plans, operations
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import rows, shown, told
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.client.wording import first
from placementclient.model.outcomes import Deviation, State, Status, TreeStatus, Verdict
from placementclient.model.snapshots import Snapshot


class Obstructed(errors.Differs):
    """Somebody else has changed a part of a change set since it was reviewed.

    :param obstacles: the parts
    """

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        self.obstacles = tuple(obstacles)
        super().__init__(first([told(each) for each in self.obstacles]))


def sent(record: Record | None) -> Sequence[Operation]:
    """Return the operations that a journal says were sent for a tree.

    :raises errors.PlacementError: if the journal was edited
    """
    try:
        return tuple(filter(None, map(operations.parsed, record.sent if record else ())))
    except ValueError as reason:
        raise errors.PlacementError(f'The journal of the plan is damaged: {reason}') from None


def status(
    client: Client,
    plan: ChangePlan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
) -> list[TreeStatus]:
    """Tell where each tree is.

    :param trees: names or UUIDs of roots; none: all
    :param journal_path: tells a tree that was rolled back from one that was never applied
    :param workers: how many trees are read at a time
    """
    records = _records(plan, journal_path)

    def of_tree(tree: ChangeSet) -> TreeStatus:
        record = records.get(tree.root_provider_uuid)
        compared = _compared(client, tree, record)
        found, reason = compared.status(record)
        return TreeStatus(tree.root_provider_uuid, tree.root_provider_name, found, reason)

    return list(parallel(of_tree, plan.selected(trees), workers))


def verify(
    client: Client,
    plan: ChangePlan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> list[Deviation]:
    """Read all that the plan changes, and compare it with the plan.

    :param trees: names or UUIDs of roots; none: all
    :param journal_path: tells a tree that was not begun yet from one that is damaged
    :param workers: how many trees are read at a time
    :param progress: called with the name of the root of each tree that has been read
    """
    records = _records(plan, journal_path)
    wanted = plan.selected(trees)

    def of_tree(tree: ChangeSet) -> list[Deviation]:
        record = records.get(tree.root_provider_uuid)
        return list(_compared(client, tree, record).deviations(record))

    result = []
    for tree, deviations in zip(wanted, parallel(of_tree, wanted, workers), strict=True):
        result += deviations
        if progress:
            progress(tree.root_provider_name)
    return result


def _records(plan: ChangePlan, journal_path: str | None) -> Mapping[str, Record]:
    if journal_path is None:
        return {}
    return journal.read(journal_path, change_plans.identity(plan))


def _compared(client: Client, tree: ChangeSet, record: Record | None) -> _Compared:
    there = retried(lambda: region.read(client, tree), max_retries=client.max_retries)
    own = sent(record)
    return _Compared(
        tree,
        there,
        rebase(tree.before, tree.after, there, own),
        rebase(tree.after, tree.before, there, own),
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """A tree that was read, against its plan.

    :param forward: the change that is left to make
    :param back: the change that takes back what is made
    """

    tree: ChangeSet
    there: Snapshot
    forward: Rebased
    back: Rebased

    def status(self, record: Record | None) -> tuple[Status, str]:
        """Return the status of a tree, and the reason where it is on neither side."""
        if not self.forward.operations and not self.forward.obstacles:
            return Status.APPLIED, ''
        if not self.back.operations and not self.back.obstacles:
            is_back = record is not None and record.ended == State.ROLLED_BACK
            return (Status.ROLLED_BACK if is_back else Status.PENDING), ''
        if self.forward.obstacles:
            return Status.DIFFERS, str(Obstructed(self.forward.obstacles))
        return Status.DIFFERS, 'it is made in part: apply completes it, rollback takes it back'

    def deviations(self, record: Record | None) -> Iterator[Deviation]:
        """All that is not as the plan makes it."""
        name = self.tree.root_provider_name
        found, _ = self.status(record)
        if found in (Status.PENDING, Status.ROLLED_BACK):
            message = 'the plan is not applied to this tree'
            yield Deviation(name, 'not-applied', message, verdict=Verdict.PENDING)
            return
        for obstacle in self.forward.obstacles:
            facts = {'expected': obstacle.after, 'actual': obstacle.found}
            yield Deviation(name, obstacle.field, told(obstacle), facts, Verdict.CHANGED_LATER)
        is_ended = record is not None and record.ended == State.APPLIED
        for row in rows(self.there, simulate(self.there, self.forward.operations)):
            yield Deviation(
                name,
                row.change,
                f'{row.object}: {row.change} is {shown(row.before)}, not {shown(row.after)}',
                {'expected': row.after, 'actual': row.before},
                Verdict.CHANGED_LATER if is_ended else Verdict.DAMAGED,
            )
