# SPDX-License-Identifier: Apache-2.0
"""All traces of one command, each of which is run and judged."""

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import requests

from placementclient.basis.errors import ExitStatus
from tests.interleavings import judging
from tests.interleavings.acts import Act, Refused, acts, build
from tests.interleavings.judging import Order
from tests.interleavings.remembering import RememberingWorld
from tests.interleavings.running import (
    KILLED,
    LOST,
    LOST_BEFORE,
    ON,
    Exchange,
    Moment,
    Outcome,
    Trace,
    run,
)
from tests.interleavings.scenarios import FILES, Scenario
from tests.simulation.invariants import Violation
from tests.simulation.state import Delta, State
from tests.simulation.world import URL


class Failure(NamedTuple):
    """A trace that breaks an invariant.

    :param requests: of the command, as far as it came
    """

    trace: Trace
    violation: Violation
    requests: list[str]
    output: str

    @property
    def size(self) -> tuple[int, int]:
        """Return how much happens in it."""
        events = (self.trace.act is not None) + (self.trace.fate != ON)
        return events, self.trace.number or 0


@dataclass
class Findings:
    """The result of exploring.

    :ivar runs: how many commands were run
    :ivar states: how many different states there were to go on from
    """

    runs: int = 0
    states: int = 0
    failures: list[Failure] = field(default_factory=list)


