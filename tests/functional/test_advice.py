# SPDX-License-Identifier: Apache-2.0
"""Advice is never a circle: what a finding or a refusal names does what it says, in one step."""

import json
import re
import shlex

import pytest

from placementclient.api import allocation, resource_provider
from tests.functional.clouds import uuid_of
from tests.functional.hosts import build, holder

LATER = '2100-01-01T00:00:00Z'
HELD = {'VCPU': 2, 'MEMORY_MB': 512}
#: What a finding says to type; the place of a host is left open.
TYPED = re.compile(r'resource provider (?:audit|allocation) --?[^.;:]+|resource provider [^.;:]+')


def server(name, host, status='ACTIVE', **more):
    """A server as the API lists it."""
    return {
        'id': uuid_of(name), 'status': status, 'OS-EXT-STS:task_state': None,
        'OS-EXT-SRV-ATTR:host': host, 'OS-EXT-SRV-ATTR:hypervisor_hostname': host,
        'updated': LATER, **more,
    }  # fmt: skip


def migration(name, server, source, target, status='completed'):
    return {
        'uuid': uuid_of(name), 'instance_uuid': uuid_of(server), 'status': status,
        'migration_type': 'live-migration', 'source_compute': source, 'dest_compute': target,
        'created_at': LATER, 'updated_at': LATER,
    }  # fmt: skip


LEAK = holder('s', {'compute0': HELD, 'storage': {'DISK_GB': 1}})
DOUBLED = holder('s', {'compute0': HELD, 'compute1': HELD})
HOLD = holder('m', {'compute0': HELD}, None)
MOVED = migration('m', 's', 'compute0', 'compute1')


@pytest.fixture
def audit(placement, tmp_path):
    """Audit with the lists of Nova; return the findings by their IDs."""

    def run(servers, migrations, *options):
        for name, records in (('servers', servers), ('migrations', migrations)):
            (tmp_path / f'{name}.json').write_text(json.dumps({name: records}))
        lists = (f'--{name} {tmp_path}/{name}.json' for name in ('servers', 'migrations'))
        result = placement(f'resource provider audit {" ".join((*lists, *options))} -f json')
        assert result.status in (0, 3), result
        return {row['id']: row for row in json.loads(result.stdout)}

    return run


@pytest.mark.parametrize(
    ('consumers', 'id', 'servers', 'migrations'),
    [
        ([LEAK], 'orphan', [], []),
        ([LEAK], 'orphan', [server('s', 'compute0', 'DELETED')], []),
        ([HOLD], 'orphan', [], []),
        ([DOUBLED], 'doubled', [server('s', 'compute1')], []),
        ([DOUBLED], 'doubled', [server('s', 'compute1')], [MOVED]),
        ([DOUBLED], 'doubled', [server('s', 'compute1', updated=None)], [MOVED]),
        ([DOUBLED], 'doubled', [server('s', 'compute1', 'ERROR')], [MOVED]),
        ([DOUBLED], 'doubled', [server('s', 'compute0')], [MOVED]),
        ([DOUBLED], 'doubled', [server('s', 'compute9')], []),
        (
            [DOUBLED],
            'left-by-evacuation',
            [server('s', 'compute1')],
            [MOVED | {'migration_type': 'evacuation'}],
        ),
        ([LEAK], 'left-by-shelving', [server('s', None, 'SHELVED_OFFLOADED')], []),
        (
            [LEAK],
            'left-by-shelving',
            [server('s', None, 'SHELVED_OFFLOADED', updated=None)],
            [],
        ),
        ([HOLD], 'left-by-migration', [], [MOVED]),
        ([HOLD], 'left-by-migration', [server('s', 'compute1')], [MOVED]),
        (
            [HOLD, holder('s', {'compute1': HELD})],
            'left-by-migration',
            [server('s', 'compute1')],
            [MOVED],
        ),
    ],
)
def test_the_advice_of_an_audit_ends_the_finding(
    client, placement, audit, consumers, id, servers, migrations
):
    build(client, *consumers)
    finding = audit(servers, migrations)[id]
    commands = [finding['command']] if finding['command'] else TYPED.findall(finding['reason'])
    assert commands
    for command in commands:
        words = shlex.split(command.removeprefix('placement '))
        if 'HOST' in words:
            # Who has looked knows where the server runs.
            runs_on = servers[0]['OS-EXT-SRV-ATTR:host']
            words[words.index('HOST')] = 'compute1' if runs_on == 'compute0' else 'compute0'
        result = placement(
            *words, *(['--yes'] if 'audit' in words and '--yes' not in words else [])
        )
        assert result.status in (0, 3), result
    assert id not in audit(servers, migrations)


def test_the_list_of_deleted_servers_is_the_next_step_of_a_leak(client, placement, audit, tmp_path):
    build(client, LEAK)
    reason = audit([], [])['orphan']['reason']
    assert 'as one more --servers: openstack server list --all-projects --deleted' in reason
    deleted = tmp_path / 'deleted.json'
    deleted.write_text(json.dumps([{'ID': LEAK.uuid, 'Name': 's', 'Status': 'DELETED'}]))
    command = audit([], [], '--servers', str(deleted))['orphan']['command']
    assert placement(*shlex.split(command)[1:]).status == 0
    assert not allocation.show(client, LEAK.uuid).value.allocations


@pytest.mark.parametrize(
    ('consumer', 'options'),
    [
        (LEAK, '--gone UUID'),
        (LEAK, '--force'),
        (DOUBLED, '--gone UUID'),
        (DOUBLED, '--force'),
        (HOLD, '--gone UUID'),
        (holder('typed', {'compute0': HELD}, 'MIGRATION'), '--gone UUID'),
    ],
)
def test_the_advice_of_a_refused_purge_ends_the_refusal(client, placement, consumer, options):
    build(client, consumer)
    purge = 'resource provider purge compute0 --yes'
    refused = placement(purge)
    assert (refused.status, options.split()[0] in refused.stderr) == (1, True)
    assert placement(f'{purge} {options.replace("UUID", consumer.uuid)}').status == 0
    assert 'compute0' not in {provider.name for provider in resource_provider.list(client)}
    left = allocation.show(client, consumer.uuid).value.allocations
    if options == '--force' and consumer is LEAK:
        assert left == {uuid_of('storage'): {'DISK_GB': 1}}
        assert placement(f'resource provider allocation delete {consumer.uuid}').status == 0
