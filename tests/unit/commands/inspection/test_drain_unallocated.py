# SPDX-License-Identifier: Apache-2.0
"""Servers that Nova has on a drained host and that hold nothing in Placement."""

import json

import pytest

from tests.unit.commands.inspection.drains import AGAIN, answer_as_nova, server
from tests.unit.insight.clouds import consumer

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
        '0 of 1 batch can be emptied: 1 move in 1 wave; 1 server without allocations (exit 5)\n'
        if mode
        else '2 servers to move: 1 has a place, in 1 wave; 1 server without allocations (exit 5)\n'
    )
    assert summary in result.stderr
    assert f'compute1: lost {reason}\n' in result.stderr
    assert (f'Next:\n  1. {command}\n  2. {AGAIN}\n' in result.stderr) == bool(command)


def test_nova_itself_knows_what_a_server_without_allocations_should_hold(plan, monkeypatch):
    lost = server('lost', 2) | {'OS-EXT-SRV-ATTR:hypervisor_hostname': 'compute1'}
    answer_as_nova(monkeypatch, [lost])
    result = plan([], '-f json -c command --requests nova')
    assert (result.status, json.loads(result.stdout)) == (5, [{'command': HEAL}])
    assert result.stderr.startswith('1 server to move; 1 server without allocations (exit 5)\n')


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
