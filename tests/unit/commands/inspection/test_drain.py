# SPDX-License-Identifier: Apache-2.0
"""``resource provider drain plan``: on a file, without any cloud."""

import json
import sys

import pytest

from placementclient.nova import service as compute
from tests.programs import Result
from tests.unit.commands.clouds import save
from tests.unit.commands.inspection.drains import (
    PLAN,
    RACK,
    answer_as_nova,
    requests,
    server,
)
from tests.unit.insight.clouds import cloud, consumer, pool, provider

NO_NOVA = (
    '"x" cannot be looked up without Nova: give the UUID of the aggregate, which "placement '
    'resource provider aggregate list HOST" prints'
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
            'Add --requests nova, or --requests FILE, to read what they require, or make smaller '
            'batches (--batch)\n',
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
def test_drain_says_why_there_is_no_plan(placement, file, options, status, message):
    message = message.replace('\n', f' (exit {status})\n', 1)
    assert placement(PLAN.format(file=file) + options) == Result(status, '', message)
    printed = placement(f'{PLAN.format(file=file)}{options} -f json')
    assert printed == Result(status, '[]\n', message)


def test_losses_counts_servers_with_a_place_after_each_loss(placement, file):
    result = placement(PLAN.format(file=file) + '--lose 1 -f value')
    assert result == Result(
        4,
        '["compute2"] 1 0 0 no\n["compute3"] 1 0 0 no\n["compute1"] 2 0 2 depends\n',
        '3 of 3 losses checked: after 3 of them not every server certainly has a place. The worst: '
        'compute2, with a place for 0 of 1 server (exit 4)\n',
    )
    assert placement(PLAN.format(file=file) + 'compute1 --lose 1').status == 5


@pytest.mark.parametrize(('number', 'worst'), [(1, 'b'), (2, 'b and a')])
def test_losses_ends_with_0_where_every_loss_fits(placement, tmp_path, number, worst):
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
        ('', 2, 'the following arguments are required: <host>, --match, …'),
        ('compute1 --batch 2', 2, '--batch is for --rolling'),
        ('compute1 --lose 5', 2, '--lose 5: only 1 host selected'),
        ('compute1 --rolling --lose 1', 2, '--rolling and --lose contradict each other'),
        ('compute1 --keep-free 100', 2, '--keep-free is a percentage, from 0 to less than 100'),
        ('nobody', 1, "No resource provider has the name or UUID 'nobody'"),
        ('--match compte*', 1, '"compte*" matches no provider. Did you mean "compute*"?'),
        ('--member-of x', 1, NO_NOVA),
        ('compute1 --match compute2 --member-of x', 1, NO_NOVA),
    ],
)
def test_drain_refuses_wrong_usage(placement, file, options, status, message):
    result = placement(PLAN.format(file=file) + options)
    assert (result.status, result.stdout) == (status, '')
    # A line of usage may follow.
    assert message in result.stderr.splitlines()[0]


def test_drain_plans_with_the_lists_of_nova(placement, file, tmp_path, monkeypatch):
    servers = [server('s1', 4), server('s2', 2, 'stopped')]
    lists = {'servers': servers, 'aggregates': [], 'server_groups': [], 'migrations': []}
    options = requests(tmp_path, lists)
    command = PLAN.format(file=file) + 'compute1 -f value -c command '
    expected = Result(
        0,
        'openstack server migrate --live-migration --host compute3 s1\n'
        'openstack server migrate --host compute2 s2\n',
        '2 servers to move: all have a place, in 1 wave\n'
        'Left on the other hosts: VCPU 1 of 16, at most 1 on a provider\n',
    )
    assert placement(command + options) == expected
    answer_as_nova(monkeypatch, servers)
    assert placement(command + '--requests nova') == expected
    # While a cell is down, nothing is certain.
    down = {'host': 'compute7', 'binary': 'nova-compute', 'status': 'UNKNOWN'}
    monkeypatch.setattr(compute, 'compute_services', lambda client: [down])
    result = placement(command + '--requests nova')
    assert (result.status, result.stdout) == (1, expected.stdout)
    assert result.stderr.startswith('A cell of Nova does not answer: 1 host (compute7) and their')
    monkeypatch.setattr(compute, 'compute_services', lambda client: [{'maintenance': True}])
    result = placement(command + '--requests nova')
    assert (result.status, result.stdout) == (1, expected.stdout)
    assert result.stderr.startswith('It is unknown if all cells of Nova answer: Nova: services[0]')
    assert placement(command + options + ' --requests nova').stderr == (
        '--requests takes nova or files, not both\n'
    )
    requests(tmp_path, {'migrations': []})
    result = placement(command + options)
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr.startswith(
        f'{tmp_path}/nova.json: has no key "servers"; --requests needs a list of servers. '
    )


