# SPDX-License-Identifier: Apache-2.0
"""The main jobs over HTTP, on the release of Placement that ``tests/releases.py`` has set up.

Without it, on the release that is installed here: other tests try the same on that one. So pytest
does not collect this file by itself.
"""

from pathlib import Path

import pytest

from placementclient.client.http import Client
from placementclient.client.microversion import TYPED
from placementclient.files import disk
from tests.functional import clouds
from tests.functional.applying import client_of
from tests.functional.clouds import uuid_of

HOSTS = 6
NAMES = [f'compute{number}' for number in range(HOSTS)]
RESHAPE = 'resource provider reshape'
APPLY = 'resource provider tree apply rack.yaml'
SNAPSHOT = 'resource provider snapshot'
#: One child for each host, so that everything is forced and no assignments are needed.
SPEC = """\
trees: {class: [VGPU]}
providers:
  - name: '{root}_gpu'
    inventories: {VGPU: {total: 8, max_unit: 8}}
moves:
  - from_resource_provider: '{root}'
    to_resource_provider: '{root}_gpu'
    moved_resources: {VGPU: 8}
"""
DECLARATION = """\
name: rack1
inventories: {CUSTOM_POWER: {total: 4000}}
traits: [CUSTOM_RACK]
children:
- name: rack1_feed
  inventories: {CUSTOM_POWER: {total: 100}}
"""


@pytest.fixture
def older(service_url):
    """A client that uses the highest version that the service knows."""
    return Client(client_of(service_url).session)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Files of a test are in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cloud(older):
    """Six hosts with flat VGPU."""
    clouds.emptied(older)
    clouds.load(older, clouds.cloud(HOSTS))
    Path('spec.yaml').write_text(SPEC)
    return clouds.content(clouds.captured(older))


def live(older):
    return clouds.content(clouds.captured(older))


def test_six_trees_are_reshaped_and_taken_back_by_workers_side_by_side(
    placement_over_http, older, cloud
):
    assert placement_over_http(f'{SNAPSHOT} save cloud.json').status == 0
    plan = f'{RESHAPE} plan --spec spec.yaml --snapshot cloud.json -o plan.json'
    assert placement_over_http(plan).status == 0
    applied = placement_over_http(f'{RESHAPE} apply plan.json --yes -f json').json()
    assert [tree['state'] for tree in applied] == ['applied'] * HOSTS
    assert placement_over_http(f'{RESHAPE} verify plan.json').status == 0
    status = placement_over_http(f'{RESHAPE} status plan.json -f json').json()
    assert {tree['state'] for tree in status} == {'applied'}
    tree = placement_over_http('resource provider tree show compute0').stdout
    assert 'compute0_gpu  VGPU 4/8' in tree
    assert placement_over_http(f'{RESHAPE} rollback plan.json --yes').status == 0
    assert live(older) == cloud


def test_a_snapshot_of_an_older_release_is_restored_into_the_installed_one(
    placement_over_http, placement, cloud
):
    assert placement_over_http(f'{SNAPSHOT} save cloud.json').status == 0
    assert placement(f'{SNAPSHOT} restore cloud.json --yes').status == 0
    compared = placement(f'{SNAPSHOT} diff cloud.json live')
    assert compared.status == 0, compared


def test_types_of_consumers_are_restored_or_said_to_be_lost(placement_over_http, older):
    clouds.emptied(older)
    disk.write_snapshot('typed.json', clouds.used(clouds.cloud()))
    restored = placement_over_http(f'{SNAPSHOT} restore typed.json --yes')
    assert restored.status == 0, restored
    is_said = 'Not restored: the types of 3 consumers' in restored.stderr
    assert is_said is (older.microversion < TYPED)
    assert placement_over_http(f'{SNAPSHOT} restore typed.json --missing --yes').status == 0


def test_declared_trees_are_made_and_audited(placement_over_http, cloud):
    Path('rack.yaml').write_text(DECLARATION)
    for status in (3, 0):
        assert placement_over_http(f'{APPLY} --dry-run').status == status
        assert placement_over_http(f'{APPLY} --yes').status == 0
    assert 'rack1_feed  CUSTOM_POWER 0/100' in (
        placement_over_http('resource provider tree show rack1').stdout
    )
    findings = placement_over_http('resource provider audit -f json').json()
    assert {finding['id'] for finding in findings} <= {'consumer-untyped'}


def test_a_batch_claims_moves_and_deletes(placement_over_http, older, cloud):
    consumer = uuid_of('of the batch')
    Path('lines').write_text(
        f'resource provider allocation set {consumer} --allocation rp=compute0,VCPU=1 '
        '--project-id p --user-id u\n'
        f'resource provider allocation move {consumer} --from compute0 --to compute1\n'
        f'resource provider allocation show {consumer} -f json\n'
        f'resource provider allocation delete {consumer}\n'
    )
    result = placement_over_http('batch lines')
    assert (result.status, result.stderr) == (0, '4 done\n'), result
    assert live(older) == cloud
