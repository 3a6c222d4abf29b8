"""Names and UUIDs: an exact UUID wins over a name that looks like one."""

from __future__ import annotations

import pytest

from placementclient.client import errors
from placementclient.planner import planner
from placementclient.planner.specification import assignments, specification
from tests.unit.planner.clouds import cloud, uuid_of

GPU1, CARD = uuid_of('gpu1'), uuid_of('card')
#: A second root whose name is the UUID of the first.
HOSTS = {
    'gpu1': {'inventories': {'VGPU': {'total': 2}}, 'children': {'card': {}}},
    GPU1: {'inventories': {'VGPU': {'total': 2}}},
}


def plan_of(text, rows='', trees=()):
    consumers = {'vm': {'gpu1': {'VGPU': 1}}}
    return planner.make(
        cloud(HOSTS, consumers),
        specification.parse(text, 'spec.yaml'),
        assignments.parse(rows, 'rows.csv') if rows else (),
        trees=trees,
    )


MOVES = """
moves:
- from_resource_provider: "{root}"
  to_resource_provider: "{root}_card"
  moved_resources: {VGPU: 1}
"""


def test_a_tree_is_the_one_of_the_uuid():
    row = f'consumer_uuid,resource_class,amount,to_provider\n{uuid_of("vm")},VGPU,,{GPU1}\n'
    plan = plan_of('trees: {}' + MOVES, row, (GPU1,))
    assert [tree.root_provider_name for tree in plan.trees] == ['gpu1']
    assert [row.to_provider for row in plan.trees[0].rows] == ['gpu1']


def test_of_a_plan_too():
    row = f'consumer_uuid,resource_class,amount,to_provider\n{uuid_of("vm")},VGPU,,gpu1\n'
    plan = plan_of('trees: {}' + MOVES, row)
    assert len(plan.trees) == 2
    assert [tree.root_provider_name for tree in plan.selected([GPU1])] == ['gpu1']
    tree = plan.tree(GPU1)
    assert tree is not None
    assert tree.root_provider_name == 'gpu1'


@pytest.mark.parametrize('name', [CARD, 'card'])
def test_a_provider_is_meant_by_its_uuid_as_by_its_name(name):
    text = f"""
trees: {{name: [gpu1]}}
providers:
- name: {name}
  inventories: {{VGPU: {{total: 2, max_unit: 1}}}}
  traits: [OWNER_NOVA]
moves:
- {{from_resource_provider: "{{root}}", to_resource_provider: card, moved_resources: {{VGPU: 2}}}}
"""
    [change] = [each for each in plan_of(text).trees[0].providers if each.name == 'card']
    assert change.uuid == CARD
    assert change.after.traits == {'OWNER_NOVA'}
    assert change.after.inventories['VGPU'].max_unit == 1


def test_a_source_is_the_one_of_the_uuid():
    text = f'- {{from_resource_provider: {GPU1}, to_resource_provider: card, moved_resources: '
    (tree,) = plan_of(text + '{VGPU: all}}').trees
    assert [(move.from_provider, move.to_provider) for move in tree.moves] == [('gpu1', 'card')]


def test_an_entry_that_nothing_uses():
    text = 'trees: {}\nproviders:\n- name: "{root}_card"\n- name: "{source}_crad"' + MOVES
    with pytest.raises(errors.BadFile) as error:
        plan_of(text)
    assert str(error.value) == 'spec.yaml:4: providers[1]: nothing uses {source}_crad'


def test_two_entries_of_one_provider():
    text = (
        f'trees: {{name: [gpu1]}}\nproviders:\n- name: card\n- name: {CARD}\n'
        'moves: [{from_resource_provider: gpu1, to_resource_provider: card, '
        'moved_resources: {VGPU: 2}}]'
    )
    with pytest.raises(errors.BadFile) as error:
        plan_of(text)
    said = 'spec.yaml:4: providers[1].name: gpu1: card is under providers too'
    assert str(error.value) == said
