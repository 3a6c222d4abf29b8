# SPDX-License-Identifier: Apache-2.0
"""Hosts that are taken out, on the real service."""

import json

import pytest
from msgspec.structs import replace

from placementclient.api import allocation, resource_provider
from placementclient.client import errors
from placementclient.client.microversion import KEEPS_CONSUMER_TYPE
from placementclient.model.servers import Server
from placementclient.nova import service
from tests.functional import clouds
from tests.functional.clouds import content, disturbed, uuid_of, watched
from tests.functional.hosts import build, holder

PURGE = 'resource provider purge compute0'
EVACUATED = holder(
    'evacuated',
    {
        'compute0': {'VCPU': 2, 'MEMORY_MB': 512},
        'compute0_gpu1': {'VGPU': 1},
        'compute1': {'VCPU': 2, 'MEMORY_MB': 512},
        'compute1_gpu1': {'VGPU': 1},
        'storage': {'DISK_GB': 10},
    },
)
UNTYPED = holder('untyped', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 3}}, kind=None)
SERVER = holder('server', {'compute0': {'VCPU': 1}, 'storage': {'DISK_GB': 5}})
RESIZED = holder('resized', {'compute0': {'VCPU': 1}}, kind=None)
MIGRATION = holder('migration', {'compute0': {'VCPU': 1}, 'compute1': {'VCPU': 1}}, 'MIGRATION')


#: Later than any allocation here.
LATER = '2100-01-01T00:00:00Z'


def lists(folder, *, status='done', server_status='ACTIVE', uuids=()):
    """Write what Nova says of evacuated servers; return the options for it."""
    servers, migrations = [], []
    for uuid in uuids or (EVACUATED.uuid, UNTYPED.uuid):
        servers.append(
            {
                'id': uuid, 'name': 'web1', 'status': server_status, 'OS-EXT-STS:task_state': None,
                'OS-EXT-SRV-ATTR:host': 'compute1', 'updated': LATER,
                'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1',
            }
        )  # fmt: skip
        migrations.append(
            {
                'uuid': uuid_of(f'{uuid} away'), 'instance_uuid': uuid, 'status': status,
                'migration_type': 'evacuation', 'created_at': LATER, 'updated_at': LATER,
                'source_compute': 'compute0', 'dest_compute': 'compute1',
            }
        )  # fmt: skip
    (folder / 'servers.json').write_text(json.dumps({'servers': servers}))
    (folder / 'migrations.json').write_text(json.dumps({'migrations': migrations}))
    return f'--servers {folder}/servers.json --migrations {folder}/migrations.json'


def names(client):
    return sorted(provider.name for provider in resource_provider.list(client))


def rows_of(result):
    """Return the providers that are deleted, and the consumers that lose something."""
    rows = json.loads(result.stdout)
    parts = {(row['object'], row['change']) for row in rows}
    return {part for part in parts if part[1] in ('delete', 'allocations')}


