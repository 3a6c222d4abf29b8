"""Plans of changes carried out, taken back, and compared with what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from placementclient.api.conflict import retried
from placementclient.api.parallel import parallel
from placementclient.changes import journal, region
from placementclient.changes.applier import Applier, EnsuredNames, check_allowed, generations_of
from placementclient.changes.comparison import Obstructed, sent
from placementclient.changes.journal import Journal, TreeJournal
from placementclient.changes.operations import Operation
from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.rebase import Obstacle, Rebased, rebase
from placementclient.changes.records import change_plans, operations
from placementclient.changes.tree_queue import (
    OtherService,
    Report,
    TreeQueue,
    result_of,
    unknown_outcomes,
)
from placementclient.client.http import Client
from placementclient.model import origin
from placementclient.model.outcomes import (
    Outcome,
    State,
    TreeResult,
)
from placementclient.model.snapshots import Snapshot

T = TypeVar('T')


def apply(
    client: Client,
    plan: ChangePlan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    max_failures: int | None = None,
    other_service: bool = False,
    report: Report | None = None,
) -> Outcome:
    """Carry a plan out.

    Every tree is compared with the plan before anything is written. Killed at any moment, the same
    call completes what was begun, and does nothing twice.

    :param journal_path: the file that gets every intent before its request is sent
    :param trees: names or UUIDs of roots; none: all
    :param limit: at most so many trees, not counting those that are done
    :param workers: how many trees at a time
    :param max_failures: begin no further tree after so many have failed or were left alone
    :param other_service: go on where the plan seems to be made for another service
    :param report: told how each tree ended
    :raises OtherService: if the plan was made for another service; no journal is written
    :raises errors.Forbidden: if the plan needs the reshaper and the policy does not allow it
    :raises errors.BadFile: if the journal cannot be used
    """
    wanted = plan.selected(trees)
    check_allowed(client, wanted)
    with journal.opened(journal_path, change_plans.identity(plan)) as opened:
        run = _PlanRun(client, opened)
        queue = TreeQueue(wanted, limit=limit, max_failures=max_failures, report=report)
        with queue.ending():
            for result in run.preflight(plan, queue.startable(), workers, other_service):
                queue.end(result)
            queue.run(run.forward, workers)
        return queue.outcome()


def rollback(
    client: Client,
    plan: ChangePlan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    workers: int = 1,
    other_service: bool = False,
    report: Report | None = None,
) -> Outcome:
    """Take back all that nobody has changed since, and name the rest.

    The parameters and errors are those of :func:`apply`.
    """
    wanted = plan.selected(trees)
    check_allowed(client, wanted)
    with journal.opened(journal_path, change_plans.identity(plan)) as opened:
        run = _PlanRun(client, opened)
        queue = TreeQueue(wanted, report=report, backward=True)
        with queue.ending():
            if not other_service:
                run.check_service_back(plan, wanted, workers)
            opened.begin()
            queue.run(run.backward, workers)
        return queue.outcome()


@dataclass(slots=True)
class _PlanRun:
    """The objects that the trees of one run share.

    :param prepared: the trees that were read and not begun yet, by the UUIDs of their roots
    """

    client: Client
    journal: Journal
    names: EnsuredNames = field(default_factory=EnsuredNames)
    prepared: dict[str, tuple[Snapshot, Rebased]] = field(default_factory=dict)

    def preflight(
        self, plan: ChangePlan, trees: Sequence[ChangeSet], workers: int, other_service: bool
    ) -> Iterator[TreeResult]:
        """Read all trees; return those that are done, and those that cannot be begun.

        :raises OtherService: if the plan was made for another service
        """
        found = list(zip(trees, parallel(self._forwards, trees, workers), strict=True))
        if not other_service:
            obstructed = any(rebased.obstacles for _, (_, rebased) in found)
            self._check_service(plan, [(tree, there) for tree, (there, _) in found], obstructed)
        for tree, (there, rebased) in found:
            record = self.journal.of(tree.root_provider_uuid)
            if rebased.obstacles:
                yield self._left_alone(tree, Obstructed(rebased.obstacles))
            elif not rebased.operations and record.ended == State.APPLIED:
                yield result_of(tree, State.ALREADY_APPLIED)
            else:
                self.prepared[tree.root_provider_uuid] = there, rebased

    def check_service_back(
        self, plan: ChangePlan, trees: Sequence[ChangeSet], workers: int
    ) -> None:
        """See whether the trees of a plan are there, before any of them is taken back.

        :raises OtherService: if the plan was made for another service
        """
        found = list(zip(trees, parallel(self._backwards, trees, workers), strict=True))
        obstructed = any(rebased.obstacles for _, (_, rebased) in found)
        self._check_service(plan, [(tree, there) for tree, (there, _) in found], obstructed)

    def _check_service(
        self, plan: ChangePlan, found: Sequence[tuple[ChangeSet, Snapshot]], obstructed: bool
    ) -> None:
        # A change set that was begun may have made or deleted the providers of one side.
        known = [
            uuid in there.providers
            for tree, there in found
            for uuid in (tree.after if self._is_begun(tree) else tree.before).providers
        ]
        made_at = plan.origin.service if plan.origin else None
        is_other = origin.is_elsewhere(plan.origin, self.client.service)
        if (known and not any(known)) or (is_other and obstructed):
            raise OtherService(
                f'This is {self.client.service}, and the trees of the plan are not here as it has '
                f'them. The plan was made of {made_at}. Connect to that service, or give '
                '--other-service'
            )

    def forward(self, tree: ChangeSet) -> TreeResult:
        """Carry out the changes of a tree."""
        root_uuid = tree.root_provider_uuid
        prepared = [self.prepared.pop(root_uuid)] if root_uuid in self.prepared else []

        def attempt() -> None:
            there, rebased = prepared.pop() if prepared else self._forwards(tree)
            if rebased.obstacles:
                raise Obstructed(rebased.obstacles)
            self._write(tree, there, rebased)

        try:
            self._retried(attempt)
        except Obstructed as reason:
            return self._left_alone(tree, reason)
        state = State.APPLIED if self._is_begun(tree) else State.ALREADY_APPLIED
        self.journal.end(root_uuid, State.APPLIED)
        return result_of(tree, state)

    def backward(self, tree: ChangeSet) -> TreeResult:
        """Take back the changes of a tree, as far as nobody has changed them since."""
        obstacles: tuple[Obstacle, ...] = ()
        is_begun = self._is_begun(tree)

        def attempt() -> bool:
            nonlocal obstacles
            there, rebased = self._backwards(tree)
            if not is_begun and (rebased.operations or rebased.obstacles):
                self._check_ours(tree)
            obstacles = rebased.obstacles
            self._write(tree, there, rebased)
            return bool(rebased.operations)

        try:
            is_back = self._retried(attempt)
        except Obstructed as reason:
            return result_of(tree, State.LEFT_ALONE, reason)
        if not is_begun and not is_back:
            return result_of(tree, State.ALREADY_BACK)
        if obstacles:
            return self._left_alone(tree, Obstructed(obstacles))
        self.journal.end(tree.root_provider_uuid, State.ROLLED_BACK)
        return result_of(tree, State.ROLLED_BACK)

    def _forwards(self, tree: ChangeSet) -> tuple[Snapshot, Rebased]:
        there = self._read(tree)
        return there, rebase(tree.before, tree.after, there, self._sent(tree))

    def _backwards(self, tree: ChangeSet) -> tuple[Snapshot, Rebased]:
        there = self._read(tree)
        return there, rebase(tree.after, tree.before, there, self._sent(tree))

    def _read(self, tree: ChangeSet) -> Snapshot:
        return self._retried(lambda: region.read(self.client, tree))

    def _retried(self, attempt: Callable[[], T]) -> T:
        with unknown_outcomes():
            return retried(attempt, max_retries=self.client.max_retries)

    def _sent(self, tree: ChangeSet) -> Sequence[Operation]:
        return sent(self.journal.of(tree.root_provider_uuid))

    def _is_begun(self, tree: ChangeSet) -> bool:
        return self.journal.of(tree.root_provider_uuid).begun

    def _write(self, tree: ChangeSet, there: Snapshot, rebased: Rebased) -> None:
        applier = Applier(
            self.client,
            generations_of(there),
            journal=TreeJournal(self.journal, tree.root_provider_uuid, operations.whole),
            names=self.names,
        )
        with applier.joint():
            applier.run(rebased.operations)

    def _check_ours(self, tree: ChangeSet) -> None:
        """See whether a tree of which the journal knows nothing is as this plan makes it.

        :raises Obstructed: if it is not
        """
        _, rebased = self._forwards(tree)
        if rebased.operations or rebased.obstacles:
            raise Obstructed(rebased.obstacles or [_UNKNOWN])

    def _left_alone(self, tree: ChangeSet, reason: Obstructed) -> TreeResult:
        self.journal.end(tree.root_provider_uuid, State.LEFT_ALONE, str(reason))
        return result_of(tree, State.LEFT_ALONE, reason)


#: In the way of taking back what may be the work of another plan.
_UNKNOWN = Obstacle(
    'provider',
    '',
    'the journal',
    'applied',
    None,
    None,
    'it does not say that this plan was applied',
)
