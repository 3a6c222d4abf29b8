"""A specification that suits no tree: every fault at once, with its line and what was meant."""

from __future__ import annotations

import pytest

from placementclient import errors
from placementclient.planner import planner
from placementclient.planner.spec import specification
from placementclient.render import failures
from tests.unit.planner.clouds import cloud, uuid_of

HOSTS = {
    f'gpu0{number}': {'inventories': {'VGPU': {'total': 8}}, 'traits': ['OWNER_NOVA']}
    for number in range(1, 4)
}


def faults_of(text: str, **options: bool) -> list[str]:
    with pytest.raises(errors.BadFile) as error:
        planner.make(cloud(HOSTS, {}), specification.parse(text, 'spec.yaml'), **options)
    return list(failures.lines(error.value))


def test_all_faults_of_a_file_at_once() -> None:
    text = """\
trees: {name: [1, "gpu*"], trait: [owner], klass: [VGPU]}
providers:
  - name: "{root}_gpu"
    inventories: {VGPU: {totl: 4, max_unit: 0}}
  - nam: x
moves:
  - from_resource_provider: "{host}"
    to_resource_provider: b
    moved_resources: {VGPU: many}
split: maybe
"""
    assert faults_of(text) == [
        'spec.yaml:1: trees.klass: unknown key, did you mean class?',
        'spec.yaml:1: trees.name[0]: 1 has to be a text: quote it',
        "spec.yaml:1: trees.trait[0]: 'owner' has to be A-Z, 0-9 and _ only",
        'spec.yaml:4: providers[0].inventories.VGPU.totl: unknown key, did you mean total?',
        'spec.yaml:4: providers[0].inventories.VGPU.max_unit: has to be from 1 to 2147483647',
        'spec.yaml:5: providers[1].nam: unknown key, did you mean name?',
        'spec.yaml:7: moves[0].from_resource_provider: unknown placeholder {host}, known are '
        '{root}',
        'spec.yaml:9: moves[0].moved_resources.VGPU: has to be an integer',
        'spec.yaml:10: split: has to be true or false',
    ]


def test_names_that_nobody_can_mean() -> None:
    text = """\
trees: {name: ["gpu*"], class: [VGPUU]}
providers:
  - name: "{root}_gpu"
    inventories: {VGPPU: {max_unit: 4}}
    traits: [OWNER_NOVVA, CUSTOM_NEW]
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu"
    moved_resources: {VGPU: 8, CUSTOM_FPGA: 1}
    as: {VGPU: PGPPU, CUSTOM_FPGA: CUSTOM_NEW}
    moved_traits: [OWNER_NOWA]
together: [[VGPU, MEMORY_BM]]
"""
    no_class = 'is no standard resource class, no provider has it, and it does not begin with '
    no_trait = no_class.replace('resource class', 'trait')
    assert faults_of(text) == [
        f'spec.yaml:1: trees.class[0]: VGPUU {no_class}CUSTOM_, did you mean VGPU?',
        f'spec.yaml:4: providers[0].inventories.VGPPU: VGPPU {no_class}CUSTOM_, did you mean VGPU?',
        f'spec.yaml:5: providers[0].traits[0]: OWNER_NOVVA {no_trait}CUSTOM_, did you mean '
        'OWNER_NOVA?',
        'spec.yaml:9: moves[0].moved_resources.CUSTOM_FPGA: no provider has the resource class '
        'CUSTOM_FPGA',
        f'spec.yaml:10: moves[0].as.VGPU: PGPPU {no_class}CUSTOM_, did you mean PGPU?',
        f'spec.yaml:11: moves[0].moved_traits[0]: OWNER_NOWA {no_trait}CUSTOM_, did you mean '
        'OWNER_NOVA?',
        f'spec.yaml:12: together[0][1]: MEMORY_BM {no_class}CUSTOM_, did you mean MEMORY_MB?',
    ]


def test_one_message_for_all_trees() -> None:
    text = """\
trees: {name: ["gpu*"]}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu"
    moved_resources: {VGPU: 5000}
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}"
    moved_resources: {VGPU: 1}
providers:
  - name: "{root}_gpu"
    traits: [OWNER_NOVVA]
"""
    expected = [
        'spec.yaml:5: moves[0].moved_resources.VGPU: gpu01 and 2 others: 5000 VGPU are moved off '
        'gpu01, which has 8',
        'spec.yaml:8: moves[1].moved_resources.VGPU: gpu01 and 2 others: moving VGPU from gpu01 '
        'to itself',
        'spec.yaml:11: providers[0].traits[0]: OWNER_NOVVA is no standard trait, no provider has '
        'it, and it does not begin with CUSTOM_, did you mean OWNER_NOVA?',
    ]
    assert faults_of(text) == expected
    assert faults_of(text, skip_infeasible=True) == expected


