# SPDX-License-Identifier: Apache-2.0
"""The assignments of servers with dedicated CPUs."""

import pytest

from tests.unit.commands.clouds import save
from tests.unit.insight.clouds import cloud, consumer, detailed, provider

PINNED = 'resource provider reshape assignments --servers {servers} --pinned'


@pytest.fixture
def files(tmp_path):
    snapshot = cloud([provider('host', VCPU=8)], [consumer('s', host={'VCPU': 4})])
    servers = [detailed('s', {'hw:cpu_policy': 'dedicated'})]
    return {
        'servers': save(tmp_path, 'servers.json', servers),
        'snapshot': save(tmp_path, 'cloud.json', snapshot),
        'output': tmp_path / 'rows.csv',
    }


def test_pinned_servers_are_assigned_to_their_class(placement, files):
    command = f'{PINNED} --snapshot {{snapshot}} -o {{output}}'
    assert placement(command.format(**files)).status == 0
    _, row = files['output'].read_text().splitlines()
    assert row == 's,VCPU,,host,hw:cpu_policy=dedicated,PCPU'


@pytest.mark.parametrize('servers', [[], [detailed('s')]])
def test_pinned_names_consumers_that_the_list_does_not_explain(placement, files, servers, tmp_path):
    save(tmp_path, 'servers.json', servers)
    command = f'{PINNED} --snapshot {{snapshot}} -o {{output}} -f value -c subject'
    result = placement(command.format(**files))
    assert (result.status, result.stdout) == (3, 's\n')
    assert 'VCPU: 1 consumer, 0 explained, 1 unexplained\n' in result.stderr
    _, row = files['output'].read_text().splitlines()
    assert row == 's,VCPU,,,unexplained,'


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ('', 'required: --host-facts or --servers. Example: '),
        ('--servers {servers}', '--servers and --pinned go together'),
        ('--servers {servers} --pinned', '--pinned needs --snapshot'),
    ],
)
def test_options_that_need_other_options_are_refused_alone(placement, files, options, reason):
    command = f'resource provider reshape assignments {options} -o {{output}}'
    result = placement(command.format(**files))
    assert (result.status, reason in result.stderr) == (2, True)
    assert not files['output'].exists()
