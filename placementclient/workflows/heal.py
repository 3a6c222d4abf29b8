"""Give servers what they should hold, where they hold nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from placementclient import errors
from placementclient.api import allocation, conflict
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.insight.healing import FAILED, HEALED, PLANNED, UNKNOWN, Heal
from placementclient.model.consumers import Consumer


def exit_status(heals: Sequence[Heal], *, dry_run: bool) -> ExitStatus:
    """3: a dry run has found servers without allocations; 1: no such server is healed; 6: some."""
    states = {heal.state for heal in heals}
    if dry_run:
        return ExitStatus.DIFFERS if states & {PLANNED, UNKNOWN} else ExitStatus.DONE
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
    """Only if it holds nothing: the generation of a consumer that does not exist guards that."""

    def is_done() -> bool:
        return allocation.show(client, consumer.uuid).value.allocations == consumer.allocations

    conflict.confirmed(
        lambda: allocation.set(client, consumer), is_done, max_retries=client.max_retries
    )
