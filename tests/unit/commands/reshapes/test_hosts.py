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


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ('', 'Either --host-facts or --servers is needed'),
        ('--servers {servers}', '--servers and --pinned go together'),
        ('--servers {servers} --pinned', '--pinned needs --snapshot'),
    ],
)
def test_options_that_need_others(placement, files, options, reason):
    command = f'resource provider reshape assignments {options} -o {{output}}'
    result = placement(command.format(**files))
    assert (result.status, result.stderr.startswith(reason)) == (2, True)
    assert not files['output'].exists()