def test_moves_that_are_too_much_together() -> None:
    move = '- {from_resource_provider: gpu01, to_resource_provider: %s, moved_resources: {VGPU: 5}}'
    assert faults_of('\n'.join(move % name for name in 'abc')) == [
        'spec.yaml:2: [1].moved_resources.VGPU: gpu01: 10 VGPU are moved off gpu01, which has 8'
    ]


def test_names_that_are_too_long() -> None:
    long = 'x' * 195
    text = f"""\
trees: {{}}
providers:
  - name: "{{root}}_{long}"
moves:
  - from_resource_provider: "{{root}}"
    to_resource_provider: "{{source}}+{long}"
    moved_resources: {{VGPU: all}}
"""
    reason = 'has 201 characters, at most 200 are allowed'
    assert faults_of(text) == [
        f'spec.yaml:3: providers[0].name: gpu01 and 2 others: the name gpu01_{long[:14]}… {reason}',
        'spec.yaml:6: moves[0].to_resource_provider: gpu01 and 2 others: the name '
        f'gpu01+{long[:14]}… {reason}',
    ]


def test_sources_that_are_not_there() -> None:
    move = '- {from_resource_provider: %s, to_resource_provider: b, moved_resources: {VGPU: 1}}'
    assert faults_of('\n'.join(move % name for name in ('gpu1', 'gpu01', uuid_of('gpu09')))) == [
        'spec.yaml:1: [0].from_resource_provider: there is no provider gpu1 to move anything '
        'from, did you mean gpu01?',
        f'spec.yaml:3: [2].from_resource_provider: there is no provider {uuid_of("gpu09")} to '
        'move anything from',
    ]


def test_equal_reasons_of_trees_are_one_line() -> None:
    text = """\
trees: {}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu"
    moved_resources: {VCPU: all}
"""
    with pytest.raises(errors.Infeasible) as error:
        planner.make(cloud(HOSTS, {}), specification.parse(text, 'spec.yaml'))
    assert list(failures.lines(error.value)) == [
        'Infeasible:',
        '  gpu01 and 2 others: gpu01 has no VCPU left to move',
    ]


def test_what_was_meant_is_said_of_the_first_names_alone() -> None:
    """Of many that are unknown, as of a file for another cloud, each would cost a while."""
    moves = ''.join(
        f'- {{from_resource_provider: gpu01x{number}, to_resource_provider: b, '
        'moved_resources: {VGPU: 1}}\n'
        for number in range(30)
    )
    said = faults_of(moves)
    assert len(said) == 30
    assert sum('did you mean ' in line for line in said) == 20


def test_a_uuid_in_capitals_is_one() -> None:
    snapshot = cloud(HOSTS, {})
    root = uuid_of('gpu01').upper()
    move = f'from_resource_provider: {root}, to_resource_provider: "gpu"'
    spec = specification.parse(f'- {{{move}, moved_resources: {{VGPU: 1}}}}', 'spec')
    plan = planner.make(snapshot, spec, trees=[root])
    assert plan.tree(root) == plan.selected([root])[0] == plan.trees[0]


@pytest.mark.parametrize(
    ('trees', 'key', 'reason'),
    [
        ('name: [gpu-1]', '.name', 'is called gpu-1, did you mean gpu01?'),
        ('class: [VGPU, PCPU]', '.class', 'has inventory of VGPU and PCPU'),
        ('name: [gpu*], trait: [COMPUTE_NODE]', '.trait', 'has the trait COMPUTE_NODE'),
        (f'name: [gpu01], uuid: [{uuid_of("gpu02")}]', '', 'meets all conditions'),
    ],
)
def test_what_selects_no_tree(trees: str, key: str, reason: str) -> None:
    move = '{from_resource_provider: "{root}", to_resource_provider: b, moved_resources: {VGPU: 1}}'
    said = faults_of(f'moves: [{move}]\ntrees: {{{trees}}}\n')
    assert said[-1] == f'spec.yaml:2: trees{key}: selects no tree: no root {reason}'


def test_it_is_told_which_tree_is_next() -> None:
    told: list[object] = []
    text = """\
trees: {class: [VGPU]}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu0"
    moved_resources: {VGPU: 8}
"""
    spec = specification.parse(text, 'spec.yaml')
    planner.make(cloud(HOSTS, {}), spec, progress=told.append, expect=told.append)
    assert told == [3, 'gpu01', 'gpu02', 'gpu03']