def test_purge_frees_only_what_is_on_the_host(client, placement, tmp_path):
    build(client, EVACUATED, UNTYPED)
    options = f'{lists(tmp_path)} --yes -f json'
    # The servers really are on the other host.
    refused = placement(f'resource provider purge compute1 {options}')
    assert (refused.status, '2 of 2 consumers may' in refused.stderr) == (1, True)
    result = placement(f'{PURGE} {options}')
    assert result.status == 0, result
    assert names(client) == ['compute1', 'compute1_gpu0', 'compute1_gpu1', 'storage']
    assert allocation.show(client, EVACUATED.uuid).value.allocations == {
        uuid_of('compute1'): {'VCPU': 2, 'MEMORY_MB': 512},
        uuid_of('compute1_gpu1'): {'VGPU': 1},
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


@pytest.mark.parametrize(
    ('consumer', 'reason', 'is_forced'),
    [
        (SERVER, 'no list of servers was given; it would lose all its VCPU', True),
        (UNTYPED, 'no list of servers was given', True),
        (
            MIGRATION,
            'it is a migration, and no list of migrations was given: if it is over, purge with '
            '--gone ',
            False,
        ),
    ],
    ids=['server', 'on another host too', 'migration'],
)
def test_purge_frees_nobody_without_evidence(
    client, placement, tmp_path, consumer, reason, is_forced
):
    build(client, consumer)
    before = content(clouds.captured(client))
    for options in ('--yes', '--dry-run'):
        result = placement(f'{PURGE} {options}')
        assert (result.status, '1 of 1 consumer may still need' in result.stderr) == (1, True)
        (note,) = (line for line in result.stdout.splitlines() if ' refused ' in line)
        assert f'consumer {consumer.uuid} ' in note
        assert reason in note
        assert ('(--force purges it anyway)' in note) == is_forced
        assert 'audit' not in result.stderr
    assert placement(f'{PURGE} --plan {tmp_path}/plan.json').status == 1
    assert not (tmp_path / 'plan.json').exists()
    assert content(clouds.captured(client)) == before
    done = placement(f'{PURGE} --force --yes -f json')
    assert 'The migrations are not known: --force also frees' in done.stderr
    assert done.status == (0 if is_forced else 1)
    note = json.loads(done.stdout)[-1]
    assert note['state'] == ('overruled' if is_forced else 'refused')
    if consumer is SERVER:
        assert note['reason'].endswith(
            'it keeps DISK_GB. If its server is gone, free that too: placement resource provider '
            f'allocation delete {SERVER.uuid}'
        )
    assert ('compute0' in names(client)) != is_forced
    if not is_forced:
        assert content(clouds.captured(client)) == before
        # The operator's word is the way out.
        assert placement(f'{PURGE} --gone {consumer.uuid} --yes').status == 0
        assert 'compute0' not in names(client)


@pytest.mark.parametrize(
    ('settings', 'reason'),
    [
        ({'status': 'accepted'}, 'its migration is in progress: accepted'),
        ({'status': 'pre-migrating'}, 'its migration is in progress: pre-migrating'),
        ({'server_status': 'REBUILD'}, 'it is under way: rebuild'),
        ({'server_status': 'VERIFY_RESIZE'}, 'a resize waits to be confirmed or reverted'),
    ],
)
def test_purge_refuses_a_host_while_a_server_moves(client, placement, tmp_path, settings, reason):
    """Neither its source nor its target may go, whatever is forced."""
    build(client, EVACUATED)
    before = content(clouds.captured(client))
    options = lists(tmp_path, uuids=[EVACUATED.uuid], **settings)
    for host in ('compute0', 'compute1'):
        for more in ('', '--force', f'--force --gone {EVACUATED.uuid}'):
            result = placement(f'resource provider purge {host} {options} {more} --yes')
            assert result.status == 1
            assert reason in result.stdout or result.stderr.startswith('--gone: ')
    assert content(clouds.captured(client)) == before


def test_a_refused_purge_prints_its_refusals_on_a_terminal(
    client, placement, monkeypatch, tmp_path
):
    build(client, SERVER, EVACUATED)
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    options = lists(tmp_path, uuids=[EVACUATED.uuid], server_status='REBUILD')
    result = placement(f'{PURGE} {options} --yes')
    named = SERVER.uuid in result.stdout and f'{EVACUATED.uuid} (web1): refused' in result.stdout
    assert (result.status, named) == (1, True), result
    assert 'free all its allocations: --force' in result.stderr


@pytest.mark.parametrize('is_live', [False, True])
def test_purge_keeps_a_deleted_server_that_a_node_of_ironic_still_has(
    client, placement, tmp_path, monkeypatch, is_live
):
    build(client, SERVER)
    node = {
        'uuid': uuid_of('compute0'), 'instance_uuid': SERVER.uuid, 'maintenance': False,
        'power_state': 'power on', 'resource_class': 'gold', 'provision_state': 'error',
    }  # fmt: skip
    (tmp_path / 'nodes.json').write_text(json.dumps({'nodes': [node]}))
    options = lists(tmp_path, uuids=[SERVER.uuid], server_status='DELETED')
    if is_live:
        deleted = Server(SERVER.uuid, status='DELETED')
        monkeypatch.setattr(service, 'has_nova', lambda client: True)
        monkeypatch.setattr(service, 'read_server_record', lambda client, uuid: deleted)
        for name in ('read_server', 'migrations', 'hypervisors', 'nodes'):
            records = [node] if name == 'nodes' else []
            monkeypatch.setattr(service, name, lambda *_, records=records: records)
        options = ''
    else:
        options += f' --nodes {tmp_path}/nodes.json'
    refused = placement(f'{PURGE} {options} --yes')
    assert (refused.status, 'a node of Ironic still has it' in refused.stdout) == (1, True), refused
    assert allocation.show(client, SERVER.uuid).value.allocations
    assert placement(f'{PURGE} {options} --gone {SERVER.uuid} --yes').status == 0


def test_a_dry_run_of_purge_shows_the_changes_and_writes_nothing(client, placement, tmp_path):
    build(client, EVACUATED)
    before = content(clouds.captured(client))
    with watched(client) as requests:
        result = placement(f'{PURGE} {lists(tmp_path)} --dry-run -f json')
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
    assert result.stderr == ('3 providers to delete; 1 allocation to free (exit 3)\n')
    assert content(clouds.captured(client)) == before


@pytest.mark.parametrize('mode', ['--dry-run', '--yes'])
def test_a_refused_purge_lists_no_change_and_says_who_is_needed(client, placement, tmp_path, mode):
    build(client, EVACUATED, SERVER, MIGRATION, UNTYPED)
    options = lists(tmp_path, uuids=[EVACUATED.uuid])
    migrations = json.loads((tmp_path / 'migrations.json').read_text())
    moving = {'uuid': MIGRATION.uuid, 'instance_uuid': SERVER.uuid, 'status': 'running'}
    migrations['migrations'].append(migrations['migrations'][0] | moving)
    (tmp_path / 'migrations.json').write_text(json.dumps(migrations))
    third = holder('third', {'compute0': {'VCPU': 1}})
    allocation.set(client, third)
    result = placement(f'{PURGE} {options} {mode} -f json')
    states = {row['object']: row['state'] for row in json.loads(result.stdout)}
    assert states == {
        f'consumer {EVACUATED.uuid}': 'not needed',
        **{f'consumer {c.uuid}': 'refused' for c in (SERVER, MIGRATION, UNTYPED, third)},
    }
    reasons = {row['object']: row['reason'] for row in json.loads(result.stdout)}
    assert reasons[f'consumer {EVACUATED.uuid}'] == 'its server is on compute1 now'
    assert (result.status, result.stderr) == (
        1,
        'Refused: 4 of 5 consumers may still need compute0. Nothing is deleted (exit 1)\n'
        'Next:\n'
        '  1. Wait for the migrations, or confirm or revert them: openstack server migration list\n'
        '  2. If the host is alive, migrate its servers: placement resource provider drain plan '
        'compute0\n'
        '  3. If it is dead, evacuate each of them: openstack server evacuate SERVER\n'
        '  4. For consumers that you know to be gone, purge with --gone UUID\n'
        '  5. As a last resort, with no migration under way, free all its allocations: --force\n',
    )


@pytest.mark.parametrize(
    ('failure', 'status'), [(KeyboardInterrupt(), 130), (errors.Unauthorized(401, 'No'), 6)]
)
def test_purge_reports_what_was_done_when_it_is_interrupted_or_fails(
    client, placement, tmp_path, monkeypatch, failure, status
):
    build(client, EVACUATED, UNTYPED)
    delete = resource_provider.delete

    def failing(client, provider_uuid):
        if provider_uuid == uuid_of('compute0'):
            raise failure
        delete(client, provider_uuid)

    monkeypatch.setattr(resource_provider, 'delete', failing)
    result = placement(f'{PURGE} {lists(tmp_path)} --yes -f json')
    assert result.status == status
    if status == 130:
        assert result.stderr.startswith('Interrupted: the last change, PUT /resource_providers/')
    else:
        assert result.stderr == 'No (HTTP 401)\n1 failed: compute0 (exit 6)\n'
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


def test_purge_keeps_a_consumer_that_leaves_the_other_host_meanwhile(client, placement, tmp_path):
    build(client, UNTYPED)

    def shrink():
        live = allocation.show(client, UNTYPED.uuid).value
        here = {uuid_of('compute0'): {'VCPU': 1}}
        allocation.set(client, replace(live, allocations=here))

    with disturbed(client, 'POST', '/allocations', shrink):
        result = placement(f'{PURGE} {lists(tmp_path)} --yes')
    assert (result.status, 'it has changed since it was checked' in result.stderr) == (3, True)
    assert allocation.show(client, UNTYPED.uuid).value.allocations


@pytest.mark.parametrize(
    ('provider', 'consumer'),
    [('compute0_gpu1', EVACUATED), ('storage', SERVER), ('storage', EVACUATED)],
)
def test_purge_keeps_providers_that_servers_on_other_hosts_use(
    client, placement, tmp_path, provider, consumer
):
    build(client, consumer)
    before = content(clouds.captured(client))
    host = 'compute0' if consumer is SERVER else 'compute1'
    options = lists(tmp_path, uuids=[consumer.uuid])
    text = (tmp_path / 'servers.json').read_text()
    (tmp_path / 'servers.json').write_text(text.replace('compute1', host))
    command = f'resource provider purge {provider}'
    if provider == 'compute0_gpu1':
        options = ''
    for mode in ('--yes', '--dry-run'):
        result = placement(f'{command} {options} {mode}')
        assert (
            result.status,
            f'may still need {provider}. Nothing is deleted' in result.stderr,
        ) == (1, True), result
    assert content(clouds.captured(client)) == before
    assert placement(f'{command} --force --yes').status == 0
    assert provider not in names(client)
    assert allocation.show(client, consumer.uuid).value.allocations


@pytest.mark.parametrize(
    ('status', 'is_freed'), [('finished', False), ('confirmed', True), ('error', True)]
)
@pytest.mark.parametrize('kind', [None, 'MIGRATION'])
def test_purge_frees_what_a_migration_holds_that_is_over(
    client, placement, tmp_path, status, is_freed, kind
):
    hold = holder('hold', {'compute0': {'VCPU': 2}}, kind)
    server = holder('server', {'compute1': {'VCPU': 2}})
    build(client, hold, server)
    options = lists(tmp_path, uuids=[server.uuid], status=status)
    text = (tmp_path / 'migrations.json').read_text()
    (tmp_path / 'migrations.json').write_text(
        text.replace(uuid_of(f'{server.uuid} away'), hold.uuid)
    )
    result = placement(f'{PURGE} {options} --yes')
    assert result.status == (0 if is_freed else 1), result
    forced = placement(f'{PURGE} {options} --force --yes')
    assert ('openstack server resize confirm' in forced.stdout) != is_freed


@pytest.mark.slow
def test_purge_of_a_pool_reads_its_many_hosts_with_few_requests(client, placement):
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


def test_purge_keeps_consumer_types_below_the_version_that_has_them(client, placement, tmp_path):
    build(client, EVACUATED, UNTYPED)
    command = f'{PURGE} {lists(tmp_path)} --yes'
    assert placement(command, microversion=str(KEEPS_CONSUMER_TYPE)).status == 0
    assert allocation.show(client, EVACUATED.uuid).value.type == 'INSTANCE'
    assert allocation.show(client, UNTYPED.uuid).value.type is None
