# SPDX-License-Identifier: Apache-2.0
"""``--assume`` on the real service: what is assumed is what would really be."""

import json
import re
from pathlib import Path

import pytest

from tests.functional import clouds
from tests.functional.clouds import uuid_of
from tests.functional.hosts import RACK, build, holder

PROVIDER = 'resource provider'
CLAIM = (
    f'{PROVIDER} allocation claim {uuid_of("claimed")} --project-id p --user-id u '
    '--consumer-type INSTANCE --resource VCPU=4'
)
#: An assumption, and the commands that make it true.
MADE = {
    "- match: 'compute*'\n  with_class: VCPU\n  inventories: {VCPU: {allocation_ratio: 8.0}}": [
        f'{PROVIDER} inventory set --match compute* --with-class VCPU --amend --yes '
        '--resource VCPU:allocation_ratio=8'
    ],
    '- match: compute0_gpu0\n  inventories: {VGPU: {total: 4, max_unit: 4, reserved: 1}}': [
        f'{PROVIDER} inventory set compute0_gpu0 --amend --resource VGPU=4 '
        '--resource VGPU:max_unit=4 --resource VGPU:reserved=1'
    ],
    '- match: compute0\n  traits: {add: [HW_NUMA_ROOT], remove: [COMPUTE_NODE]}': [
        f'{PROVIDER} trait add compute0 HW_NUMA_ROOT',
        f'{PROVIDER} trait remove compute0 COMPUTE_NODE',
    ],
    f'- match: compute1\n  aggregates: {{add: [{uuid_of("row")}], remove: [{RACK}]}}': [
        f'{PROVIDER} aggregate add compute1 {uuid_of("row")}',
        f'{PROVIDER} aggregate remove compute1 {RACK}',
    ],
    '- add: 1\n  like: compute1\n  name: third': [f'{PROVIDER} tree apply third.yaml --yes'],
    '- without: compute1': [f'{PROVIDER} purge compute1 --force --yes'],
    '- servers: {resources: {VCPU: 4}, count: 1, on: compute1}': [f'{CLAIM} --in-tree compute1'],
}
#: Commands that show what there is.
SHOWING = [
    'resource capacity show --by tree', 'resource capacity show --fits VCPU=1,VGPU=1',
    'allocation candidate explain --resource VCPU=1 --required HW_NUMA_ROOT',
    f'allocation candidate explain --resource VCPU=1 --member-of {RACK}',
]  # fmt: skip


@pytest.mark.parametrize('assumption', MADE)
def test_commands_show_an_assumption_as_if_it_were_carried_out(
    client, placement, tmp_path, monkeypatch, assumption
):
    monkeypatch.chdir(tmp_path)
    build(client, holder('server', {'compute1': {'VCPU': 2}, 'compute1_gpu0': {'VGPU': 1}}))
    Path('assume.yaml').write_text(assumption)
    exported = placement(f'{PROVIDER} tree export --tree compute1').stdout
    anonymous = re.sub(r'.*uuid: .*\n', '', exported)
    Path('third.yaml').write_text(anonymous.replace('compute1', 'third'))

    def shown(more):
        answers = [json.loads(placement(f'{line} -f json {more}').stdout) for line in SHOWING]
        reasons = [[answer[key] for key in ('can_be_met', 'alone')] for answer in answers[2:]]
        return [*answers[:2], *reasons]

    before, assumed = shown(''), shown('--assume assume.yaml')
    for line in MADE[assumption]:
        assert placement(line).status == 0
    assert shown('') == assumed != before


@pytest.fixture
def assumed(client, tmp_path, monkeypatch):
    """Two hosts in the service, and what is assumed of them in a file."""
    monkeypatch.chdir(tmp_path)
    clouds.loaded(client, clouds.cloud(2, 2))
    (tmp_path / 'assume.yaml').write_text(
        '- match: compute0\n'
        '  inventories: {VGPU: {total: 20}}\n'
        '- without: compute1\n'
        '- servers: {resources: {VGPU: 1}, count: 8}\n'
    )


NOTE = 'assuming: assume.yaml\nassume.yaml:3: Lost: 3 consumers on compute1: '


@pytest.mark.usefixtures('assumed')
def test_assumptions_start_from_the_live_cloud_and_write_nothing(client, placement):
    before = clouds.content(clouds.captured(client))
    result = placement(
        'resource capacity show --by class --assume assume.yaml -f json -c resource_class -c free'
    )
    assert (result.status, result.stderr[: len(NOTE)]) == (0, NOTE)
    assert {row['resource_class']: row['free'] for row in json.loads(result.stdout)}['VGPU'] == 10
    assert clouds.content(clouds.captured(client)) == before


@pytest.mark.usefixtures('assumed')
def test_an_assumed_plan_shows_what_applying_it_shows(client, placement):
    edit = 'resource provider inventory set --match compute* --amend --resource VCPU:total=64'
    assert placement(*f'{edit} --plan plan.json'.split()).status == 0
    Path('assume.yaml').write_text('- plan: plan.json\n')
    command = 'resource capacity show --by class -f json -c resource_class -c capacity'
    as_it_would_be = placement(f'{command} --assume assume.yaml')
    assert as_it_would_be.stderr == 'assuming: assume.yaml\n'
    assert as_it_would_be.stdout != placement(command).stdout
    assert placement('resource provider reshape apply plan.json --yes').status == 0
    assert as_it_would_be.stdout == placement(command).stdout
