# SPDX-License-Identifier: Apache-2.0
"""How servers leave their hosts, and what a drain waits for."""

import json

import pytest
from msgspec.structs import replace

from tests.unit.commands.clouds import save
from tests.unit.commands.inspection.drains import (
    AGAIN,
    HOSTS,
    NO_STATES,
    PLAN,
    requests,
    server,
)
from tests.unit.insight.clouds import cloud, consumer, detailed, provider

#: The status of a plan, the new host and the command, by ``vm_state``; every one of Nova 34.
STATES = [
    ('active', 0, 'compute2', 'openstack server migrate --live-migration --host compute2 s2'),
    ('paused', 0, 'compute2', 'openstack server migrate --live-migration --host compute2 s2'),
    ('stopped', 0, 'compute2', 'openstack server migrate --host compute2 s2'),
    ('shelved', 0, '', 'nova shelve-offload s2'),
    ('suspended', 5, 'compute2', 'openstack server resume s2'),
    ('rescued', 5, 'compute2', 'openstack server unrescue s2'),
    ('resized', 5, 'compute2', 'openstack server resize confirm s2'),
    ('error', 5, 'compute2', 'openstack server set --state active s2'),
    ('building', 5, 'compute2', 'openstack server show s2'),
    ('soft-delete', 5, 'compute2', 'openstack server restore s2'),
    ('crashed', 5, 'compute2', 'openstack server show s2'),
]


@pytest.mark.parametrize(('state', 'status', 'target', 'typed'), STATES)
@pytest.mark.parametrize('mode', ['', '--rolling'])
def test_the_command_is_one_that_nova_accepts(
    placement, file, tmp_path, state, status, target, typed, mode
):
    lists = requests(tmp_path, [server('s1', 4), server('s2', 2, state)])
    written = tmp_path / 'drain.json'
    plan = f'{PLAN.format(file=file)} compute1 {mode} -f json {lists} -o {written}'

    result = placement(plan)

    [row] = [row for row in json.loads(result.stdout) if row['server'] == 's2']
    assert (result.status, row['to'], row['command']) == (status, target, typed)
    assert bool(row['allocations']) == bool(target)
    named = f'  1. {typed}\n  2. {AGAIN}\n' in result.stderr
    assert named == (status == 5), result.stderr
    expected = 'cannot move' if status == 5 else 'cold' if state == 'stopped' else 'move'
    assert (row['state'], bool(row['reason'])) == (expected, status == 5)
    report = f'resource provider report --snapshot {file} --drain {written}'
    assert placement(report).status == 0


@pytest.mark.parametrize('mode', ['', '--rolling'])
def test_a_shelved_server_needs_no_place(plan, mode):
    states = [provider('compute1', VCPU=8), provider('compute2', VCPU=2)]
    consumers = [consumer('s1', compute1={'VCPU': 2}), consumer('s2', compute1={'VCPU': 6})]
    options = f'{mode} -f value -c server -c to'
    assert plan(consumers, options, states=states).status == 4
    lists = [server('s1', 2), server('s2', 6, 'shelved')]
    result = plan(consumers, options, lists, states)
    assert (result.status, sorted(result.stdout.split())) == (0, ['compute2', 's1', 's2'])


def test_drain_names_consumers_that_no_plan_can_move_with_their_command(placement, file, tmp_path):
    path = save(tmp_path, 'nova.json', [server('s2', 2, 'shelved_offloaded')])
    result = placement(f'{PLAN.format(file=file)} compute1 -f value -c server --requests {path}')
    assert (result.status, result.stdout) == (5, 's1\ns2\n')
    assert '\n0 servers to move; 2 consumers cannot move (exit 5)\n' in result.stderr
    table = placement(f'{PLAN.format(file=file)} compute1 --requests {path}').stdout
    assert 'None' not in table, 'a consumer that cannot move has no wave'
    audit = f'{AUDIT.format(file=file)} --subject'.replace('servers.json', str(path))
    for sentence in (
        'compute1: s1 is no server that Nova knows: a migration, or a leaked allocation\n',
        'compute1: s2 is on no host: a leaked allocation\n',
        f'Next:\n  1. {MAKE_MIGRATIONS}\n  2. {audit} s1\n  3. {audit} s2\n  4. {AGAIN}\n',
    ):
        assert sentence in result.stderr


