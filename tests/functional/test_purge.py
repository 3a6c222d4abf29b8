"""Hosts that are taken out, on the real service."""

import json

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client import errors
from placementclient.client.microversion import KEEPS_CONSUMER_TYPE
from tests.functional import clouds
from tests.functional.clouds import content, disturbed, uuid_of, watched
from tests.functional.hosts import build, holder
from tests.functional.lifecycles import lifecycle
from tests.logged import without_request_id

PURGE = 'resource provider purge compute0'
EVACUATED = holder(
    'evacuated',
    {
        'compute0': {'VCPU': 2, 'MEMORY_MB': 512},
        'compute0_gpu1': {'VGPU': 1},
        'compute1': {'VCPU': 2, 'MEMORY_MB': 512},
        'storage': {'DISK_GB': 10},
    },
)
UNTYPED = holder('untyped', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 3}}, kind=None)
SERVER = holder('server', {'compute0': {'VCPU': 1}, 'storage': {'DISK_GB': 5}})
RESIZED = holder('resized', {'compute0': {'VCPU': 1}}, kind=None)
MIGRATION = holder('migration', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 1}}, 'MIGRATION')


def names(client):
    return sorted(provider.name for provider in resource_provider.list(client))


def rows_of(result):
    """Return the providers that are deleted, and the consumers that lose something."""
    rows = json.loads(result.stdout)
    parts = {(row['object'], row['change']) for row in rows}
    return {part for part in parts if part[1] in ('delete', 'allocations')}


def test_only_what_is_on_the_host_goes(client, placement):
    build(client, EVACUATED, UNTYPED)
    with watched(client) as requests:
        result = placement(f'{PURGE} --yes -f json')
    assert result.status == 0, result
    assert names(client) == ['compute1', 'compute1_gpu0', 'compute1_gpu1', 'storage']
    assert allocation.show(client, EVACUATED.uuid).value.allocations == {
        uuid_of('compute1'): {'VCPU': 2, 'MEMORY_MB': 512},
        uuid_of('storage'): {'DISK_GB': 10},
    }
    retained = [allocation.show(client, consumer.uuid).value for consumer in (EVACUATED, UNTYPED)]
    assert [consumer.type for consumer in retained] == ['INSTANCE', None]
    assert all(consumer.project_id == EVACUATED.project_id for consumer in retained)
    assert rows_of(result) == {
        ('compute0', 'delete'),
        ('compute0_gpu0', 'delete'),
        ('compute0_gpu1', 'delete'),
        *((f'consumer {consumer.uuid}', 'allocations') for consumer in (EVACUATED, UNTYPED)),
    }
    writes = [(method, path.rpartition('/')[2]) for method, path in requests if method != 'GET']
    gone = map(uuid_of, ('compute0_gpu0', 'compute0_gpu1', 'compute0'))
    proofs = [('PUT', 'aggregates')] * 3
    deletions = [('DELETE', uuid) for uuid in gone]
    assert writes[0] == ('POST', 'allocations')
    assert writes[1::2] == proofs
    assert sorted(writes[2:6:2]) == sorted(deletions[:2])
    assert writes[6:] == deletions[2:]


@pytest.mark.parametrize(
    ('consumer', 'reason', 'forced'),
    [
        (SERVER, 'would be left with nothing but shared resources', True),
        (MIGRATION, 'is a migration: confirm or revert it first', False),
    ],
    ids=['only storage left', 'migration'],
)
def test_what_would_be_lost_is_refused(client, placement, tmp_path, consumer, reason, forced):
    build(client, EVACUATED, consumer)
    before = content(clouds.captured(client))
    for options in ('--yes', '--dry-run'):
        result = placement(f'{PURGE} {options}')
        assert (result.status, f'Refused: 1 consumer: {reason}' in result.stderr) == (1, True)
        (note,) = (line for line in result.stdout.splitlines() if ' refused ' in line)
        assert f'consumer {consumer.uuid} ' in note
        assert reason in note
        assert ('(--force does it)' in note) == forced
        assert ('"resource provider audit --fix" frees it' in result.stderr) == forced
    assert placement(f'{PURGE} --plan {tmp_path}/plan.json').status == 1
    assert not (tmp_path / 'plan.json').exists()
    assert content(clouds.captured(client)) == before
    done = placement(f'{PURGE} --force --yes -f json')
    assert done.status == (0 if forced else 1)
    note = json.loads(done.stdout)[-1]
    assert note['state'] == ('overruled' if forced else 'refused')
    leaked = 'leaked allocations if its server is gone: "resource provider allocation delete '
    assert (leaked in note['reason']) == forced
    assert ('compute0' in names(client)) != forced
    if not forced:
        assert content(clouds.captured(client)) == before


def test_a_dry_run_says_it_and_does_nothing(client, placement):
    build(client, EVACUATED)
    before = content(clouds.captured(client))
    with watched(client) as requests:
        result = placement(f'{PURGE} --dry-run -f json')
    assert result.status == 3
    assert {method for method, _ in requests} == {'GET'}
    rows = {(row['object'], row['change']): row for row in json.loads(result.stdout)}
    freed = rows[f'consumer {EVACUATED.uuid}', 'allocations']
    assert (freed['before'], freed['after']) == (
        {'compute0': {'VCPU': 2, 'MEMORY_MB': 512}, 'compute0_gpu1': {'VGPU': 1}},
        None,
    )
    assert rows['compute0', 'delete']['before'] == {'parent': None}
    assert {row['state'] for row in rows.values()} == {'planned'}
    assert result.stderr == (
        '0 providers to create, 0 to change, 3 to delete; 1 allocation to free (exit 3)\n'
    )
    assert content(clouds.captured(client)) == before


