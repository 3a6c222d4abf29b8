# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova has on a drained host and that hold nothing there in Placement."""

import json

import pytest

from tests.unit.commands.inspection.drains import AGAIN, HOSTS, answer_as_nova, server
from tests.unit.insight.clouds import consumer, provider

UNALLOCATED = (
    'holds no allocations in Placement: the scheduler does not count it, nor has this plan a place '
    'for it'
)
HEAL = 'placement resource provider allocation heal --server lost'
#: The record of a server without allocations on compute1, and what stands after the reason; the
#: command, where the files of the lists are to be added.
LOST = [
    ({}, '', HEAL),
    ({'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1.example.org'}, '; there is no resource '
     'provider compute1.example.org. If you know what it holds: placement resource provider '
     'allocation set lost --project-id p --user-id u --allocation '
     'rp=compute1.example.org,CLASS=AMOUNT', ''),
    ({'OS-EXT-STS:vm_state': 'stopped'}, '', HEAL),
    ({'OS-EXT-STS:vm_state': 'error'}, '', HEAL),
    ({'OS-EXT-STS:vm_state': 'resized'}, '; a resize waits to be confirmed or reverted',
     'openstack server resize confirm lost'),
    ({'OS-EXT-STS:task_state': 'migrating'}, '; it is under way: migrating',
     'openstack server show lost'),
]  # fmt: skip


