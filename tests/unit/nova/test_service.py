"""The compute service: asked page by page, and only where a catalog names it."""

from __future__ import annotations

from typing import Any

import pytest
from keystoneauth1 import exceptions

from placementclient.http import Client
from placementclient.nova import service


class Answer:
    """What a request is answered."""

    def __init__(self, body: Any) -> None:
        self.json = lambda: body


class Session:
    """A session with a catalog, and recorded answers."""

    def __init__(self, *answers: Any) -> None:
        self.auth = self
        self._answers = list(answers)
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def get_access(self) -> None:
        """What only plugins of Keystone have."""

    def get(self, url: str, **settings: Any) -> Answer:
        self.requests.append((url, settings))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)


def test_all_pages_are_read() -> None:
    following = 'http://nova/v2.1/servers/detail?all_tenants=1&soft_deleted=1&marker=a'
    session = Session(
        {'servers': [{'id': 'a'}], 'servers_links': [{'rel': 'next', 'href': following}]},
        {'servers': [{'id': 'b'}]},
    )
    client = Client(session, interface='internal', region_name='north')
    assert service.servers(client) == [{'id': 'a'}, {'id': 'b'}]
    first = '/servers/detail?all_tenants=1&soft_deleted=1'
    assert [url for url, _ in session.requests] == [first, following]
    assert session.requests[0][1]['endpoint_filter'] == {
        'service_type': 'compute', 'interface': 'internal', 'region_name': 'north'
    }  # fmt: skip
    assert {settings['microversion'] for _, settings in session.requests} == {'2.59'}


def test_migrations_are_asked_for() -> None:
    session = Session({'migrations': [{'uuid': 'm'}]})
    assert service.migrations(Client(session)) == [{'uuid': 'm'}]
    assert session.requests[0][0] == '/os-migrations'


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        (exceptions.EndpointNotFound('no compute here'), 'no compute here'),
        (exceptions.Forbidden('for admins'), 'for admins'),
        ({}, 'not a compute service'),
        ([], 'not a compute service'),
        ({'servers': None}, 'not a compute service'),
    ],
)
def test_what_does_not_answer_is_told(answer: Any, reason: str) -> None:
    with pytest.raises(service.NoCompute, match=reason):
        service.servers(Client(Session(answer)))


def test_without_a_catalog_nobody_is_asked(client: Client) -> None:
    with pytest.raises(service.NoCompute, match='no catalog'):
        service.servers(client)
