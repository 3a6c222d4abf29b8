# SPDX-License-Identifier: Apache-2.0
"""The commands of a drain, typed at Nova for servers in each state."""

import os
import shlex
import signal
import subprocess

import pytest

from tests.cloud import control, hosts, layout, processes, programs, settings
from tests.cloud.compute import until
from tests.cloud.conftest import variables
from tests.programs import Result

FIRST, SECOND = layout.HOSTS[:2]
#: The action that brings a server into a state, and the status that the API then has.
ACTIONS = {
    'active': None,
    'paused': ('pause', None, 'PAUSED'),
    'stopped': ('os-stop', None, 'SHUTOFF'),
    'shelved': ('shelve', None, 'SHELVED'),
    'suspended': ('suspend', None, 'SUSPENDED'),
    'rescued': ('rescue', {}, 'RESCUE'),
    'error': ('os-resetState', {'state': 'error'}, 'ERROR'),
    'resized': ('migrate', {'host': FIRST}, 'VERIFY_RESIZE'),
}
#: The states in which Nova moves no server, so that the plan has another command.
STUCK = {'suspended', 'rescued', 'error', 'resized'}
OPENSTACK = variables(OS_COMPUTE_API_VERSION='2.56')


def _plan(placement, *statuses):
    result = placement(f'resource provider drain plan {FIRST} --requests nova -f json')
    return {row['server']: row['command'] for row in result.json(*statuses)}


def _typed(command):
    name, *arguments = shlex.split(command)
    if name == 'nova':
        path = layout.program(name)
        done = subprocess.run([path, *arguments], capture_output=True, text=True, env=OPENSTACK)
        return Result(done.returncode, done.stdout, done.stderr)
    # "openstack server set --state" asks first.
    return programs.run(name, *arguments, environment=OPENSTACK, answers='y\n')


@pytest.fixture
def servers(compute):
    """The UUID of a server of each state on the first host, by the state."""
    hosts.settle(compute)
    on_hosts = [
        {'name': state, 'host': SECOND if state == 'resized' else FIRST} for state in ACTIONS
    ]
    uuids = dict(zip(ACTIONS, compute.boot_all(*on_hosts), strict=True))
    actions = {state: action for state, action in ACTIONS.items() if action is not None}
    for state, (action, argument, _) in actions.items():
        compute.act(uuids[state], action, argument)
    for state, (*_, status) in actions.items():
        compute.wait(uuids[state], status)
    return uuids


def test_nova_accepts_the_command_for_each_state(compute, placement, servers):
    commands = _plan(placement, 5)

    for state, uuid in servers.items():
        assert (' migrate ' in commands[uuid]) == (state not in STUCK | {'shelved'}), state
        live = f'openstack server migrate --live-migration --host {SECOND} {uuid}'
        if state in STUCK:
            assert _typed(live).status != 0, state
        done = _typed(commands[uuid])
        assert done.status == 0, (state, done.stderr)
    for state in STUCK:
        compute.wait(servers[state], 'ACTIVE')
    compute.wait(servers['shelved'], 'SHELVED_OFFLOADED')
    compute.wait(servers['stopped'], 'VERIFY_RESIZE')
    compute.act(servers['stopped'], 'confirmResize', None, 'SHUTOFF')
    for state in ('active', 'paused'):
        until(lambda state=state: compute.host(servers[state]) != FIRST, f'{state} stays')
        compute.wait(servers[state], state.upper())
    assert compute.allocations(servers['shelved']) == {}
    assert _plan(placement, 0).keys() == {servers[state] for state in STUCK}


@pytest.fixture
def soft_deleted(compute):
    hosts.settle(compute)
    uuid = compute.boot('soft-deleted', host=FIRST)
    usual = settings.nova()
    keeping = {**usual['DEFAULT'], 'reclaim_instance_interval': 3600}
    control.restart_nova({**usual, 'DEFAULT': keeping}, 'nova')
    compute.call('DELETE', f'/servers/{uuid}')
    until(lambda: uuid not in {server['id'] for server in compute.servers()}, f'{uuid} stays')
    yield uuid
    control.restart_nova(usual, 'nova')


def test_a_soft_deleted_server_is_restored_first(compute, placement, soft_deleted):
    assert compute.allocations(soft_deleted)

    command = _plan(placement, 5)[soft_deleted]

    assert command == f'openstack server restore {soft_deleted}'
    assert _typed(command).status == 0
    compute.wait(soft_deleted, 'ACTIVE')
    assert ' migrate ' in _plan(placement, 0)[soft_deleted]


def test_a_server_that_is_being_built_is_waited_for(compute, placement):
    hosts.settle(compute)
    service = processes.pid(FIRST)
    assert service is not None
    os.kill(service, signal.SIGSTOP)
    try:
        building = compute.create('building', host=FIRST)
        until(lambda: compute.allocations(building), f'{building} is not scheduled')
        command = _plan(placement, 5)[building]
    finally:
        os.kill(service, signal.SIGCONT)

    assert command == f'openstack server show {building}'
    compute.wait(building, 'ACTIVE')
    assert ' migrate ' in _plan(placement, 0)[building]


@pytest.fixture
def gold(compute, placement):
    """A server on the first host, the only one with the trait that its image requires."""
    hosts.settle(compute)
    placement('trait create CUSTOM_GOLD')
    assert placement(f'resource provider trait add {FIRST} CUSTOM_GOLD').status == 0
    image = compute.make_image('gold', {'trait:CUSTOM_GOLD': 'required'})
    yield compute.boot('gold', imageRef=image)
    for host in layout.HOSTS:
        placement(f'resource provider trait remove {host} CUSTOM_GOLD')


def test_the_trait_of_an_image_decides_where_its_server_goes(compute, placement, gold):
    assert _plan(placement, 4) == {}

    assert placement(f'resource provider trait add {SECOND} CUSTOM_GOLD').status == 0
    command = _plan(placement, 0)[gold]

    assert f'--host {SECOND} ' in command
    assert _typed(command).status == 0
    until(lambda: compute.host(gold) != FIRST, f'{gold} stays')


def test_a_resize_away_that_nobody_confirmed_is_confirmed_first(compute, placement):
    hosts.settle(compute)
    uuid = compute.boot('away', host=FIRST)
    compute.act(uuid, 'migrate', {'host': SECOND}, 'VERIFY_RESIZE')

    command = _plan(placement, 5)[uuid]

    assert command == f'openstack server resize confirm {uuid}'
    assert _typed(command).status == 0
    compute.wait(uuid, 'ACTIVE')
    assert _plan(placement, 0) == {}
