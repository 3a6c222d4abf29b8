# SPDX-License-Identifier: Apache-2.0
"""A specification that suits no tree: every fault at once, with its line and what was meant."""

import pytest

from placementclient.basis import errors
from placementclient.files import specifications
from placementclient.model.providers import Provider
from placementclient.planner import planner
from placementclient.planner.specification import assignments
from placementclient.render import failures
from tests.unit.planner.clouds import cloud, uuid_of

HOSTS = {
    f'gpu0{number}': {'inventories': {'VGPU': {'total': 8}}, 'traits': ['OWNER_NOVA']}
    for number in range(1, 4)
}


def faults_of(text, **options):
    with pytest.raises(errors.BadFile) as error:
        planner.plan_reshape(
            cloud(HOSTS, {}), specifications.parse_specification(text, 'spec.yaml'), **options
        )
    return list(failures.format_failure(error.value))


def test_all_errors_of_a_specification_are_told_at_once():
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
        'spec.yaml:1: trees.klass: unknown key. Did you mean "class"?',
        'spec.yaml:1: trees.name[0]: 1 has to be a text: quote it',
        "spec.yaml:1: trees.trait[0]: 'owner' has to be A-Z, 0-9 and _ only",
        'spec.yaml:4: providers[0].inventories.VGPU.totl: unknown key. Did you mean "total"?',
        'spec.yaml:4: providers[0].inventories.VGPU.max_unit: has to be from 1 to 2147483647',
        'spec.yaml:5: providers[1].nam: unknown key. Did you mean "name"?',
        'spec.yaml:7: moves[0].from_resource_provider: unknown placeholder {host}, known are '
        '{root}',
        'spec.yaml:9: moves[0].moved_resources.VGPU: has to be an integer',
        'spec.yaml:10: split: has to be true or false',
    ]


def test_impossible_names_are_refused():
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
        f'spec.yaml:1: trees.class[0]: VGPUU {no_class}CUSTOM_. Did you mean "VGPU"?',
        f'spec.yaml:4: providers[0].inventories.VGPPU: VGPPU {no_class}CUSTOM_. Did you mean '
        '"VGPU"?',
        f'spec.yaml:5: providers[0].traits[0]: OWNER_NOVVA {no_trait}CUSTOM_. Did you mean '
        '"OWNER_NOVA"?',
        'spec.yaml:9: moves[0].moved_resources.CUSTOM_FPGA: no provider has the resource class '
        'CUSTOM_FPGA',
        f'spec.yaml:10: moves[0].as.VGPU: PGPPU {no_class}CUSTOM_. Did you mean "PGPU"?',
        f'spec.yaml:11: moves[0].moved_traits[0]: OWNER_NOWA {no_trait}CUSTOM_. Did you mean '
        '"OWNER_NOVA"?',
        f'spec.yaml:12: together[0][1]: MEMORY_BM {no_class}CUSTOM_. Did you mean "MEMORY_MB"?',
    ]


def test_an_error_of_all_trees_is_one_message():
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
        'it, and it does not begin with CUSTOM_. Did you mean "OWNER_NOVA"?',
    ]
    assert faults_of(text) == expected
    assert faults_of(text, skip_infeasible=True) == expected


def test_names_that_are_too_long_are_refused():
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


def test_missing_sources_are_refused():
    move = '- {from_resource_provider: %s, to_resource_provider: b, moved_resources: {VGPU: 1}}'
    assert faults_of('\n'.join(move % name for name in ('gpu1', 'gpu01', uuid_of('gpu09')))) == [
        'spec.yaml:1: [0].from_resource_provider: there is no provider gpu1 to move anything '
        'from. Did you mean "gpu01"?',
        f'spec.yaml:3: [2].from_resource_provider: there is no provider {uuid_of("gpu09")} to '
        'move anything from',
    ]


