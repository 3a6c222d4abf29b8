"""Capacity against a count by hand, candidates, and claiming until it is refused."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from placementclient.api import allocation, allocation_candidate
from placementclient.client import errors
from placementclient.client.http import Client
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.fits import Fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.consumers import Candidate, Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.conftest import Placement
from tests.functional.planted import Planted
from tests.numbers import few_quick

VCPU = Inventory(8, allocation_ratio=2.1)
MEMORY = Inventory(16384, reserved=384, max_unit=8192)
SHAPES = [
    {'VCPU': 3, 'MEMORY_MB': 1024, 'DISK_GB': 30},
    {'VCPU': 2, 'MEMORY_MB': 512, 'VGPU': 2},
    {'VCPU': 9},
    {'VCPU': 1},
    {'VCPU': 4, 'MEMORY_MB': 2048},
    {'VCPU': 5, 'MEMORY_MB': 8192, 'DISK_GB': 100},
    {'VCPU': 1, 'VGPU': 3},
    {'MEMORY_MB': 12000},
]


def by_tree(snapshot: Snapshot, shape: Mapping[str, int]) -> list[Fits]:
    """How many servers of an unnumbered group without conditions fit."""
    return fits.by_tree(Topology(snapshot), [CandidateRequest(Filter(shape))])


def mixed() -> Snapshot:
    """Hosts flat and nested; with disks of their own, of one pool, of two pools, of none."""
    cloud = Planted()
    traits = ('COMPUTE_NODE',)
    disk = Inventory(200, reserved=20, step_size=10)
    cloud.provider('flat', {'VCPU': VCPU, 'MEMORY_MB': MEMORY, 'DISK_GB': disk}, None, traits)
    both = {'VCPU': VCPU, 'MEMORY_MB': MEMORY}
    for name, pools in (('one', ['nfs1']), ('two', ['nfs1', 'nfs2']), ('none', [])):
        cloud.provider(name, both, None, traits, tuple(pools))
    cloud.provider('nested', {}, None, traits, ('nfs2',))
    for cell in range(2):
        cloud.provider(f'nested_{cell}', both, 'nested', traits)
        vgpu = {'VGPU': Inventory(4, max_unit=2, step_size=2)}
        cloud.provider(f'nested_{cell}_gpu', vgpu, f'nested_{cell}', traits)
    # Its pool is reached through a child.
    cloud.provider('inner', both, None, traits)
    cloud.provider('inner_nic', {}, 'inner', traits, ('nfs1',))
    cloud.provider('nfs1', {'DISK_GB': Inventory(400)}, None, (SHARING_TRAIT,), ('nfs1',))
    cloud.provider('nfs2', {'DISK_GB': Inventory(95)}, None, (SHARING_TRAIT,), ('nfs2',))
    cloud.consumer('a', flat={'VCPU': 5, 'MEMORY_MB': 4096, 'DISK_GB': 40})
    cloud.consumer('b', two={'VCPU': 7}, nfs1={'DISK_GB': 30})
    cloud.consumer('c', nested_0={'VCPU': 6, 'MEMORY_MB': 8192}, nested_1_gpu={'VGPU': 2})
    return cloud.snapshot


@pytest.fixture
def loaded(client: Client) -> Client:
    """A client of a mixed cloud."""
    clouds.load(client, mixed())
    return client


def candidates(client: Client, shape: dict[str, int], *aggregates: str) -> list[Candidate]:
    try:
        return allocation_candidate.list(
            client, CandidateRequest(Filter(shape, member_of=aggregates))
        )[0]
    except errors.BadRequest:  # of a class that the service does not know
        return []


def places(snapshot: Snapshot, found: list[Candidate]) -> set[str]:
    """The trees of candidates, by what is not shared of them."""
    return {
        snapshot.providers[state.provider.root_provider_uuid].name
        for candidate in found
        for state in map(snapshot.providers.__getitem__, candidate.allocations)
        if state.provider.root_provider_uuid and not is_sharing(state)
    }


def test_it_fits_where_there_are_candidates(loaded: Client) -> None:
    snapshot = clouds.captured(loaded)
    topology = Topology(snapshot)
    for shape in SHAPES:
        trees = {item.name for item in by_tree(snapshot, shape) if item.count} - {ALL}
        assert trees == places(snapshot, candidates(loaded, shape)), shape
        for item in fits.by_aggregate(topology, [CandidateRequest(Filter(shape))])[:-1]:
            granted = bool(candidates(loaded, shape, item.name))
            assert bool(item.count) == granted, (shape, item.name)


def refused_after(client: Client, snapshot: Snapshot, shape: dict[str, int]) -> int:
    """How many servers the service grants, one after the other; who has no choice goes first."""
    topology = Topology(snapshot)

    def choices(candidate: Candidate) -> int:
        return max(len(topology.reached(topology.root_of[uuid])) for uuid in candidate.allocations)

    for number in range(1000):
        found = candidates(client, shape)
        if not found:
            return number
        granted = min(found, key=choices).allocations
        allocation.set(client, Consumer(str(uuid.uuid4()), granted, 'p', 'u', None, 'INSTANCE'))
    raise AssertionError('it is never refused')


@pytest.mark.parametrize('shape', few_quick(SHAPES, quick=3), ids=lambda shape: '-'.join(shape))
def test_as_many_fit_as_can_be_claimed(loaded: Client, shape: dict[str, int]) -> None:
    client, snapshot = loaded, clouds.captured(loaded)
    expected = by_tree(snapshot, shape)[-1].count
    assert refused_after(client, snapshot, shape) == expected
    assert by_tree(clouds.captured(client), shape)[-1].count == 0


def test_each_tree_grants_what_it_is_said_to(client: Client) -> None:
    shape = {'VCPU': 3, 'MEMORY_MB': 1024, 'DISK_GB': 30}
    clouds.load(client, mixed())
    snapshot = clouds.captured(client)
    for item in by_tree(snapshot, shape)[:-1]:
        made = []
        while here := [c for c in candidates(client, shape) if item.name in places(snapshot, [c])]:
            made.append(str(uuid.uuid4()))
            allocation.set(client, Consumer(made[-1], here[0].allocations, 'p', 'u', None, 'X'))
        assert len(made) == item.count, item.name
        for consumer in made:
            allocation.delete(client, consumer)


def table(placement: Placement, *argv: str) -> list[dict[str, Any]]:
    result = placement('resource', 'capacity', 'show', '-f', 'json', *argv)
    assert (result.status, result.stderr) == (0, '')
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def test_what_there_is_agrees_with_a_count_by_hand(client: Client, placement: Placement) -> None:
    clouds.load(client, mixed())
    assert table(placement, '--by', 'class') == [
        {
            'resource_class': name,
            'providers': providers,
            'capacity': capacity,
            'used': used,
            'free': capacity - used,
            'largest_fit': largest,
        }
        for name, providers, capacity, used, largest in [
            ('DISK_GB', 3, 180 + 400 + 95, 70, 370),
            ('MEMORY_MB', 7, 7 * 16000, 4096 + 8192, 8192),
            ('VCPU', 7, 7 * 16, 5 + 7 + 6, 16),
            ('VGPU', 2, 8, 2, 2),
        ]
    ]
    one = [row for row in table(placement) if row['tree'] == 'one']
    assert [(row['resource_class'], row['shared_by'], row['free']) for row in one] == [
        ('MEMORY_MB', '', 16000),
        ('VCPU', '', 16),
        ('DISK_GB', 'nfs1', 370),
    ]


def test_how_many_fit_agrees_with_a_count_by_hand(client: Client, placement: Placement) -> None:
    clouds.load(client, mixed())
    rows = table(placement, '--fits', 'VCPU=3,MEMORY_MB=1024,DISK_GB=30')
    assert {row['tree']: (row['fits'], row['runs_out_first']) for row in rows} == {
        'flat': (3, 'VCPU'),  # 11 of 16; 140 of 180 GB, four times 30
        'inner': (5, 'VCPU'),
        'nested': (3, 'DISK_GB'),  # 95 GB; 3 and 5 times 3 VCPU
        'one': (5, 'VCPU'),
        'two': (3, 'VCPU'),
        # Of the pools come 12 and 3, for 13 and 3 that want them. Any class alone allows more:
        # one host has the VCPU, another the DISK_GB.
        ALL: (3 + 12 + 3, '(together)'),
    }
