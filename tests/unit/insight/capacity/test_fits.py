# SPDX-License-Identifier: Apache-2.0
"""How many servers fit, by tree, aggregate and class: by hand, and by trying all ways."""

from placementclient.insight.capacity import fits
from placementclient.insight.capacity.fits import TOGETHER
from placementclient.insight.capacity.totals import ALL
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.topology import Topology
from tests.unit.insight.clouds import cloud, consumer, provider

CPUS = ('PCPU', 'VCPU')


def counts(snapshot, by='tree', **shape):
    request = CandidateRequest(Filter(shape))
    return {item.name: item.count for item in fits.GROUPED[by](Topology(snapshot), request)}


def first(snapshot, **shape):
    request = CandidateRequest(Filter(shape))
    return {
        item.name: item.runs_out_first
        for item in fits.count_fits_by_tree(Topology(snapshot), request)
    }


def test_a_flat_host_grants_what_its_scarcest_class_has():
    host = provider('host', VCPU=Inventory(8, allocation_ratio=2.0), MEMORY_MB=4096)
    snapshot = cloud([host], [consumer('a', host={'VCPU': 2})])
    assert counts(snapshot, VCPU=3, MEMORY_MB=512) == {'host': 4, ALL: 4}
    assert counts(snapshot, VCPU=1, MEMORY_MB=1024) == {'host': 4, ALL: 4}
    assert first(snapshot, VCPU=3, MEMORY_MB=512) == {'host': 'VCPU', ALL: 'VCPU'}
    assert first(snapshot, VCPU=1, MEMORY_MB=1024) == {'host': 'MEMORY_MB', ALL: 'MEMORY_MB'}


def test_servers_with_dedicated_cpus_fall_back_to_hosts_without_pcpu_alone():
    hosts = [
        provider('pinned', PCPU=4, MEMORY_MB=9),
        provider('mixed', PCPU=2, VCPU=8, MEMORY_MB=9),
        provider('plain', VCPU=8, MEMORY_MB=3),
        provider('small', VCPU=1, MEMORY_MB=9),
    ]
    topology = Topology(cloud(hosts))
    first, second = (CandidateRequest(Filter({name: 2, 'MEMORY_MB': 1})) for name in CPUS)
    rows = {row.name: row.count for row in fits.count_fits_by_tree(topology, first)}
    assert rows == {'pinned': 2, 'mixed': 1, ALL: 3}
    assert fits.count_fallback_fits(topology, second) == (3, 1)
    assert fits.count_fallback_fits(topology, second, ['mixed', 'small']) == (0, 0)


def test_fits_count_each_class_alone_where_no_tree_has_all():
    topology = Topology(cloud([provider('host1', VCPU=2), provider('host2', VGPU=1)]))
    alone = {'VCPU': 2, 'VGPU': 1}
    for more, scarce in (({}, TOGETHER), ({'FPGA': 0}, 'FPGA')):
        request = CandidateRequest(Filter(dict.fromkeys(alone | more, 1)))
        [in_all] = fits.count_fits_by_tree(topology, request)
        assert (in_all.count, in_all.runs_out_first) == (0, scarce)
        assert in_all.by_class == alone | more


def test_each_class_is_counted_alone():
    snapshot = cloud([provider('host', VCPU=5, MEMORY_MB=3)])
    assert counts(snapshot, 'class', VCPU=1, MEMORY_MB=1) == {'VCPU': 5, 'MEMORY_MB': 3, ALL: 3}
