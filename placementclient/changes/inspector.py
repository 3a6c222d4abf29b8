# SPDX-License-Identifier: Apache-2.0
"""The trees of a plan compared with the service: status, verification, and what is left to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placementclient.api import attempts
from placementclient.basis.errors import PlacementError
from placementclient.changes import comparison, phases
from placementclient.changes.journal import Journal, Record
from placementclient.changes.obstacles import LeftAlone, Obstructed, sentence
from placementclient.changes.operations import Operation
from placementclient.changes.rebase import Rebased
from placementclient.changes.records import operations
from placementclient.changes.tree_queue import unknown_outcomes
from placementclient.changes.tree_rebase import rebase_change, unmade
from placementclient.changes.written_values import is_unmade
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.findings import Finding, Severity
from placementclient.model.outcomes import State, Status, TreeStatus
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot
from placementclient.reading.scope import ScopeFacets, ScopeReader, content, deciding, showing


@dataclass(frozen=True, slots=True)
class Look:
    """A tree compared with its plan, before anything is written.

    :param is_there: whether the service has the tree; ``None``: the plan does not know
    :param difference: from the plan; empty where none is known
    :param obstacle: why the tree cannot be begun
    """

    tree: Change
    is_there: bool | None = True
    difference: str = ''
    obstacle: PlacementError | None = None


class Inspector:
    """Compares the trees of a plan with the service.

    :ivar journal: of the plan; in memory, unless it has a file
    """

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client, self.plan = client, plan
        self.journal = Journal(None, {})
        #: The states and operations of trees that were read and not begun, by their roots' UUIDs.
        self._prepared: dict[str, tuple[Snapshot, Sequence[Operation]]] = {}

    def current(self, tree: Change) -> Change:
        """Return a tree as it was planned last: in the plan, or again while it was applied."""
        return self.journal.of(tree.root_provider_uuid).plan or tree

    def is_begun(self, tree: Change) -> bool:
        """Return whether a request may ever have been sent for a tree."""
        return self.journal.of(tree.root_provider_uuid).begun

    def stands(self, tree: Change, *, backward: bool) -> bool:
        """Return whether a tree is still as the last run left it, by its journal.

        :raises LeftAlone: if it was undone in part, and its change is atomic
        """
        current = self.current(tree)
        reader = ScopeReader(self.client, [current])
        if not current.is_atomic:
            _, forward, back = self._sides(reader, current)
            return (back if backward else forward).is_done
        live = self._signs(reader, current)
        if backward:
            return phases.phase_of(current, live) is not phases.Phase.AFTER
        if phases.is_untouched(current, live):
            return False
        for deviation in comparison.of_inventories(current, live):
            if deviation.is_error:
                raise LeftAlone(f'it was applied, and was changed since: {deviation.reason}')
        return True

    def is_there(self, tree: Change, reader: ScopeReader) -> bool | None:
        """Return whether the service has a tree; ``None`` if the plan does not know."""
        providers = set(tree.before.providers)
        if self.is_begun(tree):
            # It may have made or deleted the providers of one side, or be half way between them.
            providers = {*providers, *tree.after.providers} if tree.after.providers else set()
        if tree.is_atomic:
            providers.update(tree.roots)
        return not providers.isdisjoint(reader.listed(tree)) if providers else None

    def reader(self, trees: Sequence[Change]) -> ScopeReader:
        """Return a reader of trees, which reads them together if it can."""
        return ScopeReader(self.client, map(self.current, trees))

    def look(self, tree: Change, reader: ScopeReader, *, backward: bool) -> Look:
        """Compare a tree with the plan, before anything is written."""
        current, is_there = self.current(tree), None
        try:
            is_there = self.is_there(tree, reader)
            if backward:
                return Look(tree, is_there, self._difference(reader, current))
            live, rebased = self._rebased(reader, current)
        except (errors.ConcurrentUpdate, errors.NotFound):
            # It changes just now: compare it again when its turn comes.
            return Look(tree, is_there)
        if not rebased.obstacles:
            self._prepared[tree.root_provider_uuid] = live, rebased.operations
            return Look(tree, is_there)
        obstacle = Obstructed(rebased.obstacles)
        return Look(tree, is_there, str(obstacle), None if obstacle.is_drift else obstacle)

    def status(self, tree: Change, reader: ScopeReader) -> TreeStatus:
        current, record = self.current(tree), self.journal.of(tree.root_provider_uuid)
        state, reason = self._status(reader, current)
        if state is Status.PENDING and record.ended == State.ROLLED_BACK:
            state = Status.ROLLED_BACK
        is_left_alone = False
        if record.is_undone and state is not Status.APPLIED:
            state, reason = self._left_alone(current, record, state)
            is_left_alone = state is Status.DIFFERS
        name = tree.root_provider_name
        return TreeStatus(tree.root_provider_uuid, name, state, reason, is_left_alone)

    def deviations(self, tree: Change, reader: ScopeReader) -> Sequence[Finding]:
        """Return the deviations of a tree from the plan."""
        current, records = self.current(tree), self.journal.records
        record = records.get(tree.root_provider_uuid)
        if current.is_atomic:
            live = reader.read(current, content(current))
            has_happened = phases.has_happened(current, live)
        else:
            live, forward, back = self._sides(reader, current)
            has_happened = forward.is_done or not back.is_done
        if not has_happened:
            pending = comparison.not_applied(tree.root_provider_name, record, bool(records))
            return [pending, *comparison.before_apply(current, live)]
        deviations = list(comparison.deviations(current, live))
        if not current.is_atomic and record and record.ended == State.APPLIED:
            deviations = [replace(row, severity=Severity.INFO) for row in deviations]
        return deviations

    def rebased(self, tree: Change, *, backward: bool = False) -> tuple[Snapshot, Rebased]:
        """Read a tree; return its state, and the remaining operations of one direction."""
        with unknown_outcomes():

            def attempt() -> tuple[Snapshot, Rebased]:
                return self._rebased(ScopeReader(self.client, [tree]), tree, backward=backward)

            return attempts.retried(self.client, attempt)

    def _read(self, reader: ScopeReader, tree: Change, facets: ScopeFacets) -> Snapshot:
        begun = self.is_begun(tree)
        return attempts.retried(self.client, lambda: reader.read(tree, facets, is_begun=begun))

    def _signs(self, reader: ScopeReader, tree: Change) -> Snapshot:
        """Read the parts of an atomic change that show its status."""
        return self._read(reader, tree, showing(tree))

    def _sides(self, reader: ScopeReader, tree: Change) -> tuple[Snapshot, Rebased, Rebased]:
        """Read a tree whose change is not atomic; return the rest of both directions."""
        live = self._read(reader, tree, deciding(tree, is_begun=self.is_begun(tree)))
        return live, self._rest(tree, live), self._rest(tree, live, backward=True)

    def _rebased(
        self, reader: ScopeReader, tree: Change, *, backward: bool = False
    ) -> tuple[Snapshot, Rebased]:
        begun = self.is_begun(tree) or backward
        live = reader.read(tree, deciding(tree, is_begun=begun), is_begun=begun)
        if (rest := unmade(tree, live, backward=backward)) is tree:
            return live, self._rest(tree, live, backward=backward)
        # The rest needs other facets.
        reader = ScopeReader(self.client, [rest])
        live = reader.read(rest, deciding(rest, is_begun=True), is_begun=True)
        return live, replace(self._rest(rest, live, backward=backward), is_moved=True)

    def _rest(self, tree: Change, live: Snapshot, *, backward: bool = False) -> Rebased:
        record = self.journal.of(tree.root_provider_uuid)
        try:
            sent = None if record.sent is None else [*map(operations.parsed, record.sent)]
        except (LookupError, ValueError) as reason:
            raise PlacementError(f'The journal of the plan is damaged: {reason}') from None
        if sent and record.is_open and is_unmade(sent[-1], live):
            sent.pop()
            self.journal.note_unmade(tree.root_provider_uuid)
        return rebase_change(tree, live, sent, backward=backward)

    def _status(self, reader: ScopeReader, tree: Change) -> tuple[Status, str]:
        if tree.is_atomic:
            if phases.is_as_planned(tree, reader.listed(tree)):
                return Status.PENDING, ''
            return comparison.status_of(tree, self._signs(reader, tree))
        _, forward, back = self._sides(reader, tree)
        if forward.is_done or back.is_done:
            return (Status.APPLIED if forward.is_done else Status.PENDING), ''
        made_in_part = 'it is made in part: apply completes it, rollback takes it back'
        return Status.DIFFERS, sentence(forward.obstacles) or made_in_part

    def _difference(self, reader: ScopeReader, tree: Change) -> str:
        """Return the reason why a rollback cannot start from the present state."""
        if not tree.is_atomic:
            return sentence(self._sides(reader, tree)[2].obstacles)
        is_neither = phases.phase_of(tree, self._signs(reader, tree)) is phases.Phase.NEITHER
        return 'it is neither as it was before the plan nor as it is after it' if is_neither else ''

    def _left_alone(self, tree: Change, record: Record, status: Status) -> tuple[Status, str]:
        """Return the status of a tree that was left alone, and the reason if it still holds."""
        try:
            _, rebased = self._rebased(ScopeReader(self.client, [tree]), tree)
            obstacle = sentence(rebased.obstacles)
        except errors.ConcurrentUpdate as reason:
            obstacle = str(reason)
        then = f'{record.ended} at {record.ended_at}: {record.reason}'
        if status is Status.PENDING and not obstacle:
            return status, f'apply tries this tree again; {then}'
        # The present obstacle may be a part of the former reason.
        is_same = obstacle in record.reason
        return (
            Status.DIFFERS,
            f'{record.ended}: {record.reason}' if is_same else f'{obstacle}; {then}',
        )
