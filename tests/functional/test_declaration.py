# SPDX-License-Identifier: Apache-2.0
"""Trees that are declared in files, made by the real service."""

import json
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from placementclient.api import allocation, inventory, resource_provider
from placementclient.client import errors
from placementclient.model.consumers import Consumer
from placementclient.reading.capture import capture
from tests.functional import clouds

TREE = ('resource', 'provider', 'tree')

DECLARED = """
name: compute1
inventories: {VCPU: {total: 16, allocation_ratio: 4.0}, MEMORY_MB: {total: 4096}}
traits: [HW_CPU_X86_AVX2]
children:
- name: compute1_pci_0000_84_00_0
  inventories: {VGPU: {total: 4, max_unit: 1}}
  traits: [CUSTOM_A40, OWNER_NOVA]
  aggregates: [7aa3a1a2-7ac2-4b1d-a0c2-0c2e1c8f6a11]
- name: compute1_NUMA0
"""


@pytest.fixture
def declared(tmp_path):
    def write(text):
        path = tmp_path / 'trees.yaml'
        path.write_text(text)
        return str(path)

    return write


def changes(result):
    return [(row['object'], row['change']) for row in json.loads(result.stdout)]


def test_tree_apply_makes_the_trees_once_and_then_writes_nothing(placement, client, declared):
    path = declared(DECLARED)
    dry = placement(*TREE, 'apply', path, '--dry-run', '-f', 'json')
    assert (dry.status, capture(client).providers) == (3, {})
    done = placement(*TREE, 'apply', path, '--yes', '-f', 'json')
    assert changes(dry) == changes(done)
    assert [row for row in changes(done) if row[1] == 'create'] == [
        ('compute1', 'create'),
        ('compute1_NUMA0', 'create'),
        ('compute1_pci_0000_84_00_0', 'create'),
    ]
    before = capture(client)
    child = before.find('compute1_pci_0000_84_00_0')
    assert child is not None
    assert child.inventories['VGPU'].total == 4
    assert child.traits == {'CUSTOM_A40', 'OWNER_NOVA'}
    assert child.aggregates == {'7aa3a1a2-7ac2-4b1d-a0c2-0c2e1c8f6a11'}
    assert changes(placement(*TREE, 'apply', path, '--yes', '-f', 'json')) == []
    assert changes(placement(*TREE, 'apply', path, '--dry-run', '-f', 'json')) == []
    after = capture(client)
    # No write: no generation has moved.
    assert {u: s.provider.generation for u, s in before.providers.items()} == {
        u: s.provider.generation for u, s in after.providers.items()
    }


def test_tree_apply_keeps_what_the_file_does_not_give(placement, client, declared):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    change = 'name: compute1\ninventories: {VCPU: {reserved: 2}}\n'
    assert changes(placement(*TREE, 'apply', declared(change), '--yes', '-f', 'json')) == [
        ('compute1', 'MEMORY_MB'),
        ('compute1', 'VCPU:reserved'),
    ]
    root = capture(client).find('compute1')
    assert root is not None
    assert {
        name: (i.total, i.reserved, i.allocation_ratio) for name, i in root.inventories.items()
    } == {'VCPU': (16, 2, 4.0)}
    assert root.traits == {'HW_CPU_X86_AVX2'}
    assert len(capture(client).providers) == 3


def test_prune_keeps_providers_in_use(placement, client, declared):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    placement(
        *('resource', 'provider', 'allocation', 'set', clouds.uuid_of('server')),
        *('--allocation', 'rp=compute1_pci_0000_84_00_0,VGPU=1'),
        *('--project-id', 'p', '--user-id', 'u'),
    )
    pruned = placement(*TREE, 'apply', declared('name: compute1'), '--prune', '--yes', '-f', 'json')
    assert changes(pruned) == [('compute1_NUMA0', 'delete')]
    assert len(capture(client).providers) == 2


def test_tree_apply_removes_no_inventory_in_use(placement, client, declared):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    placement(
        *('resource', 'provider', 'allocation', 'set', clouds.uuid_of('server')),
        *('--allocation', 'rp=compute1,VCPU=40', '--project-id', 'p', '--user-id', 'u'),
    )
    before = capture(client)
    text = 'name: compute1\ntraits: []\ninventories: {MEMORY_MB: {total: 4096}}'
    refused = placement(*TREE, 'apply', declared(text), '--yes')
    assert refused.status == 1
    assert refused.stderr.startswith('40 VCPU of compute1 is in use, and there would be ')
    assert 'from_resource_provider: compute1' in refused.stderr
    after = capture(client)
    assert before.providers == after.providers


