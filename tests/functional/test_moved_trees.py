# SPDX-License-Identifier: Apache-2.0
"""Trees that are declared together with the moves of their used inventory."""

import json

import pytest
import yaml

from placementclient.api import allocation
from placementclient.nova import service
from placementclient.reading.capture import capture
from tests.functional import clouds

TREE, RESHAPE = 'resource provider tree', 'resource provider reshape'
CHILD = 'compute1_pci_0000_84_00_0'
BEFORE = """
- name: compute1
  inventories: {VCPU: {total: 16}, VGPU: {total: 4, max_unit: 4}, CUSTOM_OLD: {total: 1}}
  traits: [OWNER_NOVA, HW_CPU_X86_AMD_SEV, COMPUTE_NODE]
  aggregates: [7aa3a1a2-7ac2-4b1d-a0c2-0c2e1c8f6a11]
- {name: compute2, inventories: {VCPU: {total: 16}, VGPU: {total: 4}}}
"""
#: With the line of each part that a test damages.
AFTER = f"""name: compute1
inventories:
  VCPU: {{total: 32}}
traits: [OWNER_NOVA]
aggregates: []
children:
- name: {CHILD}
  uuid: 5b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b
  inventories: {{VGPU: {{total: 4, max_unit: 1}}}}
  traits: [OWNER_NOVA]
moves:
- from_resource_provider: compute1
  to_resource_provider: 5b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b
  moved_resources: {{VGPU: 4}}
"""
SERVERS = [clouds.uuid_of(f'server{number}') for number in range(3)]


