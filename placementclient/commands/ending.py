"""How commands end that are cut short."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from placementclient import errors
from placementclient.commands import base


@contextlib.contextmanager
def telling(command: base._Placement, done: Collection[object]) -> Iterator[None]:
    """Let a command print what it has done, if that is anything, whatever ends it.

    A change that was sent and not answered is told, too.

    :param done: what is done, when it ends
    """
    try:
        yield
    except errors.PlacementError as failure:
        if not done:
            raise
        command.tell(failure)
        command.exit_status = errors.ExitStatus.PARTIAL
    except KeyboardInterrupt:
        if not done:
            raise
        command.tell_interruption()
        command.exit_status = errors.ExitStatus.INTERRUPTED
