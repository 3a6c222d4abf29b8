"""The control file of a run: another process pauses, slows or stops the run with it."""

from __future__ import annotations

import datetime
import math
import os
import time
from collections.abc import Callable

import msgspec

from placementclient.changes import journal
from placementclient.changes.records import controls
from placementclient.changes.records.controls import ControlRecord, Order, RunState
from placementclient.client import errors
from placementclient.files import system

#: How often the effect of an order is looked for, and how long that of going on, in seconds.
_INTERVAL, _LONGEST = 0.1, 5.0


class NotRunning(errors.PlacementError):
    """There is no run that could obey an order."""


class ControlFile:
    """The control file beside a journal. It is replaced as a whole, by one process at a time.

    :param journal_path: of the journal
    """

    def __init__(self, journal_path: str) -> None:
        self.path = f'{journal_path}.control'

    def read(self) -> ControlRecord | None:
        """Return the content; ``None`` if there is no such file.

        :raises errors.BadFile: if it cannot be read
        """
        try:
            content = system.read_own(self.path)
        except errors.BadFile:
            if os.path.lexists(self.path):
                raise
            return None
        return controls.decode(content, self.path)

    def write(self, record: ControlRecord) -> None:
        """Replace the content.

        :raises errors.BadFile: if that is impossible
        """
        with system.explained(self.path), system.replacing(self.path, 0o600) as stream:
            stream.write(controls.encode(record))

    def change(
        self, change: Callable[[ControlRecord | None], ControlRecord | None]
    ) -> ControlRecord | None:
        """Read the file and write it, while no other process does.

        :param change: returns the new content; ``None``: the file stays as it is
        :return: the new content
        :raises errors.BadFile: if it cannot be read or written
        """
        with system.explained(self.path), system.locked_folder(os.path.dirname(self.path)):
            changed = change(self.read())
            if changed is not None:
                self.write(changed)
            return changed

    def remove(self) -> None:
        """Take the file away, if it is there.

        :raises errors.BadFile: if that is impossible
        """
        with system.explained(self.path), system.locked_folder(os.path.dirname(self.path)):
            if os.path.lexists(self.path):
                os.unlink(self.path)

    @property
    def stamp(self) -> tuple[int, ...]:
        """Other numbers each time that the file is replaced; none where it is not there."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size


def current(journal_path: str) -> tuple[ControlRecord | None, bool]:
    """Return the control file of a plan's run, and whether the run is under way.

    The file of a run that is not under way was left behind by a kill.

    :raises errors.BadFile: if it cannot be read
    """
    record = ControlFile(journal_path).read()
    return record, record is not None and journal.is_open(journal_path)


def order(journal_path: str, order: Order | None, workers: int | None) -> ControlRecord:
    """Give an order to the run of a plan.

    :param order: ``None``: as before
    :param workers: how many trees at a time; ``None``: as before
    :return: the content of the control file
    :raises NotRunning: if no apply or rollback of the plan is under way
    :raises errors.BadFile: if the control file cannot be read or written
    """

    def ordered(record: ControlRecord | None) -> ControlRecord:
        plan = journal_path.removesuffix('.journal')
        if record is None or not journal.is_open(journal_path):
            raise NotRunning(f'No apply or rollback of {plan} is running')
        if record.order is Order.STOP:
            raise NotRunning(f'The {record.command} of {plan} is stopping: type it again to go on')
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec='milliseconds')
        is_held = record.order is Order.PAUSE and order in (Order.PAUSE, None)
        return msgspec.structs.replace(
            record,
            order=order or record.order,
            # Whoever pauses a paused run wants to know since when it is.
            ordered_at=record.ordered_at if is_held else now,
            workers=workers or record.workers,
        )

    result = ControlFile(journal_path).change(ordered)
    assert result is not None
    return result


def wait(journal_path: str, order: Order) -> ControlRecord | None:
    """Wait until an order has taken effect: no tree is under way any more, or some may begin.

    A run may be busy with requests that take long, and look at its orders late. The wait for trees
    that may begin again has an end then.

    :return: the content of the control file; ``None``: the run has ended
    :raises errors.BadFile: if it cannot be read
    """
    wanted = {Order.PAUSE: RunState.PAUSED, Order.RUN: RunState.RUNNING}.get(order)
    latest = time.monotonic() + (_LONGEST if order is Order.RUN else math.inf)
    while True:
        record, is_under_way = current(journal_path)
        if record is None or not is_under_way:
            return None
        if record.order is not order or record.state is wanted or time.monotonic() > latest:
            return record
        time.sleep(_INTERVAL)
