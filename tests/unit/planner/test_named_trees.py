"""Specifications that name providers of several trees: each tree gets what is its own."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.model.snapshots import Snapshot
from placementclient.planner import planner, replan
from placementclient.planner.specification import specification
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


def tree_of(snapshot, root):
    return Snapshot(snapshot.tree(root), snapshot.consumers_on(root))


@pytest.fixture(params=FORMS.values(), ids=FORMS)
def plan(request, snapshot):
    return planner.make(snapshot, specification.from_document(request.param, 'spec.yaml'))


def test_each_tree_gets_its_own(plan):
    assert [[change.name for change in tree.providers] for tree in plan.trees] == [
        [f'compute{host}', f'compute{host}_gpu0'] for host in HOSTS
    ]


def test_a_tree_alone_is_planned_again_as_before(plan, snapshot):
    for tree in plan.trees:
        live = tree_of(snapshot, tree.root_provider_uuid)
        again = replan.replan(live, plan, tree)
        assert again.providers == tree.providers
        assert again.rows == tree.rows


def test_of_many_entries_a_tree_sees_but_its_own():
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
    index = specification.from_document(document, 'spec.yaml').index
    scope = index.scope((uuid_of('compute2'), 'compute2'), {'compute2', uuid_of('compute2')})
    assert scope == ((2,), (2,), tuple(range(16, 24)))
