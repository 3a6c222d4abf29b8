"""Apply a plan, or take it back: many trees, some at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from placementclient import errors
from placementclient.api import reshaper
from placementclient.http import Client
from placementclient.model.outcomes import Outcome, State, TreeResult
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.reshape import journal, live_state, preconditions
from placementclient.reshape.journal import JournalFailed
from placementclient.reshape.tree_executor import (
    OutcomeUnknown,
    Run,
    TreeExecutor,
    unknown_outcomes,
)
from placementclient.snapshot.capture import SINCE, UnstableRead, parallel

#: Told how each tree ended, when it ends.
Report = Callable[[TreeResult], None]
#: After these, the next request would fare no better.
_FATAL = (JournalFailed, OutcomeUnknown, errors.Forbidden, errors.Unauthorized)


def apply(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    max_failures: int | None = None,
    report: Report | None = None,
) -> Outcome:
    """Carry a plan out.

    Before anything is written it is seen to that the policy allows it, that the plan is sound, and
    which trees are in a state that the plan cannot start from. Killed at any moment, the same call
    completes what was begun, and does nothing twice.

    :param journal_path: where every intent is noted before its request is sent
    :param trees: names or UUIDs of roots; none: all
    :param limit: at most so many trees, not counting those that are known to be done
    :param workers: how many trees at a time
    :param max_failures: begin no further tree after so many have failed or were left alone
    :param report: told how each tree ended
    :raises errors.Forbidden: if the policy does not allow it; nothing was done then
    :raises errors.BadFile: if the journal cannot be used
    :raises journal.Busy: if the plan is being applied or rolled back already
    """
    client.require('a reshape', SINCE)
    invariants.check(plan)
    _allow(client)
    with journal.opened(journal_path, plan) as opened:
        run = Run(client, plan, opened)
        queue = _Queue(plan.selected(trees), limit, max_failures, report)
        _end_those_done(run, queue, State.APPLIED, State.ALREADY_APPLIED, workers)
        as_planned = _preflight(run, queue, workers)

        def forward(tree: TreePlan) -> TreeResult:
            root_uuid = tree.root_provider_uuid
            way = TreeExecutor(run, opened.of(root_uuid).plan or tree)
            return way.forward(is_as_planned=root_uuid in as_planned)

        return queue.run(forward, workers)


def rollback(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    workers: int = 1,
    report: Report | None = None,
) -> Outcome:
    """Take back what a plan has done, wholly or in part.

    The way back is planned from the live state: consumers that came later go back too, those that
    have gone do not come again. A tree for which that is impossible is left alone.

    The parameters and what is raised are those of :func:`apply`.
    """
    client.require('a reshape', SINCE)
    _allow(client)
    with journal.opened(journal_path, plan) as opened:
        run = Run(client, plan, opened)
        queue = _Queue(plan.selected(trees), None, None, report, backward=True)
        _end_those_done(run, queue, State.ROLLED_BACK, State.ALREADY_BACK, workers)
        return queue.run(
            lambda tree: TreeExecutor(
                run, opened.of(tree.root_provider_uuid).plan or tree
            ).backward(),
            workers,
        )


def _allow(client: Client) -> None:
    if not reshaper.allowed(client):
        raise errors.Forbidden(
            403, f'The policy does not allow to reshape: the role {reshaper.ROLE!r} is needed'
        )


def _end_those_done(run: Run, queue: _Queue, done: State, state: State, workers: int) -> None:
    """End the trees of which the journal says that they are done already.

    Unless they are on the other side again: another plan or a backup may have undone it.
    """
    undone = live_state.Phase.BEFORE if done is State.APPLIED else live_state.Phase.AFTER

    def is_done(tree: TreePlan) -> bool:
        tree = run.journal.of(tree.root_provider_uuid).plan or tree
        with unknown_outcomes():
            return live_state.phase_of(run.client, tree) is not undone

    told = [tree for uuid, tree in queue.trees.items() if run.journal.of(uuid).ended == done]
    for tree, stands in zip(told, parallel(is_done, told, workers), strict=True):
        if stands:
            queue.end(_result(tree, state))


def _preflight(run: Run, queue: _Queue, workers: int) -> set[str]:
    """LiveProvider at every tree that may have its turn; end those that cannot be begun.

    :return: the roots of the trees to which nothing has happened since the plan was made
    """

    def live_provider(tree: TreePlan) -> TreeResult | bool:
        tree = run.journal.of(tree.root_provider_uuid).plan or tree
        with unknown_outcomes():
            listed = live_state.listing(run.client, live_state.roots_of(tree))
            if live_state.is_as_planned(tree, listed):
                return True
            if tree.follows or run.journal.of(tree.root_provider_uuid).begun:
                # What it starts from is still to come; or there is something to take back.
                return False
            try:
                tree_state = live_state.read_tree_state(run.client, tree, listed)
                if tree_state.phase is not live_state.Phase.AFTER:
                    preconditions.found(run.client, tree_state)
            except preconditions.LeftAlone as reason:
                return _result(tree, State.LEFT_ALONE, str(reason), reason)
            except UnstableRead:
                return False
        return False

    as_planned = set()
    pending = queue.pending()[: queue.left]
    for tree, found in zip(pending, parallel(live_provider, pending, workers), strict=True):
        if isinstance(found, TreeResult):
            queue.end(found)
        elif found:
            as_planned.add(tree.root_provider_uuid)
    return as_planned


def _result(
    tree: TreePlan, state: State, reason: str = '', error: errors.PlacementError | None = None
) -> TreeResult:
    return TreeResult(tree.root_provider_uuid, tree.root_provider_name, state, reason, error)


class _Queue:
    """The trees of a run, each of which waits for those that it follows.

    :param backward: whether those that follow go first
    """

    def __init__(
        self,
        trees: Sequence[TreePlan],
        limit: int | None,
        max_failures: int | None,
        report: Report | None,
        *,
        backward: bool = False,
    ) -> None:
        self.trees = {tree.root_provider_uuid: tree for tree in trees}
        self._order = list(self.trees)
        if backward:
            self._order.reverse()
        #: How many more trees may be begun.
        self.left = len(trees) if limit is None else limit
        self._failures_left = len(trees) if max_failures is None else max_failures
        self._report = report
        self._results: dict[str, TreeResult] = {}
        self._stopped: errors.PlacementError | None = None
        self._waits_for: dict[str, set[str]] = {uuid: set() for uuid in self.trees}
        self._awaited_by: dict[str, list[str]] = {uuid: [] for uuid in self.trees}
        for uuid, tree in self.trees.items():
            for followed in self.trees.keys() & set(tree.follows):
                first, second = (uuid, followed) if backward else (followed, uuid)
                self._waits_for[second].add(first)
                self._awaited_by[first].append(second)

    def pending(self) -> list[TreePlan]:
        """The trees that have not ended."""
        return [self.trees[uuid] for uuid in self._order if uuid not in self._results]

    def end(self, result: TreeResult) -> None:
        """Take note of how a tree ended."""
        self._results[result.root_provider_uuid] = result
        if result.state in (State.FAILED, State.LEFT_ALONE):
            self._failures_left -= 1
        for uuid in self._awaited_by[result.root_provider_uuid]:
            self._waits_for[uuid].discard(result.root_provider_uuid)
        if self._report:
            self._report(result)

    def run(self, run_tree: Callable[[TreePlan], TreeResult], workers: int) -> Outcome:
        """Bring all trees to their end, or as many as it may be.

        :param run_tree: does it for one tree
        """
        ready = deque(
            tree for tree in self.pending() if not self._waits_for[tree.root_provider_uuid]
        )
        running: dict[Future[TreeResult], TreePlan] = {}
        workers = max(1, workers)
        with ThreadPoolExecutor(workers) as pool:
            while True:
                while ready and len(running) < workers and self._may_begin():
                    self.left -= 1
                    tree = ready.popleft()
                    running[pool.submit(run_tree, tree)] = tree
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    tree = running.pop(future)
                    self.end(self._result_of(future, tree))
                    ready.extend(
                        self.trees[uuid]
                        for uuid in self._awaited_by[tree.root_provider_uuid]
                        if not self._waits_for[uuid] and uuid not in self._results
                    )
        return Outcome(
            [
                self._results.get(uuid) or _result(tree, State.NOT_STARTED)
                for uuid, tree in self.trees.items()
            ],
            self._stopped,
        )

    def _may_begin(self) -> bool:
        return self._stopped is None and self.left > 0 and self._failures_left > 0

    def _result_of(self, future: Future[TreeResult], tree: TreePlan) -> TreeResult:
        try:
            return future.result()
        except _FATAL as reason:
            self._stopped = self._stopped or reason
            return _result(tree, State.FAILED, str(reason), reason)
        except errors.PlacementError as reason:
            return _result(tree, State.FAILED, str(reason), reason)
