"""The server in a child process, where this process has one already.

The child reads calls of :class:`placementclient.embedded.service.Service` from its stdin and writes
their results to its stdout, in turn. It ends when its stdin does, however its parent has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from placementclient.client import errors
from placementclient.embedded import service
from placementclient.embedded.service import ServiceAnswer
from placementclient.model.snapshots import Snapshot


class ChildService:
    """A service in a child process; each method is that of the service.

    :param start: the function of :mod:`placementclient.embedded.service` that starts it
    :raises errors.DirectError: if it cannot start
    """

    def __init__(self, start: str, *args: Any) -> None:
        self._turn = threading.RLock()
        # A session of its own: Ctrl-C is for the parent, which may still need the service.
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, '-P', '-m', __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.database: str = self._call(start, *args)

    def answer(self, *request: Any) -> ServiceAnswer:
        """See :meth:`placementclient.embedded.service.Service.answer`."""
        answer: ServiceAnswer = self._call('answer', *request)
        return answer

    def snapshot(self, roots: Collection[str] | None, types: bool) -> Snapshot:
        """See :meth:`placementclient.embedded.service.Service.snapshot`."""
        snapshot: Snapshot = self._call('snapshot', roots, types)
        return snapshot

    @contextlib.contextmanager
    def transaction(self, headers: Mapping[str, str]) -> Iterator[None]:
        """See :meth:`placementclient.embedded.service.Service.transaction`.

        Other threads wait until it ends.
        """
        with self._turn:
            self._call('begin', headers)
            try:
                yield
            except BaseException:
                self._call('roll_back')
                raise
            self._call('commit')

    def close(self) -> None:
        """End the child."""
        with self._turn, self._process:
            pass

    def _call(self, name: str, *args: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._turn:
            try:
                pickle.dump((name, args), stdin)
                stdin.flush()
                result = pickle.load(stdout)  # noqa: S301
            except (OSError, EOFError):
                status = self._process.wait()
                raise errors.DirectError(
                    f'The process of the embedded Placement has ended (status {status})'
                ) from None
            except BaseException:
                # After Ctrl-C the result would be read as that of the next call.
                self._process.kill()
                raise
        if isinstance(result, Exception):
            raise result
        return result


class _Calls:
    """The calls of the parent, whose first one starts the service."""

    def __init__(self) -> None:
        self._service: Any = None
        self._transaction = contextlib.ExitStack()

    def start(self, database: str | None, conf_file: str | None) -> str:
        self._service = service.start(database, conf_file)
        return str(self._service.database)

    def start_scratch(self, folder: Path) -> str:
        # The parent removes it too, unless it was killed.
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self._service = service.start_scratch(folder)
        return str(self._service.database)

    def answer(self, *request: Any) -> ServiceAnswer:
        answer: ServiceAnswer = self._service.answer(*request)
        return answer

    def snapshot(self, roots: Collection[str] | None, types: bool) -> Snapshot:
        snapshot: Snapshot = self._service.snapshot(roots, types)
        return snapshot

    def begin(self, headers: Mapping[str, str]) -> None:
        self._transaction.enter_context(self._service.transaction(headers))

    def commit(self) -> None:
        self._transaction.close()

    def roll_back(self) -> None:
        self._transaction.__exit__(errors.PlacementError, errors.PlacementError(), None)


def main() -> None:
    """Answer the parent until it ends."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), 'wb')
    # The output of a library is no result.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    calls = _Calls()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            name, args = pickle.load(sys.stdin.buffer)  # noqa: S301
            try:
                result = getattr(calls, name)(*args)
            except errors.PlacementError as failure:
                result = failure
            pickle.dump(result, results)
            results.flush()


if __name__ == '__main__':
    main()
