"""Make faults good: one repair at a time, each only while things are as they were judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from placementclient import errors
from placementclient.api import allocation, conflict, inventory, trait
from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import Inventory
from placementclient.model.repairs import AddTrait, Free, LowerReserved, Repair

#: So much older than a finished list of servers must be what the list does not explain: listing
#: takes its time, and the clocks of two machines differ.
MARGIN = timedelta(minutes=10)


class Changed(errors.PlacementError):
    """What was to be mended is not as it was when that was decided."""


def apply(client: Client, repair: Repair, listed: datetime | None = None) -> None:
    """Carry out a repair.

    :param listed: when the lists were finished by which it was decided who holds too much; ``None``
        if they are certainly younger than what they were compared with
    :raises Changed: if it is not as it was then
    :raises errors.HTTPError: if the service refuses
    """
    match repair:
        case AddTrait():
            _retried(client, lambda: _add_trait(client, repair))
        case LowerReserved():
            _retried(client, lambda: _lower_reserved(client, repair))
        case Free():
            _free(client, repair, listed)


def _retried(client: Client, attempt: Callable[[], None]) -> None:
    conflict.retried(attempt, max_retries=client.max_retries)


def _add_trait(client: Client, repair: AddTrait) -> None:
    there = trait.list_of_provider(client, repair.provider_uuid)
    assert there.generation is not None
    if repair.trait not in there.value:
        wanted = [*there.value, repair.trait]
        trait.set_on_provider(client, repair.provider_uuid, wanted, there.generation)


def _lower_reserved(client: Client, repair: LowerReserved) -> None:
    there: Read[Inventory] = inventory.show(client, repair.provider_uuid, repair.resource_class)
    found = there.value
    assert there.generation is not None
    if found.reserved > found.total:
        fields = replace(found, reserved=found.total).as_fields()
        inventory.set(client, repair.provider_uuid, repair.resource_class, fields, there.generation)


def _free(client: Client, repair: Free, listed: datetime | None) -> None:
    """Guarded by the generation of the consumer, from what was judged to what is written."""
    read = allocation.show(client, repair.consumer.uuid)
    there, judged = read.value, repair.consumer
    if (there.allocations, there.generation) != (judged.allocations, judged.generation):
        raise Changed(f'What consumer {judged.uuid} holds has changed since')
    if listed is not None:
        modified = parsedate_to_datetime(read.last_modified) if read.last_modified else None
        if modified is None or modified > listed - MARGIN:
            raise Changed(
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
