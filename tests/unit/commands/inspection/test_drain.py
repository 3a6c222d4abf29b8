"""``resource provider drain plan``: on a file, without any cloud."""

import json

import pytest

from placementclient.nova import service as compute
from placementclient.optimize import cpsat
from tests.programs import Result
from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, consumer, detailed, pool, provider

RACK = '5c1d4e5f-6a7b-4c8d-9e0f-1a2b3c4d5e6f'
PLAN = 'resource provider drain plan --snapshot {file} '


@pytest.fixture
def file(tmp_path):
    """Three hosts with four servers; the first is in a rack, and has a trait."""
    first = {'traits': ['COMPUTE_NODE', 'HW_CPU_X86_AVX2'], 'aggregates': [RACK]}
    snapshot = cloud(
        [
            provider('compute1', **first, VCPU=8),
            provider('compute2', traits=['COMPUTE_NODE'], VCPU=8),
            provider('compute3', traits=['COMPUTE_NODE'], VCPU=8),
        ],
        [
            consumer('s1', compute1={'VCPU': 4}),
            consumer('s2', compute1={'VCPU': 2}),
            consumer('s3', compute2={'VCPU': 5}),
            consumer('s4', compute3={'VCPU': 4}),
        ],
    )
    return save(tmp_path, 'cloud.json', snapshot)


NO_NOVA = (
    '"x" cannot be looked up without Nova: give the UUID of the aggregate, which "resource '
    'provider aggregate list HOST" prints'
)


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        (
            'compute1 --strict',
            4,
            'Impossible: 0 of 2 servers can move (proved)\n'
            f'1 server of VCPU 2 with HW_CPU_X86_AVX2 in aggregate {RACK}: room for 0\n'
            f'1 server of VCPU 4 with HW_CPU_X86_AVX2 in aggregate {RACK}: room for 0\n'
            'Would be enough: 1 empty host like compute1\n',
        ),
        (
            f'compute2 --member-of {RACK}',
            4,
            'Impossible: at most 1 of 3 servers can move, 0 certainly (proved)\n'
            '1 server of VCPU 2: room for 0\n'
            '1 server of VCPU 5: room for 0\n'
            'Would be enough: 1 empty host like compute2 and 1 like compute1\n',
        ),
        (
            "--match 'compute*' --rolling",
            1,
            '0 of 3 batches can be emptied: 0 moves in 0 waves\n'
            'Blocked (not proved): compute1: no place for s1, s2\n'
            'Blocked (not proved): compute2: no place for s3\n'
            'Blocked (not proved): compute3: no place for s4\n'
            'Add --requests nova to read what they require, or make smaller batches (--batch)\n',
        ),
        (
            "--match 'compute*' --rolling --batch 2",
            4,
            '0 of 2 batches can be emptied: 0 moves in 0 waves\n'
            'Blocked (proved): compute1, compute2: no place for s1, s2, s3\n'
            'Blocked (not proved): compute3: no place for s4\n',
        ),
    ],
)
def test_no_plan(placement, file, options, status, message):
    message = message.replace('\n', f' (exit {status})\n', 1)
    assert placement(PLAN.format(file=file) + options) == Result(status, '', message)
    printed = placement(f'{PLAN.format(file=file)}{options} -f json')
    assert printed == Result(status, '[]\n', message)


def test_losses(placement, file):
    result = placement(PLAN.format(file=file) + '--lose 1 -f value')
    assert result == Result(
        4,
        '["compute2"] 1 0 0 no\n["compute3"] 1 0 0 no\n["compute1"] 2 0 2 depends\n',
        '3 of 3 losses checked: after 3 of them not every server certainly has a place. The worst: '
        'compute2, with a place for 0 of 1 server (exit 4)\n',
    )
    assert placement(PLAN.format(file=file) + 'compute1 --lose 1').status == 5


