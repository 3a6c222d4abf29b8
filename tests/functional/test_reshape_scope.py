# SPDX-License-Identifier: Apache-2.0
"""``reshape plan --tree`` of a live service: what it reads beside the chosen trees."""

import json
from pathlib import Path

import pytest
import yaml

from placementclient.basis.errors import ExitStatus
from tests.functional import clouds
from tests.unit.planner.clouds import cloud, uuid_of

PREFIX = 'resource provider reshape'
AGGREGATE = uuid_of('aggregate')
SPEC = {
    'trees': {'name': ['h1', 'h2']},
    'providers': [
        {'name': '{root}', 'aggregates': [AGGREGATE]},
        {'name': 'pool', 'inventories': {'DISK_GB': {'total': 100}}},
        {'name': 'h2', 'traits': ['CUSTOM_GOLD']},
    ],
    'moves': [
        {
            'from_resource_provider': '{root}',
            'to_resource_provider': 'pool',
            'moved_resources': {'DISK_GB': 'all'},
        },
    ],
}


@pytest.fixture
def before(client, tmp_path, monkeypatch):
    """Two hosts and the storage that they share, and a specification in the current folder."""
    monkeypatch.chdir(tmp_path)
    disk = {'inventories': {'DISK_GB': {'total': 10}}}
    pool = {'traits': ['MISC_SHARES_VIA_AGGREGATE'], 'aggregates': [AGGREGATE]}
    hosts = {'h1': disk, 'h2': disk, 'pool': {**disk, **pool}, 'other': disk}
    consumers = {name: {name: {'DISK_GB': 4}} for name in ('h1', 'h2', 'pool', 'other')}
    clouds.load(client, cloud(hosts, consumers))
    (tmp_path / 'spec.yaml').write_text(yaml.safe_dump(SPEC | {'providers': SPEC['providers'][:2]}))
    return clouds.captured(client)


def test_plan_of_one_tree_reads_the_sharing_provider_it_moves_to(client, placement, before):
    live = placement(f'{PREFIX} plan --spec spec.yaml --tree h1 -o live.json -f json')
    assert (live.status, json.loads(live.stdout)['providers_to_create']) == (0, 0)
    assert placement('resource provider snapshot save cloud.json').status == 0
    placement(f'{PREFIX} plan --spec spec.yaml --snapshot cloud.json --tree h1 -o file.json')
    trees = [json.loads(Path(name).read_text())['trees'] for name in ('live.json', 'file.json')]
    assert trees[0] == trees[1]
    assert placement(f'{PREFIX} apply live.json --yes').status == 0
    after = clouds.captured(client)
    assert after.providers.keys() == before.providers.keys()
    pool = after.find('pool')
    assert pool is not None
    assert pool.used('DISK_GB') == 8


def test_plan_of_one_tree_makes_no_provider_of_another(placement, before):
    spec = SPEC | {'trees': {'name': ['h1']}}
    Path('spec.yaml').write_text(yaml.safe_dump(spec))
    entry = 'providers[2]: nothing uses h2'
    assert entry in placement(f'{PREFIX} plan --spec spec.yaml -o plan.json').stderr
    live = placement(f'{PREFIX} plan --spec spec.yaml --tree h1 -o plan.json -f json')
    assert (live.status, json.loads(live.stdout)['providers_to_create']) == (0, 0)


def test_plan_of_one_tree_names_typos_in_the_selection_of_others(placement, before):
    spec = SPEC | {'trees': {'name': ['h1', 'ohter'], 'uuid': [uuid_of('h1'), uuid_of('h3')]}}
    Path('spec.yaml').write_text(yaml.safe_dump(spec))
    refused = placement(f'{PREFIX} plan --spec spec.yaml --tree h1 -o plan.json')
    assert refused.status == ExitStatus.ERROR
    assert '"ohter" matches no provider. Did you mean "other"?' in refused.stderr
    assert f'no root has the UUID {uuid_of("h3")}' in refused.stderr
    assert not Path('plan.json').exists()
