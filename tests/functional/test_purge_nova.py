# SPDX-License-Identifier: Apache-2.0
"""Hosts that are taken out while Nova is asked for each consumer, on the real service."""

import pytest

from placementclient.api import allocation, resource_provider
from placementclient.model.servers import Server
from placementclient.nova import service
from tests.functional import clouds
from tests.functional.clouds import content
from tests.functional.hosts import build, holder

PURGE = 'resource provider purge compute0'
SERVER = holder('server', {'compute0': {'VCPU': 1}, 'storage': {'DISK_GB': 5}})


@pytest.mark.parametrize(
    ('answer', 'status'),
    [
        (Server(SERVER.uuid, status='DELETED'), 0),
        (None, 1),
        (Server(SERVER.uuid, 'compute0', 'compute0', None, 'ACTIVE'), 1),
        (Server(SERVER.uuid, 'compute1', 'compute1', None, 'SOFT_DELETED'), 1),
        (service.ServiceRefusal('Nova refuses: Oops (HTTP 500)'), 1),
        (service.UnfilteredList('Nova cannot be asked for deleted servers'), 1),
    ],
    ids=['deleted', 'unknown', 'here', 'restorable', 'cell down', 'no filters'],
)
def test_purge_asks_nova_for_each_consumer(client, placement, monkeypatch, answer, status):
    build(client, SERVER)

    def server_record(client, uuid):
        assert uuid == SERVER.uuid
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(service, 'has_nova', lambda client: True)
    monkeypatch.setattr(service, 'read_server_record', server_record)
    monkeypatch.setattr(service, 'migrations', lambda client: [])
    monkeypatch.setattr(service, 'hypervisors', lambda client: [])
    monkeypatch.setattr(service, 'nodes', lambda client: [])
    before = content(clouds.captured(client))
    result = placement(f'{PURGE} --yes')
    assert result.status == status, result
    assert bool(resource_provider.list(client, name='compute0')) == bool(status)
    if status:
        assert content(clouds.captured(client)) == before
    else:
        assert not allocation.show(client, SERVER.uuid).value.allocations


def test_purge_goes_on_without_a_list_that_nova_does_not_give(client, placement, monkeypatch):
    build(client, SERVER)

    def silent(client):
        raise service.ServiceSilence('Nova cannot be asked: no answer')

    monkeypatch.setattr(service, 'has_nova', lambda client: True)
    for name in ('migrations', 'hypervisors', 'nodes', 'read_server_record'):
        monkeypatch.setattr(service, name, lambda client, *uuid: silent(client))
    refused = placement(f'{PURGE} --yes')
    assert refused.status == 1
    assert (
        'Nova cannot be asked: no answer. Give the list as a file: --migrations' in refused.stderr
    )
    assert placement(f'{PURGE} --force --yes').status == 0
