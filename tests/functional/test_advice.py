# SPDX-License-Identifier: Apache-2.0
"""Advice is never a circle: what a finding or a refusal names does what it says, in one step."""

import json
import re
import shlex
from pathlib import Path

import pytest

from placementclient.api import allocation, resource_provider
from tests.functional import clouds
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


#: What only ``GET /servers/detail`` has.
DETAILS = {
    'OS-EXT-STS:vm_state': 'resized', 'tenant_id': 'p', 'user_id': 'u', 'image': '',
    'flavor': {'original_name': 'm', 'vcpus': 2, 'ram': 512, 'disk': 0, 'extra_specs': {}},
}  # fmt: skip
LEAK = holder('s', {'compute0': HELD, 'storage': {'DISK_GB': 1}})
DOUBLED = holder('s', {'compute0': HELD, 'compute1': HELD})
HOLD = holder('m', {'compute0': HELD}, None)
ON_NEW = holder('s', {'compute1': HELD})
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
            [HOLD, ON_NEW],
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


@pytest.mark.parametrize(
    'hold',
    [
        holder('m', {'compute0': HELD, 'compute1': {'VCPU': 1}}, None),
        holder('m', {'compute0': HELD}, 'MIGRATION'),
    ],
    ids=['untyped', 'typed'],
)
def test_a_host_with_an_unconfirmed_resize_is_empty_once_the_resize_is_confirmed(
    client, placement, tmp_path, monkeypatch, hold
):
    build(client, hold, holder('s', {'compute1': HELD}))
    monkeypatch.chdir(tmp_path)
    drained = placement('resource provider drain plan compute0')
    *_, step, again = drained.stderr.splitlines()
    assert drained.status == 5
    assert again.startswith('  4. Plan again with --requests nova, or --requests servers.json ')
    lists = {
        'servers': [server('s', 'compute1', 'VERIFY_RESIZE', **DETAILS)],
        'migrations': [migration('m', 's', 'compute0', 'compute1', 'finished')],
    }
    for name, records in lists.items():
        Path(f'{name}.json').write_text(json.dumps({name: records}))
    confirm = f'openstack server resize confirm {uuid_of("s")}'
    told = placement(*shlex.split(step)[2:])
    assert (told.status, told.stdout) == (0, '')
    assert f'{uuid_of("m")} is a migration of the server {uuid_of("s")}: ' in told.stderr
    assert f' (or reverted): {confirm}\n' in told.stderr
    of_server = placement(*shlex.split(step)[2:-1], uuid_of('s'))
    assert f' (or reverted): {confirm}\n' in of_server.stderr
    alone = placement(*shlex.split(step)[2:5], '--servers', 'servers.json', *shlex.split(step)[-2:])
    is_told = f'{uuid_of("m")} is a migration that no list has: give --migrations\n' in alone.stderr
    assert is_told == (hold.type is not None), alone
    # A plan that knows the lists says it at once.
    Path('requests.json').write_text(json.dumps(lists | {'aggregates': [], 'server_groups': []}))
    known = placement('resource provider drain plan compute0 --requests requests.json')
    assert (known.status, f'Next:\n  1. {confirm}\n' in known.stderr) == (5, True), known


NEW = uuid_of('the new host')
REPLACE = 'resource provider replace compute0'
ON_BOTH = holder('s', {'compute0': {'VCPU': 2}, 'compute1': {'VCPU': 1}})
ELSEWHERE = holder('t', {'compute1': {'VCPU': 1}})
#: What a message has in capitals, for the operator to fill in.
PLACES = {'CONSUMER': ON_BOTH.uuid, 'PROVIDER': 'compute1', 'FILE': 'plan.json', 'AMOUNT': '2'}


def last_command(reason):
    """Return the words of the command at the end of a reason."""
    return shlex.split(f'resource provider{reason.rpartition("resource provider")[2]}')


def advised(message):
    """Return the words of the command that a message names in quotes, without its places."""
    command = message.partition('"placement ')[2].partition('"')[0]
    return [PLACES.get(word, word) for word in shlex.split(command)]


@pytest.mark.parametrize(
    ('consumers', 'options', 'advice'),
    [
        ([LEAK], f'--uuid {NEW} --name compute1', ['--name', 'compute7']),
        ([LEAK, ELSEWHERE], '--with compute1 --name compute1', ['--merge']),
        ([LEAK], f'--uuid {NEW} --hypervisors FILE', ['--compute-node-exists']),
    ],
)
def test_the_option_that_a_refused_replacement_names_lets_it_go_on(
    client, placement, tmp_path, consumers, options, advice
):
    build(client, *consumers)
    listed = tmp_path / 'hypervisors.json'
    listed.write_text(json.dumps([{'id': uuid_of('compute0'), 'hypervisor_hostname': 'compute0'}]))
    command = f'{REPLACE} {options.replace("FILE", str(listed))} --yes'.split()
    refused = placement(*command)
    assert (refused.status, advice[0] in refused.stderr) == (1, True), refused
    assert placement(*command, *advice).status == 0
    assert uuid_of('compute0') not in clouds.captured(client).providers


def test_a_consumer_on_both_hosts_gives_one_away_and_the_replacement_goes_on(client, placement):
    build(client, ON_BOTH)
    replacement = f'{REPLACE} --with compute1 --name compute1 --merge --yes'
    refused = placement(replacement)
    assert (refused.status, 'holds VCPU on compute0 and on compute1' in refused.stderr) == (1, True)
    assert placement(*advised(refused.stderr)).status == 0
    assert placement(replacement).status == 0


