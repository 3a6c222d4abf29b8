"""A plan of changes carried out and taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from placementclient.api.conflict import retried
from placementclient.changes import journal, region
from placementclient.changes.applier import Applier, check_allowed, generations_of
from placementclient.changes.comparison import Obstructed, TreeComparison, compared, sent
from placementclient.changes.execution import Look, PlanRun
from placementclient.changes.journal import Journal, Record, TreeJournal
from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.rebase import Obstacle, Rebased, rebase
from placementclient.changes.records import change_plans, operations
from placementclient.changes.tree_queue import result_of, unknown_outcomes
from placementclient.client.http import Client
from placementclient.model.outcomes import Deviation, State, TreeResult, TreeStatus
from placementclient.model.snapshots import Snapshot

T = TypeVar('T')


class ChangeRun(PlanRun[ChangeSet]):
    """A plan of changes: each way is what :func:`rebase` leaves of it."""

    plan: ChangePlan

    def __init__(self, client: Client, plan: ChangePlan) -> None:
        super().__init__(client, plan)
        #: The trees that were read and not begun yet, by the UUIDs of their roots.
        self._prepared: dict[str, tuple[Snapshot, Rebased]] = {}

    def check(self, trees: Sequence[ChangeSet]) -> None:
        check_allowed(self.client, trees)

    def opened(self, path: str) -> AbstractContextManager[Journal]:
        return journal.opened(path, change_plans.identity(self.plan))

    def recorded(self, path: str) -> Mapping[str, Record]:
        return journal.read(path, change_plans.identity(self.plan))

    def is_there(self, tree: ChangeSet) -> bool | None:
        return self._is_there(tree, self._read(tree))

    def stands(self, tree: ChangeSet, *, backward: bool) -> bool:
        _, rebased = self._rebased(tree, backward)
        return not rebased.operations and not rebased.obstacles

    def looking(
        self, trees: Sequence[ChangeSet], *, backward: bool
    ) -> Callable[[ChangeSet], Look[ChangeSet]]:
        def look(tree: ChangeSet) -> Look[ChangeSet]:
            there, rebased = self._rebased(tree, backward)
            is_there = self._is_there(tree, there)
            if rebased.obstacles:
                obstacle = Obstructed(rebased.obstacles)
                return Look(tree, is_there, str(obstacle), obstacle)
            if not backward:
                self._prepared[tree.root_provider_uuid] = there, rebased
            return Look(tree, is_there)

        return look

    def forward(self, tree: ChangeSet) -> TreeResult:
        root_uuid = tree.root_provider_uuid
        prepared = [self._prepared.pop(root_uuid)] if root_uuid in self._prepared else []

        def attempt() -> None:
            there, rebased = prepared.pop() if prepared else self._rebased(tree)
            if rebased.obstacles:
                raise Obstructed(rebased.obstacles)
            self._write(tree, there, rebased)

        try:
            self._retried(attempt)
        except Obstructed as reason:
            return self.left_alone(tree, reason)
        state = State.APPLIED if self._is_begun(tree) else State.ALREADY_APPLIED
        self.journal.end(root_uuid, State.APPLIED)
        return result_of(tree, state)

    def backward(self, tree: ChangeSet) -> TreeResult:
        obstacles: tuple[Obstacle, ...] = ()
        is_begun = self._is_begun(tree)

        def attempt() -> bool:
            nonlocal obstacles
            there, rebased = self._rebased(tree, backward=True)
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
            return self.left_alone(tree, Obstructed(obstacles))
        self.journal.end(tree.root_provider_uuid, State.ROLLED_BACK)
        return result_of(tree, State.ROLLED_BACK)

    def status_reader(self, trees: Sequence[ChangeSet]) -> Callable[[ChangeSet], TreeStatus]:
        def status(tree: ChangeSet) -> TreeStatus:
            found, reason = self._compared(tree).status()
            return TreeStatus(tree.root_provider_uuid, tree.root_provider_name, found, reason)

        return status

    def comparing(self, trees: Sequence[ChangeSet]) -> Callable[[ChangeSet], Sequence[Deviation]]:
        return lambda tree: list(self._compared(tree).deviations(bool(self.records)))

    def _compared(self, tree: ChangeSet) -> TreeComparison:
        return compared(self.client, tree, self.records.get(tree.root_provider_uuid))

    def _rebased(self, tree: ChangeSet, backward: bool = False) -> tuple[Snapshot, Rebased]:
        """Read a tree; return what is there, and what is left to do of one way."""
        sides = (tree.after, tree.before) if backward else (tree.before, tree.after)
        there = self._read(tree)
        own = sent(self.journal.of(tree.root_provider_uuid))
        return there, rebase(*sides, there, own)

    def _read(self, tree: ChangeSet) -> Snapshot:
        is_begun = self._is_begun(tree)
        return self._retried(lambda: region.read(self.client, tree, is_begun=is_begun))

    def _retried(self, attempt: Callable[[], T]) -> T:
        with unknown_outcomes():
            return retried(attempt, max_retries=self.client.max_retries)

    def _is_begun(self, tree: ChangeSet) -> bool:
        return self.journal.of(tree.root_provider_uuid).begun

    def _is_there(self, tree: ChangeSet, there: Snapshot) -> bool | None:
        known = tree.before.providers
        if self._is_begun(tree):
            # It may have made or deleted the providers of one side, or be half way between them.
            known = tree.after.providers and {**known, **tree.after.providers}
        return any(uuid in there.providers for uuid in known) if known else None

    def _write(self, tree: ChangeSet, there: Snapshot, rebased: Rebased) -> None:
        done = self.done(tree)
        applier = Applier(
            self.client,
            generations_of(there),
            journal=TreeJournal(self.journal, tree.root_provider_uuid, operations.whole),
            names=self.names,
            report=lambda operation, is_known: done.append(operation) if is_known else None,
        )
        with applier.joint():
            applier.run(rebased.operations)

    def _check_ours(self, tree: ChangeSet) -> None:
        """See whether a tree of which the journal knows nothing is as this plan makes it.

        :raises Obstructed: if it is not
        """
        _, rebased = self._rebased(tree)
        if rebased.operations or rebased.obstacles:
            raise Obstructed(rebased.obstacles or [_UNKNOWN])


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
