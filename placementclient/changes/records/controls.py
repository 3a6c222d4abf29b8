"""The control file beside the journal of a run: orders of operators, and the run's answer."""

from __future__ import annotations

import enum
from typing import Annotated, Final, Literal

import msgspec

from placementclient.codec.decoding import FileSource
from placementclient.codec.encoding import encoded

FORMAT: Final = 'placementclient/run-control'
VERSION: Final = 1


class Order(enum.StrEnum):
    """An order of the operator to a run."""

    RUN = 'run'
    PAUSE = 'pause'
    STOP = 'stop'


class RunState(enum.StrEnum):
    """The state of a run, as its order has it."""

    RUNNING = 'running'
    PAUSING = 'pausing'
    PAUSED = 'paused'
    STOPPING = 'stopping'


class ControlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file.

    :param command: ``apply`` or ``rollback``
    :param process: the number of the process that carries the plan out
    :param order: the last one
    :param ordered_at: when it was given, UTC, as ISO 8601
    :param workers: how many trees at a time, as the operator gave it last
    :param state: as the run has noted it
    :param under_way: how many trees were under way then
    """

    format: Literal['placementclient/run-control'] = FORMAT
    version: Literal[1] = VERSION
    command: str
    process: int
    order: Order = Order.RUN
    ordered_at: str = ''
    workers: Annotated[int, msgspec.Meta(ge=1)]
    state: RunState = RunState.RUNNING
    under_way: int = 0


_DECODER = msgspec.json.Decoder(ControlRecord)


def encode(record: ControlRecord) -> bytes:
    """The content of a control file."""
    return encoded(record) + b'\n'


def decode(content: bytes, path: str) -> ControlRecord:
    """Decode a control file.

    :param path: for the error
    :raises errors.BadFile: if it is none
    """
    source = FileSource(path, content, 'control file of a run')
    source.check_kind(VERSION)
    return source.decoded(_DECODER)
