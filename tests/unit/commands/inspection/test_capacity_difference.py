# SPDX-License-Identifier: Apache-2.0
"""``resource capacity show --diff`` and ``--fail-above``: on a file, without any cloud."""

import json

import pytest

from placementclient.model.inventories import Inventory
from tests.unit.commands.clouds import save, small
from tests.unit.commands.inspection.test_capacity import SHOW, TREES, flavor
from tests.unit.insight.clouds import cloud, consumer, provider

ASSUMED = """\
- match: host2
  inventories: {VCPU: {total: 12}}
- add: 1
  like: host2
  name: new
"""


@pytest.fixture
def changed(placement, tmp_path):
    """Run ``capacity show --diff`` under assumptions; return the status and the rows."""
    file = save(tmp_path, 'cloud.json', small())
    (tmp_path / 'assume.yaml').write_text(ASSUMED)

    def show(options):
        assume = f'--assume {tmp_path}/assume.yaml --diff'
        return placement(SHOW.format(file=file) + f'{assume} {options}')

    return show


def test_diff_prints_the_amounts_that_change_with_their_difference(changed):
    result = changed('--by class')
    assert (result.status, result.stdout) == (
        0,
        """\
+----------------+-------------+--------+-------+------------+
| resource_class | amount      | before | after | difference |
+----------------+-------------+--------+-------+------------+
| VCPU           | capacity    |     12 |    32 |        +20 |
| VCPU           | free        |      9 |    29 |        +20 |
| VCPU           | largest_fit |      4 |    12 |         +8 |
+----------------+-------------+--------+-------+------------+
""",
    )


def test_diff_has_no_value_before_for_a_new_host(changed):
    rows = json.loads(changed('-f json').stdout)
    assert [row for row in rows if row['tree'] == 'new' and row['amount'] == 'capacity'] == [
        {'tree': 'new', 'resource_class': 'VCPU', 'shared_by': '', 'amount': 'capacity',
         'before': None, 'after': 12, 'difference': 12},
        {'tree': 'new', 'resource_class': 'DISK_GB', 'shared_by': 'nfs', 'amount': 'capacity',
         'before': None, 'after': 100, 'difference': 100},
    ]  # fmt: skip
    assert 'host1' not in {row['tree'] for row in rows}
    assert all(row['difference'] for row in rows), 'nothing is used on a new host, as before'


@pytest.mark.parametrize('width', [60, 80, 132])
def test_diff_shows_the_amounts_before_and_after_on_every_terminal(changed, width, monkeypatch):
    monkeypatch.setenv('COLUMNS', str(width))
    monkeypatch.setattr('sys.stdout.isatty', lambda: True)
    lines = changed('').stdout.splitlines()
    assert max(map(len, lines)) <= width
    heading, *rows = (line.split('|') for line in lines if line.startswith('|'))
    shown = {'before', 'after', *(['difference'] if width >= 80 else [])}
    assert shown <= {name.strip() for name in heading}
    assert {row[-2][-2] for row in rows} <= set('0123456789B'), 'aligned to the right'


def test_diff_has_no_value_after_for_a_host_that_goes(placement, tmp_path):
    file = save(tmp_path, 'cloud.json', small())
    (tmp_path / 'assume.yaml').write_text('- without: [host2]\n')
    options = f'--assume {tmp_path}/assume.yaml --diff --fits VCPU=2 -f value'
    result = placement(SHOW.format(file=file) + options)
    assert (result.status, result.stdout) == (0, 'host2 1 None -1\n(all) 4 3 -1\n')


def test_diff_prints_the_servers_that_fit_before_and_after(changed, tmp_path):
    rows = changed('--fits VCPU=2 -f value').stdout
    assert rows == 'host2 1 5 4\nnew None 6 6\n(all) 4 14 10\n'
    flavors = save(tmp_path, 'flavors.json', {'flavors': [flavor('small')]})
    result = changed(f'--flavors {flavors} -f value -c flavor -c tree -c difference')
    assert result.stdout == 'small host2 3\nsmall new 4\n'
    assert result.stderr.count('\n') == 1


