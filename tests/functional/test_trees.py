# SPDX-License-Identifier: Apache-2.0
"""Provider trees as text, data and pictures, of the real service and of a file."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from placementclient.files import disk
from placementclient.reading import tree_reader
from tests.functional import clouds, guide
from tests.functional.clouds import uuid_of, watched
from tests.functional.hosts import build, holder
from tests.programs import Result

SERVER = uuid_of('server')
ALLOCATED = {
    'compute0': {'VCPU': 2, 'MEMORY_MB': 512},
    'compute0_gpu1': {'VGPU': 2},
    'storage': {'DISK_GB': 10},
}
SHOWN = """\
compute0  MEMORY_MB 512/64512 (1024 reserved)  VCPU 2/64 (ratio 4)
├─ compute0_gpu0  VGPU 0/2
└─ compute0_gpu1  VGPU 2/2
⇠ storage  DISK_GB 10/1000  (shared)
"""
ALL = f"""\
{SHOWN}\
compute1  MEMORY_MB 0/64512 (1024 reserved)  VCPU 0/64 (ratio 4)
├─ compute1_gpu0  VGPU 0/2
└─ compute1_gpu1  VGPU 0/2
⇠ storage  DISK_GB 10/1000  (shared)
storage  DISK_GB 10/1000
"""
WITH_ALL = f"""\
compute0  MEMORY_MB 512/64512 (1024 reserved)  VCPU 2/64 (ratio 4)
│  COMPUTE_NODE HW_CPU_X86_AVX2
│  · {SERVER}  MEMORY_MB 512  VCPU 2
├─ compute0_gpu0  VGPU 0/2
│     CUSTOM_T4
└─ compute0_gpu1  VGPU 2/2
      CUSTOM_A40
      · {SERVER}  VGPU 2
⇠ storage  DISK_GB 10/1000  (shared)
"""


@pytest.fixture(params=['service', 'file'])
def where(request, client, tmp_path):
    """The option that says where the trees come from."""
    build(client, holder('server', ALLOCATED))
    if request.param == 'service':
        return ''
    disk.write_snapshot(str(tmp_path / 'cloud.json'), clouds.captured(client))
    return f'--snapshot {tmp_path / "cloud.json"}'


def test_a_tree_as_text_is_plain_in_a_pipe(placement, where):
    command = 'resource provider tree show'
    assert placement(f'{command} compute0_gpu1 {where}') == Result(0, SHOWN, '')
    assert placement(f'{command} compute0 --traits --allocations {where}').stdout == WITH_ALL


def test_tree_list_prints_all_trees_as_text(placement, where):
    assert placement(f'resource provider tree list {where}').stdout == ALL


def test_tree_show_prints_inventories_and_traits_as_data(placement, where):
    shown = placement(f'resource provider tree show compute0 --allocations -f json {where}')
    tree = json.loads(shown.stdout)
    assert tree['inventories']['VCPU'] | {'min_unit': 1} == {
        'total': 16,
        'reserved': 0,
        'min_unit': 1,
        'max_unit': 16,
        'step_size': 1,
        'allocation_ratio': 4.0,
        'capacity': 64,
        'used': 2,
    }
    assert tree['children'][1]['traits'] == ['CUSTOM_A40']
    assert tree['children'][1]['allocations'] == {SERVER: {'VGPU': 2}}
    assert [pool['name'] for pool in tree['sharing']] == ['storage']
    listed = json.loads(placement(f'resource provider tree list -f json {where}').stdout)
    assert [root['name'] for root in listed['trees']] == ['compute0', 'compute1', 'storage']


def test_tree_graph_draws_all_formats(placement, where, tmp_path):
    command = f'resource provider tree graph --allocations --traits {where}'
    dot = placement(f'{command} --format dot --tree compute0').stdout
    assert dot.startswith('digraph placement {')
    assert f'"{uuid_of("compute0")}" -> "{uuid_of("compute0_gpu1")}";' in dot
    assert f'"{uuid_of("storage")}" -> "{uuid_of("compute0")}" [style=dashed' in dot
    for ending, beginning in (('.dot', 'digraph'), ('.gv', 'digraph'), ('', '<svg')):
        named = tmp_path / f'trees{ending}'
        assert placement(f'{command} -o {named}').status == 0
        assert named.read_text().startswith(beginning)
    assert placement(f'{command} -o trees.png').status == 2
    path = tmp_path / 'trees.svg'
    assert placement(f'{command} -o {path}').status == 0
    drawn = ElementTree.parse(path).getroot()
    texts = {element.text for element in drawn.iter('{http://www.w3.org/2000/svg}text')}
    assert {'compute0', 'compute1_gpu1', 'storage', 'CUSTOM_A40', '2/64'} <= texts
    assert 'href' not in path.read_text()


def test_the_picture_of_the_page_is_drawn_by_its_command(placement, tmp_path):
    picture = tmp_path / 'trees.svg'
    snapshot = guide.SOURCE / 'examples' / 'compute.json'
    placement(f'resource provider tree graph --snapshot {snapshot} -o {picture}')
    assert (guide.SOURCE / 'trees.svg').read_text() == picture.read_text()


def test_tree_graph_draws_a_plan(client, placement, tmp_path):
    build(client, holder('server', ALLOCATED))
    declared, plan, picture = (str(tmp_path / name) for name in ('more.yaml', 'p.json', 'p.svg'))
    disk.write_text(declared, '- {name: compute1_gpu1, traits: [CUSTOM_NEW], inventories: {}}\n')
    placement('trait create CUSTOM_NEW')
    assert placement(f'resource provider tree apply {declared} --plan {plan}').status == 0
    command = f'resource provider tree graph --plan {plan}'
    assert placement(f'{command} -o {picture}') == Result(0, '', f'wrote {picture}\n')
    dot = placement(f'{command} --tree "compute*" --format dot').stdout
    assert 'label="compute1 before"' in dot
    assert 'CUSTOM_NEW</font>' in dot
    refused = placement(f'{command} --tree compute0 --format dot')
    assert refused == Result(1, '', 'The plan has no tree \'compute0\'. Did you mean "compute1"?\n')
    refused = placement(f'{command} --format dot --snapshot cloud.json')
    assert refused == Result(2, '', '--plan cannot be combined with --snapshot or --assume\n')


def test_a_tree_that_does_not_exist_is_an_error(placement, where):
    result = placement(f'resource provider tree show nowhere {where}')
    assert (result.status, "'nowhere'" in result.stderr) == (1, True)
    result = placement(f'resource provider tree graph --tree nowhere {where}')
    assert (result.status, "'nowhere'" in result.stderr) == (1, True)


def test_a_list_costs_two_requests_for_each_provider(client):
    build(client, hosts=4)
    with watched(client) as requests:
        assert len(list(tree_reader.read_trees(client, traits=False))) == 5
    # All, those that share with what they have, their aggregates, and the members of each.
    assert len(requests) == 2 * 13 + 1 + 1 + 2 + 1 + 1
