# SPDX-License-Identifier: Apache-2.0
"""Capacity and usage against the service: claims until it refuses, candidates, usages."""

import json
import uuid

from placementclient.api import allocation, allocation_candidate, usage
from placementclient.insight.capacity import fits
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
SHAPE = {'VCPU': 3, 'MEMORY_MB': 1024, 'DISK_GB': 30}


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
        gpu_traits = (*traits, 'CUSTOM_GPU')
        cloud.provider(f'nested_{cell}_gpu', vgpu, f'nested_{cell}', gpu_traits)
    # Its pool is reached through a child.
    cloud.provider('inner', both, None, traits)
    cloud.provider('inner_nic', {}, 'inner', traits, ('nfs1',))
    cloud.provider('nfs1', {'DISK_GB': Inventory(400)}, None, (SHARING_TRAIT,), ('nfs1',))
    cloud.provider('nfs2', {'DISK_GB': Inventory(95)}, None, (SHARING_TRAIT,), ('nfs2',))
    cloud.consumer('a', flat={'VCPU': 5, 'MEMORY_MB': 4096, 'DISK_GB': 40})
    cloud.consumer('b', two={'VCPU': 7}, nfs1={'DISK_GB': 30})
    cloud.consumer('c', nested_0={'VCPU': 6, 'MEMORY_MB': 8192}, nested_1_gpu={'VGPU': 2})
    return cloud.snapshot


def place(snapshot, candidate):
    """The tree of a candidate, by what is not shared of it."""
    states = [snapshot.providers[provider] for provider in candidate.allocations]
    [root] = {s.provider.root_provider_uuid for s in states if not is_sharing(s)}
    return snapshot.providers[str(root)].name


def test_each_tree_grants_as_many_servers_as_capacity_counts(client):
    request = CandidateRequest(Filter(SHAPE))
    clouds.load(client, mixed())
    snapshot = clouds.captured(client)

    def candidates(tree):
        granted = allocation_candidate.list(client, request)[0]
        return [candidate for candidate in granted if place(snapshot, candidate) == tree]

    for item in fits.count_fits_by_tree(Topology(snapshot), request)[:-1]:
        servers = []
        while here := candidates(item.name):
            allocations = here[0].allocations
            servers.append(Consumer(str(uuid.uuid4()), allocations, 'p', 'u', None, 'INSTANCE'))
            allocation.set(client, servers[-1])
        assert len(servers) == item.count, item.name
        for server in servers:
            allocation.delete(client, server.uuid)


def test_servers_that_fit_in_an_aggregate_have_candidates_there(client):
    clouds.load(client, mixed())
    topology = Topology(clouds.captured(client))
    for shape in (SHAPE, {'VCPU': 9}, {'VCPU': 1}, {'VCPU': 1, 'VGPU': 3}, {'DISK_GB': 1}):
        lines = fits.count_fits_by_aggregate(topology, CandidateRequest(Filter(shape)))[:-1]
        for line in lines:
            inside = CandidateRequest(Filter(shape, member_of=(line.name,)))
            granted = allocation_candidate.list(client, inside)[0]
            assert bool(line.count) == bool(granted), (shape, line.name)
        assert lines


def test_usage_list_agrees_with_the_usages_of_the_service(client, placement):
    snapshot = mixed()
    clouds.load(client, snapshot)
    projects = {consumer.project_id for consumer in snapshot.consumers.values()}
    rows = json.loads(placement('resource usage list -f json').stdout)
    used = {
        (project, name): amount
        for project in projects
        for kind in usage.show_project(client, project).value
        for name, amount in kind.resources.items()
    }
    assert {(row['subject'], row['resource_class']): row['used'] for row in rows} == used
    hosts = json.loads(placement('resource usage list --by host --class VGPU -f json').stdout)
    assert [(row['name'], row['used'], row['percent']) for row in hosts] == [('nested', 2, 25.0)]
