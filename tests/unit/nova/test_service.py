# SPDX-License-Identifier: Apache-2.0
"""The compute service: asked page by page, and only where a catalog names it."""

import itertools
import time

import pytest
from keystoneauth1 import exceptions

from placementclient.client.http import Client
from placementclient.nova import service
from tests.unit.nova.sessions import Session


def test_all_pages_are_read():
    following = 'http://elsewhere/v2.1/{}?all_tenants=1&soft_deleted=1&marker=a'
    session = Session(
        {'servers': [{'id': 'a'}], 'servers_links': [{'rel': 'next', 'href': following}]},
        {'servers': [{'id': 'b'}]},
    )
    client = Client(session, interface='internal', region_name='north')
    assert service.servers(client) == [{'id': 'a'}, {'id': 'b'}]
    first = '/servers/detail?all_tenants=1&soft_deleted=1'
    # Only the query of the link is taken: the token is sent to nobody else.
    assert [url for url, _ in session.requests] == [first, f'{first}&marker=a']
    for _, settings in session.requests:
        assert settings['endpoint_filter'] == {
            'service_type': 'compute', 'interface': 'internal', 'region_name': 'north'
        }  # fmt: skip
        assert (settings['connect_retries'], settings['timeout']) == (5, 60)
    assert {settings['microversion'] for _, settings in session.requests} == {'2.59'}


def of_version(kind, major):
    return {'service_type': kind, 'min_version': major, 'max_version': f'{major}.latest'}


@pytest.mark.parametrize(
    ('ask', 'endpoint', 'microversion'),
    [
        (service.migrations, {'service_type': 'compute'}, '2.59'),
        (service.flavors, {'service_type': 'compute'}, '2.61'),
        # From 2.69 on it tells which cells do not answer.
        (service.compute_services, {'service_type': 'compute'}, 'latest'),
        (service.projects, of_version('identity', '3'), None),
        (service.nodes, of_version('baremetal', '1'), 'latest'),
        (service.make_ports_request('s'), of_version('network', '2'), None),
        (service.device_profiles, of_version('accelerator', '2'), None),
    ],
)
def test_the_other_services_are_asked_each_in_its_way(ask, endpoint, microversion):
    session = Session({ask.key: [{'id': 'a'}]})
    assert ask(Client(session)) == [{'id': 'a'}]
    [(path, settings)] = session.requests
    assert (path, settings['endpoint_filter']) == (ask.path, endpoint)
    assert settings['microversion'] == microversion
    assert settings['microversion_service_type'] == (microversion and endpoint['service_type'])


@pytest.mark.parametrize(
    ('ask', 'key', 'following'),
    [
        (service.nodes, 'nodes', {'next': 'http://there:6385/v1/nodes/detail?marker=a'}),
        (
            service.registered_limits, 'registered_limits',
            {'links': {'self': 'x', 'next': 'http://there/v3/registered_limits?marker=a'}},
        ),
        (
            service.ports, 'ports',
            {'ports_links': [
                {'rel': 'previous', 'href': '?marker=z'},
                {'rel': 'next', 'href': 'http://there:9696/v2.0/ports?marker=a'},
            ]},
        ),
    ],
)  # fmt: skip
def test_each_service_has_its_own_link_to_the_next_page(ask, key, following):
    last = {'links': {'next': None}, 'next': None}
    session = Session({key: [{'id': 'a'}]} | following, {key: [{'id': 'b'}]} | last)
    assert ask(Client(session)) == [{'id': 'a'}, {'id': 'b'}]
    [_, (url, _)] = session.requests
    assert url.endswith('?marker=a')
    assert not url.startswith('http')


