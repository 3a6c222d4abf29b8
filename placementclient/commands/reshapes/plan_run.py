"""The common part of the commands that apply a plan or roll it back."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.client import errors
from placementclient.commands.framework import base, option, progress, selectors
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.framework.plan_files import free_name, journal_of

if TYPE_CHECKING:
    from placementclient.model.outcomes import Outcome, TreeResult, TreeStatus
    from placementclient.model.plans import Plan


OTHER_SERVICE = Flag(
    '--other-service',
    help='Go on although the plan was made for another service, or none of its trees is here',
)
#: The options of the commands that carry out a plan or take it back.
RUN = (
    Option(
        '--limit <number>',
        help='Change at most this number of trees, not counting those that are done; default: '
        'all trees',
    ),
    option.workers('trees to change'),
    Option(
        '--max-failures <number>',
        help='Stop after this many trees have failed; trees under way are completed. Default: go '
        'on',
    ),
    OTHER_SERVICE,
)


def journal_path(parsed_args: argparse.Namespace) -> str:
    """Return the path of the journal of a plan."""
    if parsed_args.plan == '-':
        raise errors.UsageError('The plan has to be in a file: its journal is kept beside it')
    return journal_of(parsed_args.plan)


class PlanCommand(base.Lister):
    """A command for the trees of a plan."""

    def read(self, parsed_args: argparse.Namespace) -> Plan:
        """Read the plan; turn the options that select trees into ``--tree``."""
        from placementclient.reshape import storage

        plan = storage.read_plan(parsed_args.plan)
        parsed_args.tree = selectors.trees_of(plan, self, parsed_args)
        return plan

    def advise(self, plan: Plan, path: str, left_alone: Sequence[TreeResult | TreeStatus]) -> None:
        """Print the command that plans the trees again that were left alone.

        :param path: the file of the plan
        """
        from placementclient.render import failures, runs

        if not left_alone:
            return
        self.next_steps = [
            *runs.planning_anew(plan, path, left_alone, free_name(path), self.program),
            *([f'If rows are undecided then, {failures.DECIDE}'] if plan.recipe else []),
        ]


class PlanRunCommand(PlanCommand):
    """A command that changes trees and prints the result of each."""

    prints = ('tree', 'state', 'reason')
    statuses = (
        (
            errors.ExitStatus.DIFFERS,
            'every tree that was tried was left alone, or is not as planned',
        ),
        (errors.ExitStatus.PARTIAL, 'some trees are done, some are not, or the run was stopped'),
    )

    def carry_out(
        self, plan: Plan, total: int, parsed_args: argparse.Namespace, *, backward: bool = False
    ) -> Outcome:
        """Apply a plan or roll it back, and print the progress.

        :param total: how many trees, for the progress
        """
        from placementclient.reshape import engines

        with progress.shown(self.app, self.log, total) as shown:
            return engines.apply(
                self.client,
                plan,
                journal_path(parsed_args),
                backward=backward,
                trees=parsed_args.tree,
                limit=parsed_args.limit,
                workers=parsed_args.workers,
                max_failures=parsed_args.max_failures,
                other_service=parsed_args.other_service,
                report=lambda tree: shown(tree.root_provider_name, tree.state, tree.reason),
                warn=shown.warn,
            )

    def output(self, outcome: Outcome) -> base.Output:
        """Return the results of all trees; they decide on the exit status."""
        from placementclient.render import runs

        self.exit_status, self.ending = outcome.exit_status, runs.ending(outcome)
        if outcome.stopped is not None and self.app.options.debug:
            self.log.error(str(outcome.stopped), exc_info=outcome.stopped)
        return runs.outcome(outcome)
