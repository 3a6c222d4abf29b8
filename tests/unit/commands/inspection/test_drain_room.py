# SPDX-License-Identifier: Apache-2.0
"""``resource provider drain plan --for-flavor``: room for new servers, on files."""

import json

import pytest

from placementclient.nova import service as compute
from tests.programs import Result
from tests.unit.commands.clouds import save
from tests.unit.commands.inspection.drains import NO_STATES, PLAN, server
from tests.unit.insight.clouds import cloud, consumer, provider

COMPUTE = {'traits': ['COMPUTE_NODE']}


def flavor(name, vcpus, **specs):
    return {
        'id': f'id-{name}', 'name': name, 'vcpus': vcpus, 'ram': 0, 'disk': 0, 'swap': 0,
        'OS-FLV-EXT-DATA:ephemeral': 0, 'extra_specs': specs,
    }  # fmt: skip


FLAVORS = {'flavors': [flavor('m1.large', 4), flavor('m1.huge', 9), flavor('m1.small', 1)]}


@pytest.fixture
def plan(tmp_path):
    """The command for a cloud with two hosts, of which each has a bit of room."""
    states = [provider(name, **COMPUTE, VCPU=8) for name in ('compute1', 'compute2')]
    consumers = [
        consumer('s1', compute1={'VCPU': 4}),
        consumer('s2', compute1={'VCPU': 2}),
        consumer('s3', compute2={'VCPU': 5}),
    ]
    path = save(tmp_path, 'cloud.json', cloud(states, consumers))
    return f'{PLAN.format(file=path)} --flavors {save(tmp_path, "flavors.json", FLAVORS)} '


def test_the_fewest_moves_that_make_room_are_rows_of_a_drain(placement, plan):
    result = placement(f'{plan} --for-flavor m1.large -f json')
    [row] = json.loads(result.stdout)
    assert row == {
        'wave': 1, 'server': 's2', 'from': 'compute1', 'to': 'compute2',
        'allocations': {'compute2': {'VCPU': 2}}, 'state': 'move', 'reason': '',
        'command': 'openstack server migrate --live-migration --host compute2 s2',
    }  # fmt: skip
    assert (result.status, result.stderr) == (
        0,
        f'{NO_STATES}1 server of m1.large: all have room after 1 move in 1 wave (room for 0 now)\n'
        'Proved: fewer than 1 move make no room\n',
    )


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        ('--for-flavor m1.small --count 5', 0,
         '5 servers of m1.small: all have room without any move\n'),
        ('--for-flavor id-m1.small --count 6', 4,
         'Impossible: no number of moves makes room for 6 servers of m1.small, proved (room for 5 '
         'now) (exit 4)\n'),
        # s1 and s3 could only change places.
        ('compute2 --for-flavor m1.small --count 4', 4, None),
        ('--for-flavor m1.huge', 4, None),
    ],
)  # fmt: skip
def test_drain_for_flavor_needs_no_moves_or_proves_that_none_help(
    placement, plan, options, status, message
):
    result = placement(f'{plan} {options} -f value -c server')
    assert result.status == status, result.stderr
    if message:
        assert result == Result(status, '', message)


def test_drain_for_flavor_uses_only_named_hosts(placement, plan, tmp_path):
    result = placement(f'{plan} compute1 --for-flavor m1.small --count 4 -f value -c server -c to')
    assert (result.status, result.stdout) == (0, 's2 compute2\n')
    assert placement(f'{plan} compute1 --for-flavor m1.small --count 2').stdout == ''


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ('--for-flavor m1.large --rolling', '--for-flavor cannot be combined with --rolling'),
        ('--for-flavor m1.large --lose 1', '--for-flavor cannot be combined with --lose'),
        ('--for-flavor m1.large --batch 2', '--batch is for --rolling'),
        ('compute1 --count 2', '--count is for --for-flavor'),
        ('compute1', '--flavors is for --for-flavor'),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(placement, plan, options, message):
    assert placement(plan + options) == Result(2, '', f'{message}\n')


