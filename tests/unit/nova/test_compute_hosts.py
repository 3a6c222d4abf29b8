# SPDX-License-Identifier: Apache-2.0
"""The hosts of Nova: asked once, and matched to providers by name."""

import pytest

from placementclient.client.http import Client
from placementclient.model.services import ComputeService
from placementclient.nova import compute_hosts, service
from tests.unit.nova.sessions import Session


def test_compute_services_are_asked_once_with_a_short_timeout():
    record = {'id': 's', 'host': 'gpu1', 'state': 'up', 'status': 'enabled'}
    session = Session({'services': [record]})
    assert compute_hosts.read_compute_services(Client(session)) == [
        ComputeService('gpu1', 'enabled', 'up', id='s')
    ]
    [(url, settings)] = session.requests
    assert url == '/os-services?binary=nova-compute'
    assert settings['endpoint_filter'] == {'service_type': 'compute'}
    assert (settings['connect_retries'], settings['timeout']) == (0, 10)


@pytest.mark.parametrize('answer', [403, 404, {'services': [{'host': 1}]}, {'other': []}])
def test_a_list_of_compute_services_from_another_service_is_an_error(answer):
    with pytest.raises(service.ServiceError):
        compute_hosts.read_compute_services(Client(Session(answer)))


@pytest.mark.parametrize(
    ('roots', 'hosts', 'expected'),
    [
        (['gpu1', 'gpu2'], {'gpu1': 'up', 'gpu2': 'down'}, {'gpu1': 'gpu1'}),
        (['gpu1.lab.test'], {'gpu1': 'up'}, {'gpu1.lab.test': 'gpu1'}),
        (['gpu1'], {'GPU1.lab.test': 'up'}, {'gpu1': 'GPU1.lab.test'}),
        # The host of that very name is the one, though it is down.
        (['gpu1'], {'gpu1': 'down', 'gpu1.lab.test': 'up'}, {}),
        # A host that is another root of the plan is not this one.
        (['gpu1', 'gpu1.lab.test'], {'gpu1': 'up'}, {'gpu1': 'gpu1'}),
        # Two domains are two hosts.
        (['gpu1.a.test'], {'gpu1.b.test': 'up'}, {}),
        (['10.0.0.1'], {'10.0.0.2': 'up'}, {}),
        (['pool'], {}, {}),
    ],
)
def test_running_computes_are_matched_to_hosts_by_full_or_short_name(roots, hosts, expected):
    services = [ComputeService(host, 'enabled', state) for host, state in hosts.items()]
    assert compute_hosts.find_running_hosts(roots, services) == expected