@pytest.mark.parametrize('mode', ['', '--rolling --batch 1'])
@pytest.mark.parametrize(('record', 'detail', 'command'), LOST)
def test_a_server_that_holds_nothing_in_placement_is_a_row_that_cannot_move(
    plan, tmp_path, record, detail, command, mode
):
    on_host = {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'}
    lost = server('lost', 2) | on_host | record
    lists = {'servers': [server('s1', 2), lost], 'migrations': []}
    result = plan([consumer('s1', compute1={'VCPU': 2})], f'compute1 {mode} -f json', lists)
    reason, path = f'{UNALLOCATED}{detail}', tmp_path / 'nova.json'
    command += f' --servers {path} --migrations {path}' if command == HEAL else ''
    rows = json.loads(result.stdout)
    assert (result.status, [row['server'] for row in rows]) == (5, ['s1', 'lost'])
    assert rows[1] == {
        'wave': None, 'server': 'lost', 'from': 'compute1', 'to': '', 'allocations': {},
        'state': 'cannot move', 'reason': reason, 'command': command,
    }  # fmt: skip
    summary = (
        '0 of 1 batch can be emptied: 1 move in 1 wave'
        if mode
        else '2 servers to move: 1 has a place, in 1 wave'
    )
    assert f'{summary}; 1 server without allocations there (exit 5)\n' in result.stderr
    assert f'compute1: lost {reason}\n' in result.stderr
    assert (f'Next:\n  1. {command}\n  2. {AGAIN}\n' in result.stderr) == bool(command)


@pytest.mark.parametrize(
    ('consumers', 'command'), [([], HEAL), ([consumer('lost', compute2={'VCPU': 2})], '')]
)
def test_nova_itself_knows_the_servers_that_hold_nothing_on_their_host(
    plan, monkeypatch, consumers, command
):
    lost = server('lost', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'}
    answer_as_nova(monkeypatch, [lost])
    result = plan(consumers, '-f json -c command --requests nova')
    assert (result.status, json.loads(result.stdout)) == (5, [{'command': command}])
    assert '1 server to move; 1 server without allocations there (exit 5)\n' in result.stderr


RIGHT = (
    'it is not known which of the two is right. If openstack server show still names {home}, move '
    'the allocations of the server there: placement resource provider allocation move'
)
SHOW = 'openstack server show s'
#: What differs in the record of a server with allocations on another host than Nova has, and in
#: these; the list of migrations, what the reason says after both hosts, and the command.
ELSEWHERE = [
    ({}, {}, [], f'; {RIGHT} s --from {{held}} --to {{home}}', ''),
    ({}, {'compute3': {'VCPU': 1}}, [], '', SHOW),
    ({'OS-EXT-STS:task_state': 'migrating'}, {}, [], '; it is under way: migrating', SHOW),
    ({'OS-EXT-STS:vm_state': 'resized'}, {}, [], '; a resize waits to be confirmed or reverted',
     'openstack server resize confirm s'),
    # Before the compute API 2.59, no consumer shows that it is of this migration.
    ({}, {}, [{'instance_uuid': 's', 'status': 'running'}], '; a migration is not over', SHOW),
]  # fmt: skip


@pytest.mark.parametrize('mode', ['', '--rolling --batch 1'])
@pytest.mark.parametrize(('home', 'held'), [('compute1', 'compute2'), ('compute2', 'compute1')])
@pytest.mark.parametrize(('record', 'more', 'migrations', 'detail', 'command'), ELSEWHERE)
def test_a_server_with_its_allocations_on_another_host_is_a_row_on_both(
    plan, record, more, migrations, detail, command, home, held, mode
):
    moved = server('s', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': home} | record
    holder = consumer('s', **{held: {'VCPU': 1}}, **more)
    lists = {'servers': [moved], 'migrations': migrations}
    states = [*HOSTS, provider('compute3', VCPU=8)]
    result = plan([holder], f'{mode} -f json', lists, states)
    [row] = json.loads(result.stdout)
    assert (result.status, row['server'], row['from'], row['state']) == (
        5, 's', 'compute1', 'cannot move',
    )  # fmt: skip
    if more and held == 'compute1':
        assert row['reason'].startswith('has allocations on several hosts')
        return
    names = ', '.join([held, *more])
    told = f'is on {home} for Nova, but all its allocations are on {names}{detail}'
    assert row['reason'] == told.format(home=home, held=held)
    assert row['command'] == command
    # A server that is on its way to the host needs a place after that.
    assert bool(row['to']) == bool(command and held == 'compute1')
    absent = '; 1 server without allocations there (exit 5)\n' in result.stderr
    assert absent == (home == 'compute1')


def test_a_server_whose_migration_holds_its_host_is_one_row(plan):
    migration = {'uuid': 'm', 'instance_uuid': 's', 'status': 'running'}
    leaving = server('s', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'}
    consumers = [consumer('m', None, compute1={'VCPU': 2}), consumer('s', compute2={'VCPU': 2})]
    options = '-f value -c server -c reason'
    result = plan(consumers, options, {'servers': [leaving], 'migrations': [migration]})
    assert (result.status, result.stdout) == (5, 's is being migrated (running)\n')


@pytest.mark.parametrize('consumers', [[], [consumer('s', compute2={'VCPU': 2})]])
def test_losses_say_which_servers_are_not_counted(plan, consumers):
    lost = server('s', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'}
    result = plan(consumers, '--lose 1', [lost])
    assert (result.status, result.stdout) == (5, '')
    assert result.stderr.endswith(
        '1 of 1 losses checked: each leaves a place for every counted server. The largest: '
        'compute1, with 0 servers (exit 5)\n'
        'Not counted: 1 server without allocations on the host that Nova has (compute1). Plan a '
        'drain of that host to see which\n'
    )


@pytest.mark.parametrize(
    'record',
    [
        {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute2'},
        {'OS-EXT-SRV-ATTR:hypervisor_hostname': None},
        {'OS-EXT-STS:vm_state': 'shelved_offloaded'},
        {'OS-EXT-STS:vm_state': 'deleted', 'status': 'DELETED'},
    ],
)
def test_a_server_that_nova_does_not_have_on_the_host_is_no_row(plan, record):
    lost = server('lost', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'} | record
    result = plan([], '', [lost])
    assert (result.status, result.stdout) == (0, '')
    assert 'compute1 is already empty\n' in result.stderr
