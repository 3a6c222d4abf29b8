# SPDX-License-Identifier: Apache-2.0
"""``resource usage list``: on a file, without any cloud."""

import json

import pytest
from msgspec.structs import replace

from placementclient.model.snapshots import Snapshot
from tests.programs import Result
from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, consumer, host, pool, provider

LIST = 'resource usage list --snapshot {file} '


@pytest.fixture
def file(tmp_path):
    states = [
        host('host1', VCPU=8, MEMORY_MB=4096),
        provider('gpu', 'host1', VGPU=2),
        host('host2', VCPU=8),
        pool('nfs', DISK_GB=100),
    ]
    web = consumer('web', host1={'VCPU': 2, 'MEMORY_MB': 2048}, nfs={'DISK_GB': 40})
    consumers = [
        web,
        replace(consumer('db', host2={'VCPU': 6}), project_id='p2', user_id='anna'),
        replace(consumer('ai', host1={'VCPU': 1}, gpu={'VGPU': 1}), project_id='p2'),
    ]
    return save(tmp_path, 'cloud.json', cloud(states, consumers))


def test_usage_list_prints_projects_the_largest_first(placement, service, file, tmp_path):
    projects = save(tmp_path, 'projects.json', [{'ID': 'p2', 'Name': 'ml'}])
    result = placement(f'{LIST.format(file=file)} --projects {projects}')
    assert result == Result(
        0,
        """\
+---------+------+----------------+--------+---------+-----------+
| subject | name | resource_class |   used | percent | consumers |
+---------+------+----------------+--------+---------+-----------+
| project |      | DISK_GB        | 40 GiB |    40.0 |         1 |
| project |      | MEMORY_MB      |  2 GiB |    50.0 |         1 |
| p2      | ml   | VCPU           |      7 |    43.8 |         2 |
| project |      | VCPU           |      2 |    12.5 |         1 |
| p2      | ml   | VGPU           |      1 |    50.0 |         1 |
+---------+------+----------------+--------+---------+-----------+
""",
        '',
    )
    assert service.requests == []


@pytest.mark.parametrize(
    ('options', 'rows'),
    [
        ('--by project', ['p2,,VCPU,7,43.8,2', 'project,,VCPU,2,12.5,1']),
        ('--by project --top 1', ['p2,,VCPU,7,43.8,2']),
        ('--by user', ['anna,,VCPU,6,37.5,1', 'user,,VCPU,3,18.8,2']),
        ('--by user --users {users}', ['anna,Anna K,VCPU,6,37.5,1', 'user,,VCPU,3,18.8,2']),
        ('--by host', ['host2,host2,VCPU,6,37.5,1', 'host1,host1,VCPU,3,18.8,2']),
        (
            '--by consumer --servers {servers} --projects {projects} --top 2',
            ['db,database,VCPU,6,37.5,host2,ml', 'web,,VCPU,2,12.5,host1,project'],
        ),
    ],
)
def test_usage_list_groups_by_each_subject(placement, file, tmp_path, options, rows):
    lists = {
        'projects': save(tmp_path, 'p.json', {'projects': [{'id': 'p2', 'name': 'ml'}]}),
        'users': save(tmp_path, 'u.json', [{'ID': 'anna', 'Name': 'Anna K'}]),
        'servers': save(
            tmp_path,
            's.json',
            [{'ID': 'db', 'Name': 'database', 'Status': 'ACTIVE', 'Host': 'host2'}],
        ),
    }
    result = placement(f'{LIST.format(file=file)} --class VCPU -f csv {options.format(**lists)}')
    assert (result.status, result.stdout.replace('"', '').splitlines()[1:]) == (0, rows)


def test_usage_list_counts_nested_providers_for_their_host_and_pools_apart(placement, file):
    options = '--by host --class VGPU --class DISK_GB -f value -c name -c used'
    assert placement(LIST.format(file=file) + options).stdout == 'nfs 40\nhost1 1\n'


def test_usage_list_says_on_a_terminal_how_to_see_names(placement, file, tmp_path, monkeypatch):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    hint = 'Names of {0}s: add --{0}s keystone, or --{0}s FILE\n'
    projects = save(tmp_path, 'projects.json', [{'ID': 'p2', 'Name': 'ml'}])
    for options, sentence in (
        ('--by project', hint.format('project')),
        ('--by user', hint.format('user')),
        ('--by host', 'percent: of the capacity of all providers, not of the host\n'),
        (f'--projects {projects}', ''),
    ):
        shown = placement(LIST.format(file=file) + options).stderr
        assert shown.endswith(sentence) if sentence else 'Names of' not in shown


def test_usage_list_says_how_many_rows_equal_the_last_one(placement, tmp_path):
    consumers = [consumer(uuid, host={'VCPU': 4 if uuid == 'a' else 2}) for uuid in 'abcd']
    file = save(tmp_path, 'cloud.json', cloud([host('host', VCPU=16)], consumers))
    for count, sentences in ((1, []), (2, ['Left out: 2 with as much VCPU as the last row'])):
        result = placement(LIST.format(file=file) + f'--by consumer --top {count}')
        assert result.stderr.splitlines() == sentences


def test_usage_list_prints_numbers_as_data(placement, file):
    result = placement(LIST.format(file=file) + '--by consumer --class VGPU -f json')
    assert json.loads(result.stdout) == [
        {'subject': 'ai', 'name': '', 'resource_class': 'VGPU', 'used': 1, 'percent': 50.0,
         'host': 'host1', 'project': 'p2'}
    ]  # fmt: skip


def test_usage_list_has_no_percentage_without_capacity(placement, tmp_path):
    states = [provider('host1', VCPU=8)]
    file = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', host1={'VGPU': 2})]))
    result = placement(LIST.format(file=file) + '-f json -c used -c percent')
    assert json.loads(result.stdout) == [{'used': 2, 'percent': None}]


def test_usage_list_names_usage_that_no_consumer_accounts_for(placement, tmp_path):
    state = replace(provider('host1', VCPU=8), usages={'VCPU': 4})
    file = save(tmp_path, 'cloud.json', Snapshot([state], []))
    assert placement(LIST.format(file=file)) == Result(
        0,
        '',
        'Not in the table: VCPU 4. Placement counts it as used, and no consumer has it\n'
        'No consumer has allocations\n',
    )


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('--class VCPUS', 1, 'No provider has inventory of VCPUS. Did you mean "VCPU"?'),
        ('--by host --users keystone', 2, '--users is for --by user'),
        ('--servers nova', 2, '--servers is for --by consumer'),
    ],
)
def test_usage_list_refuses_lists_of_names_without_a_column(
    placement, file, options, status, message
):
    result = placement(LIST.format(file=file) + options)
    assert (result.status, result.stderr) == (status, f'{message}\n')


def test_a_migration_has_its_type_as_its_name(placement, tmp_path):
    held = [consumer('m', 'MIGRATION', host={'VCPU': 2}), consumer('s', host={'VCPU': 4})]
    file = save(tmp_path, 'cloud.json', cloud([host('host', VCPU=16)], held))
    result = placement(f'{LIST.format(file=file)} --by consumer -f value -c subject -c name')
    assert (result.status, result.stdout) == (0, 's \nm migration\n')
