"""One edit of many providers, where others write too or the service goes away."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from placementclient.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.workflows import bulk_edit
from placementclient.workflows.bulk_edit import Edit, Inventories, State
from placementclient.workflows.run import Run
from tests.unit.conftest import Service
from tests.unit.dialogue import RP, RP2, conflict, fault, get, put

VCPU = {'VCPU': Inventory(8).as_fields()}
PCPU = {'PCPU': Inventory(4).as_fields()}
WANTED = {'VCPU': Inventory(16).as_fields()}
PATH = f'/resource_providers/{RP}/inventories'


def replaced(there: Inventories) -> Inventories:
    return WANTED


def planned(uuid: str = RP) -> Edit:
    return Edit(Provider(uuid, uuid, 1), Read(VCPU, 1), WANTED, State.PLANNED)


def body(inventories: Inventories, generation: int) -> dict[str, Any]:
    return {'inventories': inventories, 'resource_provider_generation': generation}


def ended(client: Client, *edits: Edit) -> list[tuple[State, str]]:
    return [
        (edit.state, edit.reason)
        for edit in bulk_edit.carry_out(client, list(edits), replaced, Run())
    ]


def test_what_has_come_meanwhile_is_not_dropped(client: Client, service: Service) -> None:
    exchanges = [
        put(PATH, body(WANTED, 1), conflict()),
        get(PATH, body(VCPU | PCPU, 2)),
    ]
    service.answer(*exchanges)
    assert ended(client, planned()) == [
        (State.FAILED, 'PCPU has come meanwhile and would be dropped')
    ]
    assert [sent.line for sent in service.requests] == [f'PUT {PATH}', f'GET {PATH}']


def test_what_has_come_meanwhile_is_judged(client: Client, service: Service) -> None:
    crowded = {'VCPU': VCPU['VCPU'] | {'reserved': 6}}

    def halved(there: Inventories) -> Inventories:
        return {name: {**fields, 'total': 4} for name, fields in there.items()}

    edit = Edit(Provider(RP, 'host', 1), Read(VCPU, 1), halved(VCPU), State.PLANNED)
    service.answer(put(PATH, answer=conflict()), get(PATH, body(crowded, 2)))
    [found] = bulk_edit.carry_out(client, [edit], halved, Run())
    assert (found.state, found.reason) == (
        State.FAILED,
        'VCPU: reserved 6 is above the total of 4',
    )


def test_what_is_decided_anew_is_written(client: Client, service: Service) -> None:
    fewer = {'VCPU': Inventory(4).as_fields()}
    service.answer(
        put(PATH, body(WANTED, 1), conflict()),
        get(PATH, body(fewer, 2)),
        put(PATH, body(WANTED, 2), body(WANTED, 3)),
    )
    [found] = bulk_edit.carry_out(client, [planned()], replaced, Run())
    assert (found.state, found.changes) == (State.CHANGED, {'VCPU': {'total': (4, 16)}})


def test_a_lost_answer_that_cannot_be_looked_up_is_not_known(
    client: Client, service: Service
) -> None:
    service.answer(
        *[put(PATH, answer=fault(500, 'Broken')), get(PATH, body(VCPU, 1))] * 10,
    )
    [(state, reason)] = ended(client, planned())
    assert state is State.FAILED
    assert reason == 'Broken (HTTP 500) [req-1]; whether it was done is not known'


@pytest.mark.parametrize('count', [3, 5])
def test_a_service_that_is_away_is_not_waited_for_again(
    client: Client, service: Service, count: int
) -> None:
    service.fail(requests.ConnectionError('away'))
    edits = [planned(), *(planned(RP2) for _ in range(count - 1))]
    (first, *others) = ended(client, *edits)
    assert first[0] is State.FAILED
    assert others == [(State.NOT_STARTED, '')] * (count - 1)
    assert {RP2 in request.url for request in service.history} == {False}


def test_one_that_is_refused_does_not_stop_the_others(client: Client, service: Service) -> None:
    service.answer(
        put(PATH, answer=fault(409, 'In use', 'placement.inventory.inuse')),
        put(f'/resource_providers/{RP2}/inventories', answer=body(WANTED, 2)),
    )
    states = [state for state, _ in ended(client, planned(), planned(RP2))]
    assert states == [State.FAILED, State.CHANGED]
