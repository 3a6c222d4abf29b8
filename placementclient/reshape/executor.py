"""Apply a plan, or take it back: many trees, some at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager

from placementclient import errors
from placementclient.api import reshaper
from placementclient.http import Client
from placementclient.model.outcomes import Outcome, State, TreeResult
from placementclient.planner.plan import invariants
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.reshape import journal, live_state, multiprocess, preconditions, reading
from placementclient.reshape.reading import Source
from placementclient.reshape.tree_executor import Run, unknown_outcomes
from placementclient.reshape.tree_queue import Report, TreeQueue, result_of
from placementclient.snapshot.capture import UnstableRead, parallel


def apply(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    processes: int | None = None,
    max_failures: int | None = None,
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
    :param processes: so many trees at a time instead, each in a process of its own
    :param max_failures: begin no further tree after so many have failed or were left alone
    :param report: told how each tree ended
    :raises errors.UnsupportedVersion: if the service has no reshaper
    :raises errors.Forbidden: if the policy does not allow it
    :raises errors.BadFile: if the journal cannot be used
    :raises journal.JournalLocked: if the plan is being applied or rolled back already
    :raises errors.UsageError: if there can be no processes
    """
    _check_processes(client, processes)
    invariants.check(plan)
    _check_allowed(client)
    with journal.opened(journal_path, plan) as opened:
        run = Run(client, plan, opened)
        queue = TreeQueue(
            plan.selected(trees), limit=limit, max_failures=max_failures, report=report
        )
        with queue.ending():
            _end_those_done(run, queue, State.APPLIED, workers)
            as_planned = _preflight(run, queue, workers)
            with _workers(run, processes) as at_work:
                queue.run(
                    lambda tree: at_work.forward(
                        tree, is_as_planned=tree.root_provider_uuid in as_planned
                    ),
                    processes or workers,
                )
        return queue.outcome()


def rollback(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    trees: Sequence[str] = (),
    workers: int = 1,
    processes: int | None = None,
    report: Report | None = None,
) -> Outcome:
    """Take back what a plan has done, wholly or in part.

    The way back is planned from the live state: consumers that came later go back too, those that
    have gone do not come again. A tree for which that is impossible is left alone.

    The parameters and what is raised are those of :func:`apply`.
    """
    _check_processes(client, processes)
    _check_allowed(client)
    with journal.opened(journal_path, plan) as opened:
        run = Run(client, plan, opened)
        queue = TreeQueue(plan.selected(trees), report=report, backward=True)
        with queue.ending():
            _end_those_done(run, queue, State.ROLLED_BACK, workers)
            with _workers(run, processes) as at_work:
                queue.run(at_work.backward, processes or workers)
        return queue.outcome()


def _check_processes(client: Client, processes: int | None) -> None:
    if processes is not None:
        multiprocess.check(client)


def _workers(run: Run, processes: int | None) -> AbstractContextManager[multiprocess.Workers]:
    """Who works on the trees: threads of this process, or so many others."""
    if processes is None:
        return contextlib.nullcontext(multiprocess.Threads(run))
    return multiprocess.started(run, processes)


def _check_allowed(client: Client) -> None:
    client.require('a reshape', reshaper.SINCE)
    if not reshaper.allowed(client):
        raise errors.Forbidden(
            403, f'The policy does not allow to reshape: the role {reshaper.ROLE!r} is needed'
        )


def _end_those_done(run: Run, queue: TreeQueue, done: State, workers: int) -> None:
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


def _preflight(run: Run, queue: TreeQueue, workers: int) -> set[str]:
    """Look at every tree that may have its turn; end those that cannot be begun.

    :return: the roots of the trees to which nothing has happened since the plan was made
    """

    startable = queue.startable()
    with unknown_outcomes():
        source = reading.source(run.client, map(run.current, startable))

    def look(tree: TreePlan) -> TreeResult | bool:
        try:
            with unknown_outcomes():
                return _is_as_planned(run, source, run.current(tree))
        except preconditions.LeftAlone as reason:
            return result_of(tree, State.LEFT_ALONE, reason)
        except (UnstableRead, errors.NotFound):
            # It changes just now: its turn will tell.
            return False

    as_planned = set()
    for tree, found in zip(startable, parallel(look, startable, workers), strict=True):
        if isinstance(found, TreeResult):
            run.journal.end(found.root_provider_uuid, found.state, found.reason)
            queue.end(found)
        elif found:
            as_planned.add(tree.root_provider_uuid)
    return as_planned


def _is_as_planned(run: Run, source: Source, tree: TreePlan) -> bool:
    """Whether nothing has happened to a tree since it was planned.

    :raises preconditions.LeftAlone: if no plan could begin with what is there
    """
    listed = source.listed(tree)
    if live_state.is_as_planned(tree, listed):
        return True
    # What it starts from is still to come; or there is something to take back.
    if not tree.follows and not run.journal.of(tree.root_provider_uuid).begun:
        tree_state = live_state.read_tree_state(run.client, tree, listed)
        if tree_state.phase is not live_state.Phase.AFTER:
            preconditions.found(run.client, tree_state)
    return False
