# SPDX-License-Identifier: Apache-2.0
"""Apply, roll back and verify plans; changed trees of a reshape are planned again."""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from placementclient.api.parallel import call_in_parallel
from placementclient.basis.errors import Differs
from placementclient.changes import journal
from placementclient.changes.carrier import Carrier
from placementclient.changes.inspector import TreeComparison
from placementclient.changes.records import plans
from placementclient.changes.tree_queue import (
    LOG,
    OtherService,
    Reporter,
    TreeQueue,
    make_result,
    translate_lost_answers,
)
from placementclient.client.http import Client
from placementclient.model import snapshots
from placementclient.model.findings import Finding
from placementclient.model.outcomes import (
    ALREADY_ROLLED_BACK,
    Outcome,
    TreeResult,
    TreeState,
    TreeStatus,
)
from placementclient.model.plans import Change, Plan
from placementclient.runs.reshape_carrier import ReshapeCarrier

T = TypeVar('T')


def apply(
    client: Client,
    plan: Plan,
    journal_path: str,
    *,
    backward: bool = False,
    trees: Sequence[str] = (),
    limit: int | None = None,
    workers: int = 1,
    max_failures: int | None = None,
    other_service: bool = False,
    report: Reporter = lambda result: None,
    warn: Callable[[str], object] = LOG.warning,
) -> Outcome:
    """Apply a plan, or roll it back; return the result of each tree.

    Every change is compared with the service before anything is written. After a crash, the same
    call completes what was begun, and does nothing twice. An error that ends the run after this
    comparison is in the outcome.

    :param journal_path: the file that gets every intent before its request is sent
    :param backward: roll the plan back instead
    :param trees: names or UUIDs of roots, to choose changes; none: all
    :param limit: change at most this many trees, not counting those that are done already
    :param workers: how many trees to work on at the same time
    :param max_failures: start no more trees after this many have failed or were left alone
    :param other_service: go on where the plan seems to be made for another service
    :param warn: called with a sentence that the operator must see while the run goes on
    :raises OtherService: if the plan was made for another service; no journal is written
    :raises errors.UnsupportedVersion: if the plan needs the reshaper and the service has none
    """
    carrier, selected = _make_carrier(client, plan), plan.select_changes(trees)
    carrier.check_plan(selected)
    identity = plans.get_plan_digest(plan)
    with journal.open_journal(journal_path, identity, backward=backward) as records:
        carrier.journal = records
        carrier.check_new_plans(journal_path)
        queue = TreeQueue(
            selected,
            limit=limit,
            max_failures=max_failures,
            report=report,
            warn=warn,
            backward=backward,
        )
        with queue.stop_on_error():
            with translate_lost_answers():
                _record_finished_changes(carrier, queue, workers, backward)
                comparisons = _compare_startable_changes(
                    carrier, queue, workers, other_service, backward
                )
            records.write_beginning()
            # Only a run forward has obstacles: a rollback takes each tree as it is.
            for change in (item.change for item in comparisons if item.obstacle):
                # Another run of the plan may have gone on while this one read.
                reader = carrier.make_reader([change])
                again = carrier.compare_change(change, reader, backward=False)
                if again.obstacle is not None:
                    queue.record_result(carrier.leave_alone(change, again.obstacle))
            queue.run(functools.partial(carrier.carry_change, backward=backward), workers)
        return carrier.mark_partial(queue.make_outcome())


def rollback(client: Client, plan: Plan, journal_path: str, **options: Any) -> Outcome:
    """Roll back a plan; the options are those of :func:`apply`."""
    return apply(client, plan, journal_path, backward=True, **options)


def _make_carrier(client: Client, plan: Plan) -> Carrier:
    return Carrier(client, plan) if plan.recipe is None else ReshapeCarrier(client, plan)


def _record_finished_changes(
    carrier: Carrier, queue: TreeQueue, workers: int, backward: bool
) -> None:
    """Record the results of changes that are still applied, or rolled back, as the journal says."""
    done = TreeState.ROLLED_BACK if backward else TreeState.APPLIED

    def make_result_if_finished(change: Change) -> TreeResult | None:
        try:
            is_finished = carrier.is_as_recorded(change, backward=backward)
        except Differs as reason:
            return make_result(change, TreeState.LEFT_ALONE, reason)
        if not is_finished:
            return None
        if backward:
            return replace(make_result(change, TreeState.ALREADY_BACK), reason=ALREADY_ROLLED_BACK)
        return make_result(change, TreeState.ALREADY_APPLIED)

    finished = [
        change
        for uuid, change in queue.changes.items()
        if carrier.journal.get_record(uuid).ended == done
    ]
    for result in _call_with_each_change(carrier, make_result_if_finished, finished, workers):
        if result is not None:
            queue.record_result(result)


