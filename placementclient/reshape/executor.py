"""Apply a plan, or take it back: many trees, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placementclient.api import reshaper
from placementclient.api.parallel import parallel
from placementclient.changes.tree_queue import (
    OtherService,
    Report,
    TreeQueue,
    result_of,
    unknown_outcomes,
)
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.model import origin
from placementclient.model.outcomes import Outcome, State
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.reshape import journal, live_state, preconditions, reading
from placementclient.reshape.reading import StateSource
from placementclient.reshape.tree_executor import ReshapeRun, TreeExecutor
from placementclient.snapshot.capture import UnstableRead


def apply(
    client: Client,
    plan: Plan,
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

    Before anything is written it is seen to that the service has the reshaper and the policy allows
    it, that the plan is sound, and which trees are in a state that the plan cannot start from.
    Killed at any moment, the same call completes what was begun, and does nothing twice. Whatever
    ends it from then on is in the outcome, beside how each tree ended.

    :param journal_path: where every intent is noted before its request is sent
    :param trees: names or UUIDs of roots; none: all
    :param limit: at most so many trees, not counting those that are known to be done
    :param workers: how many trees at a time
    :param max_failures: begin no further tree after so many have failed or were left alone
    :param other_service: whether the plan may be applied to a service that does not seem to be the
        one that it was made for
    :param report: told how each tree ended
    :raises invariants.BadPlan: if the plan, or a tree in its journal, is not sound
    :raises OtherService: if it was made for another service; no journal is written
    :raises errors.UnsupportedVersion: if the service has no reshaper
    :raises errors.Forbidden: if the policy does not allow it
    :raises errors.BadFile: if the journal cannot be used
    :raises journal.JournalLocked: if the plan is being applied or rolled back already
    """
    invariants.check(plan)
    reshaper.check_allowed(client)
    with journal.opened(journal_path, plan) as opened:
        run = ReshapeRun(client, plan, opened)
        queue = TreeQueue(
            plan.selected(trees), limit=limit, max_failures=max_failures, report=report
        )
        with queue.ending():
            _end_those_done(run, queue, State.APPLIED, workers)
            as_planned = _preflight(run, queue, workers, other_service)
            queue.run(
                lambda tree: TreeExecutor(run, run.current(tree)).forward(
                    is_as_planned=tree.root_provider_uuid in as_planned
                ),
                workers,
            )
        return queue.outcome()


def rollback(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    workers: int = 1,
    other_service: bool = False,
    report: Report | None = None,
) -> Outcome:
    """Take back what a plan has done, wholly or in part.

    The way back is planned from the live state: consumers that came later go back too, those that
    have gone do not come again. A tree for which that is impossible is left alone.

    The parameters and what is raised are those of :func:`apply`.
    """
    invariants.check(plan)
    reshaper.check_allowed(client)
    with journal.opened(journal_path, plan) as opened:
        run = ReshapeRun(client, plan, opened)
        queue = TreeQueue(plan.selected(trees), report=report, backward=True)
        with queue.ending():
            if not other_service:
                _check_service_back(run, plan.selected(trees))
            opened.begin()
            _end_those_done(run, queue, State.ROLLED_BACK, workers)
            queue.run(lambda tree: TreeExecutor(run, run.current(tree)).backward(), workers)
        return queue.outcome()


