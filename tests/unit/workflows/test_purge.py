"""A purge beside those who free themselves."""

from __future__ import annotations

from placementclient.http import Client
from placementclient.model.consumers import Consumer
from placementclient.workflows import purge
from placementclient.workflows.purge import Judge, Loss, Purge
from tests.unit.conftest import Service
from tests.unit.dialogue import CONSUMER, RP, conflict, get, put, version_document

PATH = f'/allocations/{CONSUMER}'


def test_what_somebody_else_has_freed_is_not_said_to_be_freed(
    client: Client, service: Service
) -> None:
    held = {RP: {'VCPU': 1}}
    loss = Loss(Consumer(CONSUMER, held, 'p', 'u', 1, 'INSTANCE'), held, {})
    planned = Purge((loss,), (), Judge(client, {RP: 'host'}, frozenset(), ()))
    told: list[str] = []
    exchanges = [
        version_document('1.39'),
        put(PATH, answer=conflict()),
        get(PATH, {'allocations': {}}),
    ]
    service.answer(*exchanges)
    assert len(list(purge.execute(client, planned, force=True, progress=told.append))) == 1
    assert told == [f'{CONSUMER} holds nothing here any more']
    assert [sent.line for sent in service.requests] == [each.line for each in exchanges]
