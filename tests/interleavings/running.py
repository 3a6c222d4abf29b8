"""One command in a process of its own, and one event at one of its requests."""

from __future__ import annotations

import gc
import importlib
import io
import os
import pickle
import pkgutil
import signal
import sqlite3
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import requests

import placementclient
from placementclient.cli import shell
from tests.interleavings.acts import Act, Refused
from tests.simulation.actors import Ended, listening
from tests.simulation.clock import Clock, virtual
from tests.simulation.invariants import Written
from tests.simulation.state import Delta, Key, delta
from tests.simulation.world import World, over_http

#: What becomes of the command at the request.
ON, KILLED, LOST, LOST_BEFORE = 'goes on', 'killed', 'answer lost', 'answer lost before the act'
#: The headers on which an answer depends.
_HEADERS = ('OpenStack-API-Version', 'Accept')
#: The seconds after which a command hangs.
LONGEST = 120


class Trace(NamedTuple):
    """A run: a command, and an event at one of its requests.

    :param number: of the request, from 0; with none, nothing happens
    :param act: what another does just before it; or just after it, with ``LOST_BEFORE``
    """

    scenario: str
    number: int | None = None
    act: Act | None = None
    fate: str = ON

    def __str__(self) -> str:
        return f'{self.scenario} @ {self.number} @ {self.act or "nobody acts"} @ {self.fate}'

    @classmethod
    def parsed(cls, text: str) -> Trace:
        scenario, number, act, fate = text.split(' @ ')
        kind, _, subject = act.partition(':')
        return cls(scenario, int(number), Act(kind, subject) if subject else None, fate)


class Moment(NamedTuple):
    """All that there is: the database, and the files of the operator."""

    database: bytes
    files: Mapping[str, bytes]

    @classmethod
    def now(cls, world: World) -> Moment:
        files = {path.name: path.read_bytes() for path in Path().iterdir()}
        return cls(world.saved().serialize(), files)

    def restore(self, world: World) -> None:
        copy = sqlite3.connect(':memory:')
        copy.deserialize(self.database)
        world.restore(copy)
        copy.close()
        for path in Path().iterdir():
            if path.name not in self.files:
                path.unlink()
        for name, content in self.files.items():
            Path(name).write_bytes(content)


