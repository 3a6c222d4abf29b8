"""The common part of the commands that carry out a plan or take it back."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from placementclient.client import errors
from placementclient.client.wording import counted, listed
from placementclient.commands.framework import base, progress, selectors
from placementclient.commands.framework.option import Flag, Option
from placementclient.commands.framework.plan_files import journal_of

if TYPE_CHECKING:
    from placementclient.changes.records.events import RunEvent
    from placementclient.changes.steering import RunSettings
    from placementclient.model.outcomes import Outcome
    from placementclient.reshape.engines import AnyPlan


OTHER_SERVICE = Flag(
    '--other-service',
    help='Go on although the plan was made for another service, or none of its trees is here',
)
MAX_LATENCY = Option(
    '--max-latency <milliseconds>',
    help='Slow down while the service takes longer to answer: fewer trees at the same time, then '
    'pauses between them; never more than --workers. Default: no limit',
)
JSON_LINES = Flag(
    '--json-lines',
    help='Print each event of the run as a JSON object on a line, as it happens, and no table; '
    'reshape schema events prints the schema',
)


def journal_path(parsed_args: argparse.Namespace) -> str:
    """Return the path of the journal of a plan.

    :raises errors.UsageError: if the plan has no place
    """
    if parsed_args.plan == '-':
        raise errors.UsageError('The plan has to be in a file: its journal is kept beside it')
    return journal_of(parsed_args.plan)


class PlanCommand(base.Lister):
    """A command about the trees of a plan."""

    def read(self, parsed_args: argparse.Namespace) -> AnyPlan:
        """Read the plan, and replace the options that select its trees by --tree."""
        from placementclient.reshape import storage

        plan = storage.read_plan(parsed_args.plan)
        parsed_args.tree = selectors.trees_of(plan, self, parsed_args)
        return plan

    def advise(self, plan: AnyPlan, path: str, left_alone: Iterable[str]) -> None:
        """Say how to plan again for trees that were left alone.

        :param path: the file of the plan
        :param left_alone: the names of their roots
        """
        from placementclient.planner.plan.plan import Plan
        from placementclient.render import failures, runs

        names = list(left_alone)
        if not names:
            return
        if len(names) > failures.FIRST:
            count = counted(len(names), 'tree')
            self.log.warning(f'Left alone: {count}: {listed(names, failures.FIRST)}')
        self.log.warning(runs.planning_anew(plan, path, names, _beside(path), self.program))
        if isinstance(plan, Plan):
            self.log.warning(f'If rows are undecided then, {failures.DECIDE}')


def _beside(path: str) -> str:
    """The name of a file for a plan that follows another: the first that is free."""
    stem, end = os.path.splitext(path)
    names = (f'{stem}-{number}{end}' for number in itertools.count(2))
    return next(
        name for name in names if not (os.path.exists(name) or os.path.exists(journal_of(name)))
    )


class PlanRunCommand(PlanCommand):
    """A command that works on trees and prints the result of each."""

    prints = ('tree', 'state', 'reason')
    statuses = (
        (
            errors.ExitStatus.DIFFERS,
            'every tree that was tried was left alone, or is not as planned',
        ),
        (errors.ExitStatus.PARTIAL, 'some trees are done, some are not, or the run was stopped'),
    )
    #: What kept the events from being printed.
    _unprinted: OSError | None = None

    def carry_out(
        self,
        command: Literal['apply', 'rollback'],
        plan: AnyPlan,
        total: int,
        parsed_args: argparse.Namespace,
        **options: Any,
    ) -> Outcome:
        """Carry out a plan, or take it back, and print the progress.

        :param total: how many trees, for the progress
        :param options: of :func:`engines.apply` or :func:`engines.rollback`
        """
        from placementclient.changes.steering import Steering
        from placementclient.reshape import engines

        run = {'apply': engines.apply, 'rollback': engines.rollback}[command]
        settings = self._settings(command, parsed_args)
        with progress.shown(self.app, self.log, total) as shown:
            steering = Steering(
                settings,
                journal_path(parsed_args),
                self.client.answer_times,
                self._event_reporter(shown, parsed_args.json_lines),
            )
            try:
                outcome = run(
                    self.client,
                    plan,
                    journal_path(parsed_args),
                    trees=parsed_args.tree,
                    workers=parsed_args.workers,
                    other_service=parsed_args.other_service,
                    report=steering,
                    **options,
                )
            except (errors.PlacementError, KeyboardInterrupt) as failure:
                status = getattr(failure, 'exit_status', errors.ExitStatus.INTERRUPTED)
                steering.finish(status, str(failure) or 'Interrupted')
                raise
            steering.finish(outcome.exit_status, str(outcome.stopped or ''))
        return outcome

    def _settings(
        self, command: Literal['apply', 'rollback'], parsed_args: argparse.Namespace
    ) -> RunSettings:
        from placementclient.changes.steering import RunSettings

        limit = parsed_args.max_latency
        plan = shlex.quote(parsed_args.plan)
        return RunSettings(
            command,
            parsed_args.plan,
            self.client.service,
            parsed_args.workers,
            f'{self.program} resource provider reshape status {plan} --resume',
            limit and limit / 1000,
        )

    def _event_reporter(
        self, shown: progress.Progress, as_lines: bool
    ) -> Callable[[RunEvent], None]:
        from placementclient.changes.records import events

        def report_event(event: RunEvent) -> None:
            if as_lines and self._unprinted is None:
                # The run goes on without a reader.
                try:
                    self.app.stdout.write(f'{events.line(event)}\n')
                    self.app.stdout.flush()
                except OSError as failure:
                    self._unprinted = failure
            if isinstance(event, events.TreeEnded):
                reason = f': {event.reason}' if event.reason else ''
                shown(f'{event.tree}: {event.state}{reason}')
            elif not isinstance(event, events.RunBegan | events.TreeBegan | events.RunEnded):
                shown.warn(event.reason)  # type: ignore[attr-defined]

        return report_event

    def output(self, outcome: Outcome) -> base.Output:
        """Return the ends of all trees; the exit status follows from them."""
        from placementclient.render import runs

        self.exit_status = outcome.exit_status
        if outcome.stopped is not None:
            cause = outcome.stopped if self.app.options.debug else None
            self.log.error(runs.ending(outcome), exc_info=cause)
        return runs.outcome(outcome)

    def produce_output(
        self, parsed_args: argparse.Namespace, names: Sequence[str], rows: Any
    ) -> int:
        """Print the table, unless each end was printed when it came."""
        if not parsed_args.json_lines:
            return super().produce_output(parsed_args, names, rows)
        with self._printing():
            if self._unprinted is not None:
                raise self._unprinted
        return 0
