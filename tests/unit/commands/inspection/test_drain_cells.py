# SPDX-License-Identifier: Apache-2.0
"""Drains in clouds of several cells."""

import pytest

from tests.programs import Result
from tests.unit.commands.clouds import save
from tests.unit.commands.inspection.drains import PLAN, server
from tests.unit.insight.clouds import cloud, consumer, provider

CELLS = """\
+-----------+--------------------------------------+----------+
| Cell Name |              Cell UUID               | Hostname |
+-----------+--------------------------------------+----------+
|   cell1   | 1d3a7c52-9b0e-4f6d-8a41-5e2c7b9d0f11 | compute1 |
|   cell2   | 2e4b8d63-ac1f-4a7e-9b52-6f3d8c0e1a22 | compute2 |
|   cell1   | 1d3a7c52-9b0e-4f6d-8a41-5e2c7b9d0f11 | compute3 |
+-----------+--------------------------------------+----------+
"""


@pytest.fixture
def three_hosts(tmp_path):
    """Three hosts with one server, of which the second is the fullest, and their cells."""
    states = [provider(f'compute{n}', VCPU=total) for n, total in ((1, 8), (2, 4), (3, 8))]
    (tmp_path / 'cells.txt').write_text(CELLS)
    return save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', compute1={'VCPU': 2})]))


@pytest.mark.parametrize('mode', ['', '--rolling', '--strict'])
@pytest.mark.parametrize('is_requested', [False, True])
def test_a_server_stays_in_its_cell(placement, three_hosts, tmp_path, mode, is_requested):
    plan = f'{PLAN.format(file=three_hosts)} compute1 -f value -c to {mode}'
    if is_requested:
        plan += f' --requests {save(tmp_path, "nova.json", [server("s1", 2)])}'
    assert placement(plan).stdout == 'compute2\n'
    result = placement(f'{plan} --cells {tmp_path}/cells.txt')
    assert (result.status, result.stdout) == (0, 'compute3\n')


def test_a_cell_without_room_is_named(placement, three_hosts, tmp_path):
    (tmp_path / 'cells.txt').write_text(CELLS.replace('cell1', 'cell3', 1))
    plan = f'{PLAN.format(file=three_hosts)} compute2 --cells {tmp_path}/cells.txt'
    states = [provider(f'compute{n}', VCPU=8) for n in (1, 2)]
    save(tmp_path, 'cloud.json', cloud(states, [consumer('s1', compute2={'VCPU': 2})]))
    result = placement(plan)
    assert result.status == 4
    assert '1 server of VCPU 2 in cell cell2: room for 0\n' in result.stderr


def test_hosts_without_a_cell_receive_nothing(placement, three_hosts, tmp_path):
    (tmp_path / 'cells.txt').write_text(CELLS.replace('compute2', 'compute9'))
    plan = f'{PLAN.format(file=three_hosts)} {{}} --cells {tmp_path}/cells.txt -f value -c to'
    result = placement(plan.format('compute1'))
    assert (result.status, result.stdout) == (0, 'compute3\n')
    assert 'Not in --cells, so that no server goes there: compute2\n' in result.stderr
    assert placement(plan.format('compute2')) == Result(
        1, '', '--cells has no compute2: give all that nova-manage cell_v2 list_hosts prints\n'
    )


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', '--cells needs a table of hosts and cells'),
        ('| a | b |\n', '1: 2 columns, not 3'),
        (CELLS.replace('compute3', 'compute1'), '6: compute1 appears twice'),
        (
            CELLS.replace('2e4b8d63', 'x'),
            "5: 'x-ac1f-4a7e-9b52-6f3d8c0e1a22' is not the UUID of a cell",
        ),
    ],
)
def test_a_file_that_is_no_table_of_cells_is_refused(
    placement, three_hosts, tmp_path, text, reason
):
    (tmp_path / 'cells.txt').write_text(text)
    result = placement(f'{PLAN.format(file=three_hosts)} compute1 --cells {tmp_path}/cells.txt')
    assert (result.status, result.stdout) == (1, '')
    assert reason in result.stderr


def test_a_plan_over_several_zones_says_that_it_assumes_one_cell(placement, three_hosts, tmp_path):
    aggregates = [
        {'uuid': name, 'name': name, 'hosts': hosts, 'metadata': {'availability_zone': name}}
        for name, hosts in (('west', ['compute1', 'compute3']), ('east', ['compute2']))
    ]
    free = server('s1', 2) | {'pinned_availability_zone': None}
    lists = {'servers': [free], 'aggregates': aggregates, 'server_groups': []}
    path = save(tmp_path, 'nova.json', lists)
    plan = f'{PLAN.format(file=three_hosts)} compute1 --requests {path}'
    assumed = 'Assumed: the hosts of all zones are in one cell.'
    assert assumed in placement(plan).stderr
    assert assumed not in placement(f'{plan} --cells {tmp_path}/cells.txt').stderr