def _end_those_done(run: ReshapeRun, queue: TreeQueue[TreePlan], done: State, workers: int) -> None:
    """End the trees of which the journal says that they are done already.

    Unless they are on the other side again: another plan or a backup may have undone it.

    :param done: how they ended then
    """
    undone, state = {
        State.APPLIED: (live_state.Phase.BEFORE, State.ALREADY_APPLIED),
        State.ROLLED_BACK: (live_state.Phase.AFTER, State.ALREADY_BACK),
    }[done]

    def is_done(tree: TreePlan) -> bool:
        with unknown_outcomes():
            return live_state.phase_of(run.client, run.current(tree)) is not undone

    told = [tree for uuid, tree in queue.trees.items() if run.journal.of(uuid).ended == done]
    for tree, stands in zip(told, parallel(is_done, told, workers), strict=True):
        if stands:
            queue.end(result_of(tree, state))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The result of a look at a tree, before anything is written.

    :param is_there: whether its root exists
    :param is_as_planned: whether nothing has happened since the plan was made
    :param difference: what is not as the plan says; empty where nothing is known to be so
    :param obstacle: why no plan could begin with what is there
    """

    tree: TreePlan
    is_there: bool = True
    is_as_planned: bool = False
    difference: str = ''
    obstacle: preconditions.LeftAlone | None = None


def _preflight(
    run: ReshapeRun, queue: TreeQueue[TreePlan], workers: int, other_service: bool
) -> set[str]:
    """Look at every tree that may have its turn; end those that cannot be begun.

    :return: the roots of the trees to which nothing has happened since the plan was made
    :raises OtherService: if the plan is not for this service
    """

    startable = queue.startable()
    with unknown_outcomes():
        source = reading.source(run.client, map(run.current, startable))

    def look(tree: TreePlan) -> _Seen:
        try:
            with unknown_outcomes():
                return _seen(run, source, tree)
        except (UnstableRead, errors.NotFound):
            # It changes just now: its turn will tell.
            return _Seen(tree)

    seen = list(parallel(look, startable, workers))
    if not other_service:
        _check_service(run, seen)
    run.journal.begin()
    for each in seen:
        if each.obstacle is not None:
            result = result_of(each.tree, State.LEFT_ALONE, each.obstacle)
            run.journal.end(result.root_provider_uuid, result.state, result.reason)
            queue.end(result)
    return {each.tree.root_provider_uuid for each in seen if each.is_as_planned}


def _seen(run: ReshapeRun, source: StateSource, tree: TreePlan) -> _Seen:
    """Compare a tree with what it was planned on."""
    current = run.current(tree)
    listed = source.listed(current)
    is_there = tree.root_provider_uuid in listed
    is_begun = run.journal.of(tree.root_provider_uuid).begun
    try:
        if live_state.is_as_planned(current, listed):
            preconditions.check_places(current, listed)
            if source.is_as_read(current, listed):
                return _Seen(tree, is_as_planned=True)
        # What it starts from is still to come; or there is something to take back.
        if current.follows or is_begun:
            return _Seen(tree, is_there)
        tree_state = live_state.read_tree_state(run.client, current, listed)
        if tree_state.phase is live_state.Phase.AFTER:
            return _Seen(tree, is_there, difference='it is applied already')
        found = preconditions.found(run.client, tree_state)
    except preconditions.LeftAlone as reason:
        return _Seen(tree, is_there, difference=str(reason), obstacle=reason)
    return _Seen(tree, is_there, difference=found if isinstance(found, str) else '')


def _check_service(run: ReshapeRun, seen: Sequence[_Seen]) -> None:
    """See that the plan is for the service that is connected to.

    :raises OtherService: if none of its trees is there, or if it was made of another
        service and what is there is not what it was made of
    """
    if seen and not any(each.is_there for each in seen):
        known = {each.tree.root_provider_uuid for each in seen}
        _check_any(run, [tree for tree in run.plan.trees if tree.root_provider_uuid not in known])
    if origin.is_elsewhere(run.plan.origin, run.client.service):
        for each in seen:
            if each.difference:
                raise _other_service(run, f'{each.tree.root_provider_name}: {each.difference}')


def _check_any(run: ReshapeRun, trees: Sequence[TreePlan]) -> None:
    """See that one of some trees is there.

    :raises OtherService: if not
    """
    with unknown_outcomes():
        roots = (tree.root_provider_uuid for tree in trees)
        if not any(root in live_state.listing(run.client, [root]) for root in roots):
            raise _other_service(run, 'none of the trees of the plan exists here')


def _check_service_back(run: ReshapeRun, trees: Sequence[TreePlan]) -> None:
    """The same before the way back.

    :param trees: those to take back
    :raises OtherService: what :func:`_check_service` does
    """
    _check_any(run, run.plan.trees)
    if not origin.is_elsewhere(run.plan.origin, run.client.service):
        return
    for tree in map(run.current, trees):
        with unknown_outcomes():
            listed = live_state.listing(run.client, live_state.roots_of(tree))
            tree_state = live_state.read_tree_state(run.client, tree, listed, holdings=False)
        is_whole = not live_state.moves(tree) or tree_state.phase is not live_state.Phase.NEITHER
        if tree.root_provider_uuid not in listed or not is_whole:
            reason = 'it is neither as it was before the plan nor as it is after it'
            raise _other_service(run, f'{tree.root_provider_name}: {reason}')


def _other_service(run: ReshapeRun, reason: str) -> OtherService:
    made = run.plan.origin.service if run.plan.origin else None
    return OtherService(
        f'This is {run.client.service}, and {reason}. '
        + (f'The plan was made of {made}. ' if made else '')
        + 'Nothing was sent. Connect to the service that the plan is for; if it is this one, give '
        '--other-service'
    )
