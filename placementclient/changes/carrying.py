"""A plan of changes carried out at once by the command that made it, without files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from placementclient.api.conflict import retried
from placementclient.changes.applier import Applier, check_allowed, generations_of
from placementclient.changes.operations import Operation
from placementclient.changes.plan import ChangePlan, ChangeSet
from placementclient.changes.results import Carried
from placementclient.changes.simulation import simulate
from placementclient.changes.summary import ChangeRow, row_sentence, rows
from placementclient.client import errors
from placementclient.client.errors import ExitStatus
from placementclient.client.http import Client
from placementclient.client.wording import first
from placementclient.model.outcomes import State

#: Makes the plan again, from what is there now: of the trees with these roots (names or UUIDs).
Decide = Callable[[Sequence[str]], ChangePlan]
#: Returns the part of a change set that is still to be written.
Check = Callable[[ChangeSet], ChangeSet | None]


class NotShown(errors.Differs):
    """Others have changed a tree meanwhile: there is more to do than what was shown.

    :param rows: the parts of the change that were not shown
    """

    def __init__(self, root_provider_name: str, rows: Sequence[ChangeRow]) -> None:
        self.rows = tuple(rows)
        super().__init__(
            f'Others have changed {root_provider_name} meanwhile, and more would change than was '
            f'shown: {first([row_sentence(row) for row in rows])}. Run the command again to see it'
        )


class Carrying:
    """Carries a plan out, tree by tree; one that fails does not stop the others.

    After a conflict it is decided again what is left to do. That is done only as far as it is a
    part of the plan; beside it, a consumer may keep all that it has in another place.

    :param decide: decides it
    :param check: gets each change set just before it is written, and returns what is still to be
        written of it; ``None``: nothing
    :ivar results: of all trees, as far as they have come; whatever ends :meth:`run`
    :ivar stopped: what ended the run before its time
    """

    def __init__(
        self, client: Client, plan: ChangePlan, decide: Decide, check: Check | None = None
    ) -> None:
        self._client, self._decide = client, decide
        self._check: Check = check or (lambda tree: tree)
        self._names = set[Operation]()
        self.results = [Carried(tree) for tree in plan.trees]
        self.stopped: errors.PlacementError | None = None

    def run(self, progress: Callable[[str, State], None] | None = None) -> None:
        """Carry out all trees, or as many as it may be.

        :param progress: called with the name of the root of each tree that has ended, and its state
        :raises errors.Forbidden: if the plan needs the reshaper and the policy does not allow it
        """
        check_allowed(
            self._client, chain.from_iterable(result.tree.operations for result in self.results)
        )
        for result in self.results:
            if self.stopped is not None:
                return
            try:
                result.state = self._carry_out(result)
            except KeyboardInterrupt:
                self.stopped = result.error = errors.Interrupted('Interrupted')
            except errors.PlacementError as failure:
                result.error = failure
                if isinstance(failure, (*errors.SHUT_OUT, errors.NoAnswer)):
                    # The next request would fare no better.
                    self.stopped = failure
            if result.error is not None:
                result.state = State.FAILED
            if progress:
                progress(result.tree.root_provider_name, result.state)

    @property
    def exit_status(self) -> ExitStatus:
        """0: all is made; 6: some of it; 130: interrupted; otherwise the status of the error."""
        if isinstance(self.stopped, errors.Interrupted):
            return self.stopped.exit_status
        failed = [result for result in self.results if result.error is not None]
        if not failed and self.stopped is None:
            return ExitStatus.DONE
        if any(result.rows for result in self.results):
            return ExitStatus.PARTIAL
        statuses = {result.error.exit_status for result in failed if result.error is not None}
        is_one = len(statuses) == 1 and len(failed) == len(self.results)
        return statuses.pop() if is_one else ExitStatus.ERROR

    def _carry_out(self, result: Carried) -> State:
        attempts = self._attempts(result)

        def attempt() -> State:
            decided = next(attempts)
            trees = [tree for each in decided if (tree := self._check(each))]
            wanted = [row for tree in trees for row in _rows(tree, tree.operations)]
            # An answer that was lost: what need not be done again was done.
            result.rows += [row for row in result.unknown if row not in wanted]
            result.unknown, result.lost = [], []
            for tree in trees:
                self._write(result, tree)
            return State.APPLIED if trees or not decided else State.LEFT_ALONE

        return retried(attempt, max_retries=self._client.max_retries)

    def _write(self, result: Carried, tree: ChangeSet) -> None:
        done: list[Operation] = []
        try:
            Applier(
                self._client,
                generations_of(tree.before),
                names=self._names,
                report=lambda operation, is_known: self._note(
                    result, tree, done, operation, is_known
                ),
            ).run(tree.operations)
        finally:
            result.rows += _rows(tree, done)
            result.done += done

    def _attempts(self, result: Carried) -> Iterator[Sequence[ChangeSet]]:
        """Return the change set as it was decided, then what is left of it after conflicts.

        That may be several: what joined its trees may be done.

        :raises NotShown: if there is more to do
        """
        tree = result.tree
        yield [tree]
        roots = [state.uuid for state in tree.before.roots()] or [tree.root_provider_name]
        # One that is made meanwhile may be the first root by then.
        known = {*roots, *(state.uuid for state in tree.after.roots())}
        while True:
            left = [each for each in self._decide(roots).trees if known & _roots(each)]
            if added := list(_not_shown(result, left)):
                raise NotShown(tree.root_provider_name, added)
            yield left

    def _note(
        self,
        result: Carried,
        tree: ChangeSet,
        done: list[Operation],
        operation: Operation,
        is_known: bool,
    ) -> None:
        if is_known:
            done.append(operation)
        else:
            before = simulate(tree.before, done)
            result.lost = [operation]
            result.unknown = list(rows(before, simulate(before, [operation])))


def _rows(tree: ChangeSet, operations: Sequence[Operation]) -> list[ChangeRow]:
    return list(rows(tree.before, simulate(tree.before, operations)))


def _not_shown(result: Carried, left: Iterable[ChangeSet]) -> Iterator[ChangeRow]:
    """Return the rows that are no part of the change set, as far as that is not made yet.

    :param left: the change sets of what there is to do now
    """
    before, after = simulate(result.tree.before, result.done), result.tree.after
    shown = [*rows(before, after), *rows(simulate(before, result.lost), after)]
    for row in (row for tree in left for row in rows(tree.before, tree.after)):
        if not row.is_move and not any(map(row.is_part_of, shown)):
            yield row


def _roots(tree: ChangeSet) -> set[str]:
    """Return what the roots of a change set may be known by."""
    roots = {state.uuid for side in (tree.before, tree.after) for state in side.roots()}
    return roots | {tree.root_provider_uuid, tree.root_provider_name}
