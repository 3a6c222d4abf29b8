"""Healing where the service goes away, or does not say what it has done."""

from __future__ import annotations

import pytest
import requests

from placementclient.http import Client
from placementclient.insight.healing import Heal, State
from placementclient.model.consumers import Consumer
from placementclient.model.servers import ServerDetail
from placementclient.workflows import heal
from placementclient.workflows.run import Run
from tests.unit.conftest import Service
from tests.unit.dialogue import CONSUMER, NOTHING, RP, fault, get, put

PATH = f'/allocations/{CONSUMER}'
SERVER = ServerDetail(CONSUMER, 'host', None, 'p', 'u')
WANTED = Consumer(CONSUMER, {RP: {'VCPU': 1}}, 'p', 'u', type='INSTANCE')
PLANNED = Heal(SERVER, State.PLANNED, consumer=WANTED)
LEFT_ALONE = Heal(SERVER, State.LEFT_ALONE)


@pytest.mark.parametrize(
    'failure', [requests.ConnectionError('away'), requests.Timeout('silent')], ids=repr
)
def test_a_service_that_is_away_is_not_waited_for_again(
    client: Client, service: Service, failure: Exception
) -> None:
    service.fail(failure)
    ended = list(heal.carry_out(client, [PLANNED, LEFT_ALONE, PLANNED], Run()))
    assert [each.state for each in ended] == [State.FAILED, State.LEFT_ALONE, State.NOT_STARTED]
    assert heal.exit_status(ended, Run()) == 1
    assert len(service.history) == client.max_retries + 1


def test_a_role_that_is_missing_is_missing_for_all(client: Client, service: Service) -> None:
    service.answer(get(PATH, {'allocations': {}}), put(PATH, answer=fault(403, 'Forbidden')))
    ended = list(heal.carry_out(client, [PLANNED, PLANNED], Run()))
    assert [each.state for each in ended] == [State.FAILED, State.NOT_STARTED]


def test_an_outcome_that_is_not_known_is_said(client: Client, service: Service) -> None:
    lost = [get(PATH, {'allocations': {}}), put(PATH, answer=fault(500, 'Broken'))]
    service.answer(*lost * (client.max_retries + 1), get(PATH, {'allocations': {}}))
    [ended] = heal.carry_out(client, [PLANNED], Run())
    assert (ended.state, ended.reason) == (
        State.FAILED,
        'Broken (HTTP 500) [req-1]; whether it was done is not known',
    )


def test_nova_is_asked_just_before_the_write(client: Client, service: Service) -> None:
    asked: list[ServerDetail] = []

    def is_current(server: ServerDetail) -> bool:
        asked.append(server)
        return len(asked) > 1

    read = get(PATH, {'allocations': {}})
    service.answer(read, read, put(PATH, answer=NOTHING))
    ended = list(heal.carry_out(client, [PLANNED, PLANNED], Run(), is_current))
    assert [(each.state, each.reason) for each in ended] == [
        (State.FAILED, 'Nova has deleted or changed the server since the list'),
        (State.HEALED, ''),
    ]
    assert asked == [SERVER, SERVER]
