"""Give servers what they should hold, where they hold nothing, and as their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from placementclient import errors
from placementclient.api import allocation, conflict
from placementclient.errors import ExitStatus
from placementclient.http import Client
from placementclient.insight.healing import Heal, State
from placementclient.model.consumers import Allocations, Consumer
from placementclient.model.servers import ServerDetail
from placementclient.workflows.run import Run


def exit_status(heals: Sequence[Heal], run: Run) -> ExitStatus:
    """1: nothing that had to be healed is healed; 6: some."""
    states = {heal.state for heal in heals}
    return run.exit_status(
        is_failed=bool(states & {State.FAILED, State.UNKNOWN}), is_done=State.HEALED in states
    )


def carry_out(
    client: Client,
    heals: Iterable[Heal],
    run: Run,
    is_current: Callable[[ServerDetail], bool] | None = None,
) -> Iterator[Heal]:
    """Write what is planned, and go on where one fails.

    :param is_current: asks Nova, just before the write, whether a server is still as it was listed:
        nobody would ever delete the allocations of one that is gone; ``None`` where nobody can tell
    :return: how each has ended, in order; none is begun any more once the run is over
    """
    for heal in heals:
        if heal.state is not State.PLANNED or heal.consumer is None:
            yield heal
        elif run.is_over:
            yield replace(heal, state=State.NOT_STARTED)
        else:
            reason = run.failure(
                partial(_write, client, heal.consumer, heal.server, is_current),
                partial(_is_there, client, heal.consumer),
            )
            yield (
                replace(heal, state=State.FAILED, reason=reason)
                if reason
                else replace(heal, state=State.HEALED)
            )


def _is_there(client: Client, consumer: Consumer) -> bool:
    return _content(allocation.show(client, consumer.uuid).value) == _content(consumer)


def _write(
    client: Client,
    consumer: Consumer,
    server: ServerDetail,
    is_current: Callable[[ServerDetail], bool] | None,
) -> None:
    """Only while it is as it was when that was decided; the generation guards what is between."""

    def attempt() -> None:
        there = allocation.show(client, consumer.uuid).value
        if _content(there) == _content(consumer):
            return
        if there.generation != consumer.generation:
            raise errors.PlacementError('what it holds has changed meanwhile')
        if is_current is not None and not is_current(server):
            raise errors.PlacementError('Nova has deleted or changed the server since the list')
        allocation.set(client, consumer)

    conflict.retried(attempt, max_retries=client.max_retries)


def _content(consumer: Consumer) -> tuple[Allocations, str | None, str | None]:
    return consumer.allocations, consumer.project_id, consumer.user_id
