# SPDX-License-Identifier: Apache-2.0
"""What differs between two snapshots, and what does not count."""

import pytest
from msgspec.structs import replace

from placementclient.insight import summary
from placementclient.insight.diff import find_differences
from placementclient.model.inventories import Inventory
from placementclient.model.providers import Provider
from tests.unit.insight.clouds import cloud, consumer, pool, provider

HOST = provider('host', traits=['A'], aggregates=['x'], VCPU=8)
CHILD = provider('host_0', 'host', VGPU=4)
SERVER = consumer('s', host={'VCPU': 2})
BEFORE = cloud([HOST, CHILD], [SERVER])


def rows(after, before=BEFORE):
    return [
        (d.change_type, d.name, d.field, d.before, d.after) for d in find_differences(before, after)
    ]


def test_equal_clouds_of_other_generations_do_not_differ():
    moved = [
        replace(state, provider=replace(state.provider, generation=99)) for state in (HOST, CHILD)
    ]
    assert rows(cloud(moved, [replace(SERVER, generation=99)])) == []


@pytest.mark.parametrize(
    ('host', 'expected'),
    [
        (replace(HOST, traits=frozenset('AB')), ('changed', 'host', 'traits', ['A'], ['A', 'B'])),
        (replace(HOST, aggregates=frozenset()), ('changed', 'host', 'aggregates', ['x'], [])),
        (
            replace(HOST, inventories={'VCPU': Inventory(9)}),
            ('changed', 'host', 'inventories.VCPU.total', 8, 9),
        ),
        (
            replace(HOST, usages={'VCPU': 5}),
            ('added', 'host', 'unlisted.VCPU', None, 3),
        ),
        (
            replace(HOST, provider=replace(HOST.provider, name='new')),
            ('changed', 'new', 'name', 'host', 'new'),
        ),
    ],
)
def test_diff_shows_every_change_of_a_provider(host, expected):
    assert rows(cloud([host, CHILD], [SERVER])) == [expected]


def test_a_new_parent_is_a_change():
    root = provider('host_0', VGPU=4)
    assert rows(cloud([HOST, root], [SERVER])) == [('removed', 'host_0', 'parent', 'host', None)]


def test_a_provider_with_a_new_uuid_is_another_provider():
    def called_host(uuid):
        return replace(provider(uuid, VCPU=8), provider=Provider(uuid, 'host', 1, None, uuid))

    old = cloud([called_host('a'), provider('child', 'a')], [consumer('s', a={'VCPU': 2})])
    new = cloud([called_host('b'), provider('child', 'b')], [consumer('s', b={'VCPU': 2})])
    moved = [row for row in rows(new, old) if row[1] != 'host']
    assert moved == [
        ('changed', 'child', 'parent', 'host (a)', 'host (b)'),
        ('removed', 's', 'allocations.host (a).VCPU', 2, None),
        ('added', 's', 'allocations.host (b).VCPU', None, 2),
    ]


@pytest.mark.parametrize(
    ('server', 'expected'),
    [
        (
            consumer('s', host={'VCPU': 3}),
            ('changed', 's', 'allocations.host.VCPU', 2, 3),
        ),
        (replace(SERVER, user_id='v'), ('changed', 's', 'user_id', 'user', 'v')),
        (replace(SERVER, type=None), ('removed', 's', 'type', 'INSTANCE', None)),
    ],
)
def test_diff_shows_every_change_of_a_consumer(server, expected):
    assert rows(cloud([HOST, CHILD], [server])) == [expected]


def test_diff_shows_added_and_removed_objects_as_a_whole():
    after = cloud([HOST], [])
    [child, server] = rows(after)
    assert child[:4] == (
        'removed', 'host_0', '',
        {
            'name': 'host_0',
            'parent': 'host',
            **{f'inventories.VGPU.{k}': v for k, v in Inventory(4).as_fields().items()},
        },
    )  # fmt: skip
    assert server == (
        'removed', 's', '',
        {
            'project_id': 'project',
            'user_id': 'user',
            'type': 'INSTANCE',
            'allocations.host.VCPU': 2,
        },
        None,
    )  # fmt: skip
    assert [change for change, *_ in rows(BEFORE, after)] == ['added', 'added']


def test_summary_counts_objects_and_sums_capacity_and_usage():
    snapshot = cloud([HOST, CHILD, pool('nfs', 'x', DISK_GB=9)], [SERVER, consumer('t', None)])
    assert summary.summarize(snapshot) == {
        'trees': 2,
        'providers': 3,
        'sharing_providers': 1,
        'aggregates': 1,
        'traits': 2,
        'consumers': 2,
        'consumer_types': {'INSTANCE': 1, 'unknown': 1},
        'resource_classes': {
            'DISK_GB': {'used': 0, 'capacity': 9},
            'VCPU': {'used': 2, 'capacity': 8},
            'VGPU': {'used': 0, 'capacity': 4},
        },
        'unsteady': [],
    }