def _compare_startable_changes(
    carrier: Carrier, queue: TreeQueue, workers: int, other_service: bool, backward: bool
) -> Sequence[TreeComparison]:
    """Compare each change that may start now with the present state of its trees.

    A run forward always compares them, to leave trees alone that differ. A rollback does so at the
    turn of each tree; here it compares only to prove that a plan of another URL is for this
    service. Unless ``other_service`` is given, a tree of the plan must exist here, also for a
    rollback that has nothing to start.
    """
    changes = queue.list_startable_changes()
    is_elsewhere = snapshots.is_of_other_service(carrier.plan.origin, carrier.client.service_label)
    # A plan of another URL is for this service if all its trees are as planned.
    must_match = is_elsewhere and not other_service
    comparisons: Sequence[TreeComparison] = ()
    if changes and (must_match or not backward):
        compare = functools.partial(
            carrier.compare_change, reader=carrier.make_reader(changes), backward=backward
        )
        comparisons = list(_call_with_each_change(carrier, compare, changes, workers))
    if (changes or backward) and not other_service:
        _refuse_service_without_trees(carrier, comparisons)
    different = [comparison for comparison in comparisons if comparison.difference]
    if must_match and different:
        name, difference = different[0].change.root_provider_name, different[0].difference
        raise _make_other_service_error(carrier, f'{name}: {difference}')
    return comparisons


def _call_with_each_change(
    carrier: Carrier, function: Callable[[Change], T], changes: Sequence[Change], workers: int
) -> Iterator[T]:
    """Yield the result of a function for each change, in order; over HTTP, several at a time."""
    return call_in_parallel(function, changes, 1 if carrier.client.snapshot_reader else workers)


def _refuse_service_without_trees(carrier: Carrier, comparisons: Sequence[TreeComparison]) -> None:
    """Refuse a service that has none of the plan's trees: it is probably the wrong one."""
    seen = {comparison.change.root_provider_uuid for comparison in comparisons}
    others = (change for change in carrier.plan.changes if change.root_provider_uuid not in seen)
    looked_up = (
        carrier.has_needed_provider(change, carrier.make_reader([change])) for change in others
    )
    states = set[bool | None]()
    for state in chain((comparison.is_there for comparison in comparisons), looked_up):
        if state:
            return
        states.add(state)
    if False in states:
        raise _make_other_service_error(carrier, 'None of the trees of the plan exists here')


def _make_other_service_error(carrier: Carrier, reason: str) -> OtherService:
    made = carrier.plan.origin.service if carrier.plan.origin else None
    lines = (
        f'This is probably another cloud: nothing was sent. {reason}',
        f'This Placement: {carrier.client.service_label}',
        f'Placement of the plan: {made}' if made else '',
        'Connect to that of the plan; if it is this one, give --other-service',
    )
    return OtherService('\n'.join(filter(None, lines)))


def status(
    client: Client,
    plan: Plan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
) -> list[TreeStatus]:
    """Return the status of each change of a plan.

    :param trees: names or UUIDs of roots, to choose changes; none: all
    :param journal_path: the journal, by which a change was rolled back, left alone, or not applied
    """
    carrier, selected = load_carrier(client, plan, journal_path), plan.select_changes(trees)
    read_status = functools.partial(carrier.read_status, reader=carrier.make_reader(selected))
    return list(_call_with_each_change(carrier, read_status, selected, workers))


def verify(
    client: Client,
    plan: Plan,
    trees: Sequence[str] = (),
    *,
    journal_path: str | None = None,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
) -> list[Finding]:
    """Return the differences between the present state and that after the plan.

    :param trees: names or UUIDs of roots, to choose changes; none: all
    :param journal_path: the journal, which has changes that were planned again or not begun
    :param progress: called with the name of each tree that was read
    """
    carrier, selected = load_carrier(client, plan, journal_path), plan.select_changes(trees)
    find_deviations = functools.partial(
        carrier.find_deviations, reader=carrier.make_reader(selected)
    )
    result: list[Finding] = []
    for change, deviations in zip(
        selected, _call_with_each_change(carrier, find_deviations, selected, workers), strict=True
    ):
        result += deviations
        if progress:
            progress(change.root_provider_name)
    return result


def load_carrier(client: Client, plan: Plan, journal_path: str | None) -> Carrier:
    """Return the carrier of a plan with the records of its journal, if there is one.

    :param journal_path: ``None``: without records
    """
    carrier = _make_carrier(client, plan)
    if journal_path is not None:
        carrier.journal = journal.Journal(
            None, journal.read_records(journal_path, plans.get_plan_digest(plan))
        )
        carrier.check_new_plans(journal_path)
    return carrier