def test_the_lists_of_nova_may_be_in_several_files(placement, file, tmp_path):
    """As OpenStackClient prints them: without a name, in any order."""
    migration = {
        'Id': 1, 'UUID': 'm', 'Status': 'finished', 'Type': 'resize', 'Server UUID': 's1',
        'Source Node': 'compute9', 'Dest Node': 'compute1', 'Source Compute': 'compute9',
        'Dest Compute': 'compute1',
    }  # fmt: skip
    migrations = save(tmp_path, 'migrations.json', [migration])
    servers = save(tmp_path, 'servers.json', [server('s1', 4), server('s2', 2)])
    command = PLAN.format(file=file) + 'compute1 -f value -c server -c state '
    for first, second in ((servers, migrations), (migrations, servers)):
        result = placement(f'{command} --requests {first} --requests {second}')
        assert (result.status, result.stdout) == (5, 's1 cannot move\n')
        assert 'not counted: aggregates, server_groups. A second' in result.stderr
    result = placement(f'{command} --requests {servers} --requests {servers}')
    assert (result.status, result.stdout) == (1, '')
    assert result.stderr == f'{servers}: has a list of servers, and so has {servers}. Give one\n'


def test_a_server_whose_migration_waits_for_confirm_cannot_move(placement, file, tmp_path):
    migration = {
        'uuid': 'm', 'instance_uuid': 's1', 'status': 'finished', 'migration_type': 'resize',
        'source_compute': 'compute9', 'dest_compute': 'compute1',
    }  # fmt: skip
    # The list of servers is older than the migration of s1; another state of s2 remains.
    servers = [server('s1', 4), server('s2', 2, 'stopped')]
    lists = {'servers': servers, 'migrations': [migration, migration | {'uuid': 'n'}]}
    lists['migrations'][1]['instance_uuid'] = 's2'
    options = requests(tmp_path, lists)
    result = placement(f'{PLAN.format(file=file)} compute1 -f json {options}')
    rows = {row['server']: (row['state'], row['command']) for row in json.loads(result.stdout)}
    assert (result.status, rows['s1']) == (
        5,
        ('cannot move', 'openstack server resize confirm s1'),
    )
    assert rows['s2'][0] == 'cold'


def test_an_image_of_glance_decides_where_its_servers_go(placement, file, tmp_path, monkeypatch):
    gold = {'id': 'I', 'disk_format': 'raw', 'trait:HW_CPU_X86_AVX2': 'required'}
    path = save(tmp_path, 'nova.json', [server('s1', 4), server('s2', 2)])
    command = PLAN.format(file=file) + f'compute1 --requests {path} --images '
    images = save(tmp_path, 'images.json', {'images': [gold]})
    expected = '1 server of VCPU 4 with HW_CPU_X86_AVX2: room for 0'
    result = placement(command + images)
    assert (result.status, expected in result.stderr) == (4, True), result.stderr
    monkeypatch.setattr(compute, 'read_images', lambda *_: [gold])
    monkeypatch.setattr(compute, 'read_volumes', lambda *_: [])
    assert placement(command + 'glance') == result


def test_drain_plans_in_the_assumed_cloud(placement, file, tmp_path):
    path = tmp_path / 'more.yaml'
    path.write_text('- {add: 1, like: compute3, name: new1}\n')
    result = placement(f'{PLAN.format(file=file)} compute3 --assume {path} -f value -c to')
    assert (result.status, result.stdout) == (0, 'new1\n')
    assert result.stderr.startswith(f'assuming: {path}\n')


def test_drain_writes_its_answer_to_a_file(placement, file, tmp_path):
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
def test_drain_without_a_solver_says_what_to_install(placement, tmp_path, monkeypatch):
    states = [provider(name, VCPU=total) for name, total in (('old', 99), ('a', 10), ('b', 10))]
    sizes = (5, 4, 4, 3, 2, 2)
    consumers = [consumer(f's{n}', old={'VCPU': size}) for n, size in enumerate(sizes)]
    path = save(tmp_path, 'cloud.json', cloud(states, consumers))
    assert placement(PLAN.format(file=path) + 'old').status == 0
    monkeypatch.setitem(sys.modules, 'ortools.sat.python.cp_model', None)
    result = placement(PLAN.format(file=path) + 'old')
    assert result.status == 1
    assert 'needs a search by OR-tools: pip install' in result.stderr


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
def test_drain_refuses_a_sharing_provider(placement, tmp_path, options):
    path = save(tmp_path, 'cloud.json', with_storage())
    assert placement(PLAN.format(file=path) + options) == Result(
        1, '', 'nfs is storage that others share, not a host\n'
    )


def test_drain_names_traits_that_only_the_new_host_has(placement, tmp_path):
    states = [provider('a', VCPU=8), provider('b', traits=['CUSTOM_LICENSED'], VCPU=8)]
    path = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', a={'VCPU': 3})]))
    result = placement(PLAN.format(file=path) + 'a')
    assert result.status == 0
    assert result.stderr.splitlines()[2] == (
        '1 server will have traits or aggregates that their old host does not have: '
        'CUSTOM_LICENSED. Use --requests if a flavor forbids one'
    )
