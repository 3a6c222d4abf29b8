# SPDX-License-Identifier: Apache-2.0
"""The changes of a plan compared with the service: status, verification, and what remains."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placementclient.api import attempts
from placementclient.basis.errors import PlacementError
from placementclient.changes.deviations import find_input_differences
from placementclient.changes.journal import Journal, TreeRecord
from placementclient.changes.merge import MergeResult
from placementclient.changes.obstacles import Obstructed, describe_obstacles
from placementclient.changes.operations import Operation
from placementclient.changes.progress import Progress, make_progress
from placementclient.changes.records import operations
from placementclient.changes.tree_merge import merge_change
from placementclient.changes.tree_queue import translate_lost_answers
from placementclient.changes.written_values import is_request_lost
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.findings import Finding, Severity
from placementclient.model.outcomes import PLAN_ROLLED_BACK, PlanStatus, TreeState, TreeStatus
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot
from placementclient.reading.scope import ScopeFacets, ScopeReader


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """A change compared with the service, before anything is written.

    :param is_there: whether a provider exists that the change needs; ``None``: it needs none
    :param difference: between the service and the plan; empty where none is known
    :param obstacle: why the change cannot be begun
    """

    change: Change
    is_there: bool | None = True
    difference: str = ''
    obstacle: PlacementError | None = None


class RemainingChange(NamedTuple):
    """The part of a change that is still to be made.

    :param live: the state that its operations were decided on
    :param retained: obstacles: the consumers that keep what the change takes from them
    """

    live: Snapshot
    operations: Sequence[Operation]
    retained: Sequence[Finding] = ()


class Inspector:
    """Compares the changes of a plan with the service.

    :ivar journal: of the plan; in memory, unless it has a file
    """

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client, self.plan = client, plan
        self.journal = Journal(None, {})
        #: What remains of the changes that were compared and not begun, by the UUIDs of the roots.
        self._prepared: dict[str, RemainingChange] = {}

    def get_latest_version(self, change: Change) -> Change:
        """Return the change of the last plan of its trees: they may have been planned again."""
        return self.journal.get_record(change.root_provider_uuid).plan or change

    def is_begun(self, change: Change) -> bool:
        """Return whether a request may ever have been sent for a change."""
        return self.journal.get_record(change.root_provider_uuid).is_begun

    def is_as_recorded(self, change: Change, *, backward: bool) -> bool:
        """Return whether a change is still applied, or still rolled back, as the journal says.

        :param backward: whether to look if it is still rolled back, not applied
        :raises LeftAlone: if the change is atomic, and was undone in part
        """
        current = self.get_latest_version(change)
        progress = self.make_progress(current)
        live = self._read_state(
            ScopeReader(self.client, [current]), current, progress.find_facets_of_status()
        )
        return progress.is_still_rolled_back(live) if backward else progress.is_still_applied(live)

    def has_needed_provider(self, change: Change, reader: ScopeReader) -> bool | None:
        """Return whether any provider that a change needs exists; ``None`` if it needs none."""
        providers = set(change.before.providers)
        if self.is_begun(change):
            # It may have made or deleted the providers of one side, or be half way between them.
            providers = {*providers, *change.after.providers} if change.after.providers else set()
        # The root of a tree that a reshape only adds to does not change.
        states = {*change.before.providers, *change.after.providers}
        providers.update(change.roots.keys() - states)
        return not providers.isdisjoint(reader.list_providers(change)) if providers else None

    def make_reader(self, changes: Sequence[Change]) -> ScopeReader:
        """Return a reader of the trees of changes, which lists many with one request."""
        return ScopeReader(self.client, map(self.get_latest_version, changes))

    def compare_change(
        self, change: Change, reader: ScopeReader, *, backward: bool
    ) -> TreeComparison:
        """Compare a change, or its rollback, with the service, before anything is written."""
        current, is_there = self.get_latest_version(change), None
        try:
            is_there = self.has_needed_provider(change, reader)
            if backward:
                progress = self.make_progress(current)
                live = self._read_state(reader, current, progress.find_facets_of_status())
                return TreeComparison(change, is_there, progress.describe_rollback_obstacle(live))
            live, merged = self._read_and_merge_once(reader, current)
        except (errors.ConcurrentUpdate, errors.NotFound):
            # It changes just now: compare it again when its turn comes.
            return TreeComparison(change, is_there)
        if not merged.obstacles:
            self._prepared[change.root_provider_uuid] = RemainingChange(live, merged.operations)
            return TreeComparison(change, is_there)
        obstacle = Obstructed(merged.obstacles)
        return TreeComparison(
            change, is_there, str(obstacle), None if obstacle.is_drift else obstacle
        )

    def read_status(self, change: Change, reader: ScopeReader) -> TreeStatus:
        """Return the status of a change, with the reason if the service differs from it."""
        current, record = (
            self.get_latest_version(change),
            self.journal.get_record(change.root_provider_uuid),
        )
        state, reason = self._find_live_status(reader, current)
        if state is PlanStatus.PENDING and record.ended == TreeState.ROLLED_BACK:
            state = PlanStatus.ROLLED_BACK
        is_left_alone = False
        if record.is_unfinished and state is not PlanStatus.APPLIED:
            state, reason = self._find_status_when_left_alone(current, record, state)
            is_left_alone = state is PlanStatus.DIFFERS
        name = change.root_provider_name
        return TreeStatus(change.root_provider_uuid, name, state, reason, is_left_alone)

    def find_deviations(self, change: Change, reader: ScopeReader) -> Sequence[Finding]:
        """Return the deviations of the service from a change."""
        current, records = self.get_latest_version(change), self.journal.records
        record = records.get(change.root_provider_uuid)
        progress = self.make_progress(current)
        live = self._read_state(reader, current, progress.find_facets_to_compare())
        if not progress.has_happened(live):
            pending = _make_unapplied_deviation(change.root_provider_name, record, bool(records))
            return [pending, *find_input_differences(current, live)]
        is_applied = record is not None and record.ended == TreeState.APPLIED
        return progress.find_deviations(live, is_applied=is_applied)

    def read_and_merge(
        self, change: Change, *, backward: bool = False
    ) -> tuple[Snapshot, MergeResult]:
        """Return the state of the trees, and the merge of the change, or of its rollback."""
        with translate_lost_answers():

            def attempt() -> tuple[Snapshot, MergeResult]:
                return self._read_and_merge_once(
                    ScopeReader(self.client, [change]), change, backward=backward
                )

            return attempts.retry_conflicts(self.client, attempt)

    def make_progress(self, change: Change) -> Progress:
        """Return the progress of a change, by the requests in the journal."""
        return make_progress(change, functools.partial(self._merge, change))

    def _read_state(self, reader: ScopeReader, change: Change, facets: ScopeFacets) -> Snapshot:
        """Read some facets of the trees of a change, again if they change meanwhile."""
        begun = self.is_begun(change)
        return attempts.retry_conflicts(
            self.client, lambda: reader.read(change, facets, is_begun=begun)
        )

    def _read_and_merge_once(
        self, reader: ScopeReader, change: Change, *, backward: bool = False
    ) -> tuple[Snapshot, MergeResult]:
        """Return the state of the trees, and the merge of the change, or of its rollback.

        :raises errors.ConcurrentUpdate: if they change meanwhile
        """
        begun = self.is_begun(change) or backward
        facets = self.make_progress(change).find_facets_to_merge(is_begun=begun)
        live = reader.read(change, facets, is_begun=begun)
        merged = self._merge(change, live, backward)
        if not begun and not merged.has_pending_request and not merged.is_done:
            # Another run has made a part: what was left out then decides.
            reader = ScopeReader(self.client, [change])
            facets = self.make_progress(change).find_facets_to_merge(is_begun=True)
            live = reader.read(change, facets, is_begun=True)
            merged = self._merge(change, live, backward)
        return live, merged

    def _merge(self, change: Change, live: Snapshot, backward: bool) -> MergeResult:
        """Return the merge of a change, or of its rollback, by the requests in the journal."""
        record = self.journal.get_record(change.root_provider_uuid)
        try:
            sent = None if record.sent is None else [*map(operations.decode_whole, record.sent)]
        except (LookupError, ValueError) as reason:
            raise PlacementError(f'The journal of the plan is damaged: {reason}') from None
        if sent and record.is_open and is_request_lost(sent[-1], live):
            sent.pop()
            self.journal.write_lost_intent(change.root_provider_uuid)
        return merge_change(change, live, sent, backward=backward)

    def _find_live_status(self, reader: ScopeReader, change: Change) -> tuple[PlanStatus, str]:
        """Return the status by the live state, and the reason if that is not before or after."""
        progress = self.make_progress(change)
        if progress.is_listed_as_before(reader.list_providers(change)):
            return PlanStatus.PENDING, ''
        return progress.find_status(
            self._read_state(reader, change, progress.find_facets_of_status())
        )

    def _find_status_when_left_alone(
        self, change: Change, record: TreeRecord, status: PlanStatus
    ) -> tuple[PlanStatus, str]:
        """Return the status of a change that was left alone, and what is and was in its way.

        :param record: the entries of the journal about its tree
        :param status: by the live state
        """
        try:
            _, merged = self._read_and_merge_once(ScopeReader(self.client, [change]), change)
            obstacle = describe_obstacles(merged.obstacles)
        except errors.ConcurrentUpdate as reason:
            obstacle = str(reason)
        then = f'{record.ended} at {record.ended_at}: {record.reason}'
        if status is PlanStatus.PENDING and not obstacle:
            return status, f'apply tries this tree again; {then}'
        # The present obstacle may be a part of the former reason.
        is_same = obstacle in record.reason
        return (
            PlanStatus.DIFFERS,
            f'{record.ended}: {record.reason}' if is_same else f'{obstacle}; {then}',
        )


def _make_unapplied_deviation(
    root_name: str, record: TreeRecord | None, has_journal: bool
) -> Finding:
    """Return the deviation that a plan is not applied to a tree.

    It is an error if the journal says that the tree was applied. It is information if the tree is
    still to come or was rolled back; else a warning.

    :param has_journal: whether a journal of the plan knows any tree
    :param record: of the tree in the journal, if it has one
    """
    ended = record.ended if record is not None else None
    is_back = ended == TreeState.ROLLED_BACK
    message = PLAN_ROLLED_BACK if is_back else 'the plan is not applied to this tree'
    severity = Severity.WARNING
    if ended == TreeState.APPLIED:
        severity = Severity.ERROR
    elif is_back or (has_journal and record is None):
        severity = Severity.INFO
    return Finding('not-applied', root_name, reason=message, severity=severity)