#: The audit of a snapshot: without Nova, it needs lists.
AUDIT = (
    'placement resource provider audit --snapshot {file} --servers servers.json '
    '--migrations migrations.json'
)
MAKE_MIGRATIONS = (
    'openstack --os-compute-api-version 2.59 server migration list -f json > migrations.json'
)
#: A migration of ``s9`` that holds compute1, by its status: what waits, and the command.
MIGRATIONS = [
    ('finished', 'was resized or migrated to another host: confirm or revert that',
     'openstack server resize confirm s9'),
    ('running', 'is being migrated (running)', 'openstack server migration list --server s9'),
    ('error', 'left allocations here by a migration that is over (error)',
     f'{AUDIT} --subject m1'.replace('servers.json', '{lists}')
     .replace('migrations.json', '{lists}')),
]  # fmt: skip


@pytest.mark.parametrize('mode', ['', '--rolling --batch 1'])
@pytest.mark.parametrize(('state', 'reason', 'typed'), MIGRATIONS)
def test_a_migration_that_holds_the_host_is_a_row_with_its_server(
    plan, tmp_path, state, reason, typed, mode
):
    held = {'VCPU': 1}
    consumers = [consumer('m1', None, compute1=held), consumer('s9', None, compute2=held)]
    migration = {'uuid': 'm1', 'instance_uuid': 's9', 'status': state, 'migration_type': 'resize'}
    lists = {'servers': [server('s9', 1, 'resized')], 'migrations': [migration]}
    result = plan(consumers, f'{mode} -f json', lists)
    assert result.status == 5
    command = typed.format(file=f'{tmp_path}/cloud.json', lists=f'{tmp_path}/nova.json')
    assert json.loads(result.stdout) == [
        {'wave': None, 'server': 's9', 'from': 'compute1', 'to': '',
         'allocations': {'compute2': {'VCPU': 1}}, 'state': 'cannot move', 'reason': reason,
         'command': command}
    ]  # fmt: skip
    assert '; 1 consumer cannot move (exit 5)\n' in result.stderr
    assert f'compute1: s9 {reason}\n' in result.stderr
    assert f'  1. {command}\n' in result.stderr


