# SPDX-License-Identifier: Apache-2.0
"""Servers with dedicated CPUs in random worlds: what fits, and what can be claimed one by one.

``PINNED_WORLDS=5000`` compares so many worlds, from the world ``PINNED_FIRST`` on. Worlds with
equal flavors share a Placement: no provider, aggregate or server of one is another's.
"""

import os
import random
from collections import Counter, defaultdict
from dataclasses import dataclass

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
from placementclient.model.snapshots import ProviderState, Snapshot
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
#: The most worlds in one Placement: a request for candidates costs more with each of them.
TOGETHER = 40


@dataclass(frozen=True, eq=False)
class World:
    """Hosts with PCPU, with VCPU or with both, and a flavor with dedicated CPUs.

    :param host: one of the hosts, for claims on it alone
    """

    seed: int
    cloud: Snapshot
    flavor: Flavor
    host: ProviderState

    @property
    def has_pool(self):
        return any(SHARING_TRAIT in state.traits for state in self.cloud.roots())

    def part(self, snapshot):
        """Return the part of a snapshot that is of this world."""
        ours = self.cloud.providers
        consumers = [c for c in snapshot.consumers.values() if ours.keys() & c.allocations]
        return Snapshot([snapshot.providers[uuid] for uuid in ours], consumers)


def random_world(seed):
    chance = random.Random(seed)
    cloud = _random_cloud(chance, f'world{seed}')
    hosts = [state for state in cloud.roots() if SHARING_TRAIT not in state.traits]
    return World(seed, cloud, _random_flavor(chance), chance.choice(hosts))


def _random_cloud(chance, world):
    """Return some hosts, of which some have NUMA cells, and perhaps a pool."""
    cloud, shared = Planted(), f'{world}_aggregate'
    has_pool = chance.random() < 0.4
    for number in range(chance.randint(1, 4)):
        name, kind = f'{world}_host{number}', chance.choice(('PCPU', 'VCPU', 'both', 'both'))
        classes = ('PCPU', 'VCPU') if kind == 'both' else (kind,)
        cpus = {cls: _inventory(chance, 8, ratio=cls == 'VCPU') for cls in classes}
        root = {'MEMORY_MB': _inventory(chance, 10)}
        if not has_pool or chance.random() < 0.5:
            root['DISK_GB'] = _inventory(chance, 12)
        cells = chance.choice((0, 0, 0, 2))
        aggregates = (shared,) if has_pool and chance.random() < 0.8 else ()
        traits = ('COMPUTE_NODE', *(('HW_CPU_HYPERTHREADING',) if chance.random() < 0.5 else ()))
        cloud.provider(name, root if cells else root | cpus, None, traits, aggregates)
        for cell in range(cells):
            part = {cls: _inventory(chance, 5, ratio=cls == 'VCPU') for cls in classes}
            cloud.provider(f'{name}_cell{cell}', part, name, traits[1:])
    if has_pool:
        pool = {'DISK_GB': _inventory(chance, 20)}
        cloud.provider(f'{world}_pool', pool, None, (SHARING_TRAIT,), (shared,))
    for state in list(cloud.states.values()):
        taken = {name: 1 for name, i in state.inventories.items() if i.admits(1) and i.capacity}
        if taken and chance.random() < 0.4:
            cloud.consumer(f'server on {state.name}', **{state.name: taken})
    return cloud.snapshot


def _inventory(chance, most, *, ratio=False):
    return Inventory(
        total=chance.randint(1, most),
        max_unit=chance.choice((2**31 - 1, 2**31 - 1, 2)),
        allocation_ratio=chance.choice((1.0, 2.0)) if ratio else 1.0,
    )


def _random_flavor(chance):
    specs = {'hw:cpu_policy': 'dedicated'}
    if chance.random() < 0.3:
        specs['hw:cpu_thread_policy'] = chance.choice(('isolate', 'require'))
    if chance.random() < 0.2:
        specs['hw:emulator_threads_policy'] = 'isolate'
    return Flavor('pinned', chance.randint(1, 3), chance.randint(1, 2), chance.randint(0, 3), 0, 0,
                  extra_specs=specs)  # fmt: skip


def shared_placements():
    """Return worlds with equal flavors together."""
    by_flavor = defaultdict(list)
    for world in map(random_world, WORLDS):
        by_flavor[repr(world.flavor)].append(world)
    for worlds in by_flavor.values():
        for first in range(0, len(worlds), TOGETHER):
            yield worlds[first : first + TOGETHER]


@pytest.fixture(scope='module')
def client():
    with Direct.scratch() as service:
        yield http.Client(Session(auth=service), microversion.HIGHEST)


def test_as_many_servers_with_dedicated_cpus_fit_as_can_be_claimed(client):
    compared = added = 0
    database = Database(client)
    for worlds in shared_placements():
        databases.clear(databases.sqlite_file(client.session))
        providers = [state for world in worlds for state in world.cloud.providers.values()]
        consumers = [server for world in worlds for server in world.cloud.consumers.values()]
        database.fill(Snapshot(providers, consumers))
        nova, snapshot = build_request(ServerRequest(worlds[0].flavor)), clouds.captured(client)
        parts = {world: world.part(snapshot) for world in worlds}
        compared += _check_first(client, nova.first, parts)
        added += _check_fallback(client, nova.second, parts)
    assert compared >= len(WORLDS) // 3
    assert added >= len(WORLDS) // 6


def _check_first(client, request, parts):
    """Claim in all worlds, and then on one host of each; return the number of worlds with room."""
    worlds = {uuid: world for world, part in parts.items() for uuid in part.providers}
    claimed = claim_all(
        client,
        request,
        parts,
        lambda _, part: _counts(part, request)[ALL],
        lambda roots: worlds[roots.pop()],
    )
    # Without a pool each host has had all that fits there.
    tied = {}
    for world, part in parts.items():
        if world.has_pool:
            tied[world] = part
            continue
        roots = (part.providers[next(iter(taken))].provider.root_uuid for taken in claimed[world])
        counts = {name: count for name, count in _counts(part, request).items() if count}
        counts.pop(ALL, None)
        assert Counter(part.providers[root].name for root in roots) == counts, world.seed
    hosts = {world.host.uuid: world for world in tied}
    claim_all(
        client,
        request,
        tied,
        lambda world, part: _counts(part, request).get(world.host.name, 0),
        lambda roots: hosts.get(roots.pop()),
    )
    return sum(map(bool, claimed.values()))


def _counts(snapshot, request):
    return {row.name: row.count for row in fits.count_fits_by_tree(Topology(snapshot), request)}


def _check_fallback(client, request, parts):
    """Compare the hosts without PCPU that the second request of Nova adds; return their worlds."""
    candidates, summaries = allocation_candidate.list(client, request)
    roots = {root for candidate in candidates for root in candidate.find_roots(summaries)}
    trees = added = 0
    for world, part in parts.items():
        topology = Topology(part)
        more = fits.count_fallback_fits(topology, request)
        expected = roots & topology.trees.keys() - topology.find_roots_with_class('PCPU')
        assert more.trees == len(expected), world.seed
        assert bool(more.servers) == bool(expected), world.seed
        trees += len(expected)
        added += bool(expected)
    offer = inquiry.count_trees_without_pcpu(client, request._replace(limit=10_000))
    assert offer.tree_count == trees
    return added
