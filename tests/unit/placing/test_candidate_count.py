# SPDX-License-Identifier: Apache-2.0
"""The number of candidates, by hand; the real service is the judge in the functional tests."""

import math
import time

from placementclient.model.inventories import Inventory
from placementclient.model.providers import SHARING_TRAIT
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.candidate_count import TreeCandidateCount, count_candidates
from placementclient.placing.topology import Topology
from tests.unit.insight.clouds import cloud, consumer, provider

COMMON = Filter({'VCPU': 1})


def host(name, devices, total=1):
    gpus = [provider(f'{name}_{n}', name, VGPU=Inventory(total)) for n in range(devices)]
    return [provider(name, VCPU=8), *gpus]


def groups(number, policy='none', limit=None):
    by_suffix = {str(n): Filter({'VGPU': 1}) for n in range(number)}
    return CandidateRequest(COMMON, by_suffix, policy, limit=limit)


def count(snapshot, request):
    number = count_candidates(Topology(snapshot), request)
    assert number.is_exact
    return number.total


def test_groups_may_share_a_device_that_has_enough():
    snapshot = cloud(host('h', 3, total=2))
    assert count(snapshot, groups(3)) == 3**3 - 3
    assert count(snapshot, groups(3, 'isolate')) == math.perm(3, 3)


def test_amounts_in_use_make_no_candidate():
    snapshot = cloud(host('h', 2, total=2), [consumer('s', h_0={'VGPU': 1})])
    assert count(snapshot, groups(2)) == 3
    full = cloud(host('h', 2), [consumer('s', h_0={'VGPU': 1})])
    assert count(full, groups(1)) == 1


def test_wide_trees_are_counted_without_listing_candidates():
    start = time.process_time()
    assert count(cloud(host('h', 64)), groups(8)) == math.perm(64, 8)
    assert time.process_time() - start < 2


def test_trees_beyond_the_limit_of_nova_are_counted():
    hosts = [*host('a', 4), *host('b', 4), *host('c', 2)]
    number = count_candidates(Topology(cloud(hosts)), groups(2, limit=20))
    assert set(number.trees) == {
        TreeCandidateCount('a', 12), TreeCandidateCount('b', 12), TreeCandidateCount('c', 2)
    }  # fmt: skip
    assert (number.total, number.limit, number.least_lost_tree_count) == (26, 20, 0)
    assert count_candidates(Topology(cloud(hosts)), groups(2, limit=14)).least_lost_tree_count == 1
    assert count_candidates(Topology(cloud(hosts)), groups(2, limit=1)).least_lost_tree_count == 2
    assert count_candidates(Topology(cloud(hosts)), groups(2)).least_lost_tree_count == 0


def test_groups_below_one_provider_are_at_least_so_many():
    request = groups(8)._replace(same_subtree=(('0', '1'),))
    number = count_candidates(Topology(cloud(host('h', 12))), request)
    assert not number.is_exact


def test_trees_that_differ_in_their_nesting_are_not_alike():
    states = [
        state
        for name, above in (('nested', 'nested_cell'), ('wide', 'wide'))
        for state in (
            provider(name, VCPU=8),
            provider(f'{name}_cell', name, PCPU=4),
            provider(f'{name}_gpu', above, name, VGPU=1),
        )
    ]
    parts = {'_cell': Filter({'PCPU': 1}), '_gpu': Filter({'VGPU': 1})}
    request = CandidateRequest(COMMON, parts, 'none', (('_cell', '_gpu'),))
    assert count_candidates(Topology(cloud(states)), request).trees == [
        TreeCandidateCount('nested', 1)
    ]


def test_sharing_providers_of_another_tree_keep_their_order():
    """Both groups may be served by the pool and the device below it."""
    storage = [
        provider('storage', VCPU=1),
        provider('pool', 'storage', traits=[SHARING_TRAIT], aggregates=['a'], DISK_GB=9),
        provider('device', 'pool', 'storage', [SHARING_TRAIT], ['a'], VGPU=1),
    ]
    groups = {'_D': Filter({'DISK_GB': 1}), '_V': Filter({'VGPU': 1})}
    request = CandidateRequest(Filter({'MEMORY_MB': 1}), groups, 'none', (('_D', '_V'),))
    states = [provider('host', aggregates=['a'], MEMORY_MB=4), *storage]
    assert count_candidates(Topology(cloud(states)), request).trees == [
        TreeCandidateCount('host', 1)
    ]