def test_a_source_that_no_provider_matches_is_refused_with_a_suggestion():
    move = '- {from_resource_provider: "%s", to_resource_provider: b, moved_resources: {VGPU: 1}}'
    text = '\n'.join(move % name for name in ('gpu0*', 'pgu0*'))
    message = 'spec.yaml:2: [1].from_resource_provider: "pgu0*" matches no provider. Did you mean '
    assert faults_of(text) == [message + '"gpu0*"?']
    spec = specifications.parse_specification(text, 'spec.yaml')
    assert planner.plan_reshape(cloud({'gpu01': HOSTS['gpu01']}, {}), spec, trees=['gpu01']).changes


def test_suggestions_are_made_for_the_first_unknown_names_alone():
    """Of many that are unknown, as of a file for another cloud, each would cost a while."""
    moves = ''.join(
        f'- {{from_resource_provider: gpu01x{number}, to_resource_provider: b, '
        f'moved_resources: {{VGPU: 1}}, moved_traits: [OWNER_NOVA{number}]}}\n'
        for number in range(30)
    )
    messages = faults_of(moves)
    assert len(messages) == 60
    assert sum('Did you mean ' in line for line in messages) == 20


def test_uuids_in_capitals_are_accepted():
    snapshot = cloud(HOSTS, {})
    root = uuid_of('gpu01').upper()
    move = f'from_resource_provider: {root}, to_resource_provider: "gpu"'
    spec = specifications.parse_specification(f'- {{{move}, moved_resources: {{VGPU: 1}}}}', 'spec')
    plan = planner.plan_reshape(snapshot, spec, trees=[root])
    assert plan.find_change(root) == plan.select_changes([root])[0] == plan.changes[0]


MOVE = '{from_resource_provider: "{root}", to_resource_provider: b, moved_resources: {VGPU: 1}}'


def selecting(trees):
    return f'moves: [{MOVE}]\ntrees:\n  {trees}\n'


@pytest.mark.parametrize(
    ('trees', 'reason'),
    [
        ('name: [gpu-1, gpu02]', 'name[0]: "gpu-1" matches no provider. Did you mean "gpu01"?'),
        ('name: ["gpu0*", "pgu0*"]', 'name[1]: "pgu0*" matches no provider. Did you mean "gpu0*"?'),
        ('name: ["gpu0[12]", "zzz"]', 'name[1]: "zzz" matches no provider'),
        (
            'name: [gpu01, gpu0l]',
            'name[1]: "gpu0l" matches no provider. Did you mean "gpu01" or "gpu02" or "gpu03"?',
        ),
        (
            'name: [gpu01, gpu02_card]',
            'name[1]: "gpu02_card" matches no root, but gpu02_card below gpu02. '
            'Did you mean "gpu02"?',
        ),
        (
            f'uuid: [{uuid_of("gpu02")}, {uuid_of("gpu03")[:-1]}f]',
            f'uuid[1]: no root has the UUID {uuid_of("gpu03")[:-1]}f. '
            f'Did you mean "{uuid_of("gpu03")}"?',
        ),
        (
            f'uuid: [{uuid_of("gpu02_card")}]',
            f'uuid[0]: {uuid_of("gpu02_card")} is gpu02_card, which is no root. '
            f'Did you mean "{uuid_of("gpu02")}"?',
        ),
        ('class: [VGPU, PCPU]', 'class[1]: no root has inventory of PCPU'),
        ('class: [VCPU]', 'class[0]: no root has inventory of VCPU. Did you mean "VGPU"?'),
        (
            'name: [gpu*], trait: [COMPUTE_NODE, OWNER_NOVA]',
            'trait[0]: no root has the trait COMPUTE_NODE',
        ),
        ('name: [gpu*], trait: [CUSTOM_CARD]', 'trait[0]: no root has the trait CUSTOM_CARD'),
    ],
)
def test_a_condition_that_selects_no_tree_is_refused(trees, reason):
    card = {'inventories': {'VCPU': {'total': 1}}, 'traits': ['CUSTOM_CARD']}
    snapshot = cloud(HOSTS | {'gpu02': {**HOSTS['gpu02'], 'children': {'gpu02_card': card}}}, {})
    spec = specifications.parse_specification(selecting('{' + trees + '}'), 'spec.yaml')
    for options in ({}, {'trees': ['gpu02']}, {'trees': ['gpu02'], 'skip_infeasible': True}):
        with pytest.raises(errors.BadFile) as error:
            planner.plan_reshape(snapshot, spec, **options)  # type: ignore[arg-type]
        assert str(error.value) == f'spec.yaml:3: trees.{reason}'


