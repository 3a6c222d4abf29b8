# SPDX-License-Identifier: Apache-2.0
"""What a report says, as values."""

from placementclient.insight.audit.cloud import Cloud
from placementclient.insight.capacity import totals
from placementclient.model.plans import Change, Plan
from placementclient.model.snapshots import Snapshot
from placementclient.render.report import contents
from placementclient.render.report.contents import Fill
from tests.unit.insight.clouds import cloud, consumer, provider
from tests.unit.render.report.reports import nested


def test_the_report_has_the_capacity_of_each_class_and_its_trees_by_usage():
    result = contents.list_class_fills(Cloud(nested()))
    assert [room.line for room in result] == totals.sum_by_class(nested())
    assert {room.line.resource_class: room.spread for room in result} == {
        'DISK_GB': [0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        'VCPU': [0, 0, 1, 0, 0, 0, 0, 0, 0, 1],
        'VGPU': [0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    }
    assert [room.tree_count for room in result] == [2, 2, 1]


def test_a_tree_is_counted_once_and_is_full_if_it_is_over_its_capacity():
    snapshot = cloud(
        [
            provider('host'),
            provider('a', 'host', VGPU=1),
            provider('b', 'host', VGPU=3),
            provider('over', VGPU=1),
        ],
        [consumer('s', a={'VGPU': 1}), consumer('t', over={'VGPU': 5})],
    )
    [room] = contents.list_class_fills(Cloud(snapshot))
    assert room.spread == [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]


def test_the_heat_map_has_the_fullest_class_of_each_host():
    snapshot = cloud(
        [provider('b', VCPU=4, VGPU=4), provider('a', VCPU=4), provider('empty')],
        [consumer('s', b={'VCPU': 1, 'VGPU': 3}), consumer('t', a={'VCPU': 4})],
    )
    assert contents.list_host_fills(Cloud(snapshot)) == [
        ('a', 'VCPU', Fill(4, 4)),
        ('b', 'VGPU', Fill(3, 4)),
    ]


def test_a_report_has_a_row_for_each_amount_that_a_plan_adds_moves_or_frees():
    states = [provider(name, VCPU=8, VGPU=8) for name in ('a', 'b', 'c')]
    before = [consumer('s', a={'VCPU': 3, 'VGPU': 1}), consumer('t', a={'VCPU': 1})]
    after = [consumer('s', b={'VCPU': 2}, c={'VCPU': 1, 'VGPU': 1}), consumer('t', a={'VCPU': 2})]
    tree = Change({'a': 'a'}, Snapshot(states, before), Snapshot(states, after))
    [changed] = contents.add_planned_rows(Plan((tree,))).changes
    assert [
        (row.consumer_uuid, row.amount, row.resource_class, row.from_provider, row.to_provider)
        for row in changed.reasons
    ] == [
        ('s', 2, 'VCPU', 'a', 'b'),
        ('s', 1, 'VCPU', 'a', 'c'),
        ('s', 1, 'VGPU', 'a', 'c'),
        ('t', 1, 'VCPU', None, 'a'),
    ]
