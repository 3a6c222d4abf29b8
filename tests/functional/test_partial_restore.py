# SPDX-License-Identifier: Apache-2.0
"""A part of a snapshot comes back: a host that was purged by mistake, or allocations alone."""

import json

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, inventory, resource_provider, trait
from placementclient.files import disk
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from placementclient.model.servers import Server
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.nova import service
from tests.functional import clouds
from tests.functional.clouds import content, server, uuid_of

COMMAND = 'resource provider snapshot restore cloud.json'
LEFT = '-f value -c object -c state -c reason'
HOST, OTHER, CHILD, POOL = (uuid_of(name) for name in ('compute0', 'compute1', 'card', 'nfs'))


def cloud():
    """Two hosts that share a pool of disk, one with a card; servers hold a part of each."""
    card = ProviderState(Provider(CHILD, 'card', 0, HOST, HOST), {'CUSTOM_A': Inventory(4)})
    pool = ProviderState(Provider(POOL, 'nfs', 0, None, POOL), {'DISK_GB': Inventory(1000)})
    consumers = [server(f's{n}', 'compute0') for n in range(4)] + [server('s4', 'compute1')]
    parts = {HOST: {CHILD: {'CUSTOM_A': 1}, POOL: {'DISK_GB': 10}}, OTHER: {POOL: {'DISK_GB': 10}}}
    with_parts = (
        replace(c, allocations={**c.allocations, **parts[next(iter(c.allocations))]})
        for c in consumers
    )
    hosts = (clouds.host('compute0'), clouds.host('compute1'))
    return Snapshot([*hosts, card, pool], with_parts)


@pytest.fixture
def saved(client, placement, tmp_path, monkeypatch):
    """The snapshot of the morning."""
    monkeypatch.chdir(tmp_path)
    clouds.load(client, cloud())
    assert placement('resource provider snapshot save cloud.json').status == 0
    return disk.read_snapshot('cloud.json')


def purge(placement):
    assert placement('resource provider purge compute0 --force --yes').status in (0, 6)


def make(client, saved, name, uuid, parent=None):
    """Make a provider with the inventories that the one of the snapshot has."""
    resource_provider.create(client, name, uuid=uuid, parent_provider_uuid=parent)
    inventories = {n: i.as_fields() for n, i in saved.find_by_name(name).inventories.items()}
    inventory.set_all(client, uuid, inventories, 0)


def migrate(client, name, host):
    """Move a server to another host, with the disk that it has on the pool."""
    consumer = allocation.show(client, uuid_of(name)).value
    allocations = {uuid_of(host): {'VCPU': 2}, POOL: {'DISK_GB': 10}}
    owner = {'project_id': uuid_of('project'), 'user_id': uuid_of('user'), 'type': 'INSTANCE'}
    allocation.set(client, replace(consumer, allocations=allocations, **owner))


def test_restore_of_a_purged_host_keeps_what_happened_since(client, placement, saved):
    purge(placement)
    assert HOST not in clouds.captured(client).providers
    migrate(client, 's1', 'compute1')
    migrate(client, 'newcomer', 'compute1')
    allocation.delete(client, uuid_of('s2'))
    before = clouds.captured(client)
    dry = placement(f'{COMMAND} --tree compute0 --dry-run {LEFT}')
    assert dry.status == 3
    assert content(clouds.captured(client)) == content(before)
    result = placement(f'{COMMAND} --tree compute0 {LEFT}')
    moved = 'left alone it has moved or changed since, and is on compute1, nfs'
    left = [line for line in result.stdout.splitlines() if 'left alone' in line]
    assert (result.status, left) == (6, [f'consumer {uuid_of("s1")} {moved}'])
    live = clouds.captured(client)
    for uuid in HOST, CHILD:
        assert live.providers[uuid].content == saved.providers[uuid].content
    for name in 's0', 's2', 's3', 's4':
        consumer = live.consumers[uuid_of(name)]
        planned = saved.consumers[uuid_of(name)]
        assert (consumer.allocations, consumer.owner) == (planned.allocations, planned.owner)
    for name in 's1', 'newcomer':
        assert live.consumers[uuid_of(name)] == before.consumers[uuid_of(name)]
    # Again, there is nothing to do but what is left alone.
    again = placement(f'{COMMAND} --match compute0 {LEFT}')
    assert (again.status, again.stdout) == (6, f'consumer {uuid_of("s1")} {moved}\n')


