# SPDX-License-Identifier: Apache-2.0
"""``--tree`` with patterns of names, in every command that takes it; on the real service."""

import json

from placementclient.api import aggregate, inventory, trait
from tests.functional.clouds import cloud, loaded, uuid_of
from tests.functional.conftest import process
from tests.functional.hosts import build

NOTHING = '"compte*" matches no provider. Did you mean "compute*"?'
AGGREGATE = 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa'
#: Each reads trees that exist; FILE is a snapshot of them.
LIVE = [
    'resource provider snapshot save OUT',
    'resource provider tree list',
    'resource provider tree export',
    'resource provider tree graph --format dot',
    'resource capacity show --fits VCPU=1',
    'resource provider audit',
]
FILES = [
    'resource provider tree list --snapshot FILE',
    'resource provider tree export --snapshot FILE',
    'resource provider tree graph --format dot --snapshot FILE',
    'resource capacity show --fits VCPU=1 --snapshot FILE',
]


def typed(command, path):
    return command.replace('FILE', f'{path}/cloud.json').replace('OUT', f'{path}/some.json')


def test_a_pattern_stands_for_the_trees_that_it_names(client, placement, tmp_path):
    build(client, hosts=3)
    placement(f'resource provider snapshot save {tmp_path}/cloud.json')
    saved = tmp_path / 'some.json'
    for command in LIVE + FILES:
        words = typed(command, tmp_path)
        named = placement(f'{words} --tree compute0 --tree compute2')
        saved.unlink(missing_ok=True)
        matching = placement(f'{words} --tree compute[02]*')
        assert (matching.status, matching.stdout) == (named.status, named.stdout), command
        if 'OUT' in command:
            shown = str([state['name'] for state in json.loads(saved.read_text())['providers']])
        else:
            shown = matching.stdout
        if 'capacity' not in command and 'audit' not in command:
            assert ('compute0' in shown, 'compute1' in shown) == (True, False), command
        saved.unlink(missing_ok=True)
        result = placement(f'{words} --tree compte*')
        assert (result.status, result.stdout) == (1, ''), command
        assert result.stderr.endswith(f'{NOTHING}\n')
        assert not saved.exists()


def test_tree_show_takes_a_pattern_of_one_tree(client, placement):
    build(client)
    assert placement('resource provider tree show compute1*').stdout.startswith('compute1')
    several = placement('resource provider tree show compute*')
    assert (several.status, several.stdout) == (2, '')
    assert several.stderr == (
        'compute* matches 2 trees: "placement resource provider tree list --tree" shows several\n'
    )


SPEC = """
trees: {class: [VGPU]}
providers: [{name: '{root}_gpu', inventories: {VGPU: {total: 8}}}]
moves:
- {from_resource_provider: '{root}', to_resource_provider: '{root}_gpu', moved_resources: {VGPU: 8}}
"""


def test_plan_and_show_take_the_trees_of_a_pattern(client, placement, tmp_path):
    loaded(client, cloud(hosts=4))
    spec, path, saved = (tmp_path / name for name in ('spec.yaml', 'plan.json', 'cloud.json'))
    spec.write_text(SPEC)
    placement(f'resource provider snapshot save {saved}')
    reshape = 'resource provider reshape'
    for source in (f'--snapshot {saved}', ''):
        plan = f'{reshape} plan --spec {spec} {source} -o {path}'
        for option in ('--tree', '--match'):
            assert placement(f'{plan} {option} compte*').stderr.endswith(f'{NOTHING}\n')
            assert placement(f'{plan} {option} compute[0-2] --with-class VGPU').status == 0
            summary = placement(f'{reshape} show {path} --summary').stdout
            assert 'before' not in summary
            assert summary.splitlines()[-1].startswith('trees: 3  left_out: 0  ')
    assert json.loads(placement(f'{reshape} show {path} --summary -f json').stdout)['trees'] == 3
    shown = json.loads(placement(f'{reshape} show {path} --tree compute[12] -f json').stdout)
    assert [tree['root_provider_name'] for tree in shown['trees']] == ['compute1', 'compute2']
    applied = placement(f'{reshape} apply {path} --yes --tree compute[12] -f json')
    assert trees(applied.stdout) == {'compute1': 'applied', 'compute2': 'applied'}
    status = placement(f'{reshape} status {path} --tree *0 -f json')
    assert trees(status.stdout) == {'compute0': 'pending'}
    assert placement(f'{reshape} verify {path} --tree *[12]').status == 0
    back = placement(f'{reshape} rollback {path} --yes --tree *2 -f json')
    assert trees(back.stdout) == {'compute2': 'rolled back'}
    for command in ('show', 'apply --yes', 'status', 'verify', 'rollback --yes'):
        verb, *options = command.split()
        words = f'{reshape} {verb} {path} {" ".join(options)} --tree compte*'
        result = placement(words)
        assert (result.status, result.stdout) == (1, ''), words
        assert result.stderr == (
            '"compte*" matches no tree of the plan. Did you mean "compute*"?\n'
        )


