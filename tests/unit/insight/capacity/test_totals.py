# SPDX-License-Identifier: Apache-2.0
"""Amounts: how much there is, how much is free, and the largest amount that fits."""

import pytest
from msgspec.structs import replace

from placementclient.insight.capacity import totals
from placementclient.insight.capacity.totals import ALL, TotalsLine
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, pool, provider


@pytest.mark.parametrize(
    ('inventory', 'used', 'amounts'),
    [
        (Inventory(8), 3, (8, 3, 5, 5)),
        (Inventory(8, reserved=2, allocation_ratio=1.5), 0, (9, 0, 9, 9)),
        (Inventory(16, allocation_ratio=1.1), 0, (17, 0, 17, 17)),
        (Inventory(8, max_unit=2), 3, (8, 3, 5, 2)),
        (Inventory(8, step_size=3), 1, (8, 1, 7, 6)),
        (Inventory(8, max_unit=5, step_size=2), 0, (8, 0, 8, 4)),
        (Inventory(8, min_unit=4), 5, (8, 5, 3, 0)),
        (Inventory(8, min_unit=4, step_size=3), 0, (8, 0, 8, 6)),
        (Inventory(8), 9, (8, 9, 0, 0)),
        (Inventory(8, reserved=10), 0, (-2, 0, 0, 0)),
        (Inventory(8, allocation_ratio=0), 0, (0, 0, 0, 0)),
    ],
)
def test_totals_sum_one_inventory(inventory, used, amounts):
    state = replace(provider('host', VCPU=inventory), usages={'VCPU': used})
    assert totals.sum_by_class(cloud([state])) == [TotalsLine(ALL, 'VCPU', *amounts)]


SNAPSHOT = cloud(
    [
        provider('host1', aggregates=['shared', 'zone'], VCPU=8),
        provider('host1_gpu', 'host1', VGPU=4),
        provider('host2', aggregates=['shared'], VCPU=4, DISK_GB=100),
        pool('nfs', DISK_GB=1000),
    ],
    [consumer('a', host1={'VCPU': 2}, nfs={'DISK_GB': 300}), consumer('b', host2={'VCPU': 5})],
)


def test_totals_of_a_tree_list_shared_amounts_apart():
    trees = [line for line in totals.sum_by_tree(SNAPSHOT) if line.name != ALL]
    shared = 1000, 300, 700, 700
    assert trees == [
        TotalsLine('host1', 'VCPU', 8, 2, 6, 6),
        TotalsLine('host1', 'VGPU', 4, 0, 4, 4),
        TotalsLine('host1', 'DISK_GB', *shared, 'nfs'),
        TotalsLine('host2', 'DISK_GB', 100, 0, 100, 100),
        TotalsLine('host2', 'VCPU', 4, 5, 0, 0),
        TotalsLine('host2', 'DISK_GB', *shared, 'nfs'),
        TotalsLine('nfs', 'DISK_GB', *shared),
    ]


@pytest.mark.parametrize('by', ['tree', 'aggregate', 'class'])
def test_totals_of_all_count_shared_amounts_once(by):
    lines = totals.GROUPED[by](SNAPSHOT)
    assert [line for line in lines if line.name == ALL] == [
        TotalsLine(ALL, 'DISK_GB', 1100, 300, 800, 700, None, 2),
        TotalsLine(ALL, 'VCPU', 12, 7, 6, 6, None, 2),
        TotalsLine(ALL, 'VGPU', 4, 0, 4, 4),
    ]


def test_a_root_takes_its_tree_into_an_aggregate():
    lines = totals.sum_by_aggregate(SNAPSHOT)
    zone = {line.resource_class: line.capacity for line in lines if line.name == 'zone'}
    assert zone == {'VCPU': 8, 'VGPU': 4}
    shared = {line.resource_class: line.capacity for line in lines if line.name == 'shared'}
    assert shared == {'VCPU': 12, 'VGPU': 4, 'DISK_GB': 1100}


def test_a_child_goes_into_an_aggregate_alone():
    root, child = provider('host', VCPU=8), provider('gpu', 'host', aggregates=['a'], VGPU=4)
    assert [line.resource_class for line in totals.sum_by_aggregate(cloud([root, child]))[:-2]] == [
        'VGPU'
    ]
