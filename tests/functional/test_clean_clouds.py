# SPDX-License-Identifier: Apache-2.0
"""Nothing is found in clouds in which nothing is wrong, whatever else goes on in them."""

import json

import pytest

from placementclient.placing.providers import is_sharing
from tests.functional.bulk import Database
from tests.functional.clean import NODES, NOWHERE, OVER, RESTING, Clean
from tests.numbers import numbers

SEEDS = 20
KEYS = {'limits': 'registered_limits'}


@pytest.mark.parametrize('seed', numbers(0, SEEDS, quick=5))
def test_audit_finds_nothing_in_clouds_without_an_error(seed, client, placement, tmp_path):
    cloud = Clean(seed)
    Database(client).fill(cloud.snapshot)
    arguments = []
    for name, records in cloud.lists.items():
        path = tmp_path / f'{name}.json'
        path.write_text(json.dumps({KEYS.get(name, name): records}))
        arguments += [f'--{name}', str(path)]
    result = placement('resource', 'provider', 'audit', '-f', 'json', *arguments)
    assert json.loads(result.stdout) == []
    assert result.status == 0
    assert 'left out' not in result.stderr
    # Without the lists nothing is made up.
    without = placement('resource', 'provider', 'audit', '-f', 'json')
    assert json.loads(without.stdout) == []


def test_clean_clouds_have_every_state_that_is_no_error():
    clouds = [Clean(seed) for seed in range(SEEDS)]

    def seen(name, key):
        return {record[key] for cloud in clouds for record in cloud.lists[name]}

    states = {state for state, _ in (*RESTING, *NOWHERE)} | {'resized'}
    assert seen('servers', 'OS-EXT-STS:vm_state') == states
    assert seen('migrations', 'status') == {'running', 'migrating', 'finished', *OVER}
    assert seen('services', 'state') == {'up', 'down'}
    assert seen('services', 'status') == {'enabled', 'disabled'}
    assert seen('nodes', 'provision_state') == {state for state, _ in NODES} | {'available'}
    assert seen('ports', 'device_owner') == {'compute:nova'}
    trees = [cloud.snapshot for cloud in clouds]
    assert any(is_sharing(state) for tree in trees for state in tree.providers.values())
    assert any(tree.children(root.uuid) for tree in trees for root in tree.roots())
    assert {consumer.type for tree in trees for consumer in tree.consumers.values()} == {
        'INSTANCE', 'MIGRATION', None
    }  # fmt: skip
