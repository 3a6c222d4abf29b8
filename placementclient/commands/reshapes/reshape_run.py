"""Apply a reshape, print its status, verify it, roll it back."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from placementclient.client import errors
from placementclient.client.wording import tally
from placementclient.commands.framework import base, option, progress, selectors
from placementclient.commands.framework.option import Flag
from placementclient.commands.framework.plan_files import NOTHING, PLAN
from placementclient.commands.reshapes.plan_run import (
    RUN,
    PlanCommand,
    PlanRunCommand,
    journal_path,
)
from placementclient.commands.reshapes.reshape import computes_up, still_up
from placementclient.model import origin

if TYPE_CHECKING:
    from placementclient.model.plans import Plan, TreeChange


def _made(plan: Plan, here: str) -> str:
    """Return the time when a plan was read, and the service where that is another one."""
    origin = plan.origin
    if origin is None or origin.captured_at is None or origin.service is None:
        return ''
    elsewhere = f' of {origin.service}' if origin.service != here else ''
    return f'The plan was made on what was there at {origin.captured_at}{elsewhere}. '


class ApplyReshape(PlanRunCommand):
    """Apply a plan, tree by tree.

    The command records each step in <plan>.journal before it takes it. If it is killed or
    interrupted, run it again: it continues. A tree that differs from the plan is left alone.

    A running nova-compute puts the old inventory back. If Nova says that nova-compute is up on a
    host of the plan, the command asks again, even with --yes. Without a terminal, stop nova-compute
    or give --compute-is-up.

    Example:

      openstack resource provider reshape apply plan.json --limit 1 --yes
    """

    options = (
        PLAN,
        *selectors.TREES,
        *RUN,
        Flag(
            '--compute-is-up',
            help='Go on although nova-compute may be up on hosts of the plan; Nova is not asked',
        ),
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient.model.outcomes import Outcome, State
        from placementclient.render.plans import extent

        plan = self.read(parsed_args)
        if not plan.trees:
            self.log.warning(NOTHING)
            return self.output(Outcome(()))
        trees = plan.selected(parsed_args.tree)
        if plan.recipe is not None:
            self._check_computes(trees, parsed_args)
        count = min(len(trees), parsed_args.limit or len(trees))
        here = self.client.service
        question = f'Apply {parsed_args.plan}, to {count} of its trees, at {here}?'
        self.confirm(f'{extent(trees)}. {_made(plan, here)}{question}', parsed_args)
        if parsed_args.yes:
            self.log.warning(extent(trees))
        if parsed_args.yes and origin.is_elsewhere(plan.origin, here):
            self.log.warning(f'{_made(plan, here)}This is {here}')
        outcome = self.carry_out(plan, count, parsed_args)
        self.advise(plan, parsed_args.plan, outcome.of(State.LEFT_ALONE))
        return self.output(outcome)

    def _check_computes(self, trees: Sequence[TreeChange], parsed_args: argparse.Namespace) -> None:
        """Refuse, unless the operator agrees, where nova-compute would undo the plan."""
        hosts = [] if parsed_args.compute_is_up else computes_up(self, trees)
        if not hosts:
            return
        if not self.app.stdin.isatty():
            raise errors.UsageError(f'{still_up(hosts)} there, or give --compute-is-up')
        # --yes is an answer to another question.
        question = f'{still_up(hosts)} there. Apply all the same?'
        self.confirm(question, argparse.Namespace(yes=False))


class RollbackReshape(PlanRunCommand):
    """Roll back a plan that was applied, wholly or in part.

    The rollback is planned on the present state. It includes consumers that were created after the
    plan; deleted consumers stay deleted. A tree that cannot go back is left alone.

    Example:

      openstack resource provider reshape rollback plan.json --tree compute1 --yes
    """

    options = (PLAN, *selectors.TREES, *RUN, option.YES)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        plan = self.read(parsed_args)
        trees = plan.selected(parsed_args.tree)
        count = min(len(trees), parsed_args.limit or len(trees))
        question = (
            f'Roll back {parsed_args.plan}, in {count} of its trees, at {self.client.service}?'
        )
        self.confirm(question, parsed_args)
        return self.output(self.carry_out(plan, count, parsed_args, backward=True))


class StatusReshape(PlanCommand):
    """Show the state of each tree of a plan: pending, applied, rolled back, differs.

    A tree that was left alone differs, with the reason.

    Example:

      openstack resource provider reshape status plan.json
      openstack resource provider reshape status plan.json
    """

    statuses = ((errors.ExitStatus.DIFFERS, 'a tree differs'),)
    options = (PLAN, *selectors.TREES, option.workers('trees to read'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient.model.outcomes import Status
        from placementclient.render import runs
        from placementclient.reshape import engines

        plan = self.read(parsed_args)
        statuses = engines.status(
            self.client,
            plan,
            trees=parsed_args.tree,
            journal_path=journal_path(parsed_args),
            workers=parsed_args.workers,
        )
        if any(tree.status is Status.DIFFERS for tree in statuses):
            self.exit_status = errors.ExitStatus.DIFFERS
        self.advise(plan, parsed_args.plan, [tree for tree in statuses if tree.is_left_alone])
        self.ending = tally((tree.root_provider_name, tree.status) for tree in statuses)
        return runs.statuses(statuses)


class VerifyReshape(PlanCommand):
    """Verify that the cloud matches an applied plan.

    The command reads allocations, inventories and traits, and everything that the plan must not
    touch. Each difference has a verdict: pending, changed later (by others, which is allowed),
    damaged. If the journal lists a tree as still to come, the tree is not pending.

    Example:

      openstack resource provider reshape verify plan.json
    """

    statuses = ((errors.ExitStatus.DIFFERS, 'what was applied is not complete or not right'),)
    prints = ('tree', 'kind', 'message', 'is_damage', 'verdict')
    options = (PLAN, *selectors.TREES, option.workers('trees to read'))

    def take_action(self, parsed_args: argparse.Namespace) -> base.Output:
        from placementclient.render import runs
        from placementclient.reshape import engines

        plan = self.read(parsed_args)
        trees = plan.selected(parsed_args.tree)
        with progress.shown(self.app, self.log, len(trees)) as show:
            differences = engines.verify(
                self.client,
                plan,
                trees=parsed_args.tree,
                journal_path=journal_path(parsed_args),
                workers=parsed_args.workers,
                progress=show,
            )
        if any(difference.is_damage or difference.is_overdue for difference in differences):
            self.exit_status = errors.ExitStatus.DIFFERS
        self.ending = runs.verdicts(trees, differences)
        return runs.verification(trees, differences)