def test_every_name_that_selects_no_tree_is_refused():
    messages = faults_of(selecting('name: ["pgu*", gpu01, ""]').replace(', ""', ', gpu04'))
    assert messages == [
        'spec.yaml:3: trees.name[0]: "pgu*" matches no provider. Did you mean "gpu*"?',
        'spec.yaml:3: trees.name[2]: "gpu04" matches no provider. '
        'Did you mean "gpu01" or "gpu02" or "gpu03"?',
    ]


def test_conditions_that_no_root_meets_together_are_refused():
    messages = faults_of(selecting(f'{{name: [gpu01], uuid: [{uuid_of("gpu02")}]}}'))
    assert messages == ['spec.yaml:2: trees: selects no tree: no root meets all conditions']


def test_assignments_for_trees_of_a_misspelt_condition_are_no_further_error():
    consumers = {f'c{number}': {f'gpu0{number}': {'VGPU': 1}} for number in range(1, 4)}
    spec = specifications.parse_specification(selecting('name: [gpu01, "pgu0[23]"]'), 'spec.yaml')
    rows = 'consumer_uuid,resource_class,amount,to_provider,evidence\n' + ''.join(
        f'{uuid_of(name)},VGPU,,b,\n' for name in consumers
    )
    with pytest.raises(errors.BadFile) as error:
        planner.plan_reshape(
            cloud(HOSTS, consumers), spec, assignments.parse_assignments(rows, 'rows.csv')
        )
    assert list(failures.format_failure(error.value)) == [
        'spec.yaml:3: trees.name[1]: "pgu0[23]" matches no provider. Did you mean "gpu0[23]"?'
    ]


def test_a_plan_of_some_trees_refuses_only_names_that_no_list_has():
    text = selecting('{name: [gpu01, gpu09], trait: [OWNER_NOVA], class: [VGPU]}')
    spec = specifications.parse_specification(text, 'spec.yaml')
    part = cloud({'gpu01': HOSTS['gpu01']}, {})
    (tree,) = planner.plan_reshape(part, spec, trees=['gpu01']).changes
    assert tree.root_provider_name == 'gpu01'
    elsewhere = Provider(uuid_of('gpu09'), 'gpu09', 0, None, uuid_of('gpu09'))
    listed = [state.provider for state in part.providers.values()]
    with pytest.raises(errors.BadFile, match='"gpu09" matches no provider'):
        planner.plan_reshape(part, spec, trees=['gpu01'], listed=listed)
    assert planner.plan_reshape(
        part, spec, trees=['gpu01'], listed=[*listed, elsewhere]
    ).changes == (tree,)


@pytest.mark.parametrize(
    ('name', 'error', 'reason'),
    [
        ('gpu02', errors.BadFile, 'spec.yaml:2: trees: does not select the tree gpu02'),
        (
            'gpu0l',
            errors.NoSuchProvider,
            'No resource provider is called gpu0l. Did you mean "gpu01" or "gpu02" or "gpu03"?',
        ),
    ],
)
def test_a_tree_that_is_not_selected_is_an_error(name, error, reason):
    spec = specifications.parse_specification(selecting('name: [gpu01, gpu03]'), 'spec.yaml')
    with pytest.raises(error) as raised:
        planner.plan_reshape(cloud(HOSTS, {}), spec, trees=[name])
    assert str(raised.value) == reason


def test_progress_names_each_tree():
    calls: list[object] = []
    text = """\
trees: {class: [VGPU]}
moves:
  - from_resource_provider: "{root}"
    to_resource_provider: "{root}_gpu0"
    moved_resources: {VGPU: 8}
"""
    spec = specifications.parse_specification(text, 'spec.yaml')
    planner.plan_reshape(cloud(HOSTS, {}), spec, progress=calls.append, expect=calls.append)
    assert calls == [3, 'gpu01', 'gpu02', 'gpu03']