def test_a_root_moves_below_another_only_with_reparent(placement, client, declared):
    hosts = declared('[{name: a, inventories: {VCPU: {total: 4}}}, {name: b, inventories: {}}]')
    placement(*TREE, 'apply', hosts, '--yes')
    before = capture(client)
    slip = declared('{name: b, children: [{name: a, inventories: {VCPU: {total: 4}}}]}')

    refused = placement(*TREE, 'apply', slip, '--yes')

    assert (refused.status, refused.stdout, refused.stderr) == (
        1,
        '',
        'The file puts a, which is a root, below b. Check the indentation of the file; --reparent '
        'moves it\n',
    )
    assert capture(client).providers == before.providers
    moved = placement(*TREE, 'apply', slip, '--reparent', '--yes', '-f', 'json')
    assert (moved.status, changes(moved)) == (0, [('a', 'parent')])


def test_a_rename_keeps_what_another_writer_sets_meanwhile(placement, client, declared):
    """What another writer sets beside a rename is seen, and decided anew."""
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    uuid = resource_provider.find(client, 'compute1')

    def intervene():
        live = inventory.list(client, uuid)
        fields = {name: item.as_fields() for name, item in live.value.items()}
        fields['VCPU']['reserved'] = 2
        assert live.generation is not None
        inventory.set_all(client, uuid, fields, live.generation)

    text = f'{{name: new, uuid: {uuid}, inventories: {{VCPU: {{total: 32}}, MEMORY_MB: {{}}}}}}'
    with clouds.disturbed(client, 'PUT', uuid, intervene):
        done = placement(*TREE, 'apply', declared(text), '--yes', '-f', 'json')
    assert changes(done) == [('compute1', 'name'), ('new', 'VCPU:total')]
    live = inventory.list(client, uuid).value['VCPU']
    assert (live.total, live.reserved) == (32, 2)


def test_tree_apply_prints_what_was_made_before_a_failure(placement, client, declared):
    path = declared('{name: a, children: [{name: b}], traits: [COMPUTE_NODE], inventories: {}}')
    with refusing(client, '/traits'):
        failed = placement(*TREE, 'apply', path, '--yes', '-f', 'json')
    assert (failed.status, changes(failed)) == (6, [('a', 'create'), ('b', 'create'), ('a', '')])
    assert json.loads(failed.stdout)[-1]['state'] == 'failed'
    assert failed.stderr == 'no (HTTP 400)\n1 failed: a (exit 6)\n'
    with refusing(client, '/traits'):
        failed = placement(*TREE, 'apply', path, '--yes', '-f', 'json')
    assert (failed.status, changes(failed)) == (1, [('a', '')])


@contextmanager
def refusing(client, part):
    """A service that refuses to write what has this in its path."""

    def refuse():
        raise errors.BadRequest(400, 'no')

    with clouds.disturbed(client, 'PUT', part, refuse):
        yield


def test_an_exported_tree_applies_without_a_change_and_makes_the_same_tree(
    placement, client, declared, tmp_path
):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    for name in ('trees.json', 'trees.yaml'):
        path = str(tmp_path / name)
        placement(*TREE, 'export', '-o', path)
        assert changes(placement(*TREE, 'apply', path, '--dry-run', '-f', 'json')) == []
    before = capture(client)
    for state in reversed(list(before.tree(before.roots()[0].uuid))):
        resource_provider.delete(client, state.uuid)
    placement(*TREE, 'apply', path, '--yes')
    after = capture(client)
    assert {u: (s.inventories, s.traits, s.aggregates) for u, s in before.providers.items()} == {
        u: (s.inventories, s.traits, s.aggregates) for u, s in after.providers.items()
    }
    assert placement(*TREE, 'export').stdout == Path(path).read_text()


@pytest.mark.parametrize('file', ['trees.json', 'trees.yaml'])
def test_an_export_keeps_every_name(placement, client, tmp_path, file):
    names = ['a\x85b', 'a\u2028b', '\u2029', '\ufeffa', ' a', 'a ', 'a\nb', '\t', '\x7f']
    names += ['yes', 'null', '1e3', '0x1f', '2026-01-01', '=', '~', '"', "'", '\\u0041']
    names += ['# a', 'a: b', '\U0001f600']
    root = resource_provider.create(client, 'host')
    for name in names:
        resource_provider.create(client, name, parent_provider_uuid=root.uuid)
    path = str(tmp_path / file)
    assert placement(*TREE, 'export', '-o', path).status == 0
    assert changes(placement(*TREE, 'apply', path, '--dry-run', '-f', 'json')) == []
    for provider in sorted(resource_provider.list(client), key=lambda p: p.name == 'host'):
        resource_provider.delete(client, provider.uuid)
    assert placement(*TREE, 'apply', path, '--yes').status == 0
    assert {provider.name for provider in resource_provider.list(client)} == {'host', *names}


NOVA = """
meta: {schema_version: '1.0'}
providers:
- identification: {name: compute1}
  inventories:
    additional:
    - CUSTOM_FPGA: {total: 2}
  traits:
    additional: [CUSTOM_FAST]
"""


