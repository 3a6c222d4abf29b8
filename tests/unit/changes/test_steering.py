"""A run that is steered: its control file on a disk, its time virtual, no service."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from placementclient.changes import control, journal
from placementclient.changes.control import ControlFile, NotRunning
from placementclient.changes.records import controls
from placementclient.changes.records.controls import ControlRecord, Order, RunState
from placementclient.changes.records.events import RunEvent
from placementclient.changes.steering import RunSettings, Steering
from placementclient.changes.supervisor import Stopped
from placementclient.changes.tree_queue import TreeQueue, result_of
from placementclient.client import errors
from placementclient.model.outcomes import Outcome, State, TreeResult

RESUME = 'placement resource provider reshape status plan.json --resume'


class Tree(NamedTuple):
    root_provider_uuid: str
    root_provider_name: str
    follows: tuple[str, ...] = ()


class Stage:
    """A run of some trees, what it tells, and what happens while it waits or works.

    :ivar asleep: called each time that the run waits
    :ivar looks: called each time that it looks at the clock
    :ivar at_work: called with the name of each tree, by its worker
    """

    def __init__(self, folder: Path) -> None:
        self.journal = str(folder / 'plan.json.journal')
        self.file = ControlFile(self.journal)
        self.now = 0.0
        self.told: list[RunEvent] = []
        self.times: deque[float] = deque()
        self.asleep: Callable[[], object] = lambda: None
        self.looks: Callable[[], object] = lambda: None
        self.at_work: Callable[[str], object] = lambda name: None

    def clock(self) -> float:
        self.looks()
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        assert self.now < 1000, 'it waits for ever'
        self.now += seconds
        self.asleep()

    def steering(self, workers: int = 1, max_latency: float | None = None) -> Steering:
        settings = RunSettings('apply', 'plan.json', 'http://p', workers, RESUME, max_latency)
        return Steering(
            settings,
            self.journal,
            self.times,
            self.told.append,
            clock=self.clock,
            sleep=self.sleep,
        )

    def run(
        self,
        count: int,
        workers: int = 1,
        max_latency: float | None = None,
        *,
        chained: bool = False,
    ) -> Outcome:
        trees = [
            Tree(f'uuid{n}', f'host{n}', (f'uuid{n - 1}',) if chained and n else ())
            for n in range(count)
        ]
        steering = self.steering(workers, max_latency)
        # Only the end of a tree wakes the run.
        steering.interval = 10
        queue = TreeQueue(trees, report=steering)

        def work(tree: Tree) -> TreeResult:
            self.at_work(tree.root_provider_name)
            # Each tree takes longer than the orders are fresh.
            self.now += 12
            return result_of(tree, State.APPLIED)

        with journal.opened(self.journal, 'plan') as opened, queue.ending():
            opened.begin()
            queue.run(work, workers)
        return queue.outcome()

    def order(self, order: Order | None = None, workers: int | None = None) -> ControlRecord:
        return control.order(self.journal, order, workers)

    @property
    def names(self) -> list[str]:
        return [json.loads(msgspec.json.encode(event))['event'] for event in self.told]

    @property
    def reasons(self) -> list[str]:
        return [reason for event in self.told if (reason := getattr(event, 'reason', ''))]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    assert not Path(stage.file.path).exists(), 'a run takes its file away'


def test_a_run_without_orders(stage: Stage) -> None:
    assert stage.run(2).exit_status == 0
    assert stage.names == ['run-began', *['tree-began', 'tree-ended'] * 2]
    assert [
        (event.counts.not_started, event.counts.under_way, event.counts.done)
        for event in stage.told
    ] == [(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1), (0, 0, 2)]


def test_paused_and_resumed(stage: Stage) -> None:
    waits = []

    def at_work(name: str) -> None:
        if name == 'host0':
            stage.order(Order.PAUSE)

    def asleep() -> None:
        waits.append(stage.file.read())
        if len(waits) == 5:
            stage.order(Order.RUN, 3)

    stage.at_work, stage.asleep = at_work, asleep
    assert stage.run(2).exit_status == 0
    record = waits[3]
    assert record is not None
    assert (record.order, record.workers) == (Order.PAUSE, 1)
    assert (record.state, record.under_way) == (RunState.PAUSED, 0)
    assert stage.names == [
        *('run-began', 'tree-began', 'tree-ended', 'run-paused'),
        *('pace-changed', 'run-resumed', 'tree-began', 'tree-ended'),
    ]
    path = stage.file.path
    assert stage.reasons == [
        f'Paused by {path}; no tree is under way. Go on with: {RESUME}',
        f'Ordered by {path}: 3 trees at a time',
        f'Resumed by {path}',
    ]


@pytest.mark.parametrize('chained', [True, False])
def test_stopped(stage: Stage, chained: bool) -> None:
    stage.at_work = lambda name: name == 'host1' and stage.order(Order.STOP)
    outcome = stage.run(4, chained=chained)
    assert isinstance(outcome.stopped, Stopped)
    assert str(outcome.stopped) == f'Stopped by {stage.file.path}'
    assert outcome.exit_status == 6
    states = [tree.state for tree in outcome.trees]
    assert states == [State.APPLIED] * 2 + [State.NOT_STARTED] * 2


def test_stopped_before_any_tree_has_ended_it_is_not_done_either(stage: Stage) -> None:
    stage.asleep = lambda: stage.order(Order.STOP)
    steering = stage.steering()
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        stage.order(Order.STOP)
        stage.now += 1
        assert steering.permitted(1) == 0
        assert steering.stopped is not None
        assert steering.stopped.exit_status == 6
        with pytest.raises(Stopped):
            list(steering.parallel(str, [1], 1))
        with pytest.raises(NotRunning, match='stopping: type it again'):
            stage.order(Order.RUN)


def test_reading_waits_while_the_run_is_paused(stage: Stage) -> None:
    steering = stage.steering(2)
    steering.interval = 0.01
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        stage.order(Order.PAUSE)
        stage.now += 1
        assert steering.permitted(2) == 0
        asked = []

        def look() -> None:
            asked.append(stage.now)
            stage.now += 1
            if len(asked) == 4:
                stage.order(Order.RUN)

        stage.looks = look
        assert list(steering.parallel(str, range(3), 2)) == ['0', '1', '2']
        assert len(asked) > 4


def test_reading_that_nobody_waits_for_ends_while_the_run_is_paused(stage: Stage) -> None:
    """Ctrl-C waits for no thread that waits."""
    steering = stage.steering()
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        found = steering.parallel(str, range(2), 2)
        assert next(found) == '0'
        stage.order(Order.PAUSE)
        stage.now += 1
        found.close()  # type: ignore[attr-defined]


def test_the_file_of_a_killed_run_does_not_pause_the_next(stage: Stage) -> None:
    stage.file.write(
        ControlRecord(command='rollback', process=7, workers=9, order=Order.PAUSE, ordered_at='T')
    )
    assert control.current(stage.journal) == (stage.file.read(), False)
    with pytest.raises(NotRunning, match=r'^No apply or rollback of .*plan\.json is running$'):
        stage.order(Order.RUN)
    seen: list[ControlRecord | None] = []
    stage.at_work = lambda name: seen.append(stage.file.read())
    assert stage.run(1).exit_status == 0
    assert stage.names == ['run-began', 'run-resumed', 'tree-began', 'tree-ended']
    assert stage.reasons == [
        f'{stage.file.path} is of a rollback that was killed after it was paused at T. '
        'This run goes on'
    ]
    (record,) = seen
    assert record is not None
    assert (record.command, record.order, record.workers) == ('apply', Order.RUN, 1)


def test_a_run_that_is_paused_twice_is_paused_since_the_first_time(stage: Stage) -> None:
    steering = stage.steering()
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        since = stage.order(Order.PAUSE).ordered_at
        time.sleep(0.002)
        assert stage.order(Order.PAUSE).ordered_at == since
        assert stage.order(None, 2).ordered_at == since
        assert stage.order(Order.RUN).ordered_at > since


def test_going_on_is_waited_for_but_not_for_ever(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, '_LONGEST', 0.2)
    steering = stage.steering()
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        stage.order(Order.PAUSE)
        stage.now += 1
        steering.permitted(1)
        stage.order(Order.RUN)
        found = control.wait(stage.journal, Order.RUN)
        assert found is not None
        assert found.state is RunState.PAUSED
        stage.now += 1
        steering.permitted(1)
        found = control.wait(stage.journal, Order.RUN)
        assert found is not None
        assert found.state is RunState.RUNNING


def test_whoever_takes_the_file_away_resumes_the_run(stage: Stage) -> None:
    stage.at_work = lambda name: name == 'host0' and stage.order(Order.PAUSE)
    stage.asleep = lambda: Path(stage.file.path).unlink(missing_ok=True)
    assert stage.run(2).exit_status == 0
    assert 'run-resumed' in stage.names


def test_a_file_that_cannot_be_read_ends_no_run(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    def at_work(name: str) -> None:
        if name == 'host0':
            Path(stage.file.path).write_text('{"format": "placement')
        else:
            # The run has replaced it.
            assert stage.order(workers=2).order is Order.RUN

    stage.at_work = at_work
    assert stage.run(2).exit_status == 0
    assert 'The run goes on as before, and replaces the file' in caplog.text
    with pytest.raises(errors.BadFile):
        controls.decode(b'{}', 'plan.json.journal.control')


def test_slow_answers_slow_it_down(stage: Stage) -> None:
    under_way = []

    def at_work(name: str) -> None:
        under_way.append(stage.told[-1].counts.under_way)
        stage.times.extend([0.8 if stage.now < 360 else 0.01] * 40)

    stage.at_work = at_work
    assert stage.run(60, 4, 0.5).exit_status == 0
    assert max(event.counts.under_way for event in stage.told) <= 4
    paces = [json.loads(msgspec.json.encode(event)) for event in stage.told]
    paces = [event for event in paces if event['event'] == 'pace-changed']
    assert [pace['workers'] for pace in paces[:2]] == [2, 1]
    assert paces[2]['pause_seconds'] == 0.5
    assert paces[-1]['workers'] == 4
    assert paces[0]['reason'] == (
        'The service answers in 800 ms (more than the limit of 500 ms): 2 trees at a time'
    )
    assert paces[2]['reason'].endswith(': 1 tree at a time, 0.5 s after one another')
    assert 'in 10 ms (well below the limit of 500 ms)' in paces[-1]['reason']


def test_a_raise_lets_more_trees_run_than_the_run_began_with(stage: Stage) -> None:
    stage.at_work = lambda name: name == 'host0' and stage.order(workers=5)
    assert stage.run(12).exit_status == 0
    assert max(event.counts.under_way for event in stage.told) == 5


def test_orders_are_looked_for_once_a_second(stage: Stage) -> None:
    steering = stage.steering()
    with journal.opened(stage.journal, 'plan'), steering.supervising([]):
        stage.order(Order.PAUSE)
        steering.permitted(1)
        stage.order(Order.RUN)
        stage.now += 0.9
        assert steering.permitted(1) == 0
        stage.now += 0.2
        assert steering.permitted(1) == 1
