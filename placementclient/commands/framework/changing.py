"""Commands that change more than one thing: each can be reviewed, and written as a plan."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from placementclient.client import errors
from placementclient.client.wording import counted
from placementclient.commands.framework import base, option
from placementclient.commands.framework.option import Option
from placementclient.commands.framework.plan_files import check_free

if TYPE_CHECKING:
    from placementclient.changes.carrying import Check
    from placementclient.changes.plan import ChangePlan, ChangeSet
    from placementclient.changes.results import Carried, Note
    from placementclient.changes.summary import ChangeRow

    #: Makes the plan, of what there is now: of the trees with these roots; none: of all.
    Decide = Callable[[Sequence[str]], ChangePlan]

PLAN = Option(
    '--plan <file>',
    help='Write the changes to this plan file and make none. "resource provider reshape show | '
    'rehearse | apply | status | verify | rollback" take the plan',
)
#: So many rows stand before the question.
_SHOWN = 40
#: The options of each of these commands.
OPTIONS = (option.DRY_RUN, PLAN, option.OVERWRITE, option.YES)


class Changing(base.Lister):
    """Shows what changes, asks, and carries it out; or writes it as a plan."""

    prints: ClassVar[Sequence[str]] = ('object', 'change', 'before', 'after', 'state', 'reason')
    statuses: ClassVar[tuple[tuple[errors.ExitStatus, str], ...]] = (
        base.WOULD_DO,
        (errors.ExitStatus.PARTIAL, 'some changes are made, some could not be'),
    )
    nothing = 'Nothing to change'

    def change(
        self,
        parsed_args: argparse.Namespace,
        decide: Decide,
        notes: Sequence[Note] | None = None,
        check: Check | None = None,
    ) -> base.Output:
        """Do what the options say with the plan that is decided on.

        :param decide: reads, and makes the plan; called again after a conflict
        :param notes: the things that are left as they are: read when ``decide`` and ``check`` are
            through, which may add some
        :param check: gets each change set just before it is written, and returns what is still to
            be written of it
        """
        from placementclient.render import changes

        if parsed_args.plan and parsed_args.dry_run:
            raise errors.UsageError('--plan and --dry-run exclude each other')
        if parsed_args.plan:
            check_free(parsed_args.plan, parsed_args.overwrite)
        plan = decide(())
        found = _rows(plan.trees)
        if parsed_args.plan:
            self.write(plan, parsed_args)
            return changes.planned(found, notes)
        if parsed_args.dry_run:
            self.end_dry_run(bool(found) or _is_undone(notes))
            if found:
                self.log.warning(_summary(plan))
            return changes.planned(found, notes)
        results: Sequence[Carried] = ()
        if found:
            self.ask(plan, parsed_args)
            results = self.carry_out(plan, decide, check)
        if _is_undone(notes) and self.exit_status != errors.ExitStatus.INTERRUPTED:
            is_partial = any(result.rows for result in results)
            self.exit_status = errors.ExitStatus.PARTIAL if is_partial else errors.ExitStatus.ERROR
        return changes.carried(results, notes or ())

    def write(self, plan: ChangePlan, parsed_args: argparse.Namespace) -> None:
        """Write a plan, if there is anything in it, and say how much that is."""
        from placementclient.reshape import storage

        if not plan.trees:
            self.log.warning(f'Nothing to change: {parsed_args.plan} is not written')
            return
        storage.write_plan(parsed_args.plan, plan)
        self.log.warning(f'{_summary(plan)}. The plan is in {parsed_args.plan}')

    def ask(self, plan: ChangePlan, parsed_args: argparse.Namespace) -> None:
        """Show a plan, and ask whether to go on.

        :raises errors.UsageError: if there is no terminal to ask on
        :raises errors.Unconfirmed: if the answer is no
        """
        if parsed_args.yes:
            return
        from placementclient.render import changes

        found = _rows(plan.trees)
        shown = '\n'.join(changes.lines(found[:_SHOWN]))
        if len(found) > _SHOWN:
            shown += f'\nand {counted(len(found) - _SHOWN, "more row")}: --dry-run prints all'
        self.confirm(f'{shown}\n{_summary(plan)}. Go on?', parsed_args)

    def carry_out(
        self, plan: ChangePlan, decide: Decide, check: Check | None = None
    ) -> Sequence[Carried]:
        """Carry a plan out, and log the errors; the arguments are those of :meth:`change`."""
        from placementclient.changes.carrying import Carrying
        from placementclient.commands.framework import progress

        carrying = Carrying(self.client, plan, decide, check)
        with progress.shown(self.app, self.log, len(plan.trees)) as show:
            carrying.run(show)
        for result in carrying.results:
            if isinstance(result.error, errors.Interrupted):
                self.log_interruption()
            elif result.error is not None:
                self.log_failure(_with_names(result))
        self.exit_status = carrying.exit_status
        return carrying.results


def _with_names(result: Carried) -> errors.PlacementError:
    """Return the error of a tree, with the names of providers beside their UUIDs."""
    assert result.error is not None
    if not isinstance(result.error, errors.HTTPError):
        return result.error
    sides = (result.tree.before, result.tree.after)
    return result.error.with_names({s.uuid: s.name for side in sides for s in side.walked()})


def _is_undone(notes: Sequence[Note] | None) -> bool:
    return any(note.is_undone for note in notes or ())


def _rows(trees: Sequence[ChangeSet]) -> list[ChangeRow]:
    from placementclient.changes.summary import rows

    return list(itertools.chain.from_iterable(rows(tree.before, tree.after) for tree in trees))


def _summary(plan: ChangePlan) -> str:
    from placementclient.changes.summary import summary

    return summary(each for tree in plan.trees for each in tree.operations)