def trees(stdout):
    return {row['tree']: row['state'] for row in json.loads(stdout)}


#: Each selects the trees of compute0 and compute2: by a child, or by the root.
CONDITIONS = [
    f'--tree compute[012] --with-trait CUSTOM_SOME --member-of {AGGREGATE} --with-class VGPU',
    '--match compute[02]',
    '--match compute[02]_gpu1',
    '--with-trait CUSTOM_SOME',
    '--with-class SRIOV_NET_VF',
    f'--member-of {AGGREGATE}',
]


def marked(client):
    """Build hosts of which two have a trait, an aggregate and a class in the tree."""
    build(client, hosts=4)
    trait.create(client, 'CUSTOM_SOME')
    for name in ('compute0_gpu1', 'compute2_gpu1'):
        uuid = uuid_of(name)
        live = trait.list_of_provider(client, uuid)
        trait.set_on_provider(client, uuid, [*live.value, 'CUSTOM_SOME'], live.generation)
        others = aggregate.list(client, uuid)
        aggregate.set(client, uuid, [*others.value, AGGREGATE], others.generation)
        read = inventory.list(client, uuid)
        inventory.create(client, uuid, 'SRIOV_NET_VF', {'total': 8}, read.generation)


def test_conditions_select_the_trees_of_the_providers_that_meet_them(client, placement, tmp_path):
    marked(client)
    placement(f'resource provider snapshot save {tmp_path}/cloud.json')
    saved = tmp_path / 'some.json'
    for command in (LIVE[0], LIVE[1], FILES[1], 'resource provider audit -f json'):
        words = typed(command, tmp_path)
        named = placement(f'{words} --tree compute0 --tree compute2')
        for options in CONDITIONS:
            saved.unlink(missing_ok=True)
            selected = placement(f'{words} {options}')
            assert (selected.status, selected.stdout) == (named.status, named.stdout), command
            if 'OUT' in command:
                shown = str([state['name'] for state in json.loads(saved.read_text())['providers']])
                assert ('compute0' in shown, 'compute1' in shown) == (True, False)


def test_conditions_that_nothing_meets_are_an_error(client, placement, tmp_path):
    marked(client)
    placement(f'resource provider snapshot save {tmp_path}/cloud.json')
    for command in (LIVE[0], LIVE[3], FILES[0]):
        for option, reason in (
            ('--match compte*', NOTHING),
            ('--with-trait CUSTOM_OTHER', ''),
            ('--tree compute1 --with-class SRIOV_NET_VF', ''),
        ):
            result = placement(f'{typed(command, tmp_path)} {option}')
            assert (result.status, result.stdout) == (1, ''), command
            assert reason in result.stderr
            assert not (tmp_path / 'some.json').exists()


def test_conditions_select_trees_of_a_plan(client, placement, tmp_path):
    marked(client)
    options = CONDITIONS[0]
    cloud, plan = tmp_path / 'cloud.json', tmp_path / 'plan.json'
    assert placement(f'resource provider snapshot save {cloud}').status == 0
    edit = 'inventory set --match compute? --amend --resource VCPU:reserved=2'
    assert placement(f'resource provider {edit} --plan {plan}').status == 0

    def trees(command):
        run = process if command.startswith('rehearse') else placement
        result = run(f'resource provider reshape {command} -f json')
        assert result.status == 0, result.stderr
        return sorted(row['tree'] for row in json.loads(result.stdout))

    chosen = ['compute0', 'compute2']
    rehearsed = trees(f'rehearse {plan} --snapshot {cloud} {options}')
    assert {*rehearsed} == {*chosen, 'all'}
    assert trees(f'apply {plan} --yes {options}') == chosen
    assert trees(f'status {plan} {options}') == chosen
    assert trees(f'verify {plan} {options}') == chosen
    assert {
        row['state']
        for row in json.loads(
            placement(f'resource provider reshape status {plan} --match compute[13] -f json').stdout
        )
    } == {'pending'}
    assert trees(f'rollback {plan} --yes {options}') == chosen
    other = placement(f'resource provider reshape status {plan} --with-class DISK_GB --match nfs*')
    assert (other.status, other.stdout) == (1, '')
    placement('resource provider inventory set compute1 --amend --resource VCPU:reserved=1')
    differing = placement(f'resource provider reshape status {plan} -f json')
    assert (differing.status, differing.stdout.count('differs')) == (3, 1)