class Explorer:
    """Explores one scenario.

    :raises AssertionError: if its command does not succeed by itself
    """

    def __init__(self, world: RememberingWorld, scenario: Scenario) -> None:
        self._world, self._scenario = world, scenario
        self.findings = Findings()
        self._name = Trace(scenario.name)
        self._seen: set[int] = set()
        self._orders: dict[Act | None, list[Order]] = {}
        self._backs: dict[Act, list[State]] = {}
        self._prepare()
        self._start = Moment.now(world)
        self.base = self._run(scenario.line, self._name)
        assert self.base.status == scenario.status, f'{scenario.name}: {self.base.output}'
        self._end, self._aim = Moment.now(world), world.state()
        self._text = scenario.line + ''.join(
            exchange.path + exchange.body for exchange in self.base.exchanges
        )

    def _prepare(self) -> None:
        for path in Path().iterdir():
            path.unlink()
        for name, content in FILES.items():
            Path(name).write_text(content)
        build(self._world)
        for line in self._scenario.before:
            outcome = self._run(line, self._name)
            assert outcome.status == 0, f'{line}: {outcome.output}'

    def _run(self, line: str, trace: Trace) -> Outcome:
        self.findings.runs += 1
        return run(self._world, Scenario('', line).words, trace)

    def explore(
        self, number: int = 0, count: int = 1, *, is_alone: bool = False, is_quick: bool = False
    ) -> Findings:
        """Run all traces, or one of so many slices of them.

        :param is_alone: whether nobody else acts
        :param is_quick: whether the first failure ends it
        """
        traces = self.traces_alone() if is_alone else self.traces()
        for trace in itertools.islice(traces, number, None, count):
            self.judge(trace)
            if is_quick and self.findings.failures:
                break
        self.findings.states = len(self._seen)
        return self.findings

    def traces(self) -> Iterator[Trace]:
        """Return every trace, without those that are another one by its states and answers."""
        yield from self.traces_alone()
        for phase in self._phases():
            yield from self._disturbed(phase)

    def traces_alone(self) -> Iterator[Trace]:
        """Return the traces in which nobody else acts."""
        yield self._name
        for number in self._stops(range(len(self.base.exchanges))):
            yield self._name._replace(number=number, fate=KILLED)
        for number in range(len(self.base.exchanges)):
            yield self._name._replace(number=number, fate=LOST)

    def _phases(self) -> Iterator[range]:
        """Return the requests between two writes, each with the write that ends it."""
        first = 0
        for number, exchange in enumerate(self.base.exchanges):
            if not exchange.is_read:
                yield range(first, number + 1)
                first = number + 1
        if first < len(self.base.exchanges):
            yield range(first, len(self.base.exchanges))

    def _disturbed(self, phase: range) -> Iterator[Trace]:
        """Return the traces in which another acts in a phase.

        An act just before a read that answers the same is the act just after it.
        """
        moment = self._before(phase[0])
        moment.restore(self._world)
        for act in list(acts(self._world.state(), self._text)):
            moment.restore(self._world)
            try:
                act.done(self._world)
            except Refused:
                continue
            trace = self._name._replace(act=act)
            # All at once: whoever takes one runs it, on the same database.
            yield from [trace._replace(number=number) for number in self._affected(phase)]
            last = phase[-1]
            if not self.base.exchanges[last].is_read:
                yield trace._replace(number=last, fate=LOST)
                yield trace._replace(number=last, fate=LOST_BEFORE)
            for number in self._stops(phase):
                yield trace._replace(number=number, fate=KILLED)

    def _affected(self, phase: range) -> Iterator[int]:
        """Return the requests of a phase that are answered differently after what was done now."""
        for number in phase:
            exchange = self.base.exchanges[number]
            if not exchange.is_read or self._answered(exchange) != exchange.answer:
                yield number

    def _stops(self, numbers: range) -> Iterator[int]:
        """Return the requests before which the database or the files are others than before."""
        last = None
        for number in numbers:
            moment = self._before(number)
            if moment != last:
                yield number
            last = moment

    def _before(self, number: int) -> Moment:
        return self.base.exchanges[number].before

    def _answered(self, exchange: Exchange) -> str:
        """Ask again, now that another has acted."""
        request = requests.Request('GET', URL + exchange.path, headers=dict(exchange.headers))
        return self._world.send(request.prepare()).text

    def judge(self, trace: Trace) -> Outcome:
        """Run a trace, and all that comes after it; note what is wrong."""
        self._start.restore(self._world)
        start = self._world.state()
        outcome = self._run(self._scenario.line, trace)
        if outcome.acted is None:
            return outcome
        orders = self._ordered(trace.act)
        if trace.fate in (LOST, LOST_BEFORE):
            # Nobody can tell who has done what both wanted.
            orders = [*orders, Order(ExitStatus.DONE, _with(self._aim, outcome.acted))]
        is_before = trace.act is not None and trace.fate in (ON, LOST)
        # No generation guards the place of a provider in its tree.
        is_moved = trace.act is not None and trace.act.kind == 'parent'
        is_unguarded = outcome.is_unguarded(trace.number, is_reviewed=self._scenario.is_reviewed)
        in_window = is_before and (is_moved or is_unguarded)
        end = Moment.now(self._world)
        violations = self._judged(trace, outcome, start, orders, in_window)
        if trace.act is None and trace.fate == LOST:
            is_guarded = not self.base.exchanges[trace.number or 0].is_read and (
                self._scenario.is_guarded
            )
            violations += judging.of_lost_answer(outcome, self.base, is_guarded=is_guarded)
        kinds = {violation.kind for violation in violations}
        if 'order' in kinds and self._scenario.is_reviewed:
            orders = [*orders, *self._begun_again(trace)]
            end.restore(self._world)
            violations = self._judged(trace, outcome, start, orders, in_window)
        if self._scenario.is_reviewed and trace.act and trace.number is not None:
            since = trace.number + (trace.fate == LOST_BEFORE)
            violations += judging.of_overwriting(outcome, since, in_window=in_window)
        for violation in violations[:1]:
            lines = [f'{n:3} {exchange}' for n, exchange in enumerate(outcome.exchanges)]
            output = f'-> {outcome.status} {outcome.output}'
            self.findings.failures.append(Failure(trace, violation, lines, output))
        return outcome

    def _judged(
        self, trace: Trace, outcome: Outcome, start: State, orders: list[Order], in_window: bool
    ) -> list[Violation]:
        """Judge a run; and what comes after it, where that is not known from another run."""
        end, state = Moment.now(self._world), self._world.state()
        violations = [*judging.of_run(outcome, state, orders, self.base, in_window=in_window)]
        key = hash((trace.act, *sorted(map(repr, state.items())), *sorted(end.files.items())))
        if key in self._seen:
            return violations
        violations += self._followed(trace, outcome, start, orders, in_window)
        if not violations:
            self._seen.add(key)
        return violations

    def _followed(
        self, trace: Trace, outcome: Outcome, start: State, orders: list[Order], in_window: bool
    ) -> list[Violation]:
        """Run the command again, and the command that takes it back."""
        uneven = self.base.uneven.union(
            outcome.written_by_others, *(order.uneven for order in orders)
        )
        violations: list[Violation] = []

        def follow(line: str, allowed: list[State]) -> None:
            later, state = self._run(line, self._name), self._world.state()
            is_alone = trace.act is None
            violations.extend(
                judging.of_later(
                    later,
                    state,
                    allowed,
                    uneven,
                    is_alone=is_alone,
                    is_mixed=outcome.status != ExitStatus.DONE and not is_alone,
                    earlier=outcome if line == self._scenario.line else None,
                )
            )

        if outcome.status != ExitStatus.DONE:
            # Half of it may be done, and what the other changes may be gone by then.
            follow(self._scenario.line, [*(order.state for order in orders), self._aim])
        if self._scenario.back:
            acted = outcome.acted or {}
            # What both wanted may be the other's or the command's, which is taken back.
            is_same = all(self._aim.get(key) == now for key, (_, now) in acted.items())
            is_any_start = in_window or is_same or self._is_unknown(trace)
            allowed = [_with(start, acted), *([start] if is_any_start else [])]
            follow(self._scenario.back, [*allowed, *self._taken_back(trace.act)])
        return violations

    def _is_unknown(self, trace: Trace) -> bool:
        """Return whether the journal has a request that may have been sent, and was not."""
        exchanges = self.base.exchanges
        number = trace.number if trace.fate == KILLED else None
        return number is not None and number < len(exchanges) and not exchanges[number].is_read

    def _taken_back(self, act: Act | None) -> list[State]:
        """Return the end of the command, the act, and the command that takes it back, in order."""
        if act is not None and act not in self._backs:
            self._backs[act] = []
            saved = Moment.now(self._world)
            self._end.restore(self._world)
            with contextlib.suppress(Refused):
                act.done(self._world)
                self._run(self._scenario.back, self._name)
                self._backs[act].append(self._world.state())
            saved.restore(self._world)
        return self._backs[act] if act is not None else []

    def _ordered(self, act: Act | None) -> list[Order]:
        """Return the ends of both orders of the command and the act, where they are possible."""
        if act not in self._orders:
            saved = Moment.now(self._world)
            self._orders[act] = list(self._both(act))
            saved.restore(self._world)
        return self._orders[act]

    def _begun_again(self, trace: Trace) -> Iterator[Order]:
        """Return the end of a command that stops at a request, and is run again after the act."""
        number = (trace.number or 0) + (trace.fate == LOST_BEFORE)
        if trace.act is None:
            return
        saved = Moment.now(self._world)
        is_last = number == len(self.base.exchanges)
        (self._end if is_last else self._before(number)).restore(self._world)
        try:
            trace.act.done(self._world)
            outcome = self._run(self._scenario.line, self._name)
            yield Order(outcome.status, self._world.state(), frozenset(outcome.uneven))
        except Refused:
            pass
        saved.restore(self._world)

    def _both(self, act: Act | None) -> Iterator[Order]:
        self._end.restore(self._world)
        if act is None:
            yield Order(self.base.status, self._world.state())
            return
        try:
            act.done(self._world)
            yield Order(self.base.status, self._world.state())
        except Refused:
            pass
        self._start.restore(self._world)
        try:
            act.done(self._world)
            outcome = self._run(self._scenario.line, self._name)
            yield Order(outcome.status, self._world.state(), frozenset(outcome.uneven))
        except Refused:
            pass


def _with(state: State, changed: Delta) -> State:
    """Return a state with what another has changed of it."""
    result = State({**state, **{key: now for key, (_, now) in changed.items()}})
    return State({key: value for key, value in result.items() if value is not None})