@pytest.mark.parametrize(('number', 'worst'), [(1, 'b'), (2, 'b and a')])
def test_no_loss_is_too_much(placement, tmp_path, number, worst):
    states = [provider(name, VCPU=8) for name in ('a', 'b', 'c')]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', b={'VCPU': 3})]))
    message = (
        '3 of 3 losses checked: each leaves a place for every server. The largest: '
        f'{worst}, with 1 server\n'
    )
    assert placement(f'{PLAN.format(file=path)} --lose {number}') == Result(0, '', message)


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('', 2, 'Give hosts, --match, --with-trait, --with-class or --member-of'),
        ('compute1 --batch 2', 2, '--batch is for --rolling'),
        ('compute1 --lose 5', 2, '--lose 5: there are only 1 hosts'),
        ('compute1 --rolling --lose 1', 2, '--rolling and --lose contradict each other'),
        ('compute1 --keep-free 100', 2, '--keep-free is a part of 100, from 0 on'),
        ('nobody', 1, "No resource provider has the name or UUID 'nobody'"),
        ('--match compte*', 1, '"compte*" matches no provider. Did you mean "compute*"?'),
        ('--member-of x', 1, NO_NOVA),
        ('compute1 --match compute2 --member-of x', 1, NO_NOVA),
    ],
)
def test_usage(placement, file, options, status, message):
    assert placement(PLAN.format(file=file) + options) == Result(status, '', f'{message}\n')


def server(uuid, vcpus, state='active'):
    return detailed(uuid, vcpus=vcpus, ram=0, state=state, image='')


def test_requests(placement, file, tmp_path, monkeypatch):
    servers = [server('s1', 4), server('s2', 2, 'stopped')]
    lists = {'servers': servers, 'aggregates': [], 'server_groups': [], 'migrations': []}
    path = save(tmp_path, 'nova.json', lists)
    command = PLAN.format(file=file) + 'compute1 -f value -c command --requests '
    expected = Result(
        0,
        'openstack server migrate --live-migration --host compute3 s1\n'
        'openstack server migrate --host compute2 s2\n',
        '2 servers to move: all have a place, in 1 wave\n'
        'Free afterwards: VCPU 1 of 16, at most 1 on a provider\n',
    )
    assert placement(command + path) == expected
    for name, records in {**lists, 'compute_services': []}.items():
        monkeypatch.setattr(compute, name, lambda client, records=records: records)
    assert placement(command + 'nova') == expected
    # While a cell is down, nothing is certain.
    down = {'host': 'compute7', 'binary': 'nova-compute', 'status': 'UNKNOWN'}
    monkeypatch.setattr(compute, 'compute_services', lambda client: [down])
    result = placement(command + 'nova')
    assert (result.status, result.stdout) == (1, expected.stdout)
    assert result.stderr.startswith('A cell of Nova does not answer: 1 host (compute7) and their')
    save(tmp_path, 'nova.json', {'migrations': []})
    assert placement(command + path) == Result(1, '', f'{path}: not a list of servers\n')


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
    path = save(tmp_path, 'nova.json', [server('s1', 4), server('s2', 2, state)])
    written = tmp_path / 'drain.json'
    plan = f'{PLAN.format(file=file)} compute1 {mode} -f json --requests {path} -o {written}'

    result = placement(plan)

    [row] = [row for row in json.loads(result.stdout) if row['server'] == 's2']
    assert (result.status, row['to'], row['command']) == (status, target, typed)
    assert bool(row['allocations']) == bool(target)
    named = f': first {typed}\nRun the commands, then plan again\n' in result.stderr
    assert named == (status == 5), result.stderr
    expected = 'cannot move' if status == 5 else 'cold' if state == 'stopped' else 'move'
    assert (row['state'], bool(row['reason'])) == (expected, status == 5)
    report = f'resource provider report --snapshot {file} --drain {written}'
    assert placement(report).status == 0


