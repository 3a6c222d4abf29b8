# SPDX-License-Identifier: Apache-2.0
"""Specifications that name providers of several trees: each tree gets what is its own."""

from typing import Any

import pytest

from placementclient.files import specifications
from placementclient.model.specifications import ProviderIdentity
from placementclient.planner import planner, replan
from tests.functional import clouds
from tests.functional.clouds import uuid_of

HOSTS = range(3)
MOVES = [
    {
        'from_resource_provider': f'compute{host}',
        'to_resource_provider': f'compute{host}_gpu0',
        'moved_resources': {'VGPU': 8},
    }
    for host in HOSTS
]
GPUS = [{'name': f'compute{host}_gpu0', 'traits': ['OWNER_NOVA']} for host in HOSTS]
BELOW = [{**gpu, 'parent': f'compute{host}'} for host, gpu in zip(HOSTS, GPUS, strict=True)]
ALL = {
    'from_resource_provider': '{root}',
    'to_resource_provider': '{root}_gpu0',
    'moved_resources': {'VGPU': 8},
}
FORMS: dict[str, Any] = {
    'moves alone': MOVES,
    'targets': {'providers': GPUS, 'moves': MOVES},
    'targets and their parents': {'providers': BELOW, 'moves': MOVES},
    'one root': {
        'trees': {'class': ['VGPU']},
        'providers': [{'name': 'compute1', 'traits': ['CUSTOM_GOLD']}],
        'moves': [ALL],
    },
}


@pytest.fixture(scope='module')
def snapshot():
    return clouds.used(clouds.cloud(hosts=len(HOSTS)))


@pytest.mark.parametrize('document', FORMS.values(), ids=FORMS)
def test_each_named_tree_is_changed_by_itself_and_planned_again_alone(document, snapshot):
    plan = planner.plan_reshape(
        snapshot, specifications.convert_specification(document, 'spec.yaml')
    )
    assert [[change.name for change in tree.providers] for tree in plan.changes] == [
        [f'compute{host}', f'compute{host}_gpu0'] for host in HOSTS
    ]
    for tree in plan.changes:
        again = replan.replan_tree(snapshot.select_trees([tree.root_provider_uuid]), plan, tree)
        assert (again.providers, again.reasons) == (tree.providers, tree.reasons)


def test_a_tree_is_planned_with_its_own_entries_alone():
    additions = [
        {
            'resource_provider': f'compute{host}_0000:81:00.{device}',
            'parent': f'compute{host}',
            'inventories': {'CUSTOM_PCI': {'total': 1}},
        }
        for host in range(100)
        for device in range(8)
    ]
    document = {'additions': additions, 'providers': BELOW, 'moves': MOVES}
    index = specifications.convert_specification(document, 'spec.yaml').index
    root = ProviderIdentity(uuid_of('compute2'), 'compute2')
    scope = index.find_scope(root, {*root})
    assert scope == ((2,), (2,), tuple(range(16, 24)))
