# SPDX-License-Identifier: Apache-2.0
"""One run of a command, and one event at one of its requests."""

from __future__ import annotations

import gc
import importlib
import io
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn

import requests

import placementclient
from placementclient.cli import shell
from tests.interleavings.acts import Act, Refused
from tests.interleavings.remembering import HEADERS, Pages, RememberingWorld
from tests.interleavings.scenarios import FILES
from tests.simulation.actors import Ended, listening
from tests.simulation.clock import Clock, virtual
from tests.simulation.faults import Killed
from tests.simulation.invariants import Written
from tests.simulation.state import Delta, Key, delta
from tests.simulation.world import over_http

#: What becomes of the command at the request.
ON, KILLED, LOST, LOST_BEFORE = 'goes on', 'killed', 'answer lost', 'answer lost before the act'
#: A command that sends so many requests never ends.
MOST = 1000


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
    """All that can change: the database, and the files that commands write."""

    database: Pages
    files: Mapping[str, bytes]

    @classmethod
    def now(cls, world: RememberingWorld) -> Moment:
        return cls(world.content, {path.name: path.read_bytes() for path in _written_files()})

    def restore(self, world: RememberingWorld) -> None:
        world.content = self.database
        for path in _written_files():
            if path.name not in self.files:
                path.unlink()
        for name, content in self.files.items():
            Path(name).write_bytes(content)


def _written_files() -> Iterator[Path]:
    return (path for path in Path().iterdir() if path.name not in FILES)


class Exchange(NamedTuple):
    """A request of a command, and its answer.

    :param before: the moment before it
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    status: int
    answer: str
    before: Moment

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
    def output(self) -> str:
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
    """Runs a command from the present moment on."""

    def __init__(self, world: RememberingWorld, trace: Trace) -> None:
        self._world, self._trace = world, trace
        self._state = world.state()
        self._killed: Moment | None = None
        self.outcome = Outcome()
        self.ended, self.out, self.err = self.outcome.ended, io.StringIO(), io.StringIO()

    def run(self, words: list[str]) -> Outcome:
        with virtual(Clock(), 0), listening(SimpleNamespace(actor=self)):
            try:
                status = shell.main(words, session=over_http(self._exchange))
                self.ended.status = int(status)
            except Killed:
                pass
            except SystemExit as end:
                self.ended.status = int(end.code or 0)
            except BaseException as error:
                self.ended.cause = error
        if self._killed:
            # A command that is killed does not clean up.
            self.ended.status = None
            self._killed.restore(self._world)
        self.ended.stdout, self.ended.stderr = self.out.getvalue(), self.err.getvalue()
        return self.outcome

    def _kill(self) -> NoReturn:
        self._killed = self._killed or Moment.now(self._world)
        raise Killed

    def _exchange(self, request: Any) -> requests.Response:
        number, fate = len(self.outcome.exchanges), self._trace.fate
        if self._killed:
            raise Killed
        if number == MOST:
            self.ended.cause = RuntimeError(f'it has not ended after {MOST} requests')
            self._kill()
        is_here = number == self._trace.number
        if is_here and fate != LOST_BEFORE:
            self._act()
        if is_here and fate == KILLED:
            self._kill()
        before = Moment.now(self._world)
        answer = self._world.send(request)
        exchange = Exchange(
            request.method,
            request.path_url,
            {name: request.headers[name] for name in HEADERS if name in request.headers},
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
            self._kill()
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


def run(world: RememberingWorld, words: list[str], trace: Trace) -> Outcome:
    """Run a command from the present moment on."""
    return _Run(world, trace).run(words)


def import_all() -> None:
    """Import all of the product, so that no child is the first to do so."""
    for module in pkgutil.walk_packages(placementclient.__path__, 'placementclient.'):
        if not module.name.endswith('__main__'):
            importlib.import_module(module.name)
    gc.freeze()
