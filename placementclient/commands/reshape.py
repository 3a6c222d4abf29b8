"""The reshape: plan, show, apply, verify.

What the commands call is loaded when they run: OpenStackClient loads the module of every command
before it runs one.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from placementclient import errors
from placementclient.commands import base
from placementclient.commands.base import Option
from placementclient.commands.document import Document, Text
from placementclient.commands.snapshot import TREE, workers
from placementclient.render import columns
from placementclient.render.columns import Output

if TYPE_CHECKING:
    from placementclient.migration.outcome import Outcome, TreeResult

_PLAN = Option('plan', metavar='<plan>', help='The file of the plan')


class PlanReshape(base.ShowOne):
    """Plan how inventory moves to other providers, and whose allocations go where.

    Nothing is changed. Where it is not certain which provider an allocation belongs to, there is no
    plan (exit status 5): say it in the specification or in a file of assignments. --write-assignments
    writes such a file to fill in.

    Example:

      openstack resource provider reshape plan --spec vgpu.yaml --snapshot cloud.json \\
        --assignments gpu-map.csv -o plan.json
    """

    auth_required = False
    options = (
        Option(
            '--spec', metavar='<file>', required=True, help='The specification, as YAML or JSON'
        ),
        Option(
            '--snapshot', metavar='<file>', help='Plan on this snapshot; without it, on what is now'
        ),
        Option(
            '--assignments',
            metavar='<file>',
            action='append',
            default=[],
            help='What is known of who holds what, as CSV, JSON or YAML; may be repeated',
        ),
        TREE,
        Option(
            '--allow-inferred',
            action='store_true',
            help='Choose, where several assignments are possible',
        ),
        Option(
            '--skip-infeasible',
            action='store_true',
            help='Leave out trees that cannot be planned, instead of planning none',
        ),
        Option(
            '--write-assignments',
            metavar='<file>',
            help='Write a CSV file with the undecided rows, to fill in and hand back',
        ),
        Option('-o', '--output', metavar='<plan>', required=True, help='The file of the plan'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.migration import capture, files
        from placementclient.planner import assignments, build
        from placementclient.render import plans

        spec = files.read_spec(parsed_args.spec)
        rows = [
            row
            for path in (*spec.assignments, *parsed_args.assignments)
            for row in files.read_assignments(path)
        ]
        if parsed_args.snapshot:
            snapshot = files.read_snapshot(parsed_args.snapshot)
        else:
            snapshot = capture.capture(self.client, parsed_args.tree, workers=4)
        try:
            plan = build.make(
                snapshot,
                spec,
                rows,
                trees=parsed_args.tree,
                allow_inferred=parsed_args.allow_inferred,
                skip_infeasible=parsed_args.skip_infeasible,
            )
        except errors.Undecided as undecided:
            if parsed_args.write_assignments:
                files.write_text(
                    parsed_args.write_assignments, assignments.skeleton(undecided.rows)
                )
            raise
        files.write_plan(parsed_args.output, plan)
        for tree in plan.trees:
            for warning in tree.warnings:
                self.log.warning(f'{tree.root_provider_name}: {warning.message}')
        fields = {'plan': parsed_args.output, **plans.summary(plan)}
        return tuple(fields), tuple(fields.values())


class ShowReshape(Document):
    """Show a plan as a person reads it: trees before and after, who goes where, warnings.

    Example:

      openstack resource provider reshape show plan.json --tree compute1
    """

    auth_required = False
    options = (_PLAN, TREE)

    def text(self, parsed_args: argparse.Namespace) -> Text:
        from placementclient.migration import files
        from placementclient.render import plans

        plan = files.read_plan(parsed_args.plan)
        if parsed_args.tree:
            plan = replace(plan, trees=plan.selected(parsed_args.tree))
        return Text(plan.to_json(), plans.lines(plan))


class _Run(base.Lister):
    """A command that works on trees and tells how each one ended."""

    def report(self, result: TreeResult) -> None:
        """Tell of a tree that has ended, while others go on."""
        reason = f': {result.reason}' if result.reason else ''
        self.log.info(f'{result.root_provider_name}: {result.state.value}{reason}')

    def output(self, outcome: Outcome) -> Output:
        """How all trees have ended; the exit status follows from it."""
        self.exit_status = outcome.exit_status
        if outcome.stopped is not None:
            self.log.error(str(outcome.stopped))
        return columns.TREE_RESULT.rows(outcome.trees)


class ApplyReshape(_Run):
    """Carry a plan out, tree by tree.

    Every step is noted in <plan>.journal before it is taken. Killed at any moment, the same command
    goes on where it was.

    Example:

      openstack resource provider reshape apply plan.json --yes
    """

    options = (
        _PLAN,
        TREE,
        Option('--limit', metavar='<number>', type=int, help='At most so many trees'),
        workers('change'),
        Option(
            '--max-failures',
            metavar='<number>',
            type=int,
            help='Begin no further tree after so many have failed',
        ),
        base.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.migration import execute, files

        plan = files.read_plan(parsed_args.plan)
        count = len(plan.selected(parsed_args.tree))
        self.confirm(f'Change {count} trees as {parsed_args.plan} says?', parsed_args)
        outcome = execute.apply(
            self.client,
            plan,
            f'{parsed_args.plan}.journal',
            trees=parsed_args.tree,
            limit=parsed_args.limit,
            workers=parsed_args.workers,
            max_failures=parsed_args.max_failures,
            report=self.report,
        )
        return self.output(outcome)


class VerifyReshape(base.Lister):
    """Read everything back and compare it with a plan that was applied.

    What is allocated and where, inventories, traits, and that what the plan does not name is as it
    was. Ends with exit status 3 if the reshape is not complete or not right; what others have changed
    since, as they may, is only told.

    Example:

      openstack resource provider reshape verify plan.json
    """

    options = (_PLAN, TREE)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.migration import files, verify

        plan = files.read_plan(parsed_args.plan)
        differences = verify.verify(self.client, plan, trees=parsed_args.tree)
        if any(difference.is_damage for difference in differences):
            self.exit_status = errors.ExitStatus.DIFFERS
        return columns.verification(plan.selected(parsed_args.tree), differences)
