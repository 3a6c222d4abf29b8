# SPDX-License-Identifier: Apache-2.0
"""How many servers fit on each tree and on all of them: the rules, by hand."""

import sys

import pytest

from placementclient.basis import errors
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.supply import Supply
from placementclient.placing.topology import Topology
from tests.unit.insight.clouds import cloud, pool, provider

ALL = '(all)'


def counted(snapshot, request):
    supply = Supply(Topology(snapshot), request)
    sites = [*((name, [site]) for name, site in supply.complete_sites), (ALL, None)]
    return {name: supply.count_most_servers(site)[0] for name, site in sites}


def counts(snapshot, **shape):
    return counted(snapshot, CandidateRequest(Filter(shape)))


def test_one_server_has_no_more_of_a_provider_than_its_max_unit():
    """What one part takes of the root, the larger part of the same server has to do without."""
    states = [
        provider('host', traits=['CUSTOM_A'], MEMORY_MB=Inventory(10, max_unit=3)),
        provider('host_0', 'host', MEMORY_MB=Inventory(7, max_unit=3)),
    ]
    group = Filter({'MEMORY_MB': 1}, ('CUSTOM_A',))
    request = CandidateRequest(Filter({'MEMORY_MB': 3}), {'_A': group}, 'none')
    assert counted(cloud(states), request)[ALL] == 2


def test_the_tree_of_a_group_without_resources_does_not_count():
    snapshot = cloud([provider(name, traits=['CUSTOM_A'], VCPU=4) for name in ('a', 'b')])
    groups = {'_A': Filter(required=('CUSTOM_A',), in_tree='b'), '_B': Filter({'VCPU': 1})}
    request = CandidateRequest(Filter(), groups, 'none', (('_A', '_B'),))
    assert counted(snapshot, request)[ALL] == 8


def test_each_group_of_a_subtree_needs_the_min_unit_by_itself():
    """Placement looks for a provider of each group by the amount of the group alone."""
    snapshot = cloud([provider('host', VCPU=4, MEMORY_MB=Inventory(8, min_unit=2))])
    groups = {'_A': Filter({'MEMORY_MB': 1}), '_B': Filter({'VCPU': 1, 'MEMORY_MB': 2})}
    request = CandidateRequest(Filter(), groups, 'none', (('_B', '_A'),))
    assert counted(snapshot, request)[ALL] == 0


def test_the_common_group_is_no_twin_of_a_group_that_asks_for_the_same():
    """The trait is asked of the common group alone, which only the second provider can serve."""
    states = [
        provider('host', MEMORY_MB=1),
        provider('host_0', 'host', VCPU=1),
        provider('host_1', 'host', traits=['CUSTOM_A'], VCPU=1),
    ]
    vcpu = Filter({'VCPU': 1})
    request = CandidateRequest(Filter({'VCPU': 1}, ('CUSTOM_A',)), {'_A': vcpu}, 'none')
    assert counted(cloud(states), request)[ALL] == 1


RICH = provider('rich', aggregates=['shared'], VCPU=2, DISK_GB=1)
POOR = provider('poor', aggregates=['shared'], VCPU=2)
CHILD = provider('nic', 'host', aggregates=['shared'])
HOST = provider('host', VCPU=2)


@pytest.mark.parametrize(
    ('states', 'shape', 'expected'),
    [
        ([RICH, POOR, pool('nfs', DISK_GB=2)], {'DISK_GB': 1}, {'rich': 2, 'poor': 2, ALL: 3}),
        ([HOST, CHILD, pool('nfs', DISK_GB=2)], {'DISK_GB': 1}, {'host': 2, ALL: 2}),
        ([HOST, provider('other', VCPU=0, VGPU=1)], {'VGPU': 1}, {'other': 0, ALL: 0}),
    ],
    ids=['an own disk spares the pool', 'a child reaches a pool', 'all classes on one tree'],
)
def test_servers_use_inventory_of_trees_and_of_pools(states, shape, expected):
    assert counts(cloud(states), VCPU=1, **shape) == expected


#: Where the first host takes what one of the others needs, whichever way it goes.
TANGLED = cloud(
    [
        provider('a', aggregates='xy', VCPU=1),
        provider('b', aggregates='x', VCPU=1, IPV4_ADDRESS=1),
        provider('c', aggregates='y', VCPU=1, DISK_GB=1),
        pool('nfs', 'x', DISK_GB=1),
        pool('ips', 'y', IPV4_ADDRESS=1),
    ]
)


@pytest.mark.slow
def test_classes_of_pools_that_run_short_together_need_the_solver():
    pytest.importorskip('ortools')
    assert counts(TANGLED, VCPU=1, DISK_GB=1, IPV4_ADDRESS=1)[ALL] == 2


def test_a_search_without_the_solver_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ortools.sat.python.cp_model', None)
    with pytest.raises(errors.PlacementError, match=r'python-placementclient\[solver\]'):
        counts(TANGLED, VCPU=1, DISK_GB=1, IPV4_ADDRESS=1)


def test_classes_of_pools_need_no_solver_where_one_is_the_scarcest(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ortools.sat.python.cp_model', None)
    hosts = [provider(name, aggregates=['shared'], VCPU=2) for name in ('host1', 'host2')]
    snapshot = cloud([*hosts, pool('nfs', DISK_GB=3), pool('ips', IPV4_ADDRESS=2)])
    assert counts(snapshot, VCPU=1, DISK_GB=1, IPV4_ADDRESS=1)[ALL] == 2


def test_supply_examines_equal_hosts_once(monkeypatch):
    looked: list[str] = []
    site = Supply._make_site

    def noted(self, root_uuid):
        looked.append(root_uuid)
        return site(self, root_uuid)

    monkeypatch.setattr(Supply, '_make_site', noted)
    hosts = [provider(f'host{number:02}', aggregates=['shared'], VCPU=8) for number in range(50)]
    snapshot = cloud([*hosts, provider('other', VCPU=7), pool('nfs', DISK_GB=90)])
    assert counts(snapshot, VCPU=4, DISK_GB=2)[ALL] == 45
    assert looked == ['host00', 'nfs', 'other']