@pytest.mark.parametrize(
    ('records', 'markers', 'pages'),
    [
        # Nova adds the link to a page that is full.
        (lambda number: [], range(40), 2),
        (lambda number: [{'uuid': 'always the same'}], range(40), 2),
        (lambda number: [{'uuid': str(number)}], [7, 8] * 20, 3),
    ],
)
def test_a_list_whose_pages_repeat_is_an_error(records, markers, pages):
    links = [[{'rel': 'next', 'href': f'?marker={marker}'}] for marker in markers]
    session = Session(
        *({'migrations': records(n), 'migrations_links': link} for n, link in enumerate(links))
    )
    with pytest.raises(service.ServiceError, match='The list of migrations does not end'):
        service.migrations(Client(session))
    assert len(session.requests) == pages


@pytest.mark.parametrize(
    ('bound', 'reason'),
    [
        ({'list_limit': 1 << 20}, 'has more than 1 MiB .--os-placement-list-limit'),
        ({'list_timeout': 0.01}, 'did not end within 0.01 s .--os-placement-list-timeout'),
    ],
)
@pytest.mark.parametrize('ask', [service.migrations, service.read_server_groups])
def test_all_pages_of_a_list_are_limited_in_size_and_time(ask, bound, reason, monkeypatch):
    key = 'migrations' if ask is service.migrations else 'server_groups'
    clock = itertools.count(0, 0.001)
    monkeypatch.setattr(time, 'monotonic', lambda: next(clock))
    pages = [
        {
            key: [{'id': f'{number}', 'text': ' ' * 100_000}],
            f'{key}_links': [{'rel': 'next', 'href': f'?offset={number}'}]
            if ask is service.migrations
            else [],
        }
        for number in range(40)
    ]
    session = Session(*pages)
    with pytest.raises(service.ServiceError, match=f'The list of {key} {reason}'):
        ask(Client(session, **bound))
    assert 8 <= len(session.requests) <= 12


def test_one_server_is_asked_for():
    session = Session({'server': {'id': 'a'}}, 404, 403, 400)
    client = Client(session)
    assert service.read_server(client, 'a') == [{'id': 'a'}]
    assert service.read_server(client, 'a') == []
    # Only a 404 says that the server is gone.
    for status in (403, 400):
        with pytest.raises(service.ServiceError, match=f'HTTP {status}'):
            service.read_server(client, 'a')
    assert {url for url, _ in session.requests} == {'/servers/a'}


def test_quotas_are_asked_for_project_by_project():
    quota = {'id': 'a', 'cores': 20, 'ram': -1}
    session = Session(404, {'quota_set': quota}, 400)
    # A project that is no more is passed over, and no ID leads to another URL.
    projects = ['gone', '../servers', '', 'a', '..', 'bad']
    assert service.read_quotas(Client(session), projects) == [quota]
    assert [url for url, _ in session.requests] == [
        '/os-quota-sets/gone', '/os-quota-sets/a', '/os-quota-sets/bad'
    ]  # fmt: skip
    with pytest.raises(service.ServiceError, match='HTTP 404'):
        service.read_quotas(Client(Session(404)), ['a'])
    with pytest.raises(service.ServiceError, match='HTTP 403'):
        service.read_quotas(Client(Session({'quota_set': quota}, 403)), ['a', 'b'])


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        (exceptions.EndpointNotFound('x'), '^The service catalog has no Nova that answers$'),
        (exceptions.Unauthorized('no such user'), '^Nova cannot be asked: .*no such user'),
        (
            401,
            r'^Nova refuses: No \(HTTP 401\): the service does not accept the token, which may',
        ),
        (403, r'^Nova refuses: No \(HTTP 403\); this needs the role admin$'),
        ({}, 'Nova cannot be asked: another service'),
        ([], 'Nova cannot be asked: another service'),
        ({'servers': None}, 'Nova cannot be asked: another service'),
    ],
)
def test_a_service_without_an_answer_is_an_error(answer, reason):
    with pytest.raises(service.ServiceError, match=reason):
        service.servers(Client(Session(answer)))


def test_without_a_catalog_no_service_is_asked(client):
    with pytest.raises(service.ServiceError, match='no service catalog'):
        service.servers(client)


