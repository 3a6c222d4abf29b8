"""The number of candidates of a request, as the service has it: in each tree, exactly."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from placementclient.api import allocation_candidate, trait
from placementclient.client.http import Client
from placementclient.insight.candidates import counting
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.planted import Planted
from tests.numbers import few_quick

#: So many trees that twenty requests make a thousand comparisons.
TREES = 50
TRAIT = 'CUSTOM_GPU'


def wide_trees(chance: random.Random) -> Snapshot:
    """Return hosts with devices and cells, some of them in use."""
    cloud = Planted()
    for number in range(TREES):
        name = f'host{number:02}'
        cloud.provider(name, {'VCPU': Inventory(8), 'MEMORY_MB': Inventory(64)})
        for device in range(chance.randrange(6)):
            traits = (TRAIT,) if chance.random() < 0.5 else ()
            total = chance.choice((1, 1, 2, 3))
            inventory = Inventory(total, max_unit=chance.choice((1, total)))
            cloud.provider(f'{name}_{device}', {'VGPU': inventory}, name, traits)
            if chance.random() < 0.3:
                cloud.consumer(f's{number}_{device}', **{f'{name}_{device}': {'VGPU': 1}})
    return cloud.snapshot


def wide_request(chance: random.Random) -> CandidateRequest:
    """Return a request of up to four groups."""
    groups = {
        f'_{number}': Filter(
            {'VGPU': chance.choice((1, 1, 1, 2))}, (TRAIT,) if chance.random() < 0.3 else ()
        )
        for number in range(chance.randint(1, 4))
    }
    common = Filter({'VCPU': 1, 'MEMORY_MB': 1})
    return CandidateRequest(common, groups, chance.choice(('none', 'isolate')))


@pytest.mark.parametrize('requests', few_quick([2, 20], quick=1))
def test_the_count_is_that_of_the_service(client: Client, requests: int) -> None:
    chance = random.Random(34)
    trait.create(client, TRAIT)
    clouds.load(client, wide_trees(chance))
    snapshot = clouds.captured(client)
    topology, compared = Topology(snapshot), 0
    for _ in range(requests):
        request = wide_request(chance)
        candidates, summaries = allocation_candidate.list(client, request)
        served = Counter(
            next(summaries[uuid].root_provider_uuid for uuid in candidate.allocations)
            for candidate in candidates
        )
        count = counting.counted(topology, request)
        expected = {snapshot.providers[str(root)].name: n for root, n in served.items()}
        assert {tree.name: tree.count for tree in count.trees} == expected, request
        assert count.is_exact
        compared += TREES
    assert compared == requests * TREES
