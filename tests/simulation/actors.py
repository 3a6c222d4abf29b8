# SPDX-License-Identifier: Apache-2.0
"""Operators, each a thread of which only one runs at a time, and the order in which they do."""

import contextlib
import io
import sys
import threading

import requests

from placementclient.basis import errors
from placementclient.cli import shell
from tests.simulation import faults
from tests.simulation.faults import Faults, Killed

#: What a request takes, and a slow one; in virtual seconds.
USUAL, SLOW = 0.02, 20.0


class Ended:
    """How a command ended.

    :ivar status: its exit status; ``None`` if it was killed
    :ivar cause: what it did not expect
    """

    def __init__(self):
        self.status: int | None = None
        self.stdout, self.stderr = '', ''
        self.cause: BaseException | None = None
        self.faults: list[str] = []


class Operator:
    """Types commands, one after the other, in a folder of its own.

    :param stage: knows who has the turn, and what is done meanwhile
    """

    def __init__(self, name, stage, is_embedded):
        self.name, self.stage, self.is_embedded = name, stage, is_embedded
        self.turn = threading.Semaphore(0)
        self.faults: Faults | None = None
        self.out, self.err = io.StringIO(), io.StringIO()
        self.is_joint = self.is_dead = False
        self.ended = Ended()

    def run(self, words):
        """Run a command to its end, whatever that is."""
        self.out, self.err = io.StringIO(), io.StringIO()
        self.ended, self.is_dead = Ended(), False
        try:
            session = self.stage.session(self)
            self.ended.status = int(shell.main(words, session=session))
        except Killed:
            self.ended.status = None
            self.stage.thaw()
        except SystemExit as exit:
            self.ended.status = int(exit.code or 0)
        except BaseException as error:
            self.ended.cause = error
        self.ended.stdout, self.ended.stderr = self.out.getvalue(), self.err.getvalue()
        return self.ended

    def handover(self):
        """Let others do something, unless that would wait for this one."""
        if not self.is_joint:
            self.stage.handover(self)

    @contextlib.contextmanager
    def transaction(self):
        """Nobody else has a turn until the end, and only then there is something to see."""
        self.handover()
        self.is_joint = True
        try:
            yield
        finally:
            self.is_joint = False
            self.stage.settle(self.name)

    def exchange(self, request):
        """Send a request, to which something may happen."""
        if self.is_dead:
            raise Killed
        path = request.url.partition('//')[2].partition('/')[2]
        self.handover()
        kind = self.faults.draw(request.method) if self.faults else None
        self.stage.log(self.name, request.method, path, kind or '')
        if kind:
            self.ended.faults.append(f'{kind}: {request.method} /{path}')
            return self._disturbed(request, kind)
        return self._sent(request)

    def _sent(self, request):
        answer: requests.Response = self.stage.world.send(request)
        self.stage.log(self.name, str(answer.status_code), '', '')
        if request.method != 'GET' and not self.is_joint:
            self.stage.settle(self.name)
        return answer

    def _disturbed(self, request, kind):
        if kind == 'slow':
            self.stage.pause(self, SLOW)
            return self._sent(request)
        if kind == 'gone':
            self.stage.lose_database()
            return self._sent(request)
        if kind == 'lost' or kind.endswith(' after'):
            self._sent(request)
        kind = kind.removesuffix(' after')
        if kind in ('killed', 'interrupted'):
            self.is_dead = kind == 'killed'
            self.stage.freeze()
            raise Killed if self.is_dead else KeyboardInterrupt
        if kind in ('unsent', 'lost'):
            raise requests.exceptions.ConnectionError('Simulated: the connection is reset')
        return faults.answer(request, kind)


class Speaker(io.TextIOBase):
    """Standard output, or error, of the operator who has the turn."""

    encoding = 'utf-8'

    def __init__(self, which):
        self._which = which

    def write(self, text):
        return self._which().write(text)

    def isatty(self):
        return False


@contextlib.contextmanager
def listening(stage):
    """What is printed goes to the operator who has the turn; what ends a command too."""
    saved = sys.stdin, sys.stdout, sys.stderr, shell.Shell.clean_up
    sys.stdin = io.StringIO()
    sys.stdout = Speaker(lambda: stage.actor.out)  # type: ignore[assignment]
    sys.stderr = Speaker(lambda: stage.actor.err)  # type: ignore[assignment]

    def clean_up(_, _command, _result, error):
        if error and not isinstance(error, errors.PlacementError | SystemExit | Killed):
            stage.actor.ended.cause = error

    shell.Shell.clean_up = clean_up  # type: ignore[method-assign]
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr, shell.Shell.clean_up = saved  # type: ignore[method-assign]