def test_server_groups_are_read_until_there_are_no_more():
    session = Session(
        {'server_groups': [{'id': 'a'}, {'id': 'b'}]},
        {'server_groups': [{'id': 'c'}]},
        {'server_groups': []},
    )
    assert service.read_server_groups(Client(session)) == [{'id': 'a'}, {'id': 'b'}, {'id': 'c'}]
    repeating = Session(*({'server_groups': [{'id': name}]} for name in 'abbc'))
    with pytest.raises(service.ServiceError, match='a page comes again'):
        service.read_server_groups(Client(repeating))
    assert [url for url, _ in session.requests] == [
        f'/os-server-groups?all_projects=True&offset={offset}' for offset in (0, 2, 3)
    ]
    assert {settings['microversion'] for _, settings in session.requests} == {'2.64'}


def test_server_groups_without_an_end_are_an_error():
    session = Session(*[{'server_groups': [{'id': 'a'}]}] * 2)
    with pytest.raises(service.ServiceError, match='server_groups does not end'):
        service.read_server_groups(Client(session))


def test_an_image_is_read_without_a_list_around_it():
    session = Session({'id': 'i', 'disk_format': 'raw'})
    assert service.read_image(Client(session), 'i') == {'id': 'i', 'disk_format': 'raw'}
    [(url, settings)] = session.requests
    assert (url, settings['endpoint_filter']['service_type']) == ('/images/i', 'image')


def test_all_fields_of_a_server_are_read_at_the_newest_microversion():
    session = Session({'server': {'id': 's'}}, {'server': {'id': 's'}})
    for is_whole in (True, False):
        assert service.read_server(Client(session), 's', is_whole=is_whole) == [{'id': 's'}]
    assert [settings['microversion'] for _, settings in session.requests] == ['latest', '2.59']


DELETED = {'id': 'a', 'status': 'DELETED'}
LIVING = {'id': 'a', 'status': 'ACTIVE', 'OS-EXT-STS:task_state': None}


@pytest.mark.parametrize(
    ('listed', 'shown', 'status'),
    [
        ([DELETED], 404, 'DELETED'),
        ([], 404, None),
        # On some that are gone Nova leaves another status: that proves nothing.
        ([DELETED | {'status': 'ERROR'}], 404, None),
        ([DELETED], {'server': LIVING}, 'ACTIVE'),
        ([], {'server': LIVING | {'status': 'SOFT_DELETED'}}, 'SOFT_DELETED'),
    ],
)
def test_nova_is_asked_for_the_record_of_a_server(listed, shown, status):
    session = Session({'servers': listed}, shown)
    record = service.read_server_record(Client(session), 'a')
    assert (record and record.status) == status
    assert [url for url, _ in session.requests] == [
        '/servers/detail?all_tenants=1&deleted=True&uuid=a', '/servers/a'
    ]  # fmt: skip
    # From 2.69 on a server of a cell that is down is not found.
    assert {settings['microversion'] for _, settings in session.requests} == {'2.59'}


@pytest.mark.parametrize(
    ('answers', 'error'),
    [
        (({'servers': [DELETED | {'id': 'b'}]},), service.UnfilteredList),
        (({'servers': [DELETED, LIVING | {'id': 'b'}]},), service.UnfilteredList),
        (({'servers': [DELETED]}, 400), service.ServiceRefusal),
        (({'servers': [DELETED]}, 403), service.ServiceRefusal),
        (({'servers': [DELETED]}, {'server': LIVING | {'id': 'b'}}), service.ServiceError),
        (({'servers': [DELETED]}, {'server': DELETED}), service.ServiceError),
        ((403,), service.ServiceRefusal),
    ],
)
def test_an_error_of_nova_is_no_proof_that_a_server_is_deleted(answers, error):
    with pytest.raises(error):
        service.read_server_record(Client(Session(*answers)), 'a')


def test_nova_is_not_asked_for_a_server_with_a_malformed_uuid():
    session = Session()
    assert service.read_server_record(Client(session), '../a?') is None
    assert session.requests == []
