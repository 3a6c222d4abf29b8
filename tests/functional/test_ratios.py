# SPDX-License-Identifier: Apache-2.0
"""Allocation ratios that differ, on the real service."""

import json

import pytest

from tests.functional.hosts import build


def _audited(placement, *arguments):
    options = ' '.join(arguments)
    result = placement(f'resource provider audit --id ratio-differs -f json {options}')
    return result, json.loads(result.stdout or '[]')


def test_audit_finds_an_overwritten_ratio_and_its_command_restores_it(client, placement):
    build(client, hosts=3)
    assert _audited(placement)[0].status == 0
    amend = 'resource provider inventory set compute1 --amend --resource VCPU:allocation_ratio'
    assert placement(f'{amend}=16').status == 0
    result, (row,) = _audited(placement)
    assert (result.status, row['severity'], row['subject']) == (3, 'warning', 'compute1')
    assert (row['evidence']['resource_class'], row['evidence']['allocation_ratio']) == ('VCPU', 16)
    assert row['evidence']['others'] == 4
    assert row['command'] == f'placement {amend}=4.0'
    assert placement(row['command'].removeprefix('placement ')).status == 0
    assert _audited(placement)[0].status == 0


@pytest.mark.parametrize(
    ('text', 'option'),
    [
        (
            '[DEFAULT]\ncpu_allocation_ratio = 8.0\ninitial_cpu_allocation_ratio = 2\n',
            'cpu_allocation_ratio',
        ),
        (
            '[DEFAULT]\ncpu_allocation_ratio = 0.0\ninitial_cpu_allocation_ratio = 8\n',
            'initial_cpu_allocation_ratio',
        ),
    ],
)
def test_a_host_is_compared_with_the_file_of_its_nova_compute(
    client, placement, tmp_path, text, option
):
    build(client, hosts=3)
    path = tmp_path / 'nova.conf'
    path.write_text(text)
    files = ['--compute-conf', f'compute0={path}']
    result, (row,) = _audited(placement, *files)
    assert (result.status, row['subject'], row['evidence'][option]) == (3, 'compute0', 8.0)
    command = (
        'placement resource provider inventory set compute0 --amend '
        '--resource VCPU:allocation_ratio=8.0'
    )
    if option.startswith('initial_'):
        assert (row['command'], row['reason']) == (command, '')
    else:
        assert (row['command'], row['reason'].endswith(f': {command}')) == ('', True)
    assert placement(command.removeprefix('placement ')).status == 0
    # Its own file says more about it than the other hosts do.
    assert _audited(placement, *files)[0].status == 0
    assert _audited(placement)[1][0]['subject'] == 'compute0'


@pytest.mark.parametrize(
    ('argument', 'status', 'sentence'),
    [
        ('compute0', 2, "--compute-conf: 'compute0' is not <host>=<file>"),
        ('computeO={}', 1, "No resource provider has the name or UUID 'computeO'"),
        ('compute0=nowhere.conf', 1, 'nowhere.conf'),
        ('compute0={much}', 1, "much.conf:2: cpu_allocation_ratio: 'much' is no ratio"),
        ('compute0={inf}', 1, "inf.conf:2: cpu_allocation_ratio: 'inf' is no ratio"),
    ],
)
def test_a_bad_file_of_a_nova_compute_is_refused(
    client, placement, tmp_path, argument, status, sentence
):
    build(client, hosts=1)
    (tmp_path / 'nova.conf').write_text('[DEFAULT]\n')
    bad = {value: tmp_path / f'{value}.conf' for value in ('much', 'inf')}
    for value, path in bad.items():
        path.write_text(f'[DEFAULT]\ncpu_allocation_ratio = {value}\n')
    argument = argument.format(tmp_path / 'nova.conf', **bad)
    result, _ = _audited(placement, '--compute-conf', argument)
    assert (result.status, sentence in result.stderr) == (status, True), result
