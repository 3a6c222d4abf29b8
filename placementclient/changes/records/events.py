"""The events of a run: one JSON object to a line, for programs that follow it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from placementclient.codec.encoding import encoded
from placementclient.model.outcomes import State

VERSION: Final = 1

Count = Annotated[int, msgspec.Meta(ge=0)]
Moment = Annotated[str, msgspec.Meta(extra_json_schema={'format': 'date-time'})]
Uuid = Annotated[str, msgspec.Meta(extra_json_schema={'format': 'uuid'})]


class TreeCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of trees of the run; all but the first add up to it.

    :param done: where the run was to bring them, by this run or before
    """

    trees: Count
    not_started: Count
    under_way: Count
    done: Count
    left_alone: Count
    failed: Count


class RunEvent(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field='event',
    tag=lambda name: ''.join(f'-{c.lower()}' if c.isupper() else c for c in name).lstrip('-'),
):
    """The members of each line.

    :param time: UTC, as ISO 8601
    """

    version: Literal[1]
    time: Moment
    counts: TreeCounts


class RunBegan(RunEvent, frozen=True, kw_only=True):
    """The run has begun to read the trees; nothing is written yet.

    :param plan: the file of the plan
    :param service: its URL, or the database of the embedded service
    :param workers: how many trees at a time
    :param max_latency_ms: the limit for the answers of the service
    """

    command: Literal['apply', 'rollback']
    plan: str
    service: str
    workers: Count
    max_latency_ms: float | None


class TreeBegan(RunEvent, frozen=True, kw_only=True):
    """A tree has begun."""

    tree: str
    tree_uuid: Uuid


class TreeEnded(RunEvent, frozen=True, kw_only=True):
    """A tree has ended. One that cannot begin, or is done already, ends without having begun."""

    tree: str
    tree_uuid: Uuid
    state: State
    reason: str


class RunPausing(RunEvent, frozen=True, kw_only=True):
    """The operator has paused the run; the trees under way come to their end."""

    reason: str


class RunPaused(RunEvent, frozen=True, kw_only=True):
    """The run is paused, and no tree is under way."""

    reason: str


class RunResumed(RunEvent, frozen=True, kw_only=True):
    """Trees may begin again."""

    reason: str


class RunStopping(RunEvent, frozen=True, kw_only=True):
    """The operator ends the run: it waits for the trees under way."""

    reason: str


class PaceChanged(RunEvent, frozen=True, kw_only=True):
    """The number of trees at a time, or the pause between them, is another one.

    :param latency_ms: the median of the last answers, where that was the reason
    """

    workers: Count
    pause_seconds: float
    latency_ms: float | None
    reason: str


class RunEnded(RunEvent, frozen=True, kw_only=True):
    """The run has ended. It is the last line, unless the process was killed.

    :param reason: why it ended before its time; otherwise empty
    """

    exit_status: int
    reason: str


#: All kinds of lines.
ANY: Any = (
    RunBegan
    | TreeBegan
    | TreeEnded
    | RunPausing
    | RunPaused
    | RunResumed
    | RunStopping
    | PaceChanged
    | RunEnded
)


def line(event: RunEvent) -> str:
    """Return the line of an event, without its end."""
    return encoded(event).decode()