def test_diff_says_that_nothing_changes(placement, tmp_path):
    file = save(tmp_path, 'cloud.json', small())
    (tmp_path / 'assume.yaml').write_text('[]')
    options = f'--assume {tmp_path}/assume.yaml --diff'
    result = placement(SHOW.format(file=file) + options)
    assert (result.stdout, result.stderr.splitlines()[-1]) == ('', 'No amount changes')


@pytest.mark.parametrize(
    ('options', 'count', 'sentence'),
    [
        ('--diff', 9, 'Only the sums: add --by class'),
        ('--diff', 1, ''),
        ('--diff --by class', 9, ''),
        ('', 1, 'Before and after: add --by class --diff'),
    ],
)
def test_assumptions_name_on_a_terminal_the_options_of_a_shorter_table(
    placement, tmp_path, monkeypatch, options, count, sentence
):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    file = save(tmp_path, 'cloud.json', small())
    (tmp_path / 'more.yaml').write_text(f'[{{add: {count}, like: host2, name: "new{{n}}"}}]')
    assume = f'assuming: {tmp_path}/more.yaml'
    result = placement(SHOW.format(file=file) + f'--assume {tmp_path}/more.yaml {options}')
    assert result.stderr.splitlines() == list(filter(None, [assume, sentence]))


@pytest.mark.parametrize(
    ('limit', 'status', 'message'),
    [
        (40, 0, ''),
        (39.9, 3, 'More than 39.9 percent is used: host1 DISK_GB, host2 DISK_GB, nfs DISK_GB, '
                  '(all) DISK_GB (exit 3)'),
        ('0.5%', 3, 'More than 0.5 percent is used: host1 VCPU, host1 DISK_GB, host2 VCPU, host2 '
                    'DISK_GB, nfs DISK_GB and 2 more (exit 3)'),
        ('20%', 3, 'More than 20 percent is used: host1 VCPU, host1 DISK_GB, host2 VCPU, host2 '
                   'DISK_GB, nfs DISK_GB and 2 more (exit 3)'),
    ],
)  # fmt: skip
def test_fail_above_ends_with_status_3_where_more_is_used(
    placement, tmp_path, limit, status, message
):
    file = save(tmp_path, 'cloud.json', small())
    result = placement(SHOW.format(file=file) + f'--fail-above {limit}')
    assert (result.status, result.stdout, result.stderr.strip()) == (status, TREES, message)


def test_fail_above_says_on_a_terminal_that_nothing_is_used_above_it(
    placement, tmp_path, monkeypatch
):
    monkeypatch.setattr('sys.stderr.isatty', lambda: True)
    file = save(tmp_path, 'cloud.json', small())
    result = placement(SHOW.format(file=file) + '--fail-above 40')
    assert result.stderr.splitlines()[-1].endswith('Nowhere is more than 40 percent used')


def test_fail_above_counts_use_without_capacity(placement, tmp_path):
    states = [provider('host1', VCPU=Inventory(8, reserved=8))]
    file = save(tmp_path, 'cloud.json', cloud(states, [consumer('s', host1={'VCPU': 1})]))
    assert placement(SHOW.format(file=file) + '--fail-above 1000 -f json').status == 3


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('--fail-above 90 --fits VCPU=1', '--fail-above cannot be combined with --fits or'),
        ('--diff', '--diff needs --assume'),
        ('--fail-above much', "argument --fail-above: 'much' is not a percentage"),
        ('--fail-above nan', "argument --fail-above: 'nan' is not a percentage"),
        ('--fail-above 0.8', 'argument --fail-above: 0.8 is a fraction: --fail-above 80, or 0.8%'),
        ('--fits MEMORY_MB=8GB', 'MEMORY_MB=8GB: give a whole number of MiB, without a unit: '),
        ('--fail-above=-1', "argument --fail-above: '-1' is not a percentage"),
    ],
)
def test_capacity_refuses_diff_and_fail_above_with_wrong_options(
    placement, tmp_path, options, message
):
    file = save(tmp_path, 'cloud.json', small())
    result = placement(SHOW.format(file=file) + options)
    assert (result.status, message in result.stderr) == (2, True), result.stderr