@pytest.mark.parametrize('source', ['files', 'nova'])
def test_restore_leaves_out_servers_that_nova_has_deleted(
    client, placement, saved, source, tmp_path, monkeypatch
):
    purge(placement)
    present = [{'id': uuid_of(name), 'status': 'ACTIVE'} for name in ('s1', 's2')]
    deleted = {uuid_of('s0'): Server(uuid_of('s0'), status='DELETED')}
    (tmp_path / 'servers.json').write_text(json.dumps(present))
    (tmp_path / 'deleted.json').write_text(json.dumps([{'id': uuid_of('s0'), 'status': 'DELETED'}]))
    monkeypatch.setattr(service, 'servers', lambda client: present)
    monkeypatch.setattr(service, 'read_server_record', lambda client, uuid: deleted.get(uuid))
    files = '--servers servers.json --servers deleted.json'
    lists = '--servers nova' if source == 'nova' else files
    result = placement(f'{COMMAND} --tree compute0 {lists} {LEFT}')
    notes = [line for line in result.stdout.splitlines() if ' done ' not in line]
    lacking = 'not known restored, though the list of servers lacks it'
    assert result.status == 6
    assert sorted(notes) == sorted(
        [
            f'consumer {uuid_of("s0")} left alone Nova has deleted the server',
            f'consumer {uuid_of("s3")} {lacking}',
        ]
    )
    live = clouds.captured(client)
    restored = {consumer.uuid for consumer in live.consumers_on(HOST)}
    assert restored == {uuid_of(name) for name in ('s1', 's2', 's3')}


def test_a_plan_that_restores_a_tree_is_applied_and_rolled_back(client, placement, saved):
    purge(placement)
    before = content(clouds.captured(client))
    assert placement(f'{COMMAND} --tree compute0 --plan p.json').status == 0
    assert placement('resource provider reshape apply p.json --yes').status == 0
    assert content(clouds.captured(client)) == content(saved)
    assert placement('resource provider reshape rollback p.json --yes').status == 0
    assert content(clouds.captured(client)) == before


def test_restore_of_allocations_finds_providers_that_were_created_again(client, placement, saved):
    """As after a lost database: nova-compute makes its providers, children with other UUIDs."""
    clouds.emptied(client)
    make(client, saved, 'compute0', HOST)
    make(client, saved, 'compute1', OTHER)
    make(client, saved, 'card', uuid_of('another card'), HOST)
    make(client, saved, 'nfs', uuid_of('another pool'))
    trait.set_on_provider(client, HOST, ['HW_NUMA_ROOT'], 1)
    migrate_to_new = Consumer(uuid_of('s1'), {OTHER: {'VCPU': 2}}, 'p', 'u', None, 'INSTANCE')
    allocation.set(client, migrate_to_new)
    refused = placement(f'{COMMAND} --missing')
    assert (refused.status, 'Or restore only allocations: ' in refused.stderr) == (
        1,
        True,
    )
    providers = clouds.captured(client).providers
    result = placement(f'{COMMAND} --allocations -f json')
    assert result.status == 6
    left = [r['object'] for r in json.loads(result.stdout) if r['state'] == 'left alone']
    assert left == [f'consumer {uuid_of("s1")}']
    live = clouds.captured(client)
    assert {uuid: state.content for uuid, state in live.providers.items()} == {
        uuid: state.content for uuid, state in providers.items()
    }
    present = {state.uuid: state.name for state in live.providers.values()}
    for name in 's0', 's2', 's3', 's4':
        planned = saved.consumers[uuid_of(name)].allocations
        assert {present[u]: r for u, r in live.consumers[uuid_of(name)].allocations.items()} == {
            saved.providers[u].name: r for u, r in planned.items()
        }


def test_restore_leaves_allocations_without_their_provider_alone(client, placement, saved):
    clouds.emptied(client)
    make(client, saved, 'compute1', OTHER)
    result = placement(f'{COMMAND} --allocations --tree compute1 {LEFT}')
    assert (result.status, result.stdout) == (
        6,
        f'consumer {uuid_of("s4")} left alone nfs does not exist\n',
    )
