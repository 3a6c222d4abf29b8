# SPDX-License-Identifier: Apache-2.0
"""Commands that change several objects: dry run, plan file, confirmation, table of results."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from placementclient.basis.errors import (
    BadFile,
    ExitStatus,
    Interrupted,
    PlacementError,
    UsageError,
)
from placementclient.basis.wording import format_count
from placementclient.cli.help_formatter import get_line_width
from placementclient.client import errors
from placementclient.commands.framework import base, option, progress
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.model.outcomes import ChangeRow, TreeResult
    from placementclient.model.plans import Change, Plan
    from placementclient.producers.producer import Producer

PLAN_FILE = Option('plan', help='The file of the plan')
NOTHING = 'Nothing to change: the plan has no trees'
#: The number of rows that are shown before the question.
_MOST_ROWS = 40
#: The columns of a change, planned or made.
COLUMNS = ('object', 'change', 'before', 'after', 'state', 'reason')
DRY_RUN, PLAN, OVERWRITE, _ = OPTIONS = option.group_options(
    'changes',
    Flag('--dry-run', help='Print the changes and make none'),
    Option(
        '--plan <file>',
        help='Write the changes to this plan file, for "resource provider reshape", and make none',
        output='a plan',
    ),
    option.OVERWRITE,
    option.YES,
)
#: The options of a change that is not asked about.
PLANNING = (DRY_RUN, PLAN, OVERWRITE)


class ChangeCommand(base.Lister):
    """A command that shows changes, asks for confirmation and applies them, or writes a plan.

    A subclass makes a producer in :meth:`execute` and returns :meth:`plan_and_apply` of it.
    """

    formatter_namespace = base.LINES
    column_names: ClassVar[Sequence[str]] = COLUMNS
    statuses: ClassVar[tuple[tuple[ExitStatus, str], ...]] = (
        base.WOULD_CHANGE,
        (ExitStatus.PARTIAL, 'some changes are made, some could not be'),
    )
    empty_message = 'Nothing to change'
    #: The exit status if the producer leaves something undone and nothing was changed.
    status_if_all_undone = ExitStatus.ERROR

    def shows_changes(self) -> bool:
        """Return whether the table shows changes, not the new state of the changed object."""
        return True

    def list_column_names(self) -> Sequence[str]:
        return COLUMNS if self.shows_changes() else self.column_names

    def can_print_text(self) -> bool:
        return self.shows_changes() and super().can_print_text()

    def format_lines(
        self, names: Sequence[str], rows: Iterable[Sequence[object]], width: int
    ) -> Iterable[str]:
        """Return the lines of a table of changes for ``-f text``."""
        from placementclient.render import changes

        return changes.format_change_rows(names, rows, width)

    def prints_empty_message(self) -> bool:
        return self.shows_changes() or super().prints_empty_message()

    def plan_and_apply(self, producer: Producer) -> base.Output:
        """Make the plan of a producer; show it, write it or apply it, as the options say."""
        return self.show_or_apply_plan(self.make_plan(producer), producer)

    def make_plan(self, producer: Producer) -> Plan:
        """Return the plan of a producer.

        :raises UsageError: for ``--plan`` with ``--dry-run``
        :raises BadFile: if the file of ``--plan`` has a plan that was applied
        """
        if self.args.plan and self.args.dry_run:
            raise UsageError('--plan and --dry-run exclude each other')
        if self.args.plan:
            refuse_applied_plan(self.args.plan, self.args.overwrite)
        return producer.plan()

    def show_or_apply_plan(self, plan: Plan, producer: Producer) -> base.Output:
        """Show, write or apply a plan, by the options; return the table of the changes."""
        from placementclient.changes.summary import summarize_changes
        from placementclient.render import changes

        if not is_plan_only(self):
            return self._confirm_and_apply_plan(plan, producer)
        if self.args.plan:
            self.write_plan(plan)
        elif plan.changes or producer.has_errors:
            self.ending = (
                summarize_changes(plan.changes)
                if plan.changes
                else changes.summarize_results((), (), producer.notes)
            )
            self.exit_status = ExitStatus.DIFFERS
        return changes.make_planned_table(
            _list_change_rows(plan), producer.notes if producer.has_notes else None
        )

    def _confirm_and_apply_plan(self, plan: Plan, producer: Producer) -> base.Output:
        from placementclient.render import changes

        results: Sequence[TreeResult] = ()
        if plan.changes:
            self.confirm_plan(plan)
            results = self.apply_plan(plan, producer)
        if producer.has_errors and self.exit_status != ExitStatus.INTERRUPTED:
            is_partial = any(result.rows for result in results)
            self.exit_status = ExitStatus.PARTIAL if is_partial else self.status_if_all_undone
        self.ending = changes.summarize_results(plan.changes, results, producer.notes)
        return changes.make_results_table(results, producer.notes)

    def write_plan(self, plan: Plan) -> None:
        """Write a plan with changes to the file of ``--plan``; log the number of its changes."""
        from placementclient.changes.summary import summarize_changes
        from placementclient.runs import storage

        if not plan.changes:
            self.log.warning(f'Nothing to change: {self.args.plan} is not written')
            return
        storage.write_plan(self.args.plan, plan)
        self.log.warning(f'{summarize_changes(plan.changes)}. The plan is in {self.args.plan}')
        self.next_steps = (make_reshape_command('show', self.args.plan),)

    def confirm_plan(self, plan: Plan) -> None:
        """Show a plan, and raise an error unless the operator confirms it or gives ``--yes``."""
        if self.args.yes:
            return
        from placementclient.changes.summary import summarize_changes
        from placementclient.render import changes
        from placementclient.render.lines import wrap_lines

        parts = _list_change_rows(plan)
        shown = '\n'.join(
            wrap_lines(changes.format_planned_parts(parts[:_MOST_ROWS]), get_line_width())
        )
        if len(parts) > _MOST_ROWS:
            shown += (
                f'\nand {format_count(len(parts) - _MOST_ROWS, "more row")}: --dry-run prints all'
            )
        self.confirm(f'{shown}\n{summarize_changes(plan.changes)}. Go on?')

    def apply_plan(self, plan: Plan, producer: Producer) -> Sequence[TreeResult]:
        """Apply a plan, log its errors, and return the result of each tree."""
        from placementclient.changes.at_once import apply_at_once

        with progress.show_progress(self, len(plan.changes)) as show:
            outcome = apply_at_once(
                self.client,
                plan,
                producer.select_writable,
                lambda tree: show(tree.root_provider_name, tree.state),
            )
        for tree, result in zip(plan.changes, outcome.trees, strict=True):
            if isinstance(result.error, Interrupted):
                self.log_interruption()
            elif result.error is not None:
                self.log_failure(_add_provider_names(tree, result.error))
            elif result.reason:
                self.log.warning(f'{tree.root_provider_name}: {result.reason}')
        self.exit_status = outcome.exit_status
        return outcome.trees


def _list_change_rows(plan: Plan) -> list[ChangeRow]:
    from placementclient.changes.summary import list_change_rows

    return [row for change in plan.changes for row in list_change_rows(change.before, change.after)]


def _add_provider_names(change: Change, error: PlacementError) -> PlacementError:
    """Return an error of a change with the names of its providers for their UUIDs."""
    if not isinstance(error, errors.HTTPError):
        return error
    states = (*change.before.walk(), *change.after.walk())
    return error.with_names({state.uuid: state.name for state in states})


def get_journal_path(path: str) -> str:
    """Return the path of the journal of a plan file."""
    return f'{path}.journal'


def make_reshape_command(action: str, plan_path: str) -> str:
    """Return the command line of ``reshape apply``, or of another action, for a plan file."""
    return f'placement resource provider reshape {action} {shlex.quote(plan_path)}'


def is_plan_only(command: ChangeCommand) -> bool:
    """Return whether the command only shows changes, or writes a plan, and applies nothing."""
    return bool(command.args.dry_run or command.args.plan)


def refuse_applied_plan(path: str, overwrite: bool) -> None:
    """Raise an error that names a free path if a file has a plan that was applied.

    :param overwrite: whether the operator allows to overwrite the plan
    """
    journal_path = get_journal_path(path)
    if not overwrite and os.path.exists(journal_path):
        files = ' '.join(map(shlex.quote, (path, journal_path)))
        raise BadFile(
            path,
            f'was applied, as {journal_path} says, and status and rollback need both: write the '
            f'new plan to {find_free_plan_path(path)}, or, if all trees are rolled back, begin '
            f'with: rm {files}',
        )


def find_free_plan_path(path: str) -> str:
    """Return a path beside a plan file where no plan and no journal exists."""
    stem, end = os.path.splitext(path)
    names = (f'{stem}-{number}{end}' for number in itertools.count(2))
    return next(
        name
        for name in names
        if not (os.path.exists(name) or os.path.exists(get_journal_path(name)))
    )
