"""Room: how much there is, how much is free, and the largest amount that fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from placementclient.insight.capacity import totals
from placementclient.insight.capacity.totals import ALL, Line, Room
from placementclient.model.inventories import Inventory
from tests.unit.insight.clouds import cloud, consumer, pool, provider


@pytest.mark.parametrize(
    ('inventory', 'used', 'room'),
    [
        (Inventory(8), 3, Room(8, 3, 5, 5)),
        (Inventory(8, reserved=2, allocation_ratio=1.5), 0, Room(9, 0, 9, 9)),
        (Inventory(16, allocation_ratio=1.1), 0, Room(17, 0, 17, 17)),
        (Inventory(8, max_unit=2), 3, Room(8, 3, 5, 2)),
        (Inventory(8, step_size=3), 1, Room(8, 1, 7, 6)),
        (Inventory(8, max_unit=5, step_size=2), 0, Room(8, 0, 8, 4)),
        (Inventory(8, min_unit=4), 5, Room(8, 5, 3, 0)),
        (Inventory(8, min_unit=4, step_size=3), 0, Room(8, 0, 8, 6)),
        (Inventory(8), 9, Room(8, 9, 0, 0)),
        (Inventory(8, reserved=10), 0, Room(-2, 0, 0, 0)),
        (Inventory(8, allocation_ratio=0), 0, Room(0, 0, 0, 0)),
    ],
)
def test_the_room_in_one_inventory(inventory: Inventory, used: int, room: Room) -> None:
    assert Room.of(inventory, used) == room


SNAPSHOT = cloud(
    [
        provider('host1', aggregates=['shared', 'zone'], VCPU=8),
        provider('host1_gpu', 'host1', VGPU=4),
        provider('host2', aggregates=['shared'], VCPU=4, DISK_GB=100),
        pool('nfs', DISK_GB=1000),
    ],
    [consumer('a', host1={'VCPU': 2}, nfs={'DISK_GB': 300}), consumer('b', host2={'VCPU': 5})],
)


def test_a_tree_has_what_is_its_own_and_what_is_shared_with_it() -> None:
    trees = [line for line in totals.by_tree(SNAPSHOT) if line.name != ALL]
    shared = Room(1000, 300, 700, 700)
    assert trees == [
        Line('host1', 'VCPU', Room(8, 2, 6, 6)),
        Line('host1', 'VGPU', Room(4, 0, 4, 4)),
        Line('host1', 'DISK_GB', shared, 'nfs'),
        Line('host2', 'DISK_GB', Room(100, 0, 100, 100)),
        Line('host2', 'VCPU', Room(4, 5, 0, 0)),
        Line('host2', 'DISK_GB', shared, 'nfs'),
        Line('nfs', 'DISK_GB', shared),
    ]


@pytest.mark.parametrize('by', ['tree', 'aggregate', 'class'])
def test_in_all_what_is_shared_counts_once(by: str) -> None:
    lines = totals.GROUPED[by](SNAPSHOT)
    assert [line for line in lines if line.name == ALL] == [
        Line(ALL, 'DISK_GB', Room(1100, 300, 800, 700), None, 2),
        Line(ALL, 'VCPU', Room(12, 7, 6, 6), None, 2),
        Line(ALL, 'VGPU', Room(4, 0, 4, 4)),
    ]


def test_a_root_takes_its_tree_into_an_aggregate() -> None:
    lines = totals.by_aggregate(SNAPSHOT)
    zone = {line.resource_class: line.room.capacity for line in lines if line.name == 'zone'}
    assert zone == {'VCPU': 8, 'VGPU': 4}
    shared = {line.resource_class: line.room.capacity for line in lines if line.name == 'shared'}
    assert shared == {'VCPU': 12, 'VGPU': 4, 'DISK_GB': 1100}


def test_a_child_goes_into_an_aggregate_alone() -> None:
    root, child = provider('host', VCPU=8), provider('gpu', 'host', aggregates=['a'], VGPU=4)
    assert [line.resource_class for line in totals.by_aggregate(cloud([root, child]))[:-2]] == [
        'VGPU'
    ]


def test_usage_is_what_the_service_sums_up() -> None:
    state = replace(provider('host', VCPU=8), usages={'VCPU': 5})
    [line] = totals.by_class(cloud([state]))
    assert line.room.free == 3


def test_nothing_has_no_room() -> None:
    assert totals.by_tree(cloud([])) == []