@pytest.mark.parametrize('mode', ['', '--rolling'])
def test_a_shelved_server_needs_no_place(placement, tmp_path, mode):
    full = cloud(
        [provider('compute1', VCPU=8), provider('compute2', VCPU=2)],
        [consumer('s1', compute1={'VCPU': 2}), consumer('s2', compute1={'VCPU': 6})],
    )
    file = save(tmp_path, 'full.json', full)
    path = save(tmp_path, 'nova.json', [server('s1', 2), server('s2', 6, 'shelved')])
    plan = f'{PLAN.format(file=file)} compute1 {mode} -f value -c server -c to'

    assert placement(plan).status == 4
    result = placement(f'{plan} --requests {path}')

    assert (result.status, sorted(result.stdout.split())) == (0, ['compute2', 's1', 's2'])


def test_what_no_plan_can_move_is_said(placement, file, tmp_path):
    path = save(tmp_path, 'nova.json', [server('s2', 2, 'shelved_offloaded')])
    result = placement(f'{PLAN.format(file=file)} compute1 -f value -c server --requests {path}')
    assert (result.status, result.stdout) == (5, 's1\ns2\n')
    audit = 'first openstack resource provider audit --subject'
    for sentence in (
        f'compute1: s1 is no server that Nova knows: a migration, or a leaked allocation: {audit} '
        's1\n',
        f'compute1: s2 is on no host: a leaked allocation: {audit} s2\n',
        'Run the commands, then plan again\n',
    ):
        assert sentence in result.stderr


#: A migration of ``s9`` that holds compute1, by its status: what waits, and the command.
MIGRATIONS = [
    ('finished', 'was resized or migrated to another host: confirm or revert that',
     'openstack server resize confirm s9'),
    ('running', 'is being migrated (running)', 'openstack server migration list --server s9'),
    ('error', 'left allocations here by a migration that is over (error)',
     'openstack resource provider audit --subject m1'),
]  # fmt: skip


@pytest.mark.parametrize('mode', ['', '--rolling --batch 1'])
@pytest.mark.parametrize(('state', 'reason', 'typed'), MIGRATIONS)
def test_a_migration_that_holds_the_host_is_a_row_with_its_server(
    placement, tmp_path, state, reason, typed, mode
):
    held = {'VCPU': 1}
    states = [provider('compute1', VCPU=8), provider('compute2', VCPU=8)]
    consumers = [consumer('m1', None, compute1=held), consumer('s9', None, compute2=held)]
    file = save(tmp_path, 'cloud.json', cloud(states, consumers))
    migration = {'uuid': 'm1', 'instance_uuid': 's9', 'status': state, 'migration_type': 'resize'}
    lists = {'servers': [server('s9', 1, 'resized')], 'migrations': [migration]}
    path = save(tmp_path, 'nova.json', lists)

    result = placement(f'{PLAN.format(file=file)} compute1 {mode} --requests {path} -f json')

    assert result.status == 5
    assert json.loads(result.stdout) == [
        {'wave': None, 'server': 's9', 'from': 'compute1', 'to': '',
         'allocations': {'compute2': {'VCPU': 1}}, 'state': 'cannot move', 'reason': reason,
         'command': typed}
    ]  # fmt: skip
    assert f'compute1: s9 {reason}: first {typed}\n' in result.stderr


def test_every_command_that_a_host_waits_for_is_a_row(placement, file, tmp_path):
    many = [f'w{number}' for number in range(8)]
    states = [provider('compute1', VCPU=8), provider('compute2', VCPU=8)]
    path = save(
        tmp_path, 'c.json', cloud(states, [consumer(u, compute1={'VCPU': 1}) for u in many])
    )
    lists = save(tmp_path, 'nova.json', [server(uuid, 1, 'suspended') for uuid in many])
    result = placement(f'{PLAN.format(file=path)} compute1 --requests {lists} -f value -c command')
    assert sorted(result.stdout.splitlines()) == [f'openstack server resume {u}' for u in many]
    assert '… and 3 more: the rows with the state "cannot move" name all of them\n' in result.stderr


