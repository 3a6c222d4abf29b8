# SPDX-License-Identifier: Apache-2.0
"""Servers in all states that Placement sees."""

from tests.cloud import control, hosts, layout
from tests.cloud.compute import until

#: The host that dies in :func:`in_all_states`.
DEAD = layout.HOSTS[-1]


def in_all_states(compute):
    """Make a server of each state, and return their UUIDs by state.

    ``evacuated`` has left :data:`DEAD`, whose nova-compute does not run any more. ``orphan`` is
    the allocation that stays when a server is deleted while its host is dead.
    """
    first, second = layout.HOSTS[:2]
    on_first = ('active', 'stopped', 'paused', 'shelved', 'shelved_offloaded', 'deleted')
    moving = ('resized', 'verify_resize', 'cold_migrated', 'live_migrated')
    uuids = {state: compute.create(state, host=first) for state in on_first}
    uuids |= {state: compute.create(state, host=second) for state in moving}
    uuids |= {state: compute.create(state, host=DEAD) for state in ('evacuated', 'on_dead_host')}
    for uuid in uuids.values():
        compute.wait(uuid, 'ACTIVE')
    _stand_still(compute, uuids)
    _move(compute, uuids)
    hosts.kill(compute, DEAD)
    # From microversion 2.95 on, a server that was evacuated is stopped.
    compute.act(uuids['evacuated'], 'evacuate', {'host': first}, 'SHUTOFF')
    compute.make_flavor('impossible', 400, 64, 1)
    uuids['error'] = compute.create('error', 'impossible')
    compute.wait(uuids['error'], 'ERROR')
    age()
    return uuids


def age():
    """Let an hour pass: an audit says nothing of what Nova has just changed."""
    control.sql('UPDATE nova.instances SET updated_at = updated_at - INTERVAL 1 HOUR;')


def _stand_still(compute, uuids):
    actions = {'stopped': 'os-stop', 'paused': 'pause', 'shelved': 'shelve'}
    for state, action in (*actions.items(), ('shelved_offloaded', 'shelve')):
        compute.act(uuids[state], action)
    compute.delete(uuids['deleted'])
    compute.wait(uuids['shelved_offloaded'], 'SHELVED')
    compute.act(uuids['shelved_offloaded'], 'shelveOffload', None, 'SHELVED_OFFLOADED')
    for state in actions:
        compute.wait(uuids[state], {'stopped': 'SHUTOFF'}.get(state, state.upper()))


def _move(compute, uuids):
    """Move servers from their host to the first one."""
    first = layout.HOSTS[0]
    for state in ('resized', 'verify_resize'):
        compute.act(uuids[state], 'resize', {'flavorRef': 'medium'})
    compute.act(uuids['cold_migrated'], 'migrate', {'host': first})
    for state in ('resized', 'verify_resize', 'cold_migrated'):
        compute.wait(uuids[state], 'VERIFY_RESIZE')
    for state in ('resized', 'cold_migrated'):
        compute.act(uuids[state], 'confirmResize')
    live = {'host': first, 'block_migration': 'auto'}
    compute.act(uuids['live_migrated'], 'os-migrateLive', live)
    for state in ('resized', 'cold_migrated', 'live_migrated'):
        compute.wait(uuids[state], 'ACTIVE')
    until(lambda: compute.host(uuids['live_migrated']) == first, 'not live migrated')