def test_a_consumer_on_several_hosts_is_one_next_step(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    consumers = [consumer('s1', None, compute1={'VCPU': 1}, compute2={'VCPU': 1})]
    result = plan(consumers, 'compute2')
    assert result.stdout.count('cannot move') == 2
    assert result.stderr.startswith('0 servers to move; 1 consumer cannot move (exit 5)\n')
    assert result.stderr.count('--subject s1\n') == 1
    assert (
        'Next:\n  1. openstack server list --all-projects --long -f json > servers.json\n'
        f'  2. {MAKE_MIGRATIONS}\n  3. placement '
    ) in result.stderr
    again = 'Plan again with --requests nova, or --requests servers.json --requests migrations.json'
    assert f'  4. {again}\n' in result.stderr
    # The command to make a list would replace one that is there.
    (tmp_path / 'servers.json').touch()
    assert f'Next:\n  1. {MAKE_MIGRATIONS}\n  2. placement ' in plan(consumers, 'compute2').stderr


def test_a_drain_on_a_terminal_says_how_to_copy_its_commands(plan, monkeypatch):
    hint = 'To copy the commands, add: -f value -c command\n'
    consumers = [consumer(uuid, compute1={'VCPU': 1}) for uuid in ('s1', 's2')]
    assert hint not in plan(consumers).stderr
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    assert hint in plan(consumers).stderr
    assert hint not in plan(consumers, '-f value -c command').stderr
    assert hint not in plan([]).stderr
    waves = plan(consumers, '--per-host 1').stderr
    first = "To copy wave 1, add: -f value -c wave -c command | sed -n 's/^1 //p'\nBegin the next "
    assert (hint in waves, first in waves) == (False, True)
    lines = plan(consumers, '--per-host 1 -f value -c wave -c command').stdout.splitlines()
    assert [line.partition(' openstack ')[0] for line in lines] == ['1', '2']


def test_a_class_without_free_amounts_has_none_afterwards(plan):
    states = [provider('compute1', VCPU=2), provider('compute2', VCPU=2)]
    result = plan([consumer('s1', compute1={'VCPU': 2})], states=states)
    assert 'Left on the other hosts: VCPU none of 2\n' in result.stderr
    # Without lists of Nova, the state of the server is not known.
    assert result.stderr.startswith(NO_STATES)


def test_drain_lists_each_command_that_a_host_waits_for(plan):
    many = [f'w{number}' for number in range(8)]
    consumers = [consumer(uuid, compute1={'VCPU': 1}) for uuid in many]
    lists = [server(uuid, 1, 'suspended') for uuid in many]
    result = plan(consumers, '-f json', lists)
    commands = [row['command'] for row in json.loads(result.stdout)]
    assert sorted(commands) == [f'openstack server resume {uuid}' for uuid in many]
    assert (
        '… and 3 more (each is suspended): the rows with the state "cannot move" name all of them\n'
        in result.stderr
    )


def test_commands_for_a_shell_are_only_those_that_move_servers(plan):
    consumers = [consumer(uuid, compute1={'VCPU': 1}) for uuid in ('s1', 's2')]
    lists = [server('s1', 1, 'suspended'), server('s2', 1)]
    result = plan(consumers, '-f value -c command', lists)
    move = 'openstack server migrate --live-migration --host compute2 s2'
    assert sorted(result.stdout.split('\n')) == ['', '', move]
    assert '  1. openstack server resume s1\n' in result.stderr


def test_an_affinity_group_that_keeps_servers_on_their_host_is_named(plan):
    consumers = [consumer('s1', compute1={'VCPU': 2}), consumer('s2', compute1={'VCPU': 2})]
    group = {'id': 'g', 'name': 'web', 'policy': 'affinity', 'members': ['s1', 's2']}
    lists = {'servers': [server('s1', 2), server('s2', 2)], 'server_groups': [group]}
    result = plan(consumers, '', lists)
    assert result.status == 4
    assert '2 servers of VCPU 2 in the affinity group web: room for 0\n' in result.stderr


def test_usage_without_a_consumer_is_a_row(plan):
    states = [replace(HOSTS[0], usages={'VCPU': 2}), HOSTS[1]]
    result = plan([], '-f value -c server -c state', states=states)
    assert (result.status, result.stdout) == (5, 'compute1 cannot move\n')


GOLD = {'CUSTOM_BAREMETAL_GOLD': 1}
PCI = {'CUSTOM_PCI_10DE_20B0': 1}
ALIAS = {'pci_passthrough:alias': 'gpu:1'}
TPM = {'hw:tpm_version': '2.0'}
TPM_TRAITS = ['COMPUTE_SECURITY_TPM_2_0', 'COMPUTE_SECURITY_TPM_TIS'] + [
    f'COMPUTE_SECURITY_TPM_SECRET_SECURITY_{mode}' for mode in ('USER', 'HOST', 'DEPLOYMENT')
]
CONF = '[pci]\nalias = {{"name": "gpu", "vendor_id": "10de", "product_id": "20b0"{more}}}\n'
MOVES = '"live_migratable": "true"'
#: What a server holds beside VCPU, the traits of that child, the extra specs, nova.conf; and how it
#: moves, with the reason.
RESTRICTED = [
    ({}, (), {}, '', 'move', ''),
    ({'MEM_ENCRYPTION_CONTEXT': 1}, (), None, '', 'cold', 'has encrypted memory'),
    ({}, (), {'hw:mem_encryption': 'true'}, '', 'cold', 'has encrypted memory'),
    (PCI, (), None, '', 'cold', 'has a PCI device that is not live-migratable'),
    (PCI, ('HW_PCI_LIVE_MIGRATABLE',), None, '', 'move', ''),
    ({'CUSTOM_GPU': 1}, ('COMPUTE_MANAGED_PCI_DEVICE',), None, '', 'cold',
     'has a PCI device that is not live-migratable'),
    # A card whose mediated devices Nova moves.
    ({'VGPU': 1}, (), None, '', 'move', ''),
    ({}, (), ALIAS, '', 'cold', 'has a PCI device that is not live-migratable'),
    ({}, (), ALIAS, CONF.format(more=''), 'cold', 'has a PCI device that is not live-migratable'),
    ({}, (), ALIAS, CONF.format(more=f', {MOVES}'), 'move', ''),
    # The device could, but the alias does not ask for one that can.
    (PCI, ('HW_PCI_LIVE_MIGRATABLE',), ALIAS, CONF.format(more=''), 'cold',
     'has a PCI device that is not live-migratable'),
    ({}, (), TPM, '', 'cold', 'has a TPM whose secret does not move with it'),
    ({}, (), {**TPM, 'hw:tpm_secret_security': 'host'}, '', 'move', ''),
    ({}, (), {**TPM, 'hw:tpm_secret_security': 'deployment'}, '', 'cold',
     'has a TPM whose secret does not move with it'),
    ({}, (), {'accel:device_profile': 'fpga'}, '', 'cannot move',
     'has an accelerator of Cyborg, with which Nova does not migrate it'),
    ({'FPGA': 1}, (), None, '', 'cannot move',
     'has an accelerator of Cyborg, with which Nova does not migrate it'),
    ({'PGPU': 1}, ('OWNER_CYBORG',), None, '', 'cannot move',
     'has an accelerator of Cyborg, with which Nova does not migrate it'),
]  # fmt: skip
COMMANDS = {
    'move': 'openstack server migrate --live-migration --host compute2 s1',
    'cold': 'openstack server migrate --host compute2 s1',
    'cannot move': '',
}


@pytest.mark.parametrize(('held', 'traits', 'specs', 'conf', 'state', 'reason'), RESTRICTED)
def test_a_server_that_nova_does_not_live_migrate_moves_as_nova_can(
    plan, tmp_path, held, traits, specs, conf, state, reason
):
    states = []
    for name in ('compute1', 'compute2'):
        states.append(provider(name, traits=['COMPUTE_NODE', *TPM_TRAITS], VCPU=8))
        inventories = dict.fromkeys(held, 2)
        states += [provider(f'{name}_x', name, traits=traits, **inventories)] if held else []
    allocated = {'compute1': {'VCPU': 2}, **({'compute1_x': held} if held else {})}
    known = specs is not None
    servers = [detailed('s1', specs, vcpus=2, ram=0, image='')] if known else None
    (tmp_path / 'nova.conf').write_text(conf)
    options = f'-f json --nova-conf {tmp_path}/nova.conf'
    result = plan([consumer('s1', **allocated)], options, servers, states)
    [row] = json.loads(result.stdout)
    assert (row['state'], row['reason'], row['command']) == (state, reason, COMMANDS[state])
    assert (result.status == 5) == (state == 'cannot move')
    sentence = f'1 server cannot move while running: each {reason}. Confirm each with openstack '
    assert (sentence in result.stderr) == (state == 'cold')
    assert (f'compute1: s1 {reason}\n' in result.stderr) == (state == 'cannot move')


@pytest.mark.parametrize('state', ['active', 'stopped'])
def test_a_server_on_bare_metal_cannot_move(placement, tmp_path, state):
    states = [provider(name, traits=['COMPUTE_NODE'], **GOLD) for name in ('node1', 'node2')]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', node1=GOLD)]))
    lists = save(tmp_path, 'nova.json', [server('s1', 2, state)])
    for options in ('', f'--requests {lists}'):
        result = placement(f'{PLAN.format(file=path)} node1 {options} -f json')
        [row] = json.loads(result.stdout)
        printed = result.status, row['state'], row['command'], row['to']
        assert printed == (5, 'cannot move', '', '')
        assert 'node1: s1 is on bare metal, which Nova does not migrate\n' in result.stderr


def test_a_paused_server_that_nova_does_not_live_migrate_goes_on_first(plan):
    held = {'VCPU': 2, 'MEM_ENCRYPTION_CONTEXT': 1}
    states = [provider(name, VCPU=8, MEM_ENCRYPTION_CONTEXT=9) for name in ('compute1', 'compute2')]
    lists = [server('s1', 2, 'paused')]
    result = plan([consumer('s1', compute1=held)], '-f json', lists, states)
    [row] = json.loads(result.stdout)
    assert (result.status, row['command']) == (5, 'openstack server unpause s1')
    assert row['reason'] == 'is paused and has encrypted memory'


def test_a_consumer_that_is_no_server_gets_no_migration(plan):
    result = plan([consumer('c1', 'CONTAINER', compute1={'VCPU': 2})], '-f json')
    [row] = json.loads(result.stdout)
    assert (result.status, row['state'], row['command']) == (5, 'cannot move', '')
    assert row['reason'] == 'is no server, but a consumer of type CONTAINER'


def test_advice_names_no_option_that_was_given(plan):
    shelf = 'AGGREGATE'
    states = [
        provider('compute1', aggregates=[shelf], traits=['CUSTOM_X'], VCPU=8),
        provider('compute2', VCPU=8),
    ]
    consumers = [consumer('s1', compute1={'VCPU': 2})]
    aggregates = [{'uuid': shelf, 'name': 'rack 7', 'hosts': [], 'metadata': {}}]
    lists = {'servers': [server('s1', 2)], 'aggregates': aggregates, 'server_groups': []}
    assert 'Add --requests nova' in plan(consumers, states=states).stderr
    result = plan(consumers, '', lists, states)
    assert (result.status, 'Add --requests nova' in result.stderr) == (5, False)


def test_the_zone_of_hosts_in_no_zone_has_a_name(plan, tmp_path):
    zone = {'uuid': 'a', 'name': 'a', 'hosts': ['compute2'], 'metadata': {'availability_zone': 'w'}}
    record = server('s1', 2) | {'OS-EXT-AZ:availability_zone': 'nova'}
    record |= {'pinned_availability_zone': 'nova'}
    lists = {'servers': [record], 'aggregates': [zone], 'server_groups': []}
    result = plan([consumer('s1', compute1={'VCPU': 2})], requests(tmp_path, lists))
    assert '1 server of VCPU 2 in the default zone: room for 0\n' in result.stderr


def test_differences_of_a_new_host_name_its_aggregates(plan, tmp_path):
    states = [provider('compute1', VCPU=8), provider('compute2', aggregates=['shelf'], VCPU=8)]
    consumers = [consumer('s1', compute1={'VCPU': 2})]
    aggregates = [{'uuid': 'shelf', 'name': 'rack 7', 'hosts': [], 'metadata': {}}]
    odd = server('s1', 2)
    odd['flavor']['extra_specs'] = {'hw:cpu_policy': 'odd'}
    lists = {'servers': [odd], 'aggregates': aggregates, 'server_groups': []}
    result = plan(consumers, requests(tmp_path, lists), states=states)
    assert 'that their old host does not have: rack 7\n' in result.stderr


def test_free_amounts_name_the_zone_of_hosts_in_no_zone(placement, tmp_path):
    states = [provider(f'compute{n}', VCPU=8) for n in (1, 2, 3)]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', compute1={'VCPU': 2})]))
    zone = {'uuid': 'a', 'name': 'a', 'hosts': ['compute2'], 'metadata': {'availability_zone': 'w'}}
    lists = {'servers': [server('s1', 2)], 'aggregates': [zone], 'server_groups': []}
    result = placement(f'{PLAN.format(file=path)} compute1 {requests(tmp_path, lists)}')
    assert 'Left on the other hosts in the default zone: VCPU ' in result.stderr
    assert 'Left on the other hosts in zone w: VCPU ' in result.stderr
