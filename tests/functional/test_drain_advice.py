# SPDX-License-Identifier: Apache-2.0
"""What a drain says to type does what it says, in one step."""

import json
import shlex

import pytest

from placementclient.api import allocation
from tests.functional.clouds import uuid_of
from tests.functional.hosts import build, holder
from tests.functional.test_advice import (
    DETAILS,
    DOUBLED,
    HELD,
    HOLD,
    LEAK,
    MOVED,
    ON_NEW,
    last_command,
    server,
)

ACTIVE = DETAILS | {'OS-EXT-STS:vm_state': 'active'}


def write_requests(folder, servers, migrations=()):
    """Write the lists for ``--requests``; return their file."""
    file = folder / 'nova.json'
    lists = {'servers': servers, 'migrations': migrations, 'aggregates': [], 'server_groups': []}
    file.write_text(json.dumps(lists))
    return file


@pytest.mark.parametrize(
    ('consumers', 'servers', 'migrations', 'id'),
    [
        ([DOUBLED], [server('s', 'compute1')], [MOVED], 'doubled'),
        ([HOLD, ON_NEW], [server('s', 'compute1')], [MOVED], 'left-by-migration'),
        ([LEAK], [server('t', 'compute1')], [], 'orphan'),
    ],
)
def test_the_audit_that_a_drain_names_finds_why_its_consumer_cannot_move(
    client, placement, tmp_path, monkeypatch, consumers, servers, migrations, id
):
    build(client, *consumers)
    monkeypatch.chdir(tmp_path)
    requests = write_requests(tmp_path, [record | ACTIVE for record in servers], migrations)
    drain = f'resource provider drain plan compute0 --requests {requests} -f json'
    [row] = json.loads(placement(drain).stdout)
    assert row['state'] == 'cannot move'
    typed = shlex.split(row['command'])
    assert typed[:4] == ['placement', 'resource', 'provider', 'audit']
    found = placement(*typed[1:], '-f', 'json')
    assert id in [finding['id'] for finding in json.loads(found.stdout)]


def test_the_heal_that_a_drain_names_gives_a_lost_server_its_place(client, placement, tmp_path):
    build(client, holder('other', {'compute1': HELD}))
    requests = write_requests(tmp_path, [server('s', 'compute0', **ACTIVE)])
    drain = f'resource provider drain plan compute0 --requests {requests} -f value -c state'
    told = placement(drain)
    assert (told.status, told.stdout) == (5, 'cannot move\n')
    step = told.stderr.partition('Next:\n  1. placement ')[2].splitlines()[0]
    assert placement(*shlex.split(step), '--yes').status == 0
    assert allocation.show(client, uuid_of('s')).value.allocations == {uuid_of('compute0'): HELD}
    again = placement(drain)
    assert (again.status, again.stdout) == (0, 'move\n')


def test_the_move_that_a_drain_names_brings_allocations_to_the_host_of_the_server(
    client, placement, tmp_path
):
    build(client, holder('s', {'compute1': HELD}))
    requests = write_requests(tmp_path, [server('s', 'compute0', **ACTIVE)])
    drain = f'resource provider drain plan --requests {requests} -f json'
    assert placement(f'{drain} compute0 --lose 1').status == 5
    rows = [placement(f'{drain} {host}') for host in ('compute0', 'compute1')]
    reasons = {json.loads(told.stdout)[0]['reason'] for told in rows}
    assert ([told.status for told in rows], len(reasons)) == ([5, 5], 1)
    assert placement(*last_command(reasons.pop())).status == 0
    again = placement(f'{drain} compute0')
    assert (again.status, json.loads(again.stdout)[0]['state']) == (0, 'move')
    assert placement(f'{drain} compute1').status == 0
