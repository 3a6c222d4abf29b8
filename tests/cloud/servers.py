"""Servers in all states that Placement sees."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Mapping
from typing import Any

from keystoneauth1.exceptions.http import BadRequest

from tests.cloud import control, layout, processes
from tests.cloud.compute import Compute, until

#: The host that dies in :func:`in_all_states`.
DEAD = layout.HOSTS[-1]


def in_all_states(compute: Compute) -> dict[str, str]:
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
    kill(compute, DEAD)
    # From microversion 2.95 on, a server that was evacuated is stopped.
    compute.act(uuids['evacuated'], 'evacuate', {'host': first}, 'SHUTOFF')
    compute.make_flavor('impossible', 400, 64, 1)
    uuids['error'] = compute.create('error', 'impossible')
    compute.wait(uuids['error'], 'ERROR')
    age()
    return uuids


def age() -> None:
    """Let an hour pass: an audit says nothing of what Nova has just changed."""
    control.sql('UPDATE nova.instances SET updated_at = updated_at - INTERVAL 1 HOUR;')


def _stand_still(compute: Compute, uuids: dict[str, str]) -> None:
    compute.act(uuids['stopped'], 'os-stop', None, 'SHUTOFF')
    compute.act(uuids['paused'], 'pause', None, 'PAUSED')
    compute.act(uuids['shelved'], 'shelve', None, 'SHELVED')
    compute.act(uuids['shelved_offloaded'], 'shelve', None, 'SHELVED')
    compute.act(uuids['shelved_offloaded'], 'shelveOffload', None, 'SHELVED_OFFLOADED')
    compute.delete(uuids['deleted'])


def _move(compute: Compute, uuids: dict[str, str]) -> None:
    """Move servers from their host to the first one."""
    first = layout.HOSTS[0]
    for state in ('resized', 'verify_resize'):
        compute.act(uuids[state], 'resize', {'flavorRef': 'medium'})
    compute.act(uuids['cold_migrated'], 'migrate', {'host': first})
    for state in ('resized', 'verify_resize', 'cold_migrated'):
        compute.wait(uuids[state], 'VERIFY_RESIZE')
    for state in ('resized', 'cold_migrated'):
        compute.act(uuids[state], 'confirmResize', None, 'ACTIVE')
    live = {'host': first, 'block_migration': 'auto'}
    compute.act(uuids['live_migrated'], 'os-migrateLive', live, 'ACTIVE')
    until(lambda: compute.host(uuids['live_migrated']) == first, 'not live migrated')


def kill(compute: Compute, host: str) -> None:
    """Let a host die: its nova-compute is killed, and an operator says so."""
    processes.stop(host, how=signal.SIGKILL)
    compute.update_service(host, forced_down=True)


def revive(compute: Compute, host: str) -> None:
    """Start the nova-compute of a host, and wait until the scheduler may use it."""
    control.compute(host)

    def is_up() -> bool:
        # Nova refuses it until nova-compute has dealt with the servers that were evacuated.
        with contextlib.suppress(BadRequest):
            compute.update_service(host, forced_down=False)
        return bool(compute.service(host)['state'] == 'up')

    until(is_up, f'{host} does not come up')
    until(lambda: host in compute.mapped_hosts(), f'{host} is not mapped')


def restart(compute: Compute, *hosts: str) -> None:
    """Stop the nova-compute of hosts and start them again, and wait until they are up."""
    processes.stop(*hosts)
    launch(compute, *hosts)


def launch(compute: Compute, *hosts: str) -> None:
    """Start the nova-compute of hosts, and wait until they have reported their trees."""
    before = {host: compute.service(host)['updated_at'] for host in hosts}
    for host in hosts:
        control.compute(host)
    for host in hosts:
        # The first report comes after the tree.
        until(
            lambda host=host: compute.service(host)['updated_at'] != before[host],
            f'{host} does not report',
        )
    until(lambda: set(hosts) <= compute.mapped_hosts(), f'{hosts} are not up')


def equip(compute: Compute, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Let hosts report other trees, by the settings of their drivers; restarts them."""
    for host, driver in settings.items():
        (layout.state() / 'hosts' / host / 'driver.json').write_text(json.dumps(driver))
    restart(compute, *settings)


def unequip(compute: Compute) -> None:
    """Delete all servers, and let all hosts report what they did at first."""
    clear(compute)
    equip(compute, {host: {} for host in layout.HOSTS})


def clear(compute: Compute) -> None:
    """Delete all servers and what they leave, and revive all hosts."""
    for host in layout.HOSTS:
        if processes.pid(host) is None or compute.service(host)['forced_down']:
            revive(compute, host)
    compute.delete(*[server['id'] for server in compute.servers()])
    leftovers(compute)


def leftovers(compute: Compute) -> None:
    """Delete the allocations that stay, and the providers below hosts."""
    for provider in compute.providers():
        path = f'/resource_providers/{provider["uuid"]}'
        for consumer in compute.call('GET', f'{path}/allocations', service='placement')[
            'allocations'
        ]:
            compute.discard(f'/allocations/{consumer}', service='placement')
        if provider['name'] not in layout.HOSTS:
            compute.discard(path, service='placement')