def test_an_affinity_group_that_keeps_servers_on_their_host_is_named(placement, tmp_path):
    states = [provider('compute1', VCPU=8), provider('compute2', VCPU=8)]
    consumers = [consumer('s1', compute1={'VCPU': 2}), consumer('s2', compute1={'VCPU': 2})]
    file = save(tmp_path, 'cloud.json', cloud(states, consumers))
    group = {'id': 'g', 'name': 'web', 'policy': 'affinity', 'members': ['s1', 's2']}
    lists = {'servers': [server('s1', 2), server('s2', 2)], 'server_groups': [group]}
    path = save(tmp_path, 'nova.json', lists)
    result = placement(f'{PLAN.format(file=file)} compute1 --requests {path}')
    assert result.status == 4
    assert '2 servers of VCPU 2 in the affinity group web: room for 0\n' in result.stderr


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
    placement, tmp_path, held, traits, specs, conf, state, reason
):
    states = []
    for name in ('compute1', 'compute2'):
        states.append(provider(name, traits=['COMPUTE_NODE', *TPM_TRAITS], VCPU=8))
        inventories = dict.fromkeys(held, 2)
        states += [provider(f'{name}_x', name, traits=traits, **inventories)] if held else []
    allocated = {'compute1': {'VCPU': 2}, **({'compute1_x': held} if held else {})}
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', **allocated)]))
    plan = f'{PLAN.format(file=path)} compute1 -f json'
    if specs is not None:
        servers = [detailed('s1', specs, vcpus=2, ram=0, image='')]
        plan += f' --requests {save(tmp_path, "nova.json", servers)}'
    if conf:
        (tmp_path / 'nova.conf').write_text(conf)
        plan += f' --nova-conf {tmp_path / "nova.conf"}'

    result = placement(plan)

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
    for requests in ('', f'--requests {lists}'):
        result = placement(f'{PLAN.format(file=path)} node1 {requests} -f json')
        [row] = json.loads(result.stdout)
        assert (result.status, row['state'], row['command'], row['to']) == (
            5,
            'cannot move',
            '',
            '',
        )
        assert 'node1: s1 is on bare metal, which Nova does not migrate\n' in result.stderr


def test_a_paused_server_that_nova_does_not_live_migrate_goes_on_first(placement, tmp_path):
    held = {'VCPU': 2, 'MEM_ENCRYPTION_CONTEXT': 1}
    states = [provider(name, VCPU=8, MEM_ENCRYPTION_CONTEXT=9) for name in ('compute1', 'compute2')]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', compute1=held)]))
    lists = save(tmp_path, 'nova.json', [server('s1', 2, 'paused')])
    result = placement(f'{PLAN.format(file=path)} compute1 --requests {lists} -f json')
    [row] = json.loads(result.stdout)
    assert (result.status, row['command']) == (5, 'openstack server unpause s1')
    assert row['reason'] == 'is paused and has encrypted memory'


def test_a_consumer_that_is_no_server_gets_no_migration(placement, tmp_path):
    states = [provider('compute1', VCPU=8), provider('compute2', VCPU=8)]
    holder = consumer('c1', 'CONTAINER', compute1={'VCPU': 2})
    path = save(tmp_path, 'cloud.json', cloud(states, [holder]))
    result = placement(f'{PLAN.format(file=path)} compute1 -f json')
    [row] = json.loads(result.stdout)
    assert (result.status, row['state'], row['command']) == (5, 'cannot move', '')
    assert row['reason'] == 'is no server, but a consumer of type CONTAINER'


def test_under_assumptions(placement, file, tmp_path):
    path = tmp_path / 'more.yaml'
    path.write_text('- {add: 1, like: compute3, name: new1}\n')
    result = placement(f'{PLAN.format(file=file)} compute3 --assume {path} -f value -c to')
    assert (result.status, result.stdout) == (0, 'new1\n')
    assert result.stderr.startswith(f'assuming: {path}\n')


