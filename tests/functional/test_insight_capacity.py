"""Capacity against a count by hand, candidates, and claiming until it is refused."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from placementclient.api import allocation, allocation_candidate
from placementclient.client import errors
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.consumers import Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.planted import Planted

VCPU = Inventory(8, allocation_ratio=2.1)
MEMORY = Inventory(16384, reserved=384, max_unit=8192)
#: Of the varied cloud; named, as they are the same in every run.
SHAPE = {'VCPU': 2, 'MEMORY_MB': 512}
WITH_DISK = SHAPE | {'DISK_GB': 10}
DISABLED = 'COMPUTE_STATUS_DISABLED'


def mixed():
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


def varied():
    """Hosts with traits on roots, cells and devices; one that is disabled, and a pool."""
    cloud = Planted()
    both = {'VCPU': Inventory(8), 'MEMORY_MB': Inventory(8192)}
    cloud.provider('flat', both, None, ('CUSTOM_FAST', 'HW_CPU_X86_AVX2'), ('zone', 'nfs'))
    cloud.provider('off', both, None, ('CUSTOM_FAST', DISABLED), ('nfs',))
    cloud.provider('plain', both, None, (), ('nfs',))
    cloud.provider('nested', {}, None, ('HW_CPU_X86_AVX2',), ('zone', 'nfs'))
    for cell, trait in enumerate(('CUSTOM_FAST', 'CUSTOM_BIG')):
        cloud.provider(f'cell_{cell}', both, 'nested', (trait,))
        gpu = {'VGPU': Inventory(4, max_unit=1 + cell)}
        cloud.provider(f'gpu_{cell}', gpu, f'cell_{cell}', (f'CUSTOM_GPU{cell}',))
    cloud.provider(
        'pool', {'DISK_GB': Inventory(95)}, None, (SHARING_TRAIT, 'CUSTOM_SSD'), ('nfs',)
    )
    cloud.consumer('a', cell_0={'VCPU': 2, 'MEMORY_MB': 512}, gpu_1={'VGPU': 1})
    return cloud.snapshot


def of(*required, shape=SHAPE, **others):
    return Filter(shape, required, **others)  # type: ignore[arg-type]


VGPU, MORE = Filter({'VGPU': 1}), Filter({'VGPU': 2})
VARIED = {
    'trait of a root or a cell': CandidateRequest(of('CUSTOM_FAST')),
    'trait of a root with nothing': CandidateRequest(of('HW_CPU_X86_AVX2')),
    'both cells': CandidateRequest(of('CUSTOM_FAST', 'CUSTOM_BIG')),
    'one of two': CandidateRequest(of('CUSTOM_BIG,HW_CPU_X86_AVX2')),
    'forbidden': CandidateRequest(of(forbidden=('CUSTOM_FAST',))),
    'trait of a pool': CandidateRequest(of('CUSTOM_SSD', shape=WITH_DISK)),
    'enabled': CandidateRequest(of(shape=WITH_DISK), root_forbidden=(DISABLED,)),
    'root': CandidateRequest(of(), root_required=('HW_CPU_X86_AVX2',)),
    'group': CandidateRequest(of(), {'1': VGPU}),
    'group with trait': CandidateRequest(
        of('CUSTOM_FAST'), {'1': Filter({'VGPU': 1}, ('CUSTOM_GPU1',))}
    ),
    'groups': CandidateRequest(of(), {'1': VGPU, '2': VGPU}, 'none'),
    'groups apart': CandidateRequest(of(), {'1': VGPU, '2': VGPU}, 'isolate'),
    'groups that differ': CandidateRequest(of(), {'1': VGPU, '2': MORE}, 'none'),
    'class in two groups': CandidateRequest(of(shape={'VCPU': 2}), {'1': Filter({'VCPU': 4})}),
    'two classes in a group': CandidateRequest(of(shape={'VGPU': 1}), {'_c': Filter(SHAPE)}),
    'in vain': CandidateRequest(of('CUSTOM_FAST', 'CUSTOM_SSD')),
}
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
PLAIN = {'-'.join(map(str, shape.items())): CandidateRequest(Filter(shape)) for shape in SHAPES}
#: The clouds, each with its requests.
CLOUDS = {'mixed': (mixed, PLAIN), 'varied': (varied, VARIED)}
CASES = [
    *(('mixed', name) for name in list(PLAIN)[:3]),
    *(pytest.param('mixed', name, marks=pytest.mark.slow) for name in list(PLAIN)[3:]),
    *(pytest.param('varied', name, marks=pytest.mark.slow) for name in VARIED),
]


def candidates(client, request):
    try:
        return allocation_candidate.list(client, request)[0]
    except errors.BadRequest:  # of a class that the service does not know
        return []


def place(snapshot, candidate):
    """The tree of a candidate, by what is not shared of it."""
    states = [snapshot.providers[provider] for provider in candidate.allocations]
    [root] = {s.provider.root_provider_uuid for s in states if not is_sharing(s)}
    return snapshot.providers[str(root)].name


def in_and_outside(aggregates):
    """Requests for hosts in aggregates, and for hosts outside of them."""
    zone, both = (aggregates['zone'],), (aggregates['zone'], aggregates['nfs'])
    filters = {
        'in a zone': Filter(SHAPE, member_of=zone),
        'in a zone with a trait': Filter(SHAPE, ('CUSTOM_FAST',), member_of=zone),
        'in two aggregates': Filter(SHAPE, member_of=both),
    }
    for name, aggregate in aggregates.items():
        for shape in (SHAPE, WITH_DISK):
            filters[f'{shape} outside of {name}'] = Filter(shape, forbidden_member_of=(aggregate,))
    return {name: CandidateRequest(conditions) for name, conditions in filters.items()}


def snapshot_aggregates(snapshot):
    """The UUIDs of the two aggregates: one has the pool."""
    by_name = {state.name: state.aggregates for state in snapshot.providers.values()}
    [nfs] = by_name['pool']
    [zone] = by_name['flat'] - {nfs}
    return {'nfs': nfs, 'zone': zone}


@pytest.mark.parametrize('name', CLOUDS)
def test_it_fits_where_there_are_candidates(client, name):
    cloud, requests = CLOUDS[name]
    clouds.load(client, cloud())
    snapshot = clouds.captured(client)
    topology = Topology(snapshot)
    if name == 'varied':
        requests = requests | in_and_outside(snapshot_aggregates(snapshot))
    for title, request in requests.items():
        lines = fits.by_tree(topology, [request])
        granted = {place(snapshot, candidate) for candidate in candidates(client, request)}
        assert {line.name for line in lines if line.count} - {ALL} == granted, title
        assert bool(lines[-1].count) == bool(granted), title
    for request in PLAIN.values() if name == 'mixed' else ():
        for line in fits.by_aggregate(topology, [request])[:-1]:
            inside = CandidateRequest(Filter(request.common.resources, member_of=(line.name,)))
            assert bool(line.count) == bool(candidates(client, inside)), (request, line.name)


@pytest.mark.parametrize(('cloud', 'name'), CASES)
def test_as_many_fit_as_can_be_claimed(client, cloud, name):
    made, requests = CLOUDS[cloud]
    clouds.load(client, made())
    request, granted = requests[name], 0
    count = fits.by_tree(Topology(clouds.captured(client)), [request])[-1].count
    while found := candidates(client, request):
        # Not every candidate leaves as many for others.
        expected = count - granted - 1
        best = next((each for each in found if left(client, request, each) == expected), found[0])
        allocation.set(client, claim(best))
        granted += 1
    assert granted == count


def left(client, request, candidate):
    """How many fit after a claim, as it says."""
    consumer = claim(candidate)
    allocation.set(client, consumer)
    count = fits.by_tree(Topology(clouds.captured(client)), [request])[-1].count
    allocation.delete(client, consumer.uuid)
    return count


def claim(candidate):
    return Consumer(str(uuid.uuid4()), candidate.allocations, 'p', 'u', None, 'INSTANCE')


def test_each_tree_grants_what_it_is_said_to(client):
    request = PLAIN[next(iter(PLAIN))]
    clouds.load(client, mixed())
    snapshot = clouds.captured(client)
    for item in fits.by_tree(Topology(snapshot), [request])[:-1]:
        made = []
        while here := [c for c in candidates(client, request) if item.name == place(snapshot, c)]:
            made.append(claim(here[0]))
            allocation.set(client, made[-1])
        assert len(made) == item.count, item.name
        for consumer in made:
            allocation.delete(client, consumer.uuid)


def table(placement, *argv):
    result = placement('resource', 'capacity', 'show', '-f', 'json', *argv)
    assert (result.status, result.stderr) == (0, '')
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def test_what_there_is_agrees_with_a_count_by_hand(client, placement):
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


def test_how_many_fit_agrees_with_a_count_by_hand(client, placement):
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
