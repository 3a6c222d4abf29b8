"""Commands that change more than one thing: each can be reviewed, and written as a plan."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from placementclient import errors
from placementclient.commands import base, option
from placementclient.commands.option import Option
from placementclient.commands.plan_files import check_free
from placementclient.wording import counted

if TYPE_CHECKING:
    from placementclient.changes.plan import ChangePlan, ChangeSet
    from placementclient.changes.summary import Row
    from placementclient.render.columns import Output

    #: Makes the plan, of what there is now: of the trees with these roots; none: of all.
    Decide = Callable[[Sequence[str]], ChangePlan]

PLAN = Option(
    '--plan',
    metavar='<file>',
    help='Write what would be done as a plan, and change nothing. "resource provider reshape '
    'show | rehearse | apply | status | verify | rollback" take the plan',
)
#: So many rows stand before the question.
_SHOWN = 40
#: The options of each of these commands.
OPTIONS = (option.DRY_RUN, PLAN, option.OVERWRITE, option.YES)


class Changing(base.Lister):
    """Shows what changes, asks, and carries it out; or writes it as a plan."""

    prints: ClassVar[Sequence[str]] = ('object', 'change', 'before', 'after', 'state', 'reason')
    statuses = (
        base.WOULD_DO,
        (errors.ExitStatus.PARTIAL, 'some changes are made, some could not be'),
    )
    nothing = 'Nothing to change'
    #: Whether it asks before it changes anything.
    asks = True

    def change(self, parsed_args: argparse.Namespace, decide: Decide) -> Output:
        """Do what the options say with the plan that is decided on.

        :param decide: reads, and makes the plan; again, where somebody else writes in between
        """
        from placementclient.render import changes

        if parsed_args.plan and parsed_args.dry_run:
            raise errors.UsageError('--plan and --dry-run exclude each other')
        if parsed_args.plan:
            check_free(parsed_args.plan, parsed_args.overwrite)
        plan = decide(())
        found = _rows(plan.trees)
        if parsed_args.plan:
            self._write(plan, parsed_args)
            return changes.planned(found)
        if parsed_args.dry_run:
            self.end_dry_run(bool(found))
            if found:
                self.log.warning(_summary(plan))
            return changes.planned(found)
        if not found:
            return changes.planned(())
        self._ask(plan, found, parsed_args)
        return self._carry_out(plan, decide)

    def _write(self, plan: ChangePlan, parsed_args: argparse.Namespace) -> None:
        from placementclient import files

        if not plan.trees:
            self.log.warning(f'Nothing to change: {parsed_args.plan} is not written')
            return
        files.write_change_plan(parsed_args.plan, plan)
        self.log.warning(f'{_summary(plan)}. The plan is in {parsed_args.plan}')

    def _ask(self, plan: ChangePlan, found: Sequence[Row], parsed_args: argparse.Namespace) -> None:
        if parsed_args.yes or not self.asks:
            return
        from placementclient.render import changes

        shown = '\n'.join(changes.lines(found[:_SHOWN]))
        if len(found) > _SHOWN:
            shown += f'\nand {counted(len(found) - _SHOWN, "more row")}: --dry-run prints all'
        self.confirm(f'{shown}\n{_summary(plan)}. Go on?', parsed_args)

    def _carry_out(self, plan: ChangePlan, decide: Decide) -> Output:
        from placementclient.changes.carrying import Carrying
        from placementclient.commands import progress
        from placementclient.render import changes

        carrying = Carrying(self.client, plan, decide)
        with progress.shown(self.app, self.log, len(plan.trees)) as tell:
            carrying.run(tell)
        for result in carrying.results:
            if isinstance(result.error, errors.Interrupted):
                self.tell_interruption()
            elif result.error is not None:
                self.tell(result.error)
        self.exit_status = carrying.exit_status
        return changes.carried(carrying.results)


def _rows(trees: Sequence[ChangeSet]) -> list[Row]:
    from placementclient.changes.summary import rows

    return list(itertools.chain.from_iterable(rows(tree.before, tree.after) for tree in trees))


def _summary(plan: ChangePlan) -> str:
    from placementclient.changes.summary import summary

    return str(summary(each for tree in plan.trees for each in tree.operations))
