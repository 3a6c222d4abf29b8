# SPDX-License-Identifier: Apache-2.0
"""The carrier of a plan: applies or rolls back each change, whatever other clients change."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from placementclient.api import attempts, reshaper
from placementclient.basis.errors import NoSuchProvider, PlacementError
from placementclient.basis.wording import join_names
from placementclient.changes import operations as ops
from placementclient.changes import phases
from placementclient.changes.applier import Applier
from placementclient.changes.diff import list_operations
from placementclient.changes.inspector import Inspector, RemainingChange
from placementclient.changes.merge import MergeResult
from placementclient.changes.obstacles import (
    LeftAlone,
    Obstructed,
    describe_obstacles,
    find_unplanned_parts,
    is_retained_consumer,
)
from placementclient.changes.records import operations
from placementclient.changes.rollback import merge_rollback
from placementclient.changes.tree_attempts import (
    PASSING,
    REFUSALS,
    RETRIED,
    TreeAttempt,
    VerificationFailed,
    refuse_names_in_other_trees,
)
from placementclient.changes.tree_queue import (
    OutcomeUnknown,
    make_result,
    translate_lost_answers,
)
from placementclient.changes.written_values import find_repeated_writes
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import Outcome, TreeResult, TreeState
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot
from placementclient.reading.capture import UnstableRead, capture
from placementclient.reading.scope import ScopeReader

#: What to do where a rollback is impossible.
_NO_WAY_BACK = (
    'Free or shrink the allocations of these consumers, then roll back again. Or plan a reshape '
    'that moves everything back, and state large enough inventories in its specification'
)

#: Returns the part of a change that may still be written; ``None``: nothing of it.
Precheck = Callable[[Change], Change | None]


class Carrier(Inspector):
    """Applies or rolls back a plan, change by change, with the operations of :func:`merge_change`.

    :param precheck: returns the part of a change that may still be written, just before it is
    :param note: called after each attempt to carry a change
    :param retried: the errors after which the trees are read again, until the deadline
    """

    #: The record of an operation in the journal.
    record_of: Callable[[ops.Operation], Mapping[str, object]] = staticmethod(
        operations.encode_whole
    )

    def __init__(
        self,
        client: Client,
        plan: Plan,
        *,
        precheck: Precheck = lambda change: change,
        note: Callable[[TreeAttempt], None] = lambda written: None,
        retried: tuple[type[PlacementError], ...] = RETRIED,
    ) -> None:
        super().__init__(client, plan)
        self._precheck, self._note, self._retried_errors = precheck, note, retried
        #: The operations that have created custom classes and traits in this run.
        self._made_names = set[ops.Operation]()
        #: By the UUIDs of roots, the operations that are carried out, and remarks on the results.
        self._done: dict[str, list[ops.Operation]] = {}
        self._remarks: dict[str, list[str]] = {}

    def check_plan(self, changes: Sequence[Change]) -> None:
        """Refuse changes that the service does not allow, before the journal is opened."""
        self._refuse_barred_reshapes(map(list_operations, changes))

    def start_from_plan(self) -> None:
        """Prepare the operations of each change from the state in the plan, without reading again.

        Raises what :meth:`check_plan` raises.
        """
        self._prepared = {
            change.root_provider_uuid: RemainingChange(change.before, list_operations(change))
            for change in self.plan.changes
        }
        self._refuse_barred_reshapes(remaining.operations for remaining in self._prepared.values())

    def _refuse_barred_reshapes(self, operations: Iterable[Sequence[ops.Operation]]) -> None:
        """Refuse reshapes where the service or its policy does not allow them."""
        if any(isinstance(operation, ops.Reshape) for operation in chain.from_iterable(operations)):
            reshaper.check_allowed(self.client)

    def check_new_plans(self, path: str) -> None:
        """Check the changes that were planned again, in the journal at a path.

        :raises BadFile: if one was planned otherwise than reviewed
        """

    def carry_change(self, change: Change, *, backward: bool) -> TreeResult:
        """Apply or roll back a change; the result names writes that others had undone.

        Each time that the service refuses after a conflict, or does not answer, the trees are read
        again, which shows what is done.

        :param backward: whether to roll it back
        """
        attempt = self._roll_back_change if backward else self._apply_change
        result = self._run_with_retries(change, lambda: attempt(change))
        done = self._done.get(change.root_provider_uuid, ())
        again = [f'others had undone {write}' for write in find_repeated_writes(done)]
        return replace(result, reason='; '.join(filter(None, [result.reason, *again])))

    def _run_with_retries(self, change: Change, attempt: Callable[[], TreeResult]) -> TreeResult:
        """Return the result of ``attempt``, which a conflict or a lost answer starts again."""
        refusals: list[PlacementError] = []

        def attempt_once() -> TreeResult:
            try:
                return attempt()
            except PASSING:
                raise
            except (errors.Conflict, errors.BadRequest) as reason:
                refusals.append(reason)
                if len(refusals) == 1:
                    raise
                # The tree was read again in between, so this is no lost race.
                return self.leave_alone(change, reason, TreeState.FAILED)

        try:
            with translate_lost_answers():
                return attempts.retry_conflicts(
                    self.client, attempt_once, conflicts=self._retried_errors
                )
        except VerificationFailed as reason:
            return make_result(change, TreeState.FAILED, reason)
        except (*REFUSALS, LeftAlone) as reason:
            is_ours = not isinstance(reason, (LeftAlone, *self._retried_errors))
            return self.leave_alone(
                change, reason, TreeState.FAILED if is_ours else TreeState.LEFT_ALONE
            )

    def _apply_change(self, change: Change) -> TreeResult:
        root_uuid = change.root_provider_uuid
        current = self.get_latest_version(change)
        # Once: a conflict shows later changes.
        prepared = self._prepared.pop(root_uuid, None)
        part = self._precheck(current)
        if part is None:
            return self._make_result_with_remarks(change, TreeState.LEFT_ALONE)
        if part is not current:
            self.journal.write_new_plan(part)
            prepared = prepared and RemainingChange(part.before, list_operations(part))
        remaining = self.read_remaining(change) if prepared is None else prepared
        self._apply_operations(change, remaining.live, remaining.operations)
        if remaining.retained:
            raise Obstructed(remaining.retained)
        self.verify_reshape_result(self.get_latest_version(change))
        record = self.journal.get_record(root_uuid)
        is_ours = record.is_begun and record.ended is None
        self.journal.write_end(root_uuid, TreeState.APPLIED)
        return self._make_result_with_remarks(
            change, TreeState.APPLIED if is_ours else TreeState.ALREADY_APPLIED
        )

    def read_remaining(self, change: Change) -> RemainingChange:
        """Read the trees of a change, and return what remains; a subclass may plan it again.

        :raises LeftAlone: if others are in the way
        """
        live, merged = self.read_and_merge(self.get_latest_version(change))
        if not all(map(is_retained_consumer, merged.obstacles)):
            # Its parts are read one after the other: another run may have applied it meanwhile.
            live, merged = self.read_and_merge(self.get_latest_version(change))
        if not all(map(is_retained_consumer, merged.obstacles)):
            raise Obstructed(merged.obstacles)
        return RemainingChange(live, merged.operations, merged.obstacles)

    def verify_reshape_result(self, change: Change) -> None:
        """Compare the result of an atomic change's request with the plan, right after the request.

        :raises VerificationFailed: if it is not complete or not right
        """
        reader = ScopeReader(self.client, [change])
        deviations = self.make_progress(change).read_deviations_after_request(reader)
        for deviation in deviations:
            if deviation.is_error:
                raise VerificationFailed(f'verification: {deviation.reason}')
        remarks = self._remarks.setdefault(change.root_provider_uuid, [])
        remarks += [deviation.reason for deviation in deviations[:3]]

    def _roll_back_change(self, change: Change) -> TreeResult:
        """Roll back a change and write its end to the journal."""
        is_begun = self.is_begun(change)
        if not self._send_rollback(change) and not is_begun:
            return self._make_result_with_remarks(change, TreeState.ALREADY_BACK)
        self.journal.write_end(change.root_provider_uuid, TreeState.ROLLED_BACK)
        return self._make_result_with_remarks(change, TreeState.ROLLED_BACK)

    def _send_rollback(self, change: Change) -> bool:
        """Send the requests of a rollback; return whether there was anything to roll back."""
        current = self.get_latest_version(change)
        if self._is_never_applied(change, current):
            return False
        live, merged = self.read_and_merge(current, backward=True)
        record = self.journal.get_record(change.root_provider_uuid)
        is_recorded = record.is_begun or record.ended not in (None, TreeState.LEFT_ALONE)
        if not is_recorded and not merged.is_done:
            progress, reader = self.make_progress(current), ScopeReader(self.client, [current])
            facets = progress.find_facets_to_compare()
            progress.refuse_unexplained_state(reader.read(current, facets, is_begun=True))
        if merged.has_pending_request:
            self._roll_back_reshape(change, live, merged)
            return True
        self._apply_operations(change, live, merged.operations)
        if merged.obstacles:
            raise Obstructed(merged.obstacles)
        return bool(merged.operations)

    def _is_never_applied(self, change: Change, latest_version: Change) -> bool:
        """Return whether nothing of an atomic change can have been made.

        :param latest_version: the change by the last plan of its trees
        """
        record = self.journal.get_record(change.root_provider_uuid)
        if record.is_begun or phases.make_preparation(latest_version) is None:
            return False
        reader = ScopeReader(self.client, [latest_version])
        if phases.is_unchanged_since_plan(latest_version, reader.list_providers(latest_version)):
            return True
        if record.ended != TreeState.LEFT_ALONE:
            return False
        # Others had changed it before anything was sent.
        return self._is_untouched(reader, latest_version)

    def _is_untouched(self, reader: ScopeReader, change: Change) -> bool:
        """Return whether the live inventories show that an atomic change is not made."""
        facets = self.make_progress(change).find_facets_of_status()
        return phases.is_untouched(change, self._read_state(reader, change, facets))

    def _roll_back_reshape(self, change: Change, live: Snapshot, merged: MergeResult) -> None:
        """Take back the request of an atomic change, also for new consumers on its targets."""
        current = self.get_latest_version(change)
        planned = current.after.providers
        created = [
            provider.uuid
            for provider in current.list_created_providers()
            if provider.uuid in live.providers
        ]
        if added := [
            o for uuid in created for o in find_unplanned_parts(planned[uuid], live.providers[uuid])
        ]:
            # The rollback would delete them with the provider.
            raise Obstructed(added)
        if merged.obstacles:
            live = self.capture_trees(current)
            current, merged = merge_rollback(current, live)
        if merged.obstacles:
            raise LeftAlone(
                f'there is no way back: {describe_obstacles(merged.obstacles)}. {_NO_WAY_BACK}'
            )
        reshapes = [op for op in merged.operations if isinstance(op, ops.Reshape)]
        self._apply_operations(change, live, reshapes)
        self.verify_reshape_result(phases.make_rollback(current))
        if preparation := phases.make_preparation(current):
            self._remove_preparation(change, preparation)

    def capture_trees(self, change: Change) -> Snapshot:
        """Return all trees that a change concerns, as they are now."""
        try:
            return capture(self.client, change.concerned_roots)
        except NoSuchProvider as reason:
            raise LeftAlone(str(reason)) from reason

    def _remove_preparation(self, change: Change, preparation: Change) -> None:
        """Take back the preparation of an atomic change: traits, aggregates, new providers."""
        live, merged = self.read_and_merge(preparation, backward=True)
        if merged.obstacles:
            raise Obstructed(merged.obstacles)
        self._apply_operations(change, live, merged.operations)

    def _apply_operations(
        self, change: Change, live: Snapshot, operations: Sequence[ops.Operation]
    ) -> None:
        """Apply operations, in one transaction if the service has transactions."""
        applier = Applier(
            self.client,
            live,
            journal=self.journal,
            tree_uuid=change.root_provider_uuid,
            record_of=self.record_of,
            made_names=self._made_names,
        )
        try:
            # Not in the transaction: for an existing name, the service tries and fails.
            applier.apply(op for op in operations if isinstance(op, ops.EnsureName))
            with applier.in_transaction():
                applier.apply(op for op in operations if not isinstance(op, ops.EnsureName))
        except errors.DuplicateName:
            refuse_names_in_other_trees(self.client, live, operations)
            raise
        except errors.BadRequest:
            # Others may have deleted a custom trait since.
            self._made_names.clear()
            raise
        finally:
            self._done.setdefault(change.root_provider_uuid, []).extend(applier.done)
            self._note(TreeAttempt(change, live, applier.done, applier.lost))

    def leave_alone(
        self, change: Change, reason: PlacementError, state: TreeState = TreeState.LEFT_ALONE
    ) -> TreeResult:
        """Note that a change is given up; return its result, whose reason names the parts done.

        :param state: of the result, if none of it is done
        """
        remarks, uuid = [str(reason)], change.root_provider_uuid
        try:
            is_withdrawn = self._remove_unused_preparation(change)
        except (errors.HTTPError, LeftAlone, UnstableRead, OutcomeUnknown) as obstacle:
            remarks.append(f'its preparation was not undone: {obstacle}')
            is_withdrawn = False
        done = (
            [] if is_withdrawn and not self.journal.backward else self._describe_done_parts(change)
        )
        ended = TreeState.DONE_IN_PART if done else TreeState.LEFT_ALONE
        if done:
            remarks.append(f'done: {join_names(done, 5)}')
        message = '; '.join(remarks)
        self.journal.write_end(uuid, ended, message)
        state = ended if state is TreeState.LEFT_ALONE else state
        return replace(make_result(change, state, reason), reason=message)

    def _remove_unused_preparation(self, change: Change) -> bool:
        """Return whether an atomic change is begun but unmade; if so, take back its preparation."""
        current = self.get_latest_version(change)
        preparation = phases.make_preparation(current)
        if preparation is None or not self.is_begun(change):
            return False
        if not self._is_untouched(ScopeReader(self.client, [current]), current):
            return False
        self._remove_preparation(change, preparation)
        self._done.pop(change.root_provider_uuid, None)
        return True

    def _describe_done_parts(self, change: Change) -> list[str]:
        """Return a clause for each part of a change that is carried out, or may be."""
        sides = change.before, self.get_latest_version(change).after
        names = {state.uuid: state.name for side in sides for state in side.providers.values()}
        record, uuid = self.journal.get_record(change.root_provider_uuid), change.root_provider_uuid
        done = [
            operations.describe_done_operation(request, names)
            for request in self.journal.list_done_requests(uuid)
        ]
        if done and done[-1] and record.is_open:
            done[-1] += ' (perhaps)'
        return [*filter(None, done)]

    def _make_result_with_remarks(self, change: Change, state: TreeState) -> TreeResult:
        """Return the result of a change; its reason has the deviations right after the request."""
        remarks = self._remarks.get(change.root_provider_uuid, ())
        return replace(make_result(change, state), reason='; '.join(remarks))

    def mark_partial(self, outcome: Outcome) -> Outcome:
        """Return an outcome, marked as partial if the run has written to a tree not done."""
        undone = (tree for tree in outcome.trees if not tree.is_done)
        changes = (op for tree in undone for op in self._done.get(tree.root_provider_uuid, ()))
        is_partial = any(not isinstance(op, ops.EnsureName) for op in changes)
        return replace(outcome, is_partial=is_partial)