def test_a_snapshot_needs_a_file_of_flavors(placement, plan):
    result = placement(f'{plan.partition("--flavors")[0]} --for-flavor m1.large')
    assert result == Result(2, '', 'With --snapshot, --for-flavor needs --flavors FILE\n')


def test_an_unknown_flavor_is_refused_with_a_like_one(placement, plan):
    result = placement(f'{plan} --for-flavor m1.larg')
    message = (
        "No flavor is called 'm1.larg': see openstack flavor list --all. "
        'Did you mean "m1.large"?\n'
    )
    assert result == Result(1, '', message)


def test_unknown_requests_of_servers_leave_the_answer_open(placement, tmp_path):
    states = [
        provider('compute1', traits=['COMPUTE_NODE', 'CUSTOM_X'], VCPU=8),
        provider('compute2', **COMPUTE, VCPU=8),
    ]
    consumers = [consumer('s1', compute1={'VCPU': 6}), consumer('s2', compute2={'VCPU': 2})]
    file = save(tmp_path, 'cloud.json', cloud(states, consumers))
    flavors = save(tmp_path, 'flavors.json', {'flavors': [flavor('x', 8)]})
    plan = f'{PLAN.format(file=file)} compute1 --flavors {flavors} --for-flavor x'
    result = placement(plan)
    assert result == Result(
        5,
        '',
        'Unknown: 1 server of x have room if some servers may move (room for 0 now) (exit 5)\n'
        'Not certain: s1. Add --requests nova, or --requests FILE, to read what they require\n',
    )
    assert placement(f'{plan} --strict').status == 4
    lists = {'servers': [server('s1', 6), server('s2', 2)], 'aggregates': [], 'server_groups': []}
    images = save(tmp_path, 'images.json', {'images': [{'id': 'i', 'disk_format': 'raw'}]})
    known = f'{plan} --requests {save(tmp_path, "nova.json", lists)} --images {images}'
    result = placement(f'{known} -f value -c to')
    assert (result.status, result.stdout) == (0, 'compute2\n')
    lists['servers'][0] = server('s1', 6, 'suspended')
    save(tmp_path, 'nova.json', lists)
    result = placement(f'{known} -f json')
    [row] = json.loads(result.stdout)
    printed = result.status, row['state'], row['command']
    assert printed == (5, 'cannot move', 'openstack server resume s1')


def test_a_server_stays_in_its_cell_to_make_room(placement, plan, tmp_path):
    table = '| Cell Name | Cell UUID | Hostname |\n' + ''.join(
        f'| cell{n} | 1d3a7c52-9b0e-4f6d-8a41-5e2c7b9d0f1{n} | compute{n} |\n' for n in (1, 2)
    )
    (tmp_path / 'cells.txt').write_text(table)
    result = placement(f'{plan} --for-flavor m1.large --cells {tmp_path}/cells.txt')
    assert result.status == 4


def test_nova_is_asked_for_flavors_where_no_file_is_given(placement, plan, monkeypatch):
    monkeypatch.setattr(compute, 'flavors', lambda client: FLAVORS['flavors'])
    result = placement(f'{plan.partition("--flavors")[0]} --flavors nova --for-flavor m1.large')
    assert result.status == 0


def test_the_answer_is_written_for_the_report(placement, plan, tmp_path):
    written = tmp_path / 'room.json'
    placement(f'{plan} --for-flavor m1.large -o {written}')
    answer = json.loads(written.read_text())
    facts = {'flavor': 'm1.large', 'count': 1, 'room': 0, 'bound': 1, 'verdict': 'yes', 'hosts': []}
    assert {name: answer[name] for name in facts} == facts
    file = plan.split()[plan.split().index('--snapshot') + 1]
    page = placement(f'resource provider report --snapshot {file} --drain {written}')
    assert 'Proved: fewer than 1 move make no room' in page.stdout