class Exchange(NamedTuple):
    """A request of a command, and its answer.

    :param before: the moment before it, if that is asked for
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    status: int
    answer: str
    before: Moment | None

    @property
    def is_read(self) -> bool:
        return self.method == 'GET'

    @property
    def is_unguarded(self) -> bool:
        """Return whether it changes a provider, whatever generation that has."""
        return not self.is_read and self.path.startswith('/resource_providers/') and (
            self.path.count('/') == 2
        )  # fmt: skip

    def __str__(self) -> str:
        return f'{self.method} {self.path} {self.body} -> {self.status}'.replace('  ', ' ')


@dataclass
class Outcome:
    """A command that has ended.

    :ivar exchanges: its requests
    :ivar writes: what each of them has changed, by number
    :ivar acted: what the other has changed; ``None``: the act was impossible
    :ivar shown: the first request whose answer showed that
    :ivar uneven: the consumers that a request has given more or less in all
    """

    ended: Ended = field(default_factory=Ended)
    exchanges: list[Exchange] = field(default_factory=list)
    writes: list[tuple[int, Delta]] = field(default_factory=list)
    acted: Delta | None = field(default_factory=dict)
    shown: int | None = None
    uneven: set[str] = field(default_factory=set)

    @property
    def status(self) -> int | None:
        return self.ended.status

    @property
    def said(self) -> str:
        return f'{self.ended.stdout}\n{self.ended.stderr}'.strip()

    @property
    def written(self) -> Written:
        written = Written()
        written.deltas = [changed for _, changed in self.writes]
        written.disturbed = set(self.acted or ())
        return written

    @property
    def written_by_others(self) -> set[str]:
        """Return the providers and consumers that the other has changed."""
        return {key[1] for key in self.acted or {}}

    def is_unguarded(self, number: int | None, *, is_reviewed: bool) -> bool:
        """Return whether a request was sent that changes a provider of any generation.

        :param is_reviewed: whether the command has to look at the provider just before
        """
        if number is None or number >= len(self.exchanges):
            return False
        look, write = self.exchanges[number - 1], self.exchanges[number]
        is_seen = look.is_read and look.path == write.path
        return write.is_unguarded and write.status < 400 and (is_seen or not is_reviewed)

    def overwritten(self, since: int) -> list[tuple[int, Key]]:
        """Return what the command has changed of what the other wrote before a request."""
        acted = self.acted or {}
        return [
            (number, key)
            for number, changed in self.writes
            for key in changed.keys() & acted.keys()
            if number >= since and changed[key][0] == acted[key][1]
        ]


def _text(body: str | bytes | None) -> str:
    return body.decode() if isinstance(body, bytes) else body or ''


class _Run:
    """Runs a command, in a process that ends with it.

    :param report: gets the outcome, and ends the process
    """

    def __init__(
        self, world: World, trace: Trace, report: Callable[[Outcome], None], *, records: bool
    ) -> None:
        self._world, self._trace, self._report, self._records = world, trace, report, records
        self._state = world.state()
        self.outcome = Outcome()
        self.ended, self.out, self.err = self.outcome.ended, io.StringIO(), io.StringIO()

    def run(self, words: list[str]) -> None:
        with listening(SimpleNamespace(actor=self)):
            try:
                status = shell.main(words, session=over_http(self._exchange))
                self.ended.status = int(status)
            except SystemExit as end:
                self.ended.status = int(end.code or 0)
            except BaseException as error:
                self.ended.cause = error
        self._end()

    def _end(self) -> None:
        self.ended.stdout, self.ended.stderr = self.out.getvalue(), self.err.getvalue()
        if self.ended.cause is not None:
            self.ended.cause = RuntimeError(repr(self.ended.cause))
        self._report(self.outcome)

    def _exchange(self, request: Any) -> requests.Response:
        number, fate = len(self.outcome.exchanges), self._trace.fate
        is_here = number == self._trace.number
        if is_here and fate != LOST_BEFORE:
            self._act()
        if is_here and fate == KILLED:
            self._end()
        before = Moment.now(self._world) if self._records else None
        answer = self._world.send(request)
        exchange = Exchange(
            request.method,
            request.path_url,
            {name: request.headers[name] for name in _HEADERS if name in request.headers},
            _text(request.body),
            answer.status_code,
            answer.text,
            before,
        )
        self.outcome.exchanges.append(exchange)
        if not exchange.is_read:
            self._settle(number)
        elif self._has_acted(number) and self.outcome.shown is None:
            assert self._trace.act
            if self._trace.act.is_shown(exchange.path, exchange.answer):
                self.outcome.shown = number
        if is_here and fate == LOST_BEFORE:
            self._act()
        if is_here and fate in (LOST, LOST_BEFORE):
            raise requests.exceptions.ConnectionError('The connection is reset')
        return answer

    def _has_acted(self, number: int) -> bool:
        return self._trace.act is not None and number >= (self._trace.number or 0)

    def _act(self) -> None:
        if self._trace.act is None:
            return
        try:
            self._trace.act.done(self._world)
        except Refused:
            self.outcome.acted = None
            self._end()
        before, self._state = self._state, self._world.state()
        self.outcome.acted = delta(before, self._state)

    def _settle(self, number: int) -> None:
        before, self._state = self._state, self._world.state()
        changed = delta(before, self._state)
        self.outcome.writes.append((number, changed))
        consumers = {key[1] for key in changed if key[0] == 'allocation'}
        self.outcome.uneven |= {
            uuid for uuid in consumers if before.sums(uuid) != self._state.sums(uuid)
        }


def run(world: World, words: list[str], trace: Trace, *, records: bool = False) -> Outcome:
    """Run a command in a child, from the present moment on.

    :param records: whether the moment before each request is remembered
    """

    def work(report: Callable[[Outcome], None]) -> None:
        with virtual(Clock(), 0):
            _Run(world, trace, report, records=records).run(words)

    outcome = _in_child(work)
    if outcome is None:
        outcome = Outcome()
        outcome.ended.cause = RuntimeError(f'it has not ended after {LONGEST} s')
    return outcome


def import_all() -> None:
    """Import all of the product, so that no child is the first to do so."""
    for module in pkgutil.walk_packages(placementclient.__path__, 'placementclient.'):
        if not module.name.endswith('__main__'):
            importlib.import_module(module.name)


def warm_up(world: World, words: list[str]) -> None:
    """Run a command, so that no child is the first to do so."""
    _Run(world, Trace(''), lambda _: None, records=False).run(words)
    gc.collect()
    gc.freeze()


def _in_child(work: Callable[[Callable[[Outcome], None]], None]) -> Outcome | None:
    """Return what a function reports in a process of its own; ``None`` if it is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)

        def report(outcome: Outcome) -> None:
            with open(writer, 'wb') as pipe:
                pickle.dump(outcome, pipe)
            os._exit(0)

        try:
            work(report)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    os.close(writer)
    with open(reader, 'rb') as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(content) if content else None