def test_a_new_host_that_grants_less_is_raised_and_the_replacement_goes_on(client, placement):
    build(client, LEAK)
    smaller = 'resource provider inventory class set compute1 VCPU --total 8 --max_unit 8'
    assert placement(smaller).status == 0
    replacement = f'{REPLACE} --with compute1 --name compute1 --yes'
    refused = placement(replacement)
    assert (refused.status, 'compute1 grants less VCPU than compute0' in refused.stderr) == (
        1,
        True,
    )
    raised = ['--total', '16', '--max_unit', '16', '--allocation_ratio', '4']
    assert placement(*advised(refused.stderr), *raised).status == 0
    assert placement(replacement).status == 0


def test_the_audit_that_a_refused_replacement_names_fixes_another_tree_and_it_goes_on(
    client, placement
):
    build(client, LEAK)
    stepped = 'resource provider inventory class set storage DISK_GB --total 1000 --step_size 100'
    assert placement(stepped).status == 0
    replacement = f'{REPLACE} --uuid {NEW} --yes'
    refused = placement(replacement)
    assert (refused.status, 'min_unit, max_unit or step_size' in refused.stderr) == (1, True)
    audit = placement(*advised(refused.stderr), '-f', 'json')
    [finding] = json.loads(audit.stdout)
    assert placement(*last_command(finding['reason'])).status == 0
    assert placement(replacement).status == 0


def test_a_replacement_that_needs_a_plan_is_applied_as_one(
    client, placement, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    build(client, LEAK)
    full = 'resource provider inventory class set compute0 VCPU --total 1 --max_unit 1'
    assert placement(full).status == 0
    refused = placement(f'{REPLACE} --uuid {NEW} --yes')
    assert (refused.status, 'Write a plan with --plan FILE' in refused.stderr) == (1, True)
    assert placement(f'{REPLACE} --uuid {NEW} --plan plan.json').status == 0
    assert placement(*advised(refused.stderr), '--yes').status == 0
    assert uuid_of('compute0') not in clouds.captured(client).providers


def test_a_host_is_never_joined_with_the_provider_of_another_service(
    client, placement, audit, tmp_path
):
    """Cyborg has a root of another name: its device goes below the host, and that root goes."""
    build(client, holder('s', {'compute0': HELD}))
    device = {'name': 'compute0.x', 'inventories': {'FPGA': {'total': 1}}}
    (tmp_path / 'root.json').write_text(json.dumps(device))
    assert placement(f'resource provider tree apply {tmp_path}/root.json --yes').status == 0
    listed = tmp_path / 'hypervisors.json'
    listed.write_text(json.dumps([{'id': uuid_of('compute0'), 'hypervisor_hostname': 'compute0'}]))
    finding = audit([], [], '--hypervisors', str(listed))['twin']
    assert (finding['subject'], finding['command']) == ('compute0.x', '')
    assert placement(*last_command(finding['reason'])).status == 0
    assert 'twin' not in audit([], [], '--hypervisors', str(listed))


def test_a_server_whose_devices_are_not_known_gets_what_the_operator_has_seen(
    client, placement, audit
):
    build(client)
    flavor = {
        'original_name': 'g', 'vcpus': 1, 'ram': 512, 'disk': 0, 'ephemeral': 0, 'swap': 0,
        'extra_specs': {'resources:VGPU': '1'},
    }  # fmt: skip
    gpu = server('s', 'compute0', flavor=flavor, image='', tenant_id='p', user_id='u', updated=None)
    gpu['OS-EXT-STS:vm_state'] = 'active'
    finding = audit([gpu], [])['without-allocations']
    unknown = 'the lists do not say which VGPU it has' in finding['reason']
    assert (finding['command'], unknown) == ('', True)
    *words, own = last_command(finding['reason'])
    own = own.replace('CLASS=AMOUNT', 'VCPU=1,MEMORY_MB=512')
    assert placement(*words, own, '--allocation', 'rp=compute0_gpu0,VGPU=1').status == 0
    assert 'without-allocations' not in audit([gpu], [])


def test_the_option_that_a_refused_declaration_names_moves_the_host(client, placement, tmp_path):
    build(client, ELSEWHERE)
    trees = tmp_path / 'trees.json'
    trees.write_text(json.dumps({'name': 'compute0', 'children': [{'name': 'compute1'}]}))
    apply = f'resource provider tree apply {trees} --yes'
    refused = placement(apply)
    assert (refused.status, '--reparent moves it' in refused.stderr) == (1, True)
    assert placement(f'{apply} --reparent').status == 0


def test_the_moves_that_a_refused_declaration_names_free_the_inventory(
    client, placement, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    build(client, holder('s', {'compute0': HELD}))
    declared = {'name': 'compute0', 'inventories': {'MEMORY_MB': {'total': 65536}}}
    Path('trees.json').write_text(json.dumps(declared))
    apply = 'resource provider tree apply trees.json --yes'
    refused = placement(apply)
    assert (refused.status, '2 VCPU of compute0 is in use' in refused.stderr) == (1, True)
    moves = refused.stderr.partition('"moves: ')[2].partition('"')[0]
    moves = moves.replace('NAME', 'compute0_cpus').replace('AMOUNT', '16')
    child = {'name': 'compute0_cpus', 'inventories': {'VCPU': {'total': 16}}}
    trees = json.dumps([declared | {'children': [child]}])
    Path('trees.json').write_text(f'trees: {trees}\nmoves: {moves}\n')
    assert placement(apply).status == 0
    moved = allocation.show(client, uuid_of('s')).value.allocations
    assert sorted(moved.values(), key=str) == [{'MEMORY_MB': 512}, {'VCPU': 2}]
