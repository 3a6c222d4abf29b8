"""Fix faults: one repair at a time, each only while things are as they were judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial

from placementclient import errors
from placementclient.api import allocation, conflict, inventory, trait
from placementclient.http import Client
from placementclient.model.repairs import AddTrait, FreeAllocations, LowerReserved, Repair
from placementclient.workflows.run import Run

#: So much older than a finished list of servers must be what the list does not explain: listing
#: takes its time, and the clocks of two machines differ.
MARGIN = timedelta(minutes=10)
#: What came of a repair that is carried out.
DONE = 'done'


class ChangedSince(errors.PlacementError):
    """A fault is not as it was when its repair was decided."""


def carry_out(
    client: Client, repairs: Iterable[Repair], run: Run, listed: datetime | None = None
) -> Iterator[str]:
    """Carry out repairs, and go on where one fails.

    :param listed: as of :func:`apply`
    :return: what came of each, in order; none is begun any more once the run is over
    """
    for repair in repairs:
        if run.is_over:
            yield 'not started'
        else:
            reason = run.failure(
                partial(apply, client, repair, listed), partial(_is_made, client, repair)
            )
            yield f'failed: {reason}' if reason else DONE


def _is_made(client: Client, repair: Repair) -> bool:
    match repair:
        case AddTrait():
            return repair.trait in trait.list_of_provider(client, repair.provider_uuid).value
        case LowerReserved():
            there = inventory.show(client, repair.provider_uuid, repair.resource_class).value
            return there.reserved <= there.total
        case FreeAllocations():
            held = allocation.show(client, repair.consumer.uuid).value.allocations
            return held.keys().isdisjoint(repair.provider_uuids)


def apply(client: Client, repair: Repair, listed: datetime | None = None) -> None:
    """Carry out a repair.

    :param listed: when the lists were finished by which it was decided who holds too much; ``None``
        if they are certainly younger than what they were compared with
    :raises ChangedSince: if it is not as it was then
    :raises errors.HTTPError: if the service refuses
    """
    match repair:
        case AddTrait():
            _add_trait(client, repair)
        case LowerReserved():
            _lower_reserved(client, repair)
        case FreeAllocations():
            _free(client, repair, listed)


def _add_trait(client: Client, repair: AddTrait) -> None:
    uuid = repair.provider_uuid

    def with_it(there: list[str]) -> list[str]:
        return there if repair.trait in there else [*there, repair.trait]

    conflict.edited(
        lambda: trait.list_of_provider(client, uuid),
        with_it,
        lambda wanted, generation: trait.set_on_provider(client, uuid, wanted, generation),
        max_retries=client.max_retries,
    )


def _lower_reserved(client: Client, repair: LowerReserved) -> None:
    uuid, name = repair.provider_uuid, repair.resource_class
    conflict.edited(
        lambda: inventory.show(client, uuid, name),
        lambda there: replace(there, reserved=min(there.reserved, there.total)),
        lambda wanted, generation: inventory.set(
            client, uuid, name, wanted.as_fields(), generation
        ),
        max_retries=client.max_retries,
    )


def _free(client: Client, repair: FreeAllocations, listed: datetime | None) -> None:
    """Guarded by the generation of the consumer, from what was judged to what is written."""
    read = allocation.show(client, repair.consumer.uuid)
    there, judged = read.value, repair.consumer
    if (there.allocations, there.generation) != (judged.allocations, judged.generation):
        raise ChangedSince(f'What consumer {judged.uuid} holds has changed since')
    if listed is not None:
        modified = parsedate_to_datetime(read.last_modified) if read.last_modified else None
        if modified is None or modified > listed - MARGIN:
            raise ChangedSince(
                f'What consumer {judged.uuid} holds may be younger than the list of servers: '
                'save a snapshot, list servers and migrations after that, and give all three'
            )
    left = {
        uuid: resources
        for uuid, resources in there.allocations.items()
        if uuid not in repair.provider_uuids
    }
    conflict.confirmed(
        lambda: allocation.set(client, replace(there, allocations=left)),
        lambda: allocation.show(client, there.uuid).value.allocations == left,
        max_retries=client.max_retries,
        deadline=0,
    )
