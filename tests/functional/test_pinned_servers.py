# SPDX-License-Identifier: Apache-2.0
"""Servers with dedicated CPUs in random worlds: what fits, and what can be claimed one by one.

``PINNED_WORLDS=5000`` compares so many worlds, from the world ``PINNED_FIRST`` on.
"""

import os
import random

import pytest
from keystoneauth1.session import Session

from placementclient.api import allocation_candidate
from placementclient.client import http, microversion
from placementclient.embedded import Direct
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.servers import Flavor
from placementclient.nova.server_parts import ServerRequest
from placementclient.nova.server_request import build_request
from placementclient.placing.topology import Topology
from placementclient.producers import inquiry
from tests.functional import clouds, databases
from tests.functional.bulk import Database
from tests.functional.claiming import claim_all
from tests.functional.planted import Planted

FIRST = int(os.environ.get('PINNED_FIRST', '0'))
WORLDS = range(FIRST, FIRST + int(os.environ.get('PINNED_WORLDS', '12')))


def random_world(chance):
    """Return hosts with PCPU, with VCPU or with both, some in NUMA cells, and perhaps a pool."""
    world = Planted()
    has_pool = chance.random() < 0.4
    for number in range(chance.randint(1, 4)):
        name, kind = f'host{number}', chance.choice(('PCPU', 'VCPU', 'both', 'both'))
        classes = ('PCPU', 'VCPU') if kind == 'both' else (kind,)
        cpus = {cls: _inventory(chance, 8, ratio=cls == 'VCPU') for cls in classes}
        root = {'MEMORY_MB': _inventory(chance, 10)}
        if not has_pool or chance.random() < 0.5:
            root['DISK_GB'] = _inventory(chance, 12)
        cells = chance.choice((0, 0, 0, 2))
        aggregates = ('shared',) if has_pool and chance.random() < 0.8 else ()
        traits = ('COMPUTE_NODE', *(('HW_CPU_HYPERTHREADING',) if chance.random() < 0.5 else ()))
        world.provider(name, root if cells else root | cpus, None, traits, aggregates)
        for cell in range(cells):
            part = {cls: _inventory(chance, 5, ratio=cls == 'VCPU') for cls in classes}
            world.provider(f'{name}_cell{cell}', part, name, traits[1:])
    if has_pool:
        pool = {'DISK_GB': _inventory(chance, 20)}
        world.provider('pool', pool, None, (SHARING_TRAIT,), ('shared',))
    for number, state in enumerate(list(world.states.values())):
        taken = {name: 1 for name, i in state.inventories.items() if i.admits(1) and i.capacity}
        if taken and chance.random() < 0.4:
            world.consumer(f'server{number}', **{state.name: taken})
    return world.snapshot


def _inventory(chance, most, *, ratio=False):
    return Inventory(
        total=chance.randint(1, most),
        max_unit=chance.choice((2**31 - 1, 2**31 - 1, 2)),
        allocation_ratio=chance.choice((1.0, 2.0)) if ratio else 1.0,
    )


def random_flavor(chance):
    """Return a flavor with dedicated CPUs."""
    specs = {'hw:cpu_policy': 'dedicated'}
    if chance.random() < 0.3:
        specs['hw:cpu_thread_policy'] = chance.choice(('isolate', 'require'))
    if chance.random() < 0.2:
        specs['hw:emulator_threads_policy'] = 'isolate'
    return Flavor('pinned', chance.randint(1, 3), chance.randint(1, 2), chance.randint(0, 3), 0, 0,
                  extra_specs=specs)  # fmt: skip


@pytest.fixture(scope='module')
def client():
    with Direct.scratch() as service:
        yield http.Client(Session(auth=service), microversion.HIGHEST)


def test_as_many_servers_with_dedicated_cpus_fit_as_can_be_claimed(client):
    compared = fallen = 0
    database = None
    for seed in WORLDS:
        chance = random.Random(seed)
        database = database or Database(client)
        databases.clear(databases.sqlite_file(client.session))
        database.fill(random_world(chance))
        nova = build_request(ServerRequest(random_flavor(chance)))
        snapshot = clouds.captured(client)
        counts = {row.name: row.count for row in fits.by_tree(Topology(snapshot), nova.first)}

        claimed = claim_all(
            client, nova.first, lambda nova=nova: _count(client, nova.first, ALL), seed
        )

        assert counts[ALL] == claimed, seed
        root = chance.choice([state for state in snapshot.roots() if state.name != 'pool'])
        on_tree = claim_all(
            client,
            nova.first,
            lambda nova=nova, name=root.name: _count(client, nova.first, name),
            (seed, root.name),
            root.uuid,
        )
        assert counts.get(root.name, 0) == on_tree, (seed, root.name)
        compared += bool(claimed)
        fallen += _check_fallback(client, snapshot, nova.second, seed)
    assert compared >= len(WORLDS) // 3
    assert fallen >= len(WORLDS) // 6


def _count(client, request, name):
    rows = fits.by_tree(Topology(clouds.captured(client)), request)
    return next((row.count for row in rows if row.name == name), 0)


def _check_fallback(client, snapshot, request, case):
    """Compare the hosts without PCPU that the second request of Nova adds; return if any."""
    topology = Topology(snapshot)
    more = fits.by_fallback(topology, request)
    candidates, summaries = allocation_candidate.list(client, request)
    roots = {root for candidate in candidates for root in candidate.roots(summaries)}
    expected = roots - topology.offering('PCPU')
    assert more.trees == len(expected) == inquiry.without_pcpu(client, request).trees, case
    assert bool(more.servers) == bool(expected), case
    return bool(expected)