@pytest.fixture
def cloud(placement, client, tmp_path, monkeypatch):
    """A host with three servers, each with a CPU and a GPU, and the folder of its files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'before.yaml').write_text(BEFORE)
    (tmp_path / 'after.yaml').write_text(AFTER)
    assert placement(f'{TREE} apply before.yaml --yes').status == 0
    for server in SERVERS:
        placement(
            f'resource provider allocation set {server} --allocation rp=compute1,VCPU=1,VGPU=1 '
            '--project-id p --user-id u'
        )
    return tmp_path


def held(client):
    """Return what each server holds, by the names of the providers."""
    names = {uuid: state.name for uuid, state in capture(client).providers.items()}
    return [
        {names[uuid]: dict(part) for uuid, part in shown.value.allocations.items()}
        for shown in (allocation.show(client, server) for server in SERVERS)
    ]


def contents(client):
    return {
        state.name: (state.inventories, state.traits, state.aggregates)
        for state in capture(client).providers.values()
    }


MOVED = [{'compute1': {'VCPU': 1}, CHILD: {'VGPU': 1}}] * 3


def assert_moved(client):
    assert held(client) == MOVED
    root, child = (contents(client)[name] for name in ('compute1', CHILD))
    assert {name: inventory.total for name, inventory in root[0].items()} == {'VCPU': 32}
    assert root[1:] == ({'OWNER_NOVA', 'COMPUTE_NODE'}, frozenset())
    assert (child[0]['VGPU'].total, child[0]['VGPU'].max_unit) == (4, 1)


def test_tree_apply_moves_a_used_class_with_its_allocations(placement, client, cloud):
    before = capture(client)

    dry = placement(f'{TREE} apply after.yaml --dry-run -f json')
    assert (dry.status, capture(client).providers) == (3, before.providers)
    assert dry.stderr.endswith('1 provider to create, 1 to change; '
                               '3 allocations to move (exit 3)\n')  # fmt: skip

    applied = placement(f'{TREE} apply after.yaml --yes -f json')
    assert applied.status == 0, applied.stderr
    assert [row['object'] for row in json.loads(dry.stdout)] == [
        row['object'] for row in json.loads(applied.stdout)
    ]
    assert_moved(client)
    assert contents(client)['compute2'][0] == before.find('compute2').inventories

    generations = [state.provider for state in capture(client).providers.values()]
    again = placement(f'{TREE} apply after.yaml --yes -f json')
    assert (again.status, json.loads(again.stdout)) == (0, [])
    assert [state.provider for state in capture(client).providers.values()] == generations


@pytest.mark.parametrize(
    'command',
    [
        f'{TREE} apply after.yaml --plan plan.json',
        f'{RESHAPE} plan --spec after.yaml -o plan.json',
    ],
)
def test_a_plan_of_a_tree_with_moves_moves_a_later_server_too_and_is_rolled_back(
    placement, client, cloud, command
):
    before = contents(client), held(client)
    assert placement(command).status == 0
    assert (contents(client), held(client)) == before
    late = clouds.uuid_of('late')
    placement(
        f'resource provider allocation set {late} --allocation rp=compute1,VGPU=1 '
        '--project-id p --user-id u'
    )
    assert placement(f'{RESHAPE} apply plan.json --yes').status == 0
    assert_moved(client)
    child = capture(client).find(CHILD)
    assert allocation.show(client, late).value.allocations == {child.uuid: {'VGPU': 1}}
    assert placement(f'{RESHAPE} verify plan.json').status == 0
    assert placement(f'{RESHAPE} rollback plan.json --yes').status == 0
    placement(f'resource provider allocation delete {late}')
    assert (contents(client), held(client)) == before


def test_exported_trees_take_moves_beside_them(placement, client, cloud):
    placement(f'{TREE} export -o trees.yaml')
    trees = yaml.safe_load((cloud / 'trees.yaml').read_text())
    for tree in trees:
        vgpu = tree['inventories'].pop('VGPU')
        name = f'{tree["name"]}_pci_0000_84_00_0'
        tree['children'] = [{'name': name, 'inventories': {'VGPU': vgpu}, 'traits': []}]
    move = {
        'from_resource_provider': '{root}',
        'to_resource_provider': '{root}_pci_0000_84_00_0',
        'moved_resources': {'VGPU': 'all'},
    }
    (cloud / 'moved.yaml').write_text(yaml.safe_dump({'trees': trees, 'moves': [move]}))
    applied = placement(f'{TREE} apply moved.yaml --yes')
    assert applied.status == 0, applied.stderr
    assert held(client) == MOVED
    assert 'VGPU' not in contents(client)['compute2'][0]
    assert placement(f'{TREE} export -o after.json').status == 0
    assert placement(f'{TREE} apply moved.yaml --dry-run').status == 0


#: What is replaced in the file, by what, and the message.
HOSTILE = {
    'class stays on its source': (
        '  VCPU: {total: 32}\n',
        '  VCPU: {total: 32}\n  VGPU: {total: 4}\n',
        'after.yaml:4: inventories.VGPU: compute1: compute1 is to have 4 VGPU, but the moves leave '
        'it 0',
    ),
    'target is stated without the class': (
        'inventories: {VGPU: {total: 4, max_unit: 1}}',
        'inventories: {}',
        f'after.yaml:9: children[0].inventories: compute1: {CHILD} is to have 0 VGPU, but the '
        'moves leave it 4',
    ),
    'used class is neither stated nor moved': (
        '  VCPU: {total: 32}\n',
        '  DISK_GB: {total: 32}\n',
        'after.yaml:2: inventories: compute1: compute1 is to have no VCPU, of which 3 are in use: '
        'move it, or state it',
    ),
    'less moves than there is': (
        '{VGPU: 4}\n',
        '{VGPU: 3}\n',
        'after.yaml:2: inventories: compute1: compute1 is to have 0 VGPU, but the moves leave it 1',
    ),
    'more moves than there is': (
        '{VGPU: 4}\n',
        '{VGPU: 5}\n',
        'after.yaml:14: moves[0].moved_resources.VGPU: compute1: 5 VGPU are moved off compute1, '
        'which has 4',
    ),
    'provider twice': (
        'moves:\n',
        f'- {{name: {CHILD}}}\nmoves:\n',
        f'after.yaml:11: children[1]: {CHILD} appears twice',
    ),
    'UUID twice': (
        'moves:\n',
        '- {name: other, uuid: 5B5D7ED9-4ee9-4b9b-9d9c-5d2d1b7d7d1b}\nmoves:\n',
        'after.yaml:11: children[1].uuid: 5b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b appears twice',
    ),
    'unknown UUID': (
        'to_resource_provider: 5b5d7ed9',
        'to_resource_provider: 6b5d7ed9',
        'after.yaml:13: moves[0].to_resource_provider: compute1: there is no provider '
        '6b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b; a new one needs a name: add "name: NAME" to the '
        'move',
    ),
    'unknown source': (
        'from_resource_provider: compute1',
        'from_resource_provider: 7b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b',
        'after.yaml:12: moves[0].from_resource_provider: there is no provider '
        '7b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b to move anything from',
    ),
    'unknown tree': (
        'name: compute1\n',
        'name: compute3\n',
        'after.yaml:1: name: "compute3" matches no provider. Did you mean "compute1" or '
        '"compute2"?',
    ),
    'name for a known UUID': (
        '{VGPU: 4}\n',
        '{VGPU: 4}\n  name: other\n',
        f'after.yaml:15: moves[0].name: 5b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b is {CHILD}',
    ),
    'UUID of another provider': (
        'name: compute1\n',
        'name: compute1\nuuid: 7b5d7ed9-4ee9-4b9b-9d9c-5d2d1b7d7d1b\n',
        'after.yaml:2: uuid: compute1: compute1 exists already, and its UUID is ',
    ),
    'moved trait stays': (
        '{VGPU: 4}\n',
        '{VGPU: 4}\n  moved_traits: [HW_CPU_X86_AMD_SEV]\n',
        f'after.yaml:10: children[0].traits: compute1: a move takes the trait HW_CPU_X86_AMD_SEV '
        f'from compute1 to {CHILD}, but {CHILD} is stated without it',
    ),
}


@pytest.mark.parametrize('case', HOSTILE)
def test_a_contradiction_of_tree_and_moves_is_refused_with_its_line(placement, client, cloud, case):
    old, new, message = HOSTILE[case]
    assert AFTER.count(old) == 1
    (cloud / 'after.yaml').write_text(AFTER.replace(old, new))
    before = capture(client)
    for command in (
        f'{TREE} apply after.yaml --yes',
        f'{TREE} apply after.yaml --plan plan.json',
        f'{RESHAPE} plan --spec after.yaml -o plan.json',
    ):
        refused = placement(command)
        assert (refused.status, refused.stdout) == (1, '')
        assert message in refused.stderr
    assert not (cloud / 'plan.json').exists()
    after = capture(client)
    assert (after.providers, after.consumers) == (before.providers, before.consumers)


def test_moves_are_refused_while_nova_compute_would_undo_them(
    placement, client, cloud, monkeypatch
):
    up = [{'host': 'compute1', 'state': 'up'}]
    monkeypatch.setattr(service, 'compute_services', lambda client: up)
    before = contents(client)
    refused = placement(f'{TREE} apply after.yaml --yes')
    assert (refused.status, refused.stdout) == (1, '')
    assert 'nova-compute is up on compute1: ' in refused.stderr
    assert refused.stderr.endswith('"placement resource provider reshape apply --compute-is-up"\n')
    assert contents(client) == before
    assert placement(f'{TREE} apply after.yaml --plan plan.json').status == 0
    monkeypatch.setitem(up[0], 'state', 'down')
    assert placement(f'{TREE} apply after.yaml --yes').status == 0
    assert_moved(client)


def test_options_of_declarations_do_not_go_with_moves(placement, cloud):
    for option in '--prune', '--reparent', '--previous before.yaml', '--compute-node compute1':
        refused = placement(f'{TREE} apply after.yaml --yes {option}')
        assert (refused.status, refused.stderr) == (
            2,
            '--prune, --reparent, --previous and --compute-node are for files without moves\n',
        )
