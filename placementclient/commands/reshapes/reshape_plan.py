# SPDX-License-Identifier: Apache-2.0
"""Plan, show and rehearse a reshape; :mod:`.reshape_run` applies a plan."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from placementclient import get_name_and_version
from placementclient.basis import errors
from placementclient.basis.printable import escape_line
from placementclient.basis.wording import format_count, join_names
from placementclient.cli.help_formatter import get_line_width
from placementclient.client.endpoints import RESHAPE
from placementclient.commands.framework import (
    base,
    cloud_options,
    option,
    progress,
    selection_options,
    service_lists,
)
from placementclient.commands.framework.change_command import (
    NOTHING,
    PLAN_FILE,
    get_journal_path,
    make_reshape_command,
    refuse_applied_plan,
)
from placementclient.commands.framework.document_command import DocumentCommand, TextOutput
from placementclient.commands.framework.option import Flag, Option

if TYPE_CHECKING:
    from placementclient.model.assignments import AssignmentRow
    from placementclient.model.plans import Change, Plan
    from placementclient.model.providers import Provider
    from placementclient.model.snapshots import Snapshot
    from placementclient.model.specifications import Spec
    from placementclient.planner.errors import Undecided

T = TypeVar('T')


def describe_hosts_running_nova_compute(hosts: Sequence[str]) -> str:
    """Return the beginning of a warning that nova-compute undoes a reshape on hosts."""
    return (
        f'nova-compute is up on {join_names(hosts, 5)}: it reports its inventory every minute and '
        'undoes the reshape. Stop it'
    )


def find_hosts_running_nova_compute(
    command: base.PlacementCommand, changes: Iterable[Change]
) -> list[str]:
    """Return the hosts of changed trees whose nova-compute is up, by name.

    If Nova cannot be asked, that is logged, and the list is empty.
    """
    from placementclient.nova import compute_hosts, service

    roots = [name for change in changes for name in change.roots.values()]
    try:
        services = compute_hosts.read_compute_services(command.client)
        up = compute_hosts.find_running_hosts(roots, services)
    except service.ServiceError as reason:
        command.log.info(f'It is not known whether nova-compute is up on these hosts: {reason}')
        return []
    return [root if root == host else f'{root} (as {host})' for root, host in sorted(up.items())]


class PlanReshape(base.ShowOne):
    """Plan how inventory moves to other providers, and where each allocation goes.

    Nothing is changed. If several providers are possible for an allocation, there is no plan: name
    the provider in the specification or in a file of assignments, which --write-assignments writes
    to fill in. The same files give the same plan, unless a search reaches its time limit.
    """

    examples = ('--spec vgpu.yaml --snapshot cloud.json --assignments gpu-map.csv -o plan.json',)
    auth_required = False
    column_names = (
        'plan',
        'trees',
        'left_out',
        'providers_to_create',
        'consumers',
        'mapped',
        'forced',
        'inferred',
        'warnings',
    )
    statuses = (
        (errors.ExitStatus.INFEASIBLE, 'no assignment satisfies the specification'),
        (errors.ExitStatus.UNDECIDED, 'several assignments are possible'),
    )
    options = (
        Option(
            '--spec <file>',
            required=True,
            help='The specification, as YAML or JSON; or a plan, to plan again as it was made',
        ),
        Option('--snapshot <file>', help='Plan on this snapshot file instead of the live cloud'),
        Option(
            '--assignments <file>...',
            help='Providers of consumers, as CSV, JSON or YAML, instead of those of a plan',
        ),
        *selection_options.TREES,
        service_lists.make_migrations_option('to be warned of those under way'),
        Flag('--allow-inferred', help='Choose one if several assignments are possible'),
        Flag('--skip-infeasible', help='Leave out trees that cannot be planned'),
        Option(
            '--solver-timeout <seconds>',
            default=60,
            help='Time limit of the search for the assignments of a tree',
        ),
        Option(
            '--write-assignments <file>',
            help='Write the undecided rows as CSV, to fill in',
            output='a file of assignments',
        ),
        Flag('--fail-on-warnings', help='Write no plan, and exit with 1, if there is a warning'),
        Option(
            '-o', '--output <plan>', required=True, help='The file of the plan', output='a plan'
        ),
        option.OVERWRITE,
    )

    def execute(self) -> base.Output:
        from placementclient.model.snapshots import Origin
        from placementclient.planner import planner
        from placementclient.planner.errors import Undecided
        from placementclient.render import plans
        from placementclient.runs import storage

        refuse_applied_plan(self.args.output, self.args.overwrite)
        storage.refuse_filled_assignments(self.args.write_assignments, self.args.overwrite)
        if self.args.snapshot is None and self.client.microversion < RESHAPE.since:
            self.log.warning(
                f'Microversion {self.client.microversion} has no reshaper, which came with '
                f'{RESHAPE.since} (Stein): upgrade Placement before you apply the plan'
            )
        spec, rows = storage.read_spec_and_rows(self.args.spec, self.args.assignments)
        snapshot, providers, trees = self._read_trees(spec)
        migrations = service_lists.get_sources().migrations.read_option(self, self.args.migrations)
        try:
            with progress.show_progress(self) as show:
                plan = planner.plan_reshape(
                    snapshot,
                    spec,
                    rows,
                    trees=trees,
                    listed=providers,
                    allow_inferred=self.args.allow_inferred,
                    skip_infeasible=self.args.skip_infeasible,
                    solver_timeout=self.args.solver_timeout,
                    migrations=migrations,
                    progress=show,
                    expect=show.set_total,
                )
        except Undecided as undecided:
            if self.args.write_assignments:
                self._write_undecided_rows(undecided, spec, rows)
            raise
        if self.args.snapshot:
            roots = [root for change in plan.changes for root in change.roots]
            cloud_options.refuse_unsteady_trees(snapshot, self.args.snapshot, roots)
        origin = replace(plan.origin or Origin(), program=get_name_and_version())
        warnings = [*plans.list_warnings(plan.changes)]
        if self.args.fail_on_warnings and warnings:
            raise errors.PlacementError('\n'.join([*warnings, 'No plan was written']))
        storage.write_plan(self.args.output, replace(plan, origin=origin))
        self.warn(
            (plans.count_changes_in_words(plan.changes) if plan.changes else NOTHING, *warnings)
        )
        if self.args.snapshot is None and (
            hosts := find_hosts_running_nova_compute(self, plan.changes)
        ):
            self.log.warning(
                f'{describe_hosts_running_nova_compute(hosts)} before the plan is applied'
            )
        if plan.changes:
            self.next_steps = (make_reshape_command('show', self.args.output),)
        fields = {'plan': self.args.output, **plans.count_plan_parts(plan)}
        return tuple(fields), tuple(fields.values())

    def _write_undecided_rows(
        self, undecided: Undecided, spec: Spec, rows: Iterable[AssignmentRow]
    ) -> None:
        """Write the undecided rows to a file; set the next steps of the error.

        :param rows: those of this plan; the written file replaces the rows of a plan
        """
        from placementclient.files import disk
        from placementclient.planner.specification import assignments

        path = self.args.write_assignments
        disk.write_text(path, assignments.format_skeleton(undecided.rows))
        self.log.warning(f'wrote {path}: {format_count(len(undecided.rows), "row")}')
        typed = [re.sub('^--wr[a-z-]*', '--assignments', w) for w in vars(self._parser)['typed']]
        for file in dict.fromkeys(row.path for row in rows):
            if file and file not in (*spec.assignments, *self.args.assignments):
                typed += ['--assignments', file]
        undecided.next_steps = (
            f'Fill in the column to_provider of {path}, whose comments name the choices',
            f'Plan again: {self._parser.prog} {shlex.join(typed)}',
        )

    def _read_trees(self, spec: Spec) -> tuple[Snapshot, list[Provider] | None, list[str]]:
        """Return the snapshot, all providers, and the names or root UUIDs of the selected trees.

        :return: all providers are None if the snapshot has them or is a file; no names: all trees
        """
        if self.args.snapshot:
            from placementclient.files import disk

            snapshot = disk.read_snapshot(self.args.snapshot)
            trees = selection_options.select_trees(self, snapshot)
            return snapshot, None, snapshot.expand_names(trees)
        from placementclient.producers import reshaped
        from placementclient.reading import listing

        trees = listing.expand_names(self.client, selection_options.select_trees(self))
        with progress.show_progress(self) as show:
            captured = reshaped.capture_specified_trees(
                self.client, spec, trees, workers=4, progress=show, expect=show.set_total
            )
        return (*captured, trees)


class ShowReshape(DocumentCommand):
    """Show a plan for people: each tree before and after, the allocations that move, warnings."""

    examples = ('plan.json --tree compute1',)
    auth_required = False
    options = (
        PLAN_FILE,
        selection_options.TREE,
        Flag('--summary', help='Totals and warnings only, without the trees'),
    )

    def make_text(self) -> TextOutput:
        from placementclient.changes.records import plans as codec
        from placementclient.render import plans
        from placementclient.render.lines import wrap_lines
        from placementclient.runs import storage

        plan = storage.read_plan(self.args.plan)
        plan = replace(plan, changes=plan.select_changes(self.args.tree))
        if plan.changes and self.args.plan != '-':
            step = functools.partial(make_reshape_command, plan_path=self.args.plan)
            self.next_steps = (
                (step('status'),)
                if os.path.exists(get_journal_path(self.args.plan))
                else (
                    'Save a snapshot, if you have none: placement resource provider snapshot save '
                    'cloud.json',
                    f'Rehearse, which changes nothing: {step("rehearse")} --snapshot cloud.json',
                    step('apply'),
                )
            )
        shown = plans.format_plan(plan, is_summary=self.args.summary)
        if self.app.stdout.isatty():
            shown = wrap_lines(map(escape_line, shown), get_line_width())
        if plan.recipe and self.args.summary:
            return TextOutput(plans.count_plan_parts(plan), shown)
        if self.prints_text:
            return TextOutput({}, shown)
        return TextOutput(codec.make_document(plan), shown)


class RehearseReshape(base.Lister):
    """Rehearse a plan on a scratch embedded Placement that is loaded from a snapshot.

    Your cloud is not asked, and nothing in it changes. In the scratch Placement, the command sends
    the requests of "apply", verifies, and rolls back; the real service code decides if it grants
    them. It prints the result of each tree, there and back, and differences.
    """

    examples = ('plan.json --snapshot cloud.json', 'plan.json --snapshot cloud.json --tree gpu1')
    auth_required = False
    column_names = ('stage', 'tree', 'state', 'reason')
    statuses = (
        (errors.ExitStatus.DIFFERS, 'something was not as planned, or not as before at the end'),
        (errors.ExitStatus.PARTIAL, 'some trees are done, some are not'),
    )
    options = (
        PLAN_FILE,
        Option(
            '--snapshot <file>',
            required=True,
            help='The snapshot to load, that of the plan or a newer one; to make one: '
            'resource provider snapshot save cloud.json',
        ),
        *selection_options.TREES,
    )

    def execute(self) -> base.Output:
        from placementclient.embedded import plugin
        from placementclient.files import disk
        from placementclient.runs import storage

        plan = storage.read_plan(self.args.plan)
        snapshot = disk.read_snapshot(self.args.snapshot)
        trees = selection_options.select_planned_trees(plan, self, snapshot)
        rehearse = functools.partial(_rehearse_plan, plan, snapshot, trees)
        if plugin.is_running():
            # The commands of a batch before this one have a database open.
            rehearse = functools.partial(_run_in_child_process, rehearse)
        self.exit_status, self.ending, output = rehearse()
        if not self.exit_status:
            self.next_steps = (make_reshape_command('apply', self.args.plan),)
        return output


def _run_in_child_process(function: Callable[[], T]) -> T:
    """Call a function in a new process, where no other embedded Placement runs."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as child:
        return child.submit(function).result()


def _rehearse_plan(
    plan: Plan, snapshot: Snapshot, trees: Sequence[str]
) -> tuple[int, str, base.Output]:
    """Rehearse a plan; return the exit status, the last sentence, and the table."""
    from placementclient.render import runs
    from placementclient.runs import rehearse

    rehearsal = rehearse.rehearse(plan, snapshot, trees=trees)
    return (
        rehearsal.exit_status,
        runs.summarize_rehearsal(rehearsal),
        runs.list_rehearsal(rehearsal),
    )


class PrintSchema(DocumentCommand):
    """Print the JSON Schema of a file of the reshape, for editors and programs.

    A file may match the schema and still be refused, with the line, when a command reads it.
    """

    examples = ('spec',)
    auth_required = False
    options = (
        Option(
            'kind',
            metavar='<file>',
            choices=('spec', 'assignments', 'snapshot', 'plan'),
            help='The specification (spec), assignments, snapshot or plan',
        ),
    )

    def make_text(self) -> TextOutput:
        from placementclient.changes.records import schema

        shown = schema.make_schema(self.args.kind)
        return TextOutput(shown, json.dumps(shown, indent=2).splitlines())
