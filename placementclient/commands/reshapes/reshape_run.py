"""The reshape carried out: apply, status, verify, roll back.

What the commands call is loaded when they run: OpenStackClient loads the module of every command
before it runs one.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from placementclient.client import errors
from placementclient.commands.framework import base, option, progress, watching
from placementclient.commands.framework.option import Option
from placementclient.commands.framework.plan_files import PLAN, journal_of
from placementclient.commands.reshapes.reshape import computes_up, still_up
from placementclient.commands.snapshots.snapshot import TREE

if TYPE_CHECKING:
    from placementclient.model.outcomes import Outcome, TreeResult
    from placementclient.planner.plan.plan import TreePlan
    from placementclient.render.columns import Output
    from placementclient.reshape.engines import AnyPlan


OTHER_SERVICE = Option(
    '--other-service',
    action='store_true',
    help='Go on where this does not seem to be the service that the plan was made for: none of '
    'its trees is here, or it was made of another service, and trees are not as it says',
)


def _journal(parsed_args: argparse.Namespace) -> str:
    """Return the path of the journal of a plan.

    :raises errors.UsageError: if the plan has no place
    """
    if parsed_args.plan == '-':
        raise errors.UsageError('The plan has to be in a file: its journal is kept beside it')
    return journal_of(parsed_args.plan)


class _OfPlan(base.Lister):
    """A command about the trees of a plan."""

    def advise(self, plan: AnyPlan, path: str, left_alone: Iterable[str]) -> None:
        """Say how trees are planned anew that were left alone.

        :param path: the file of the plan
        :param left_alone: the names of their roots
        """
        from placementclient.render import runs

        names = list(left_alone)
        if names:
            line = runs.planning_anew(plan, path, names, _beside(path), self.program)
            self.log.warning(line)


def _beside(path: str) -> str:
    """The name of a file for a plan that follows another: the first that is free."""
    stem, end = os.path.splitext(path)
    names = (f'{stem}-{number}{end}' for number in itertools.count(2))
    return next(
        name for name in names if not (os.path.exists(name) or os.path.exists(journal_of(name)))
    )


def _made(plan: AnyPlan, here: str) -> str:
    """Return the time when a plan was read, and the service where that is another one."""
    origin = plan.origin
    if origin is None or origin.captured_at is None or origin.service is None:
        return ''
    elsewhere = f' of {origin.service}' if origin.service != here else ''
    return f'The plan was made on what was there at {origin.captured_at}{elsewhere}. '


class _RunCommand(_OfPlan):
    """A command that works on trees and tells how each one ended."""

    prints = ('tree', 'state', 'reason')
    statuses = (
        (
            errors.ExitStatus.DIFFERS,
            'every tree that was tried was left alone, or is not as planned',
        ),
        (errors.ExitStatus.PARTIAL, 'some trees are done, some are not'),
    )

    @contextlib.contextmanager
    def reported(self, total: int) -> Iterator[Callable[[TreeResult], None]]:
        """Tells of each tree that has ended, while others go on."""
        with progress.shown(self.app, self.log, total) as tell:
            yield lambda result: tell(
                f'{result.root_provider_name}: {result.state.value}'
                + (f': {result.reason}' if result.reason else '')
            )

    def run_plan(
        self,
        run: Callable[..., Outcome],
        plan: AnyPlan,
        parsed_args: argparse.Namespace,
        count: int,
        **options: Any,
    ) -> Outcome:
        """Carry a plan out or take it back, and tell of each tree that has ended.

        :param run: :func:`engines.apply` or :func:`engines.rollback`
        :param count: how many trees are expected to end
        """
        with self.reported(count) as report:
            return run(
                self.client,
                plan,
                _journal(parsed_args),
                trees=parsed_args.tree,
                workers=parsed_args.workers,
                other_service=parsed_args.other_service,
                report=report,
                **options,
            )

    def output(self, outcome: Outcome) -> Output:
        """Return the ends of all trees; the exit status follows from them."""
        from placementclient.render import runs

        self.exit_status = outcome.exit_status
        if outcome.stopped is not None:
            cause = outcome.stopped if self.app.options.debug else None
            self.log.error(runs.ending(outcome), exc_info=cause)
        return runs.outcome(outcome)


class ApplyReshape(_RunCommand):
    """Carry a plan out, tree by tree.

    Every step is noted in <plan>.journal before it is taken. Killed at any moment, the same command
    goes on where it was. Ends with exit status 6 if some trees are done and some are not, with 3 if
    all that were tried were left alone, as they are not what was reviewed, and with 130 on Ctrl-C.

    Where the compute service can be asked, and says that nova-compute is up on a host of the plan,
    it asks once more, also with --yes: a running nova-compute puts the inventory back. Where nobody
    can be asked, it needs --compute-is-up.

    Example:

      openstack resource provider reshape apply plan.json --limit 1 --yes
    """

    options = (
        PLAN,
        TREE,
        Option(
            '--limit',
            metavar='<number>',
            type=option.positive,
            help='At most so many trees, not counting those that are done',
        ),
        option.workers('trees to change'),
        Option(
            '--max-failures',
            metavar='<number>',
            type=option.positive,
            help='Begin no further tree after so many have failed',
        ),
        OTHER_SERVICE,
        Option(
            '--compute-is-up',
            action='store_true',
            help='Go on where nova-compute is up on hosts of the plan; the compute service is not '
            'asked',
        ),
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.model import origin
        from placementclient.model.outcomes import State
        from placementclient.planner.plan.plan import Plan
        from placementclient.render.plans import extent
        from placementclient.reshape import engines, storage

        plan = storage.read_any_plan(parsed_args.plan)
        trees = plan.selected(parsed_args.tree)
        if isinstance(plan, Plan):
            self._check_computes(plan.selected(parsed_args.tree), parsed_args)
        count = len(trees)
        count = count if parsed_args.limit is None else min(count, parsed_args.limit)
        here = self.client.service
        question = f'Apply {parsed_args.plan}, to {count} of its trees, at {here}?'
        question = f'{extent(trees)}. {question}'
        self.confirm(f'{_made(plan, here)}{question}', parsed_args)
        if parsed_args.yes:
            self.log.warning(f'{extent(trees)}')
        if parsed_args.yes and origin.is_elsewhere(plan.origin, here):
            self.log.warning(f'{_made(plan, here)}This is {here}')
        outcome = self.run_plan(
            engines.apply,
            plan,
            parsed_args,
            count,
            limit=parsed_args.limit,
            max_failures=parsed_args.max_failures,
        )
        self.advise(
            plan,
            parsed_args.plan,
            (tree.root_provider_name for tree in outcome.of(State.LEFT_ALONE)),
        )
        return self.output(outcome)

    def _check_computes(self, trees: Sequence[TreePlan], parsed_args: argparse.Namespace) -> None:
        """Refuse, unless the operator agrees, where nova-compute would undo the plan.

        :raises errors.UsageError: if there is nobody to ask
        :raises errors.Unconfirmed: if the answer is no
        """
        hosts = [] if parsed_args.compute_is_up else computes_up(self, trees)
        if not hosts:
            return
        if not self.app.stdin.isatty():
            raise errors.UsageError(f'{still_up(hosts)} there, or give --compute-is-up')
        # --yes is an answer to another question.
        question = f'{still_up(hosts)} there. Apply all the same?'
        self.confirm(question, argparse.Namespace(yes=False))


class RollbackReshape(_RunCommand):
    """Take back what a plan has done, wholly or in part.

    The way back is planned on what is there now: consumers that came after the plan go back too,
    those that have gone do not come again. A tree for which that is impossible is left alone: exit
    status 6 if others are done, 3 otherwise.

    Example:

      openstack resource provider reshape rollback plan.json --tree compute1 --yes
    """

    options = (
        PLAN,
        TREE,
        option.workers('trees to change'),
        OTHER_SERVICE,
        option.YES,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.reshape import engines, storage

        plan = storage.read_any_plan(parsed_args.plan)
        count = len(plan.selected(parsed_args.tree))
        question = (
            f'Roll back {parsed_args.plan}, in {count} of its trees, at {self.client.service}?'
        )
        self.confirm(question, parsed_args)
        return self.output(self.run_plan(engines.rollback, plan, parsed_args, count))


class StatusReshape(_OfPlan, watching.WatchingLister):
    """Show where each tree of a plan is: pending, applied, rolled back, differs.

    A tree that was left alone differs, with the reason that it was left alone for. Ends with exit
    status 3 if a tree differs.

    Example:

      openstack resource provider reshape status plan.json
    """

    statuses = ((errors.ExitStatus.DIFFERS, 'a tree differs'),)
    options = (PLAN, TREE, option.workers('trees to read'), watching.WATCH)

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.model.outcomes import Status
        from placementclient.render import runs
        from placementclient.reshape import engines, storage

        plan = storage.read_any_plan(parsed_args.plan)
        found = engines.status(
            self.client,
            plan,
            trees=parsed_args.tree,
            journal_path=_journal(parsed_args),
            workers=parsed_args.workers,
        )
        if any(tree.status is Status.DIFFERS for tree in found):
            self.exit_status = errors.ExitStatus.DIFFERS
        self.advise(
            plan,
            parsed_args.plan,
            (tree.root_provider_name for tree in found if tree.is_left_alone),
        )
        return runs.statuses(found)


class VerifyReshape(base.Lister):
    """Read everything back and compare it with a plan that was applied.

    What is allocated and where, inventories, traits, and that what the plan does not name is as it
    was. Each difference has a verdict: pending, changed later (by others, as they may), damaged.
    Ends with exit status 3 if something is damaged, or if a tree is pending and no journal says
    that it is still to come.

    Example:

      openstack resource provider reshape verify plan.json
    """

    statuses = ((errors.ExitStatus.DIFFERS, 'what was applied is not complete or not right'),)
    prints = ('tree', 'kind', 'message', 'is_damage', 'verdict')
    options = (PLAN, TREE, option.workers('trees to read'))

    def take_action(self, parsed_args: argparse.Namespace) -> Output:
        from placementclient.render import runs
        from placementclient.reshape import engines, storage

        plan = storage.read_any_plan(parsed_args.plan)
        trees = plan.selected(parsed_args.tree)
        with progress.shown(self.app, self.log, len(trees)) as tell:
            differences = engines.verify(
                self.client,
                plan,
                trees=parsed_args.tree,
                journal_path=_journal(parsed_args),
                workers=parsed_args.workers,
                progress=tell,
            )
        if any(difference.is_damage or difference.is_overdue for difference in differences):
            self.exit_status = errors.ExitStatus.DIFFERS
        return runs.verification(trees, differences)