def test_the_answer_in_a_file(placement, file, tmp_path):
    written = tmp_path / 'drain.json'
    placement(f'{PLAN.format(file=file)} compute2 -o {written}')
    answer = json.loads(written.read_text())
    messages, free = answer.pop('said'), answer.pop('free')
    assert answer == {
        'format': 'placementclient/drain-plan', 'version': 1, 'assuming': [],
        'verdict': 'no', 'hosts': ['compute2'], 'moves': [],
        'servers': 1, 'movable': [0, 0], 'left': ['s3'], 'unsettled': [],
        'enough': ['1 empty host like compute2', 'VCPU ratio 1.2 on the other hosts'],
    }  # fmt: skip
    assert free[0]['resource_class'] == 'VCPU'
    page = placement(f'resource provider report --snapshot {file} --drain {written}').stdout
    assert messages[0] == 'Impossible: 0 of 1 server can move (proved)'
    assert messages[0] in page
    placement(f'{PLAN.format(file=file)} compute2 --rolling -o {written}')
    answer = json.loads(written.read_text())
    blocked = {'hosts': ['compute2'], 'servers': ['s3'], 'is_proved': False}
    assert (answer['order'], answer['blocked']) == ([], [blocked])


@pytest.mark.slow
def test_without_a_solver(placement, tmp_path, monkeypatch):
    states = [provider(name, VCPU=total) for name, total in (('old', 99), ('a', 10), ('b', 10))]
    sizes = (5, 4, 4, 3, 2, 2)
    consumers = [consumer(f's{n}', old={'VCPU': size}) for n, size in enumerate(sizes)]
    path = save(tmp_path, 'cloud.json', cloud(states, consumers))
    assert placement(PLAN.format(file=path) + 'old').status == 0
    monkeypatch.setattr(cpsat.importlib, 'import_module', lambda name: _missing())
    result = placement(PLAN.format(file=path) + 'old')
    assert result.status == 1
    assert 'needs a search by OR-tools: pip install' in result.stderr


def _missing():
    raise ImportError


def with_storage():
    """Two hosts, of which one has a child, and storage that they share."""
    return cloud(
        [
            provider('host1', aggregates=['shared']),
            provider('host1_a', 'host1', VCPU=8),
            provider('host2', aggregates=['shared'], VCPU=8),
            pool('nfs', 'shared', DISK_GB=100),
        ],
        [consumer('s', host1_a={'VCPU': 2}, nfs={'DISK_GB': 10})],
    )


@pytest.mark.parametrize(
    ('name', 'hosts', 'is_part'),
    [
        ('host1_a', 'host1', True),
        ('host1_*', 'host1', True),
        ('host1*', 'host1', False),
        ('*', 'host1 host2', False),
    ],
)
def test_a_child_means_its_host_and_a_pattern_passes_over_storage(
    placement, tmp_path, name, hosts, is_part
):
    path = save(tmp_path, 'cloud.json', with_storage())
    expected = placement(PLAN.format(file=path) + hosts)
    result = placement(PLAN.format(file=path) + f"'{name}'")
    message = f'{name} is a part of the host host1: the plan empties all of host1\n' * is_part
    assert result == Result(expected.status, expected.stdout, message + expected.stderr)


@pytest.mark.parametrize('options', ['nfs', 'host1 nfs', "'nf*'", 'nfs --lose 1', 'nfs --rolling'])
def test_storage_is_no_host(placement, tmp_path, options):
    path = save(tmp_path, 'cloud.json', with_storage())
    assert placement(PLAN.format(file=path) + options) == Result(
        1, '', 'nfs is storage that others share, not a host\n'
    )


def test_what_only_the_new_host_has_is_said(placement, tmp_path):
    states = [provider('a', VCPU=8), provider('b', traits=['CUSTOM_LICENSED'], VCPU=8)]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', a={'VCPU': 3})]))
    result = placement(PLAN.format(file=path) + 'a')
    assert result.status == 0
    assert result.stderr.splitlines()[1] == (
        '1 server will have traits or aggregates that their old host does not have: '
        'CUSTOM_LICENSED. Use --requests if a flavor forbids one'
    )
