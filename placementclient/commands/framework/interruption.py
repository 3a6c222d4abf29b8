"""Sentences about a change where a command could not print what became of it.

Only a command that fails after a change, or that a signal or a full disk ends, loads this.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from placementclient.client import errors
from placementclient.client.http import Change


def sentence(change: Change) -> str:
    """Return the sentence about a change that was sent."""
    if change.is_done:
        return f'the last change, {change.request}, was done'
    return f'whether {change.request} was done is not known'


def not_printed(stdout: Any, full: OSError, done: str) -> errors.PlacementError:
    """The error for output that cannot be written; nothing more is written then.

    :param done: what was done before, as a part of a sentence
    """
    with contextlib.suppress(OSError, ValueError):
        # Python writes what is left as it ends, and would say so once more.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stdout.fileno())
        os.close(null)
    clause = f'; {done}' if done else ''
    return errors.PlacementError(f'Cannot write to stdout: {full.strerror or full}{clause}')
