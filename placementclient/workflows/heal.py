"""Give servers what they should hold, where they hold nothing, and as their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from placementclient import errors
from placementclient.api import allocation, conflict
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.insight.healing import FAILED, HEALED, PLANNED, UNKNOWN, Heal
from placementclient.model.consumers import Allocations, Consumer


def exit_status(heals: Sequence[Heal]) -> ExitStatus:
    """1: nothing that had to be healed is healed; 6: some."""
    states = {heal.state for heal in heals}
    if not states & {FAILED, UNKNOWN}:
        return ExitStatus.DONE
    return ExitStatus.PARTIAL if HEALED in states else ExitStatus.ERROR


def carry_out(client: Client, heals: Iterable[Heal]) -> Iterator[Heal]:
    """Write what is planned, and go on where one fails.

    :return: how each has ended, in order
    """
    for heal in heals:
        if heal.state != PLANNED or heal.consumer is None:
            yield heal
            continue
        try:
            _write(client, heal.consumer)
        except errors.PlacementError as failure:
            yield replace(heal, state=FAILED, reason=str(failure))
        else:
            yield replace(heal, state=HEALED)


def _write(client: Client, consumer: Consumer) -> None:
    """Only while it is as it was when that was decided; the generation guards what is between."""

    def attempt() -> None:
        there = allocation.show(client, consumer.uuid).value
        if _content(there) == _content(consumer):
            return
        if there.generation != consumer.generation:
            raise errors.PlacementError('what it holds has changed meanwhile')
        allocation.set(client, consumer)

    conflict.retried(attempt, max_retries=client.max_retries)


def _content(consumer: Consumer) -> tuple[Allocations, str | None, str | None]:
    return consumer.allocations, consumer.project_id, consumer.user_id
