"""A run that can be paused, slowed and stopped: by its control file, and by slow answers."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

from placementclient.api.parallel import parallel
from placementclient.changes.control import ControlFile
from placementclient.changes.pace import Pacer
from placementclient.changes.records import events
from placementclient.changes.records.controls import ControlRecord, Order, RunState
from placementclient.changes.records.events import RunEvent, TreeCounts
from placementclient.changes.supervisor import Stopped, Supervisor
from placementclient.client import errors
from placementclient.client.wording import counted
from placementclient.model.outcomes import State, TreeResult
from placementclient.model.planned_trees import PlannedTree

LOG = logging.getLogger(__name__)

T = TypeVar('T')
U = TypeVar('U')

_STATES = {Order.RUN: RunState.RUNNING, Order.STOP: RunState.STOPPING}


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings of a run, as the operator gave them.

    :param plan: the file of the plan
    :param service: the name of the service
    :param workers: how many trees at a time
    :param resume: the command that resumes it when it is paused
    :param max_latency: the limit for the answers of the service, in seconds; ``None``: no limit
    """

    command: Literal['apply', 'rollback']
    plan: str
    service: str
    workers: int
    resume: str
    max_latency: float | None = None


class Steering(Supervisor):
    """The supervisor of a run that obeys its control file and the service's answer times.

    A run begins with an order to run, whatever a run before has left: typing the command again is
    the later order. Faults of the control file end no run; they are warnings.

    :param journal_path: of the journal, which this process keeps others from
    :param answer_times: of the client
    :param report_event: called with each event of the run, by one thread at a time
    :param clock: the time in seconds
    :param sleep: waits so many seconds
    """

    interval = 1.0

    def __init__(
        self,
        settings: RunSettings,
        journal_path: str,
        answer_times: deque[float],
        report_event: Callable[[RunEvent], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__()
        self._settings, self._control = settings, ControlFile(journal_path)
        self._answer_times, self._report_event = answer_times, report_event
        self._clock, self._sleep = clock, sleep
        self._pacer = Pacer(settings.workers, settings.max_latency)
        self._record = ControlRecord(
            command=settings.command, process=os.getpid(), workers=settings.workers
        )
        self._stamp: tuple[int, ...] = ()
        self._polled_at = -self.interval
        self._entry = threading.Condition(threading.RLock())
        self._reading, self._is_abandoned = 0, False
        self._trees, self._under_way, self._ends = 0, 0, Counter[str]()

    @contextlib.contextmanager
    def supervising(self, trees: Sequence[PlannedTree]) -> Iterator[None]:
        """See :class:`Supervisor`."""
        self._trees = len(trees)
        settings, limit = self._settings, self._settings.max_latency
        self._say(
            events.RunBegan,
            command=settings.command,
            plan=settings.plan,
            service=settings.service,
            workers=settings.workers,
            max_latency_ms=None if limit is None else limit * 1000,
        )
        with self._tolerant():
            self._begin()
        try:
            yield
        finally:
            with self._tolerant():
                self._control.remove()

    def parallel(self, function: Callable[[T], U], items: Iterable[T], workers: int) -> Iterator[U]:
        """See :class:`Supervisor`."""
        self._is_abandoned = False

        def admitted(item: T) -> U:
            self._enter()
            try:
                return function(item)
            finally:
                self._leave()

        return parallel(admitted, items, workers, self._abandon)

    def permitted(self, workers: int) -> int:
        """See :class:`Supervisor`."""
        with self._entry:
            self._poll()
            self._observe()
            self._acknowledge()
            return self._pacer.permitted(self._clock())

    @property
    def stopped(self) -> Stopped | None:
        """See :class:`Supervisor`."""
        if self._record.order is not Order.STOP:
            return None
        return Stopped(f'Stopped by {self._control.path}')

    def rest(self) -> None:
        """See :class:`Supervisor`."""
        self._sleep(min(self.interval, self._pacer.rest(self._clock()) or self.interval))

    def begun(self, tree: PlannedTree) -> None:
        """See :class:`Supervisor`."""
        with self._entry:
            self._under_way += 1
            name, uuid = tree.root_provider_name, tree.root_provider_uuid
            self._say(events.TreeBegan, tree=name, tree_uuid=uuid)

    def ended(self, result: TreeResult) -> None:
        """See :class:`Supervisor`."""
        with self._entry:
            self._pacer.ended(self._clock())
            # The first look ends trees before any begins.
            self._under_way = max(0, self._under_way - 1)
            self._ends['done' if result.is_done else result.state] += 1
            self._say(
                events.TreeEnded,
                tree=result.root_provider_name,
                tree_uuid=result.root_provider_uuid,
                state=result.state,
                reason=result.reason,
            )

    def waiting(self, under_way: int) -> None:
        """See :class:`Supervisor`."""
        left = counted(under_way, 'tree')
        reason = f'Waiting for {left} under way; a second Ctrl-C does not wait'
        self._say(events.RunStopping, reason=reason)

    def finish(self, exit_status: int, reason: str = '') -> None:
        """Report that the command ends.

        :param reason: why before its time
        """
        self._say(events.RunEnded, exit_status=int(exit_status), reason=reason)

    def _begin(self) -> None:
        left = self._control.read()
        if left is not None and left.order is not Order.RUN:
            done = {Order.PAUSE: 'paused', Order.STOP: 'stopped'}[left.order]
            reason = (
                f'{self._control.path} is of {"an" if left.command == "apply" else "a"} '
                f'{left.command} that was killed after it was {done} at {left.ordered_at}. '
                'This run goes on'
            )
            self._say(events.RunResumed, reason=reason)
        self._control.change(lambda _: self._record)
        self._stamp = self._control.stamp

    def _poll(self) -> None:
        """Read the control file, if it was replaced; at most once in an interval."""
        now = self._clock()
        if now - self._polled_at < self.interval:
            return
        self._polled_at, stamp = now, self._control.stamp
        if stamp == self._stamp:
            return
        self._stamp = stamp
        with self._tolerant():
            try:
                record = self._control.read()
            except errors.BadFile as fault:
                LOG.warning('%s. The run goes on as before, and replaces the file', fault)
                record = self._record
                self._control.write(record)
            if record is None:
                # A process that takes it away gives no orders.
                record = msgspec.structs.replace(self._record, order=Order.RUN)
                self._control.write(record)
            self._obey(record)

    def _obey(self, record: ControlRecord) -> None:
        before, self._record = (
            self._record,
            msgspec.structs.replace(
                self._record,
                order=record.order,
                ordered_at=record.ordered_at,
                workers=record.workers,
            ),
        )
        self._pacer.is_held = record.order is not Order.RUN
        if record.workers != before.workers:
            self._pacer.allow(record.workers)
            self._say_pace(f'Ordered by {self._control.path}')

    def _observe(self) -> None:
        times = []
        with contextlib.suppress(IndexError):
            while True:
                times.append(self._answer_times.popleft())
        median, limit = self._pacer.observe(times), self._settings.max_latency
        if median is not None and limit is not None:
            self._say_pace(
                f'The service answers in {median * 1000:.0f} ms '
                f'({"more than" if median > limit else "well below"} the limit of '
                f'{limit * 1000:g} ms)',
                median * 1000,
            )

    def _acknowledge(self) -> None:
        """Note what becomes of the order, in the control file too."""
        under_way = self._reading + self._under_way
        state = _STATES.get(self._record.order, RunState.PAUSING if under_way else RunState.PAUSED)
        before = self._record
        if state is before.state and (state is RunState.RUNNING or under_way == before.under_way):
            return
        self._record = msgspec.structs.replace(before, state=state, under_way=under_way)
        if state is not before.state:
            self._say_state(state, under_way)

        def noted(record: ControlRecord | None) -> ControlRecord:
            return msgspec.structs.replace(record or self._record, state=state, under_way=under_way)

        with self._tolerant():
            self._control.change(noted)

    def _say(self, kind: Callable[..., RunEvent], **facts: Any) -> None:
        """Report an event.

        :param facts: the members that only this kind of event has
        """
        with self._entry:
            counts = TreeCounts(
                trees=self._trees,
                not_started=self._trees - self._under_way - self._ends.total(),
                under_way=self._under_way,
                done=self._ends['done'],
                left_alone=self._ends[State.LEFT_ALONE],
                failed=self._ends[State.FAILED],
            )
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')
            self._report_event(kind(version=events.VERSION, time=now, counts=counts, **facts))

    def _say_state(self, state: RunState, under_way: int) -> None:
        path = self._control.path
        left = f'{counted(under_way, "tree")} still under way'
        resume = f'Go on with: {self._settings.resume}'
        kind, reason = {
            RunState.RUNNING: (events.RunResumed, f'Resumed by {path}'),
            RunState.PAUSING: (events.RunPausing, f'Paused by {path}; {left}. {resume}'),
            RunState.PAUSED: (
                events.RunPaused,
                f'Paused by {path}; no tree is under way. {resume}',
            ),
            RunState.STOPPING: (events.RunStopping, f'Stopped by {path}; {left}'),
        }[state]
        self._say(kind, reason=reason)

    def _say_pace(self, reason: str, latency_ms: float | None = None) -> None:
        workers, pause = self._pacer.pace
        then = f', {pause:g} s after one another' if pause else ''
        self._say(
            events.PaceChanged,
            workers=workers,
            pause_seconds=pause,
            latency_ms=latency_ms,
            reason=f'{reason}: {counted(workers, "tree")} at a time{then}',
        )

    def _enter(self) -> None:
        """Wait until a tree may be read.

        :raises Stopped: if none may be read any more
        """
        with self._entry:
            while self._reading >= self.permitted(self._settings.workers):
                if self.stopped or self._is_abandoned:
                    raise self.stopped or Stopped('The run has ended')
                self._entry.wait(self.interval)
            self._reading += 1

    def _leave(self) -> None:
        with self._entry:
            self._reading -= 1
            self._pacer.ended(self._clock())
            self._entry.notify_all()

    def _abandon(self) -> None:
        with self._entry:
            self._is_abandoned = True
            self._entry.notify_all()

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        """Make warnings of faults of the control file."""
        try:
            yield
        except errors.BadFile as fault:
            LOG.warning('%s. The run goes on as before', fault)
