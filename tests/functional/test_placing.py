"""Random requests have the candidates of the real service: which, how many, and on which trees.

``PLACING_SEEDS=0-800`` tries others than the few of each run; so does
``python -m tests.functional.candidates``.
"""

from __future__ import annotations

import os
import random

import pytest

from placementclient.insight.capacity import fits
from placementclient.insight.drain.cloud import DrainCloud
from placementclient.insight.drain.exact import pack
from placementclient.placing.requests import parsed
from placementclient.placing.topology import Topology
from tests.functional import candidates

pytestmark = pytest.mark.slow

FIRST, LAST = map(int, os.environ.get('PLACING_SEEDS', '0-12').split('-'))


def test_random_requests_have_the_candidates_of_the_service():
    compared = candidates.tried(range(FIRST, LAST))
    assert compared['compared'] + compared['failed'] == (LAST - FIRST) * candidates.REQUESTS
    assert compared['met'] >= 2 * (LAST - FIRST)
    assert compared['failed'] <= compared['compared'] // 20


def test_capacity_and_drain_count_as_many_servers_as_trying_all_options():
    compared = 0
    for seed in range(FIRST, LAST):
        chance = random.Random(seed)
        snapshot = candidates.random_cloud(chance)
        cloud, topology = DrainCloud(snapshot), Topology(snapshot)
        cloud.hosts = list(topology.trees)
        for _ in range(8):
            request = candidates.random_request(chance, list(snapshot.providers), '1.39')
            counts = {each.name: each.count for each in fits.by_tree(topology, [request])}
            parts = parsed(request)
            problem = cloud.problem([parts], ())
            for host in problem.hosts:
                most = most_servers(problem, parts, host)
                assert counts.get(host.name, 0) == most, (seed, request)
                others = [uuid for uuid in cloud.hosts if uuid != host.uuid]
                packing = pack(cloud.problem([parts] * (most + 1), others))
                assert packing.count <= most <= packing.bound, (seed, request)
                compared += most > 0
    assert compared >= 2 * (LAST - FIRST)


def most_servers(problem, request, host):
    """Return how many servers fit on a host, by trying all options for each of them."""
    known: dict[object, int] = {}

    def most(room, pools):
        key = tuple(room), tuple(pools.values())
        if key not in known:
            known[key] = 0
            options = candidates.every_option(problem, request, host, room, pools)
            for local, shared in {(option.local, option.shared) for option in options}:
                left, pooled = list(room), dict(pools)
                for at, amount in local:
                    left[at] -= amount
                for pool, amount in shared:
                    pooled[pool] -= amount
                known[key] = max(known[key], 1 + most(left, pooled))
        return known[key]

    return most(host.room, problem.pools)
