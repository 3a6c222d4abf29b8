"""Applies and rolls back a plan of a reshape, and plans changed trees again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from msgspec import structs

from placementclient.api import reshaper
from placementclient.changes import scope
from placementclient.changes.carrier import Carrier, Look, PlannedAgain, VerificationFailed
from placementclient.changes.comparison import LeftAlone, Obstructed, not_applied
from placementclient.changes.diff import operations_of
from placementclient.changes.journal import Journal, Record
from placementclient.changes.operations import Operation, Reshape
from placementclient.changes.rebase import additions, rebase_change
from placementclient.changes.records import operations
from placementclient.changes.tree_queue import OutcomeUnknown, unknown_outcomes
from placementclient.client import errors
from placementclient.model.outcomes import Deviation, State, Status, TreeStatus
from placementclient.model.plans import TreeChange
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner import invariants, review
from placementclient.reading.capture import UnstableRead
from placementclient.reshape import (
    comparison,
    preconditions,
    reading,
    replanning,
)
from placementclient.reshape.comparison import Phase, TreeState
from placementclient.reshape.preconditions import Drifted
from placementclient.reshape.reading import StateSource


class ReshapeCarrier(Carrier):
    """Applies or rolls back a plan of a reshape, and plans changed trees again."""

    # The states are those of the plan.
    record_of = staticmethod(operations.record)

    def check(self, trees: Sequence[TreeChange]) -> None:
        """Check the plan, and that the service allows a reshape.

        :raises invariants.BadPlan: if the plan is not sound
        """
        invariants.check(self.plan)
        reshaper.check_allowed(self.client)

    @contextmanager
    def opened(self, path: str) -> Iterator[Journal]:
        """Open the journal, and hold its plans of trees to what was reviewed.

        :raises errors.BadFile: if a tree was to become something else
        """
        with super().opened(path) as journal:
            self._check_revised(path, journal.records)
            yield journal

    def recorded(self, path: str) -> Journal:
        """Read the journal; the error is that of :meth:`opened`."""
        journal = super().recorded(path)
        self._check_revised(path, journal.records)
        return journal

    def is_there(self, tree: TreeChange) -> bool:
        source = StateSource(self.client, [tree])
        return not tree.roots.keys().isdisjoint(source.listed(tree))

    def stands(self, tree: TreeChange, *, backward: bool) -> bool:
        current = self._current(tree)
        if backward:
            return reading.phase_of(self.client, current) is not Phase.AFTER
        source = StateSource(self.client, [current])
        tree_state = source.tree_state(current, source.listed(current), holdings=False)
        if tree_state.is_untouched:
            return False
        for each in comparison.of_inventories(current, tree_state.providers):
            if each.is_damage:
                raise LeftAlone(f'it was applied, and was changed since: {each.message}')
        return True

    def looking(
        self, trees: Sequence[TreeChange], *, backward: bool
    ) -> Callable[[TreeChange], Look]:
        if backward:
            return self._look_back
        source = StateSource(self.client, map(self._current, trees))

        def look(tree: TreeChange) -> Look:
            try:
                return self._look(source, tree)
            except (errors.ConcurrentUpdate, errors.NotFound):
                # It changes just now: decide when it is its turn.
                return Look(tree)

        return look

    def status_reader(self, trees: Sequence[TreeChange]) -> Callable[[TreeChange], TreeStatus]:
        source = StateSource(self.client, map(self._current, trees))

        def read_status(tree: TreeChange) -> TreeStatus:
            status, reason = _status(source, self._current(tree))
            record = self.journal.of(tree.root_provider_uuid)
            is_left_alone = False
            if status is not Status.APPLIED:
                if record.ended == State.LEFT_ALONE:
                    status, reason = self._left_alone(tree, record, status)
                    is_left_alone = status is Status.DIFFERS
                elif record.ended == State.ROLLED_BACK and status is Status.PENDING:
                    status = Status.ROLLED_BACK
            return TreeStatus(
                tree.root_provider_uuid, tree.root_provider_name, status, reason, is_left_alone
            )

        return read_status

    def comparing(self, trees: Sequence[TreeChange]) -> Callable[[TreeChange], Sequence[Deviation]]:
        source = StateSource(self.client, map(self._current, trees))

        def compare(tree: TreeChange) -> Sequence[Deviation]:
            current = self._current(tree)
            snapshot = source.snapshot(current)
            if comparison.has_happened(current, snapshot):
                return list(comparison.of_snapshot(current, snapshot))
            records = self.journal.records
            record = records.get(tree.root_provider_uuid)
            pending = not_applied(tree.root_provider_name, record, bool(records))
            return [pending, *comparison.before_apply(current, snapshot.providers)]

        return compare

    def left(self, tree: TreeChange) -> tuple[Snapshot, Sequence[Operation]]:
        """Read a tree, and return the remaining operations of its change.

        :raises PlannedAgain: if the tree has changed, and a new plan is noted
        :raises LeftAlone: if no new plan is the one that was reviewed
        """
        current = self._current(tree)
        tree_state = reading.read_tree_state(self.client, current)
        if tree_state.phase is Phase.AFTER:
            return self._left_of(_surroundings(current))
        try:
            live = preconditions.starting_point(self.client, tree_state)
        except Drifted as drift:
            again = replanning.replanned(self.client, self.plan, current, str(drift))
            self.journal.revise(again)
            self._remarks[tree.root_provider_uuid] = [f'planned again, as {drift}']
            raise PlannedAgain('it changes each time that it is planned again') from None
        return live, _left(current, live)

    def verify(self, tree: TreeChange) -> None:
        self._verify(tree, reading.read_applied(self.client, self._current(tree)))

    def take_back(self, tree: TreeChange) -> bool:
        current, record = self._current(tree), self.journal.of(tree.root_provider_uuid)
        listed = StateSource(self.client, [current]).listed(current)
        if not record.begun and comparison.is_as_planned(current, listed):
            return False
        snapshot = replanning.captured(self.client, current)
        tree_state = comparison.tree_state_of(current, snapshot)
        if not record.begun and record.ended == State.LEFT_ALONE and tree_state.is_untouched:
            # Others had changed it before anything was sent.
            return False
        if tree_state.phase is not Phase.BEFORE:
            if not record.begun and record.ended is None:
                _check_own(tree_state)
            _check_additions(current, tree_state.providers)
            back = replanning.planned_back(snapshot, self.plan, current)
            reshape = next(each for each in operations_of(back) if isinstance(each, Reshape))
            self.write(tree, back.before, [reshape])
            tree_state = reading.read_tree_state(self.client, current, tree_state.listed)
            self._verify(tree, replace(tree_state, tree=back))
        elif not record.begun and not any(
            change.uuid in tree_state.live.providers for change in current.created()
        ):
            return False
        self._retreat(tree)
        return True

    def withdrawn(self, tree: TreeChange) -> str:
        """Delete prepared providers, unless the reshape is done; return the obstacles."""
        try:
            with unknown_outcomes():
                tree_state = reading.read_tree_state(self.client, self._current(tree))
                if tree_state.is_untouched and self.is_begun(tree):
                    self._retreat(tree)
                    self.done(tree).clear()
        except (errors.HTTPError, LeftAlone, UnstableRead, OutcomeUnknown) as obstacle:
            return f'what was prepared is still there: {obstacle}'
        return ''

    def _check_revised(self, path: str, records: Mapping[str, Record]) -> None:
        assert self.plan.recipe is not None
        reviewed = {tree.root_provider_uuid: tree for tree in self.plan.trees}
        for root_uuid, record in records.items():
            again = record.plan
            if again is None:
                continue
            if root_uuid not in reviewed:
                raise errors.BadFile(path, f'the plan has no tree {again.root_provider_uuid}')
            for difference in review.differences(reviewed[root_uuid], again):
                raise errors.BadFile(
                    path,
                    f'a line plans {reviewed[root_uuid].root_provider_name} as something else than '
                    f'what was reviewed: {difference}. Make the plan again, under another name',
                )
            try:
                invariants.check_tree(again, self.plan.recipe.spec)
            except invariants.BadPlan as fault:
                raise errors.BadFile(path, str(fault)) from None

    def _left_alone(self, tree: TreeChange, record: Record, status: Status) -> tuple[Status, str]:
        """Return the status of a tree that was left alone, and the reason if it still holds."""
        obstacle = self._obstacle(self._current(tree))
        then = f'left alone at {record.ended_at}: {record.reason}'
        if status is Status.PENDING and not obstacle:
            return status, f'apply tries this tree again; {then}'
        # The present obstacle may be a part of the former reason.
        is_same = obstacle in record.reason
        return Status.DIFFERS, f'left alone: {record.reason}' if is_same else f'{obstacle}; {then}'

    def _obstacle(self, tree: TreeChange) -> str:
        """Return the reason why a tree cannot be changed now, or nothing."""
        try:
            tree_state = reading.read_tree_state(self.client, tree)
            preconditions.starting_point(self.client, tree_state)
        except (LeftAlone, errors.ConcurrentUpdate) as reason:
            return str(reason)
        return ''

    def _left_of(
        self, around: TreeChange, *, backward: bool = False
    ) -> tuple[Snapshot, Sequence[Operation]]:
        """Return what is left to do of one way of the traits, aggregates and new providers.

        :raises LeftAlone: if others have moved one of these, or have added something to it
        """
        live = scope.read(self.client, around, is_begun=True)
        return live, _left(around, live, backward=backward)

    def _retreat(self, tree: TreeChange) -> None:
        self.write(tree, *self._left_of(_surroundings(self._current(tree)), backward=True))

    def _verify(self, tree: TreeChange, tree_state: TreeState) -> None:
        """Compare what is there after a reshape with its plan.

        :raises VerificationFailed: if it is not complete or not right
        """
        differences = comparison.after_apply(tree_state)
        for difference in differences:
            if difference.is_damage:
                raise VerificationFailed(f'verification: {difference.message}')
        remarks = self._remarks.setdefault(tree.root_provider_uuid, [])
        remarks += [difference.message for difference in differences[:3]]

    def _current(self, tree: TreeChange) -> TreeChange:
        """Return a tree as it was planned last: in the plan, or again while it was applied."""
        return self.journal.of(tree.root_provider_uuid).plan or tree

    def _look(self, source: StateSource, tree: TreeChange) -> Look:
        """Compare a tree with what it was planned on."""
        current = self._current(tree)
        listed = source.listed(current)
        is_there = not tree.roots.keys().isdisjoint(listed)
        # There is something to complete or to take back.
        if self.journal.of(tree.root_provider_uuid).begun:
            return Look(tree, is_there)
        # Without a consumer that moves, generations show who has come.
        holdings = bool(current.consumers) or not comparison.is_as_planned(current, listed)
        tree_state = source.tree_state(current, listed, holdings=holdings)
        if tree_state.phase is Phase.AFTER:
            return Look(tree, is_there, 'it is applied already')
        try:
            live = preconditions.starting_point(self.client, tree_state)
            self._prepared[tree.root_provider_uuid] = live, _left(current, live)
        except Drifted as drift:
            return Look(tree, is_there, str(drift))
        except LeftAlone as reason:
            return Look(tree, is_there, str(reason), reason)
        return Look(tree, is_there)

    def _look_back(self, tree: TreeChange) -> Look:
        """See whether a tree is on one of its sides."""
        current = self._current(tree)
        source = StateSource(self.client, [current])
        listed = source.listed(current)
        is_there = not tree.roots.keys().isdisjoint(listed)
        tree_state = source.tree_state(current, listed, holdings=False)
        is_whole = not current.changes_inventories or tree_state.phase is not Phase.NEITHER
        difference = 'it is neither as it was before the plan nor as it is after it'
        return Look(tree, is_there, '' if is_there and is_whole else difference)


def _status(source: StateSource, tree: TreeChange) -> tuple[Status, str]:
    """Return the status of a tree, with few requests and none for each consumer."""
    listed = source.listed(tree)
    if comparison.is_as_planned(tree, listed):
        return Status.PENDING, ''
    for change in tree.providers:
        if not change.is_created and change.uuid not in listed:
            return Status.DIFFERS, f'{change.name} does not exist any more'
    tree_state = source.tree_state(tree, listed, holdings=False)
    if tree_state.phase is Phase.BEFORE:
        return Status.PENDING, ''
    if tree_state.phase is Phase.NEITHER:
        return Status.DIFFERS, comparison.first_difference(tree_state)
    for change in tree.providers:
        lost = change.content_before.traits - change.content_after.traits
        if lost and not lost.isdisjoint(source.traits(change.uuid)):
            names = ', '.join(sorted(lost))
            return Status.DIFFERS, f'{change.name} still has {names}: apply the plan again'
    return Status.APPLIED, ''


def _left(change: TreeChange, live: Snapshot, *, backward: bool = False) -> Sequence[Operation]:
    rebased = rebase_change(change, live, backward=backward)
    if rebased.obstacles:
        raise Obstructed(rebased.obstacles)
    return rebased.operations


def _surroundings(tree: TreeChange) -> TreeChange:
    """Return a change without inventories and allocations."""
    before, after = (
        Snapshot(
            (
                structs.replace(state, inventories={}, usages={})
                for state in side.providers.values()
            ),
            (),
        )
        for side in (tree.before, tree.after)
    )
    return replace(tree, before=before, after=after)


def _check_own(tree_state: TreeState) -> None:
    """See whether what the journal knows nothing of could have been made by this plan.

    The journal may be lost; but another plan may have made the same providers.

    :raises LeftAlone: if it is not what the plan makes
    """
    damage = [each for each in comparison.after_apply(tree_state) if each.is_damage]
    if damage:
        raise LeftAlone(
            f'its journal does not say that this plan was applied, and {damage[0].message}'
        )


def _check_additions(tree: TreeChange, live: Mapping[str, ProviderState]) -> None:
    """See that others have added nothing to the providers that the plan has made.

    :param live: the providers, by UUID
    :raises LeftAlone: if they have: it would go with the provider
    """
    planned = tree.after.providers
    obstacles = [
        obstacle
        for change in tree.created()
        if change.uuid in live
        for obstacle in additions(planned[change.uuid], live[change.uuid])
    ]
    if obstacles:
        raise Obstructed(obstacles)
