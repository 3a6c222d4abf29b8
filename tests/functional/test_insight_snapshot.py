# SPDX-License-Identifier: Apache-2.0
"""Snapshots kept, restored and compared with what is there."""

import json

import pytest

from placementclient.api import resource_provider, trait
from placementclient.files import disk
from tests.functional.clouds import uuid_of
from tests.functional.test_insight_capacity import mixed

COMMAND = 'resource provider snapshot'


@pytest.fixture
def file(tmp_path):
    """A cloud in a file; what is used is what the service will sum up."""
    path = str(tmp_path / 'cloud.json')
    disk.write_snapshot(path, mixed())
    return path


def test_restore_makes_nothing_where_a_name_is_taken(client, placement, file):
    resource_provider.create(client, 'two')
    instead = f'Or restore only allocations: placement {COMMAND} restore {file} --allocations\n'
    for options in ('', '--missing'):
        result = placement(f'{COMMAND} restore {file} {options}')
        assert result.status == 1
        assert 'exist already with other UUIDs or names: two\n' in result.stderr
        assert result.stderr.endswith(instead)
    assert [provider.name for provider in resource_provider.list(client)] == ['two']


def test_snapshot_diff_shows_a_change_of_the_live_cloud(client, placement, file):
    placement(f'{COMMAND} restore {file}')
    placement(f'{COMMAND} save {file}')
    two = resource_provider.show(client, uuid_of('two')).value
    trait.set_on_provider(client, two.uuid, ['COMPUTE_NODE', 'HW_NUMA_ROOT'], two.generation)
    result = placement(f'{COMMAND} diff {file} live -f json')
    assert result.status == 3
    assert json.loads(result.stdout) == [
        {
            'change': 'changed',
            'kind': 'provider',
            'name': 'two',
            'uuid': two.uuid,
            'field': 'traits',
            'before': ['COMPUTE_NODE'],
            'after': ['COMPUTE_NODE', 'HW_NUMA_ROOT'],
        }
    ]


@pytest.mark.parametrize('listed', ['trait', 'resource class'])
def test_lists_count_the_providers_of_each_trait_and_class(placement, file, listed):
    assert placement(f'{COMMAND} restore {file}').status == 0
    columns = '-f json -c name -c providers -c hosts -c only_on'
    offline = json.loads(placement(f'{listed} list --snapshot {file} {columns}').stdout)
    live = json.loads(placement(f'{listed} list --long {columns}').stdout)
    assert max(row['hosts'] for row in offline) > 1
    assert live[: len(offline)] == offline
    for rows in (live, offline):
        assert rows == sorted(rows, key=lambda r: (-r['hosts'], -r['providers'], r['name']))


def test_trait_list_of_a_snapshot_refuses_associated(placement, file):
    result = placement(f'trait list --snapshot {file} --associated')
    assert (result.status, result.stdout) == (2, '')