@pytest.mark.parametrize(
    ('failure', 'status'), [(KeyboardInterrupt(), 130), (errors.Unauthorized(401, 'No'), 6)]
)
def test_what_is_done_is_told_whatever_ends_it(client, placement, monkeypatch, failure, status):
    build(client, EVACUATED, UNTYPED)
    delete = resource_provider.delete

    def failing(client, provider_uuid):
        if provider_uuid == uuid_of('compute0'):
            raise failure
        delete(client, provider_uuid)

    monkeypatch.setattr(resource_provider, 'delete', failing)
    result = placement(f'{PURGE} --yes -f json')
    assert result.status == status
    if status == 130:
        assert result.stderr.startswith('Interrupted: the last change, PUT /resource_providers/')
    else:
        assert without_request_id(result.stderr) == 'No (HTTP 401)\n1 failed: compute0 (exit 6)\n'
    rows = json.loads(result.stdout)
    done = {
        (row['object'], row['change'])
        for row in rows
        if row['state'] == 'done' and row['change'] in ('delete', 'allocations')
    }
    assert done == {
        ('compute0_gpu0', 'delete'),
        ('compute0_gpu1', 'delete'),
        *((f'consumer {consumer.uuid}', 'allocations') for consumer in (EVACUATED, UNTYPED)),
    }
    assert rows[-1]['state'] == 'not known' if status == 130 else 'failed'


def test_a_consumer_that_leaves_the_other_host_meanwhile_is_not_left_with_nothing(
    client, placement
):
    build(client, UNTYPED)

    def shrink():
        live = allocation.show(client, UNTYPED.uuid).value
        here = {uuid_of('compute0'): {'VCPU': 1}}
        allocation.set(client, replace(live, allocations=here))

    with disturbed(client, 'POST', '/allocations', shrink):
        result = placement(f'{PURGE} --yes')
    assert (result.status, 'would be left with nothing' in result.stderr) == (1, True)
    assert allocation.show(client, UNTYPED.uuid).value.allocations


@pytest.mark.parametrize(
    ('provider', 'consumer', 'users'),
    [
        ('compute0_gpu1', EVACUATED, {'compute0'}),
        ('storage', SERVER, {'compute0'}),
        ('storage', EVACUATED, {'compute0', 'compute1', 'compute0_gpu1'}),
    ],
)
def test_what_live_servers_use_is_not_taken_from_them(client, placement, provider, consumer, users):
    build(client, consumer)
    before = content(clouds.captured(client))
    command = f'resource provider purge {provider}'
    for options in ('--yes', '--dry-run'):
        result = placement(f'{command} {options}')
        message = 'Refused: 1 consumer: would go on to use it: it holds something on '
        named = result.stderr.partition(message)[2].partition('\n')[0]
        assert (result.status, set(named.split(', '))) == (1, users), result
    assert content(clouds.captured(client)) == before
    assert placement(f'{command} --force --yes').status == 0
    assert provider not in names(client)
    assert allocation.show(client, consumer.uuid).value.allocations


def test_a_plan_is_applied_verified_and_taken_back(client, placement, tmp_path):
    """Providers come back with all that they had, and consumers with their owners and types."""
    build(client, EVACUATED, UNTYPED, RESIZED)
    path = str(tmp_path / 'plan.json')
    assert placement(f'{PURGE} --force --plan {path}').status == 0
    assert 'compute0' in names(client)
    lifecycle(placement, client, path)


@pytest.mark.parametrize(
    ('status', 'kind', 'ends'),
    [('finished', None, 1), ('confirmed', None, 0), ('confirmed', 'MIGRATION', 0)],
)
def test_a_migration_is_known_by_what_nova_lists(client, placement, tmp_path, status, kind, ends):
    consumer = holder('of a migration', {'compute0': {'VCPU': 1}}, kind)
    build(client, consumer)
    listed = {'uuid': consumer.uuid, 'instance_uuid': SERVER.uuid, 'status': status}
    path = tmp_path / 'migrations.json'
    path.write_text(json.dumps({'migrations': [listed]}))
    result = placement(f'{PURGE} --migrations {path} --force --yes')
    assert result.status == ends, result
    assert ('is a migration: confirm' in result.stderr) == (status == 'finished')


@pytest.mark.slow
def test_many_hosts_of_a_pool_are_asked_for_at_once(client, placement):
    hosts = 20
    users = [
        holder(f'server{n}', {f'compute{n}': {'VCPU': 1}, 'storage': {'DISK_GB': 1}})
        for n in range(hosts)
    ]
    build(client, *users, hosts=hosts)
    with watched(client) as requests:
        assert placement('resource provider purge storage --force --yes').status == 0
    assert not any(path.endswith('/traits') for _, path in requests if 'compute' in path)
    assert len(requests) < 3 * hosts


def test_below_the_version_of_types_they_stay(client, placement):
    build(client, EVACUATED, UNTYPED)
    assert placement(f'{PURGE} --yes', microversion=str(KEEPS_CONSUMER_TYPE)).status == 0
    assert allocation.show(client, EVACUATED.uuid).value.type == 'INSTANCE'
    assert allocation.show(client, UNTYPED.uuid).value.type is None