def test_provider_yaml_of_nova_adds_to_the_tree(placement, client, declared):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    done = placement(*TREE, 'apply', declared(NOVA), '--yes', '-f', 'json')
    assert changes(done) == [('compute1', 'CUSTOM_FPGA'), ('compute1', 'traits')]
    root = capture(client).find('compute1')
    assert root is not None
    assert set(root.inventories) == {'VCPU', 'MEMORY_MB', 'CUSTOM_FPGA'}
    assert root.traits == {'HW_CPU_X86_AVX2', 'CUSTOM_FAST'}
    assert changes(placement(*TREE, 'apply', declared(NOVA), '--dry-run', '-f', 'json')) == []


def test_compute_node_in_provider_yaml_stands_for_the_nodes_of_the_option(
    placement, client, declared
):
    names = ('compute1', 'compute2', 'compute3')
    placement(*TREE, 'apply', declared(''.join(f'- name: {name}\n' for name in names)), '--yes')
    text = NOVA.replace("'1.0'", "'1.1', owner: me") + (
        '- identification: {uuid: $COMPUTE_NODE}\n'
        '  traits: {additional: [CUSTOM_SLOW], later: []}\n'
        'other: {key: 1}\n'
    )
    path = declared(text)
    assert '--compute-node' in placement(*TREE, 'apply', path, '--yes').stderr
    nodes = ('--compute-node', 'compute1', '--compute-node', 'compute2')
    done = placement(*TREE, 'apply', path, *nodes, '--yes', '-f', 'json')
    assert done.status == 0
    traits = {state.name: state.traits for state in capture(client).providers.values()}
    # The file names compute1 itself, as Nova has it.
    expected = {'compute1': {'CUSTOM_FAST'}, 'compute2': {'CUSTOM_SLOW'}, 'compute3': set()}
    assert traits == expected


def test_a_node_may_be_named_by_its_uuid(placement, client, declared):
    uuid = str(uuid4())
    path = declared(f'{{name: {uuid}, uuid: {uuid}, inventories: {{CUSTOM_GOLD: {{total: 1}}}}}}')
    assert placement(*TREE, 'apply', path, '--yes').status == 0
    assert capture(client).providers[uuid].name == uuid


def test_previous_removes_what_the_former_provider_yaml_added(
    placement, client, declared, tmp_path
):
    placement(*TREE, 'apply', declared(DECLARED), '--yes')
    previous = tmp_path / 'previous.yaml'
    previous.write_text(NOVA.replace('[CUSTOM_FAST]', '[CUSTOM_FAST, CUSTOM_SLOW]'))
    placement(*TREE, 'apply', str(previous), '--yes')
    command = (*TREE, 'apply', declared(NOVA), '--previous', str(previous), '--yes', '-f', 'json')
    assert changes(placement(*command)) == [('compute1', 'traits')]
    root = capture(client).find('compute1')
    assert root is not None
    assert root.traits == {'HW_CPU_X86_AVX2', 'CUSTOM_FAST'}
    assert changes(placement(*command)) == []

    declared("meta: {schema_version: '1.0'}")
    holder = Consumer(str(uuid4()), {root.uuid: {'CUSTOM_FPGA': 1}}, 'project', 'user', None, None)
    allocation.set(client, holder)
    refused = placement(*command)
    assert refused.status == 1
    assert '1 CUSTOM_FPGA of compute1 is in use' in refused.stderr
    allocation.delete(client, holder.uuid)
    assert changes(placement(*command)) == [('compute1', 'CUSTOM_FPGA'), ('compute1', 'traits')]
    assert changes(placement(*command)) == []
    other = declared(DECLARED)
    refused = placement(*TREE, 'apply', other, '--previous', str(previous), '--yes')
    assert refused.status == 2
    assert '--previous is for provider configuration files of Nova' in refused.stderr


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('- name: a\n  inventory: {}', 'unknown key. Did you mean "inventories"?'),
        ('- name: a\n- name: a', 'a is declared twice'),
        (
            '- {{name: a, uuid: {0}}}\n- {{name: b, uuid: {0}}}'.format(clouds.uuid_of('a')),
            'is declared twice',
        ),
        ('- name: a\n  inventories: {VCPU: {total: -1}}', 'from 1'),
        ('- name: a\n  inventories: {VCPU: {}}', 'a: VCPU has no total'),
        (NOVA.replace('compute1', '$COMPUTE_NODE'), 'is known on a host only'),
        (NOVA.replace('1.0', '2.0'), 'schema_version 2.0 is not known'),
        (NOVA.replace('CUSTOM_FPGA', 'VCPU'), 'VCPU is no custom resource class'),
        (NOVA.replace('CUSTOM_FAST', 'HW_CPU_X86_AVX2'), 'HW_CPU_X86_AVX2 is no custom trait'),
        ('- name: a\n  inventories: {VCPUU: {total: 1}}', 'Did you mean "VCPU"?'),
        ('- name: a\n  traits: [OWNER_NOVAA]', 'Did you mean "OWNER_NOVA"?'),
        (NOVA, "No resource provider is called 'compute1'"),
    ],
)
def test_a_wrong_declaration_is_refused_in_one_line(placement, declared, text, message):
    refused = placement(*TREE, 'apply', declared(text), '--yes')
    assert refused.status == 1
    assert message in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
