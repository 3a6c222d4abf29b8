"""Capacity for requests with traits, aggregates and groups, against what the service grants."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest

from placementclient.api import allocation, allocation_candidate
from placementclient.client.http import Client
from placementclient.insight.capacity import fits
from placementclient.insight.capacity.totals import ALL
from placementclient.model.consumers import Candidate, Consumer
from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import Snapshot
from placementclient.placing.providers import is_sharing
from placementclient.placing.topology import Topology
from tests.functional import clouds
from tests.functional.planted import Planted

#: Of the cloud below; named, as they are the same in every run.
SHAPE = {'VCPU': 2, 'MEMORY_MB': 512}
WITH_DISK = SHAPE | {'DISK_GB': 10}
DISABLED = 'COMPUTE_STATUS_DISABLED'


def varied() -> Snapshot:
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


def of(*required: str, shape: dict[str, int] = SHAPE, **others: tuple[str, ...]) -> Filter:
    return Filter(shape, required, **others)  # type: ignore[arg-type]


VGPU, MORE = Filter({'VGPU': 1}), Filter({'VGPU': 2})
REQUESTS = {
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
every_request = pytest.mark.parametrize('name', REQUESTS)


@pytest.fixture
def loaded(client: Client) -> Client:
    """A client of that cloud."""
    clouds.load(client, varied())
    return client


def candidates(client: Client, request: CandidateRequest) -> list[Candidate]:
    return allocation_candidate.list(client, request)[0]


def place(snapshot: Snapshot, candidate: Candidate) -> str:
    """The tree of a candidate, by what is not shared of it."""
    states = [snapshot.providers[provider] for provider in candidate.allocations]
    [root] = {s.provider.root_provider_uuid for s in states if not is_sharing(s)}
    return snapshot.providers[str(root)].name


def test_it_fits_where_there_are_candidates(loaded: Client) -> None:
    snapshot = clouds.captured(loaded)
    for name, request in {**REQUESTS, **in_and_outside(snapshot_aggregates(snapshot))}.items():
        lines = fits.by_tree(Topology(snapshot), [request])
        granted = {place(snapshot, candidate) for candidate in candidates(loaded, request)}
        assert {line.name for line in lines if line.count} - {ALL} == granted, name
        assert bool(lines[-1].count) == bool(granted), name


def in_and_outside(aggregates: Mapping[str, str]) -> dict[str, CandidateRequest]:
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


def snapshot_aggregates(snapshot: Snapshot) -> dict[str, str]:
    """The UUIDs of the two aggregates: one has the pool."""
    by_name = {state.name: state.aggregates for state in snapshot.providers.values()}
    [nfs] = by_name['pool']
    [zone] = by_name['flat'] - {nfs}
    return {'nfs': nfs, 'zone': zone}


@pytest.mark.slow
@every_request
def test_as_many_fit_as_can_be_claimed(loaded: Client, name: str) -> None:
    client = loaded
    request, granted = REQUESTS[name], 0
    said = fits.by_tree(Topology(clouds.captured(client)), [request])[-1].count
    while found := candidates(client, request):
        # Not every candidate leaves as many for others.
        wanted = said - granted - 1
        best = next((each for each in found if left(client, request, each) == wanted), found[0])
        allocation.set(client, claim(best))
        granted += 1
    assert granted == said


def left(client: Client, request: CandidateRequest, candidate: Candidate) -> int:
    """How many fit after a claim, as it says."""
    consumer = claim(candidate)
    allocation.set(client, consumer)
    count = fits.by_tree(Topology(clouds.captured(client)), [request])[-1].count
    allocation.delete(client, consumer.uuid)
    return count


def claim(candidate: Candidate) -> Consumer:
    return Consumer(str(uuid.uuid4()), candidate.allocations, 'p', 'u', None, 'INSTANCE')
