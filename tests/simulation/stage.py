# SPDX-License-Identifier: Apache-2.0
"""Who has the turn, what passes meanwhile, and what every write has changed."""

import hashlib
import threading
from contextlib import contextmanager
from pathlib import Path

from keystoneauth1.session import Session

from tests.simulation import invariants
from tests.simulation.actors import USUAL, Operator
from tests.simulation.commands import Command, Plan
from tests.simulation.invariants import Written
from tests.simulation.nova import Nova, Steps
from tests.simulation.state import delta
from tests.simulation.world import Embedded, over_http

#: How many of the last lines of the log are shown with a failure.
SHOWN = 60


class Stage:
    """One history, as far as it has come.

    :ivar unrest: how likely it is that Nova does something between two requests
    """

    def __init__(self, world, clock, dice, folder):
        self.world, self.clock, self.dice, self.folder = world, clock, dice, folder
        self.nova = Nova(self._call_of_nova, lambda: self.state, dice, {})
        self.state = world.state()
        self.unrest = 0.0
        self.plans: list[Plan] = []
        self.actor: Operator | None = None
        self.lines: list[str] = []
        self.digest = hashlib.sha256()
        self._playing: list[Operator] = []
        self._commands: dict[str, tuple[Command, Written]] = {}
        self._moves: list[Steps] = []
        self._is_moving = False
        self._returns: float | None = None
        self._files: dict[Path, bytes] = {}
        clock.asleep = self._asleep

    def log(self, *words):
        """Note what happened; the same seed notes the same."""
        line = f'{self.clock.now:.2f} {" ".join(filter(None, words))}'
        line = line.replace(str(self.folder), 'FOLDER')
        self.digest.update(line.encode())
        self.lines.append(line)

    def session(self, operator):
        """What an operator's requests go through."""
        if operator.is_embedded:
            return Session(auth=Embedded(self.world, operator.exchange, operator))
        return over_http(operator.exchange)

    def play(self, pairs):
        """Let operators type a command each, at the same time."""
        self._commands = {op.name: (command, Written()) for op, command in pairs}
        self._playing = [operator for operator, _ in pairs]
        main = threading.Semaphore(0)

        def act(operator, command):
            operator.turn.acquire()
            self.actor = operator
            try:
                operator.run(command.words)
            finally:
                self._playing.remove(operator)
                (self._playing[0].turn if self._playing else main).release()

        threads = [threading.Thread(target=act, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        self._playing[0].turn.release()
        main.acquire()
        for thread in threads:
            thread.join()
        self.find_database()
        results = []
        for operator, command in pairs:
            written, ended = self._commands[operator.name][1], operator.ended
            self.log(operator.name, str(command), '->', str(ended.status))
            results.append((ended, written))
        return results

    def handover(self, operator):
        """Between two requests of an operator: others may have their turn."""
        self.clock.advance(USUAL)
        if self._returns is not None and self.clock.now >= self._returns:
            self.find_database()
        while self.dice.random() < self.unrest:
            self._move()
        self._switch(operator)

    def pause(self, operator, seconds):
        """Let time pass, in which others do more, unless that would wait for this one."""
        self.clock.advance(seconds)
        if operator.is_joint:
            return
        for _ in range(min(12, 1 + int(seconds)) if self.unrest else 0):
            self._move()
        self.handover(operator)

    def _asleep(self, seconds):
        if self.actor and not self.actor.is_joint and not self._is_moving:
            self.pause(self.actor, seconds)
        else:
            self.clock.advance(seconds)

    def _switch(self, operator):
        others = [other for other in self._playing if other is not operator]
        if others and self.dice.random() < 0.5:
            others[0].turn.release()
            operator.turn.acquire()
            self.actor = operator

    def _move(self):
        """Nova does one thing more."""
        if not self._moves or (len(self._moves) < 4 and self.dice.random() < 0.4):
            self._moves.append(self.nova.move())
        move = self.dice.choice(self._moves)
        self._is_moving = True
        try:
            next(move)
        except StopIteration:
            self._moves.remove(move)
        finally:
            self._is_moving = False

    def calm(self):
        """Let Nova end what it has begun."""
        self._is_moving = True
        while self._moves:
            for _ in self._moves.pop():
                pass
        self._is_moving = False

    def _call_of_nova(self, method, path, body=None):
        status, answer = self.world.call(method, path, body)
        self.log('nova', method, path, str(status))
        if method != 'GET':
            self.settle('nova')
        return status, answer

    def settle(self, who):
        """See what a write of an operator, or of Nova, has changed."""
        before, self.state = self.state, self.world.state()
        changed = delta(before, self.state)
        if not changed:
            return
        for key, (was, now) in changed.items():
            self.log(' ', who, repr(key), repr(was), repr(now))
        writer = self._commands.get(who, (None, None))[0]
        for name, (command, written) in self._commands.items():
            if name == who:
                written.deltas.append(changed)
                written.violations += invariants.of_write(command, before, self.state, changed)
            else:
                written.disturbed |= changed.keys()
        for plan in self.plans:
            if writer is None or writer.plan is not plan:
                plan.disturbed |= changed.keys() & plan.done.keys()

    def lose_database(self):
        """For some time, and from the middle of a request on, there is no database."""
        self.world.fails_after = self.dice.randrange(12)
        self._returns = self.clock.now + self.dice.uniform(0.1, 30)

    def find_database(self):
        self.world.fails_after = self._returns = None

    def freeze(self):
        """Remember the files as they are when a process ends."""
        self._files = self._contents()

    def thaw(self):
        """Take away what a process has done to files after it was killed, in this one."""
        for path, content in self._contents().items():
            if path not in self._files:
                path.unlink()
            elif self._files[path] != content:
                path.write_bytes(self._files[path])
        for path in self._files.keys() - self._contents().keys():
            path.write_bytes(self._files[path])

    def _contents(self):
        return {path: path.read_bytes() for path in self.folder.rglob('*') if path.is_file()}

    @contextmanager
    def quiet(self):
        """Nobody else does anything, and nothing happens to requests."""
        self.calm()
        unrest, self.unrest = self.unrest, 0.0
        try:
            yield
        finally:
            self.unrest = unrest
