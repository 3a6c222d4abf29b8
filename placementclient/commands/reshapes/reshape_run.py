# SPDX-License-Identifier: Apache-2.0
"""Apply a plan, show its status, verify it, roll it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.basis import errors
from placementclient.basis.wording import format_count, summarize_states
from placementclient.commands.framework import base, option, progress, selection_options
from placementclient.commands.framework.change_command import (
    NOTHING,
    PLAN_FILE,
    find_free_plan_path,
    get_journal_path,
)
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.reshapes.reshape_plan import (
    describe_hosts_running_nova_compute,
    find_hosts_running_nova_compute,
)

if TYPE_CHECKING:
    from placementclient.model.outcomes import Outcome, TreeResult, TreeStatus
    from placementclient.model.plans import Change, Plan

_READ_OPTIONS = (PLAN_FILE, *selection_options.TREES, option.make_workers_option('trees to read'))
_RUN_OPTIONS = (
    PLAN_FILE,
    *selection_options.TREES,
    Option('--limit <number>', help='Change at most this number of trees; default: all'),
    option.make_workers_option('trees to change'),
    Option(
        '--max-failures <number>',
        help='Stop after this number of failed trees; complete those under way. Default: go on',
    ),
    Flag('--other-service', help='Go on although the service is another, or has none of the trees'),
)
#: The columns and the exit statuses of a run, forward or back.
_COLUMNS = ('tree', 'state', 'reason')
_STATUSES = (
    (
        errors.ExitStatus.DIFFERS,
        'no tree was changed, as all that were tried were left alone; or a tree is not as planned',
    ),
    (
        errors.ExitStatus.PARTIAL,
        'some trees are done and some are not, or one is done in part, or the run was stopped',
    ),
)


class ApplyReshape(base.Lister):
    """Apply a plan, tree by tree.

    The command records each step in <plan>.journal before it takes it. If it is killed or
    interrupted, run it again: it continues. A tree that differs from the plan is left alone.

    A running nova-compute puts the old inventory back. If Nova says that it is up on a host of the
    plan, the command asks again, even with --yes. Without a terminal, give --compute-is-up.
    """

    examples = ('plan.json --limit 1 --yes',)
    column_names = _COLUMNS
    statuses = _STATUSES
    options = (
        *_RUN_OPTIONS,
        Flag('--compute-is-up', help='Go on although nova-compute may be up; Nova is not asked'),
        option.YES,
    )

    def execute(self) -> base.Output:
        from placementclient.model.outcomes import Outcome, TreeState
        from placementclient.model.snapshots import is_of_other_service

        plan, trees = _read_plan(self)
        if not plan.changes:
            self.log.warning(NOTHING)
            return _report_outcome(self, Outcome(()))
        changes = plan.select_changes(trees)
        if plan.recipe is not None:
            self._confirm_hosts_running_nova_compute(changes)
        count, here = _count_trees_within_limit(self, changes), self.client.service_label
        extent, places = (
            _describe_unapplied_changes(self, plan, changes),
            _describe_services(plan, here),
        )
        if not self.args.yes:
            trees_to_apply = _describe_selection(count, plan)
            question = f'Apply {self.args.plan} to {trees_to_apply}?'
            nothing_left = f'{_get_journal_path(self)} says that all is applied already'
            self.confirm('\n'.join([*(extent or [nothing_left]), *places, question]))
        else:
            self.warn([*extent, *(places if is_of_other_service(plan.origin, here) else ())])
        outcome = _run_plan(self, plan, trees, count)
        suggest_planning_again(self, plan, outcome.list_trees(TreeState.LEFT_ALONE))
        return _report_outcome(self, outcome)

    def _confirm_hosts_running_nova_compute(self, changes: Sequence[Change]) -> None:
        """If nova-compute is up on a host and would undo the plan, ask the operator or refuse."""
        hosts = [] if self.args.compute_is_up else find_hosts_running_nova_compute(self, changes)
        if not hosts:
            return
        if not self.app.stdin.isatty():
            raise errors.UsageError(
                f'{describe_hosts_running_nova_compute(hosts)} there, or give --compute-is-up'
            )
        # --yes is an answer to another question.
        self.confirm(f'{describe_hosts_running_nova_compute(hosts)} there. Apply anyway?')


class RollbackReshape(base.Lister):
    """Roll back a plan that was applied, wholly or in part.

    The rollback is planned on the present state. It includes consumers that were created after the
    plan; deleted consumers stay deleted. A tree that cannot go back is left alone.
    """

    examples = ('plan.json --tree compute1 --yes',)
    column_names = _COLUMNS
    statuses = _STATUSES
    options = (*_RUN_OPTIONS, option.YES)

    def execute(self) -> base.Output:
        plan, trees = _read_plan(self)
        count = _count_trees_within_limit(self, plan.select_changes(trees))
        if not self.args.yes:
            question = f'Roll back {self.args.plan} in {_describe_selection(count, plan)}?'
            self.confirm(f'Placement: {self.client.service_label}\n{question}')
        outcome = _run_plan(self, plan, trees, count, backward=True)
        return _report_outcome(self, outcome, backward=True)


class ShowReshapeStatus(base.Lister):
    """Show the state of each tree of a plan: pending, applied, rolled back, differs.

    A tree that was left alone differs, with the reason.
    """

    examples = ('plan.json',)
    statuses = ((errors.ExitStatus.DIFFERS, 'a tree differs'),)
    options = _READ_OPTIONS

    def execute(self) -> base.Output:
        from placementclient.model.outcomes import PlanStatus
        from placementclient.render import runs
        from placementclient.runs import engines

        plan, trees = _read_plan(self)
        statuses = engines.status(
            self.client,
            plan,
            trees=trees,
            journal_path=_get_journal_path(self),
            workers=self.args.workers,
        )
        if any(tree.status is PlanStatus.DIFFERS for tree in statuses):
            self.exit_status = errors.ExitStatus.DIFFERS
        suggest_planning_again(self, plan, [tree for tree in statuses if tree.is_left_alone])
        self.ending = summarize_states((tree.root_provider_name, tree.status) for tree in statuses)
        return runs.list_tree_statuses(statuses)


class VerifyReshape(base.Lister):
    """Verify that the cloud matches an applied plan.

    The command reads allocations, inventories and traits, and everything that the plan must not
    touch. Each difference has a verdict: pending, changed later (by others, which is allowed),
    damaged. Trees that the journal lists as still to come do not change the exit status.
    """

    examples = ('plan.json',)
    statuses = ((errors.ExitStatus.DIFFERS, 'what was applied is not complete or not right'),)
    column_names = ('tree', 'kind', 'message', 'is_damage', 'verdict')
    options = _READ_OPTIONS

    def execute(self) -> base.Output:
        from placementclient.render import runs
        from placementclient.runs import engines

        plan, trees = _read_plan(self)
        changes = plan.select_changes(trees)
        with progress.show_progress(self, len(changes)) as show:
            differences = engines.verify(
                self.client,
                plan,
                trees=trees,
                journal_path=_get_journal_path(self),
                workers=self.args.workers,
                progress=show,
            )
        if any(difference.is_error_or_warning for difference in differences):
            self.exit_status = errors.ExitStatus.DIFFERS
        self.ending = runs.summarize_verification(changes, differences)
        return runs.list_deviations(changes, differences)


def _get_journal_path(command: base.Lister) -> str:
    """Return the path of the journal beside the plan; refuse a plan from standard input."""
    if command.args.plan == '-':
        raise errors.UsageError('The plan has to be in a file: its journal is kept beside it')
    return get_journal_path(command.args.plan)


def _read_plan(command: base.Lister) -> tuple[Plan, Sequence[str]]:
    """Return the plan of ``<plan>``, and the names or root UUIDs of the selected trees.

    :return: without a selection there are no names, which means all trees
    """
    from placementclient.runs import storage

    plan = storage.read_plan(command.args.plan)
    return plan, selection_options.select_planned_trees(plan, command)


def _describe_unapplied_changes(
    command: base.Lister, plan: Plan, changes: Sequence[Change]
) -> list[str]:
    """Return a line on the changes that the journal does not have as applied; empty: none."""
    from placementclient.changes.journal import read_records
    from placementclient.changes.records.plans import get_plan_digest
    from placementclient.model.outcomes import TreeState
    from placementclient.render.plans import count_changes_in_words

    records = read_records(_get_journal_path(command), get_plan_digest(plan))
    applied = {uuid for uuid, record in records.items() if record.ended == TreeState.APPLIED}
    remaining = [change for change in changes if change.root_provider_uuid not in applied]
    return [count_changes_in_words(remaining)] if remaining else []


def _describe_services(plan: Plan, service_label: str) -> list[str]:
    """Return lines with the service that a plan was made on, and this service."""
    from placementclient.model.snapshots import is_of_other_service

    origin = plan.origin
    made = f'the state of {origin.captured_at}' if origin and origin.captured_at else ''
    if origin and is_of_other_service(origin, service_label):
        return [
            'WARNING: the plan was made on another Placement',
            f'  planned on {origin.service}' + (f', {made}' if made else ''),
            f'  applied on {service_label}',
        ]
    return [*([f'Planned on {made}'] if made else []), f'Placement: {service_label}']


def _describe_selection(count: int, plan: Plan) -> str:
    """Return the number of selected trees, such as ``3 of 20 trees``."""
    trees = format_count(len(plan.changes), 'tree')
    return trees if count == len(plan.changes) else f'{count} of {trees}'


def _count_trees_within_limit(command: base.Lister, changes: Sequence[Change]) -> int:
    """Return the number of trees that a run changes: all of them, or ``--limit`` if it is less."""
    return min(len(changes), command.args.limit or len(changes))


def _run_plan(
    command: base.Lister, plan: Plan, trees: Sequence[str], count: int, *, backward: bool = False
) -> Outcome:
    """Apply a plan or roll it back, and show the progress.

    :param trees: the names or root UUIDs of the trees to change; none: all
    :param count: the number of these trees, within ``--limit``
    :param backward: whether to roll it back
    """
    from placementclient.runs import engines

    args = command.args
    with progress.show_progress(command, count) as shown:
        return engines.apply(
            command.client,
            plan,
            _get_journal_path(command),
            backward=backward,
            trees=trees,
            limit=args.limit,
            workers=args.workers,
            max_failures=args.max_failures,
            other_service=args.other_service,
            report=lambda tree: shown(tree.root_provider_name, tree.state, tree.reason),
            warn=shown.warn,
        )


def _report_outcome(
    command: base.Lister, outcome: Outcome, *, backward: bool = False
) -> base.Output:
    """Return the table of the results of all trees; set exit status and last sentences.

    :param backward: whether the run was a rollback
    """
    from placementclient.model.outcomes import TreeState
    from placementclient.render import runs

    command.exit_status, command.ending = outcome.exit_status, runs.summarize_run(outcome)
    begun = outcome.list_trees(TreeState.DONE_IN_PART)
    command.next_steps = [
        *command.next_steps,
        *runs.advise_completing_trees(begun, command.args.plan, backward=backward),
        *runs.advise_after_run(outcome, command.args.plan, backward=backward),
    ]
    if outcome.stopped is not None and command.app.options.debug:
        command.log.error(str(outcome.stopped), exc_info=outcome.stopped)
    return runs.list_tree_results(outcome)


def suggest_planning_again(
    command: base.Lister, plan: Plan, left_alone: Sequence[TreeResult | TreeStatus]
) -> None:
    """Set the next step: the command that plans the trees again that were left alone."""
    from placementclient.render import runs

    if left_alone:
        path = command.args.plan
        new_path = find_free_plan_path(path)
        command.next_steps = list(runs.advise_planning_again(plan, path, left_alone, new_path))
