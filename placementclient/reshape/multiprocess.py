"""Trees worked on by several processes at a time, with one journal.

Each process has the embedded service, with connections of its own to the database, and works on one
tree after the other. What it notes is written by the process that has begun the run, and is on the
disk before the request goes out, as everywhere. So whichever of them is killed, at any point, the
next run reads back what was done.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import queue
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import NamedTuple, Protocol

from keystoneauth1.session import Session

from placementclient import errors
from placementclient.direct import Direct
from placementclient.http import Client
from placementclient.microversion import Microversion
from placementclient.model.outcomes import TreeResult
from placementclient.planner.plan.plan import Plan, TreePlan
from placementclient.reshape.journal import Journal, JournalFailed, JournalFile, Record
from placementclient.reshape.operation_runner import Names
from placementclient.reshape.tree_executor import OutcomeUnknown, Run, TreeExecutor


class Workers(Protocol):
    """Who works on trees: as many at a time as threads ask for it."""

    def forward(self, tree: TreePlan, *, is_as_planned: bool) -> TreeResult:
        """Apply the plan of a tree."""

    def backward(self, tree: TreePlan) -> TreeResult:
        """Take back what was done to a tree."""


class Threads:
    """The threads themselves."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def forward(self, tree: TreePlan, *, is_as_planned: bool) -> TreeResult:
        return self._executor(tree).forward(is_as_planned=is_as_planned)

    def backward(self, tree: TreePlan) -> TreeResult:
        return self._executor(tree).backward()

    def _executor(self, tree: TreePlan) -> TreeExecutor:
        return TreeExecutor(self._run, self._run.current(tree))


class _Task(NamedTuple):
    """A tree to work on.

    :param record: what the journal knows of it
    :param back: whether what was done to it is taken back
    :param is_as_planned: see :meth:`TreeExecutor.forward`
    """

    tree: TreePlan
    record: Record
    back: bool
    is_as_planned: bool = False


class DistantLines:
    """The journal's file, which another process has open.

    Lines that need not be on the disk yet are kept until others have to be: each time that the
    other process is waited for, both have to be woken up.

    :param writer: leads to that process
    """

    def __init__(self, path: str, writer: Connection) -> None:
        self.path, self._writer = path, writer
        self._kept = b''

    def append(self, content: bytes, *, synced: bool = False) -> None:
        """See :class:`placementclient.reshape.journal.Lines`."""
        self._kept += content
        if not synced:
            return
        try:
            self._writer.send(self.taken())
            failure = self._writer.recv()
        except (EOFError, OSError):
            reason = 'nobody writes it any more: nothing more is sent'
            raise JournalFailed(self.path, reason) from None
        if failure is not None:
            raise failure

    def taken(self) -> bytes:
        """The lines that were kept, to be written by whoever takes them."""
        kept, self._kept = self._kept, b''
        return kept


class _Ended(NamedTuple):
    """How a tree ended.

    :param lines: for the journal
    """

    result: TreeResult | errors.PlacementError
    lines: bytes


class _Start(NamedTuple):
    """What a process works with.

    :param plan: without its trees
    :param journal_path: for errors
    :param collect_every: see :func:`gc.set_threshold`; a process does not inherit it
    """

    auth: Direct
    version: Microversion
    plan: Plan
    journal_path: str
    collect_every: tuple[int, int, int]

    def client(self) -> Client:
        """A client of the service in the process that asks."""
        return Client(Session(auth=self.auth), self.version)


def check(client: Client) -> None:
    """Refuse where several processes are of no use.

    :raises errors.UsageError: over HTTP, and on SQLite
    """
    if not isinstance(client.session.auth, Direct) or client.endpoint_override:
        raise errors.UsageError(
            '--processes is for the embedded Placement: over HTTP the service has processes of its '
            'own, and --workers says how many of them are kept busy'
        )
    if client.service.startswith('sqlite'):
        raise errors.UsageError(
            'On SQLite one process writes at a time: the others of --processes would wait for it; '
            'it takes MySQL, MariaDB or PostgreSQL'
        )


class Processes:
    """So many trees at a time as there are processes; the methods are called by so many threads."""

    def __init__(self, journal: Journal, file: JournalFile) -> None:
        self._journal, self._file = journal, file
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()

    def add(self, process: Connection) -> None:
        """Give trees to a process, too."""
        self._idle.put(process)

    def forward(self, tree: TreePlan, *, is_as_planned: bool) -> TreeResult:
        record = self._journal.of(tree.root_provider_uuid)
        return self._done(_Task(tree, record, False, is_as_planned))

    def backward(self, tree: TreePlan) -> TreeResult:
        return self._done(_Task(tree, self._journal.of(tree.root_provider_uuid), True))

    def _done(self, task: _Task) -> TreeResult:
        process = self._idle.get()
        try:
            process.send(task)
            while isinstance(said := process.recv(), bytes):
                process.send(self._synced(said))
        except (EOFError, OSError):
            raise OutcomeUnknown(
                'A process has ended before its tree. What it did is read back by the next run'
            ) from None
        self._idle.put(process)
        assert isinstance(said, _Ended)
        self._file.append(said.lines)
        if isinstance(said.result, Exception):
            raise said.result
        return said.result

    def _synced(self, lines: bytes) -> JournalFailed | None:
        try:
            self._file.append(lines, synced=True)
        except JournalFailed as failure:
            return failure
        return None


@contextlib.contextmanager
def started(run: Run, count: int) -> Iterator[Processes]:
    """So many processes, which end with what is done here.

    :param run: its client has passed :func:`check`
    """
    # Not a copy of this process, whose connections to the database nobody may share.
    context = multiprocessing.get_context('spawn')
    file, plan = run.journal.lines, replace(run.plan, trees=())
    assert isinstance(file, JournalFile)
    start = _Start(
        run.client.session.auth,
        run.client.microversion,
        plan,
        file.path,
        gc.get_threshold(),
    )
    processes, begun = Processes(run.journal, file), []
    try:
        with file.lock() as lock:
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(theirs, lock, start), daemon=True)
                with _deaf_to_interrupts():
                    process.start()
                theirs.close()
                begun.append((process, ours))
                processes.add(ours)
        yield processes
    finally:
        for _, connection in begun:
            connection.close()
        for process, _ in begun:
            process.join()


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Have a process that is started here pass over Ctrl-C, which a terminal sends to all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _work(parent: Connection, lock: Connection, start: _Start) -> None:
    """What a process does, until the one that has started it has no more trees, or is gone.

    :param lock: kept open: nobody else may begin before this process has ended, too
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*start.collect_every)
    client, names, lines = start.client(), Names(), DistantLines(start.journal_path, parent)
    with contextlib.suppress(EOFError, OSError), lock:
        while True:
            task: _Task = parent.recv()
            journal = Journal(lines, {task.tree.root_provider_uuid: task.record})
            plan = replace(start.plan, trees=(task.tree,))
            ended = _ended(Threads(Run(client, plan, journal, names)), task)
            parent.send(_Ended(ended, lines.taken()))


def _ended(threads: Threads, task: _Task) -> TreeResult | errors.PlacementError:
    """How a tree ended; or what ended it, so that it can be sent."""
    try:
        if task.back:
            return threads.backward(task.tree)
        return threads.forward(task.tree, is_as_planned=task.is_as_planned)
    except errors.PlacementError as failure:
        return failure
    except Exception as failure:
        return errors.Unexpected(failure)
