"""Which provider is meant by the name of a host, and a service that goes away."""

from __future__ import annotations

import pytest
import requests

from placementclient.http import Client
from placementclient.model.host_aggregates import HostAggregate
from placementclient.workflows import host_aggregates
from placementclient.workflows.host_aggregates import Change, State
from placementclient.workflows.run import Run
from tests.unit.conftest import Service
from tests.unit.dialogue import AGG, RP, RP2, get

ROOTS = ('a', 'b.x.y', 'c', 'c.x', 'd.x', 'd.y', 'e.x')


@pytest.mark.parametrize(
    ('host', 'state', 'name'),
    [
        ('a', State.ADD, 'a'),
        ('a.x', State.ADD, 'a'),
        ('b', State.ADD, 'b.x.y'),
        ('b.x.y', State.ADD, 'b.x.y'),
        ('c', State.ADD, 'c'),
        ('c.x', State.ADD, 'c.x'),
        ('c.y', State.ADD, 'c'),
        ('d.y', State.ADD, 'd.y'),
        ('d', State.UNKNOWN, ''),
        ('e.y', State.UNKNOWN, ''),
        ('f', State.UNKNOWN, ''),
    ],
)
def test_hosts_by_their_full_and_short_names(
    client: Client, service: Service, host: str, state: State, name: str
) -> None:
    records = [{'uuid': name, 'name': name, 'generation': 1} for name in ROOTS]
    service.answer(
        get('/resource_providers', {'resource_providers': records}),
        get('/resource_providers', {'resource_providers': []}),
    )
    [found] = host_aggregates.plan(client, [HostAggregate(AGG, 'az', (host,))])
    assert (found.state, found.provider_uuid) == (state, name)


@pytest.mark.parametrize(
    ('hosts', 'expected'),
    [
        (('a',), [('c', State.REMOVE), ('b.x.y', State.REMOVE)]),
        (
            ('a', 'gone'),
            [('gone', State.UNKNOWN), ('c', State.LEFT_ALONE), ('b.x.y', State.LEFT_ALONE)],
        ),
        # One of two providers is meant: nobody knows that it is not the one that would have to go.
        (('a', 'd'), [('d', State.UNKNOWN), ('c', State.LEFT_ALONE), ('b.x.y', State.LEFT_ALONE)]),
        ((), [('a', State.REMOVE), ('c', State.REMOVE), ('b.x.y', State.REMOVE)]),
    ],
)  # fmt: skip
def test_nothing_is_taken_out_where_a_host_is_not_known(
    client: Client, service: Service, hosts: tuple[str, ...], expected: list[tuple[str, State]]
) -> None:
    records = [{'uuid': name, 'name': name, 'generation': 1} for name in ROOTS]
    within = [each for name in ('a', 'c', 'b.x.y') for each in records if each['name'] == name]
    service.answer(
        get('/resource_providers', {'resource_providers': records}),
        get('/resource_providers', {'resource_providers': within}),
    )
    found = list(host_aggregates.plan(client, [HostAggregate(AGG, 'az', hosts)], remove=True))
    assert [(change.host, change.state) for change in found] == expected
    left = [change for change in found if change.state is State.LEFT_ALONE]
    for change in left:
        assert change.reason.startswith('every host of the aggregate has to be known first: ')
    ended = list(host_aggregates.carry_out(client, left, Run()))
    assert (ended, len(service.history)) == (left, 2)


def test_a_service_that_is_away_is_not_waited_for_again(client: Client, service: Service) -> None:
    service.fail(requests.ConnectionError('away'))
    aggregate = HostAggregate(AGG, 'az', ())
    changes = [
        Change(aggregate, 'a', RP, State.ADD),
        Change(aggregate, 'b', '', State.UNKNOWN, 'why'),
        Change(aggregate, 'c', RP2, State.REMOVE),
    ]
    ended = list(host_aggregates.carry_out(client, changes, Run()))
    assert [change.state for change in ended] == [
        State.FAILED,
        State.UNKNOWN,
        State.NOT_STARTED,
    ]
    assert len(service.history) == client.max_retries + 1
