# SPDX-License-Identifier: Apache-2.0
"""``resource provider snapshot show`` and ``diff``: on files."""

import json

import pytest
from msgspec.structs import replace

from placementclient.model.snapshots import Snapshot
from tests.programs import Result
from tests.unit.commands.clouds import changed, save, small
from tests.unit.insight.clouds import cloud, provider

SNAPSHOT = 'resource provider snapshot'


def test_snapshot_show_counts_what_a_snapshot_has(placement, service, tmp_path):
    file = save(tmp_path, 'cloud.json.gz', small())
    result = placement(f'{SNAPSHOT} show {file} -f json')
    assert (result.status, service.requests) == (0, [])
    assert json.loads(result.stdout) == {
        'file': file,
        'trees': 3,
        'providers': 4,
        'sharing_providers': 1,
        'aggregates': 1,
        'traits': 1,
        'consumers': 1,
        'consumer_types': {'INSTANCE': 1},
        'resource_classes': {
            'DISK_GB': {'used': 40, 'capacity': 100},
            'VCPU': {'used': 3, 'capacity': 12},
            'VGPU': {'used': 0, 'capacity': 2},
        },
        'unsteady': [],
    }
    assert 'DISK_GB (used 40 GiB, capacity 100 GiB)' in placement(f'{SNAPSHOT} show {file}').stdout


def test_snapshot_diff_ends_with_3_where_something_differs(placement, tmp_path):
    before, after = save(tmp_path, 'a.json', small()), save(tmp_path, 'b.json', changed())
    result = placement(f'{SNAPSHOT} diff {before} {after} -f json')
    rows = {(row['name'], row['field']): row for row in json.loads(result.stdout)}
    assert (result.status, result.stderr) == (3, f'{len(rows)} differences (exit 3)\n')
    assert rows['host2', 'traits'] == {
        'change': 'changed',
        'kind': 'provider',
        'name': 'host2',
        'uuid': 'host2',
        'field': 'traits',
        'before': [],
        'after': ['CUSTOM_NEW'],
    }
    assert rows['s', '']['change'] == 'removed'
    assert rows['s', '']['after'] is None
    assert rows['s', '']['before']['allocations.nfs.DISK_GB'] == 40
    table = placement(f'{SNAPSHOT} diff {before} {after} -c name -c before -c after').stdout
    assert '| host2 |' in table
    assert '| CUSTOM_NEW |' in table


@pytest.mark.parametrize('kind', ['provider', 'consumer'])
def test_snapshot_diff_prints_one_kind_of_difference_on_demand(placement, tmp_path, kind):
    before, after = save(tmp_path, 'a.json', small()), save(tmp_path, 'b.json', changed())
    result = placement(f'{SNAPSHOT} diff {before} {after} --kind {kind} -f json')
    assert {row['kind'] for row in json.loads(result.stdout)} == {kind}
    [consumer] = small().consumers.values()
    other = Snapshot(small().providers.values(), [replace(consumer, user_id='other')])
    only = placement(f'{SNAPSHOT} diff {before} {save(tmp_path, "c.json", other)} --kind {kind}')
    assert only.status == (3 if kind == 'consumer' else 0)


def test_snapshot_diff_compares_a_file_with_the_live_cloud(placement, service, tmp_path):
    file = save(tmp_path, 'a.json', small())
    for arguments, change in ((f'{file} live', 'removed'), (f'live {file}', 'added')):
        service.always({'resource_providers': []})
        result = placement(f'{SNAPSHOT} diff {arguments} -f json')
        assert result.status == 3
        assert {row['change'] for row in json.loads(result.stdout)} == {change}
        assert [request.line for request in service.requests] == ['GET /resource_providers']


@pytest.mark.parametrize('workers', ['many', '0', '1001', f'1{"0" * 30}', '9' * 5000])
def test_workers_below_one_are_refused(placement, tmp_path, workers):
    result = placement(f'{SNAPSHOT} save {tmp_path / "cloud.json"} --workers {workers}')
    assert result.status == 2
    assert f"'{workers[:40]}' is not a whole number from 1 to 1000" in result.stderr


def test_a_name_of_two_lines_is_one_in_a_tree(placement, tmp_path):
    file = save(tmp_path, 'cloud.json', cloud([provider('a\nb', VCPU=4), provider('c', 'a\nb')]))
    drawn = placement(f'resource provider tree list --snapshot {file}').stdout
    assert [line.split()[0] for line in drawn.splitlines()] == ['a\\nb', '└─']
    table = placement(f'resource capacity show --snapshot {file}').stdout.splitlines()
    assert [line.split()[1] for line in table if line.startswith('|')] == ['tree', 'a\\nb', '(all)']


def test_differences_are_lines_on_a_terminal(placement, tmp_path, monkeypatch):
    before = save(tmp_path, 'before.json', cloud([provider('c', VCPU=4)]))
    after = save(tmp_path, 'after.json', cloud([provider('c', VCPU=8), provider('d', VGPU=2)]))
    command = f'resource provider snapshot diff {before} {after}'
    table = placement(command)
    assert table.stdout.startswith('+---')
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    lines = '~ c VCPU total 4 → 8\n+ d VGPU 2\n'
    assert placement(command) == Result(3, lines, '2 differences (exit 3)\n')
    assert placement(f'{command} -f json').stdout.startswith('[')
    assert placement(f'{command} -c name -f value').stdout == 'c\nd\n'
    assert placement(f'{command} -c name').stdout.startswith('+---')
