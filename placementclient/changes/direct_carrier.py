# SPDX-License-Identifier: Apache-2.0
"""A plan of changes that the command applies at once, without files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from placementclient.basis.errors import ExitStatus, Interrupted, PlacementError
from placementclient.basis.wording import first
from placementclient.changes.carrier import Carrier
from placementclient.changes.diff import operations_of
from placementclient.changes.obstacles import LeftAlone
from placementclient.changes.operations import Operation
from placementclient.changes.results import ChangeResult
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import ChangeRow, row_sentence, rows
from placementclient.changes.tree_queue import OutcomeUnknown
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model.outcomes import State
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot

#: Plans the trees with these roots (names or UUIDs) again, from the present state.
Decide = Callable[[Sequence[str]], Plan]
#: Returns the part of a change that is still to be written.
Precheck = Callable[[Change], Change | None]


class DirectCarrier(Carrier):
    """Applies a plan tree by tree; the failure of one tree does not stop the others.

    After a conflict it plans the tree again, and applies only changes that the reviewed plan has.
    Moves of consumers that keep all their amounts are applied too.

    :param check: gets each change just before it is written, and returns the part to write, or
        ``None``
    :ivar stopped: the error that ended the run early
    """

    is_joint = False
    retried_errors = (errors.ConcurrentUpdate,)

    def __init__(
        self, client: Client, plan: Plan, decide: Decide, check: Precheck | None = None
    ) -> None:
        super().__init__(client, plan)
        self._decide = decide
        self._check: Precheck = check or (lambda tree: tree)
        self._results = {tree.root_provider_uuid: ChangeResult(tree) for tree in plan.changes}
        self.stopped: PlacementError | None = None
        #: The operation whose answer was lost.
        self._lost: list[Operation] = []

    @property
    def results(self) -> list[ChangeResult]:
        return list(self._results.values())

    def run(self, progress: Callable[[str, State], None] | None = None) -> None:
        """Apply all trees until the run must stop.

        :param progress: called with the name of the root of each tree that has ended, and its state
        """
        self.check(self.plan.changes)
        for tree in self.plan.changes:
            if self.stopped is not None:
                return
            result = self._results[tree.root_provider_uuid]
            try:
                result.error = self.brought(tree, backward=False).error
            except KeyboardInterrupt:
                self.stopped = result.error = Interrupted('Interrupted')
            except OutcomeUnknown as failure:
                self.stopped = result.error = failure.answer
            except PlacementError as failure:
                result.error = failure
                if isinstance(failure, errors.SHUT_OUT):
                    # The next request would fare no better.
                    self.stopped = failure
            if result.error is not None:
                result.state = State.FAILED
            if progress:
                progress(tree.root_provider_name, result.state)

    @property
    def exit_status(self) -> ExitStatus:
        """Return 0 if all trees are done, 6 if some are, 130 after Ctrl-C, else the error's."""
        if isinstance(self.stopped, Interrupted):
            return self.stopped.exit_status
        failed = [result for result in self.results if result.error is not None]
        if not failed and self.stopped is None:
            return ExitStatus.DONE
        if any(result.rows for result in self.results):
            return ExitStatus.PARTIAL
        statuses = {result.error.exit_status for result in failed if result.error is not None}
        is_one = len(statuses) == 1 and len(failed) == len(self.results)
        return statuses.pop() if is_one else ExitStatus.ERROR

    def left(self, tree: Change) -> tuple[Snapshot, Sequence[Operation]]:
        """Return the remaining operations: of the original change, then of the replanned one.

        :raises LeftAlone: if the operator would have to confirm more than the plan showed
        """
        result = self._results[tree.root_provider_uuid]
        is_first = result.state is State.NOT_STARTED
        decided = [tree] if is_first else self._decided_again(result)
        parts = [part for change in decided if (part := self._check(change))]
        if result.lost and self._is_made(result.lost):
            result.rows += result.unknown
        result.lost = None
        result.state = State.APPLIED if parts or not decided else State.LEFT_ALONE
        live = Snapshot(
            chain.from_iterable(part.before.providers.values() for part in parts),
            chain.from_iterable(part.before.consumers.values() for part in parts),
        )
        return live, list(chain.from_iterable(operations_of(part) for part in parts))

    def write(self, tree: Change, live: Snapshot, operations: Sequence[Operation]) -> None:
        result, done = self._results[tree.root_provider_uuid], self.done(tree)
        count = len(done)
        try:
            super().write(tree, live, operations)
        finally:
            before = simulate(live, done[count:])
            result.rows += rows(live, before)
            if self._lost:
                after = simulate(before, self._lost)
                result.lost = replace(tree, before=before, after=after)
                self._lost = []

    def report(self, tree: Change, operation: Operation, is_confirmed: bool) -> None:
        super().report(tree, operation, is_confirmed)
        if not is_confirmed:
            self._lost = [operation]

    def _is_made(self, change: Change) -> bool:
        _, rebased = self.rebased(change)
        return not rebased.operations and not rebased.obstacles

    def check_elsewhere(self, live: Snapshot, operations: Sequence[Operation]) -> None:
        """Check nothing: the error of the service names the provider."""

    def _decided_again(self, result: ChangeResult) -> Sequence[Change]:
        tree = result.tree
        roots = [state.uuid for state in tree.before.roots()] or [tree.root_provider_name]
        # A new root may be the first one by then, and another root may have the name.
        left = [change for change in self._decide(roots).changes if _roots(tree) & _roots(change)]
        if added := list(_not_shown(result, self.done(tree), left)):
            more = first([row_sentence(row) for row in added])
            raise LeftAlone(
                f'Others have changed {tree.root_provider_name} meanwhile, and more would change '
                f'than was shown: {more}. Run the command again to see it'
            )
        return left


def _not_shown(
    result: ChangeResult, done: Sequence[Operation], left: Iterable[Change]
) -> Iterator[ChangeRow]:
    """Return the remaining parts of a new plan that the reviewed change does not have."""
    before, after = simulate(result.tree.before, done), result.tree.after
    shown = [*rows(before, after), *(rows(result.lost.after, after) if result.lost else ())]
    for row in (row for tree in left for row in rows(tree.before, tree.after)):
        if not row.is_move and not any(map(row.is_part_of, shown)):
            yield row


def _roots(tree: Change) -> set[str]:
    """Return the names and UUIDs by which a change may name its roots."""
    roots = {state.uuid for side in (tree.before, tree.after) for state in side.roots()}
    return roots | {tree.root_provider_uuid, tree.root_provider_name}
