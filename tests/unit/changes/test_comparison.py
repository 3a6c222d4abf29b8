"""A change that is made, compared with what others have made of it since."""

import pytest

from placementclient.changes import comparison
from placementclient.model.plans import TreeChange
from tests.unit.insight.clouds import cloud, consumer, provider

GPU = provider('gpu', 'host', VGPU=4)
TREE = TreeChange(
    'host',
    'host',
    cloud([provider('host', VCPU=8, VGPU=4)], [consumer('s', host={'VCPU': 2, 'VGPU': 2})]),
    cloud([provider('host', VCPU=8), GPU], [consumer('s', host={'VCPU': 2}, gpu={'VGPU': 2})]),
    is_atomic=True,
)


@pytest.mark.parametrize(
    ('host', 'held', 'kind', 'is_damage'),
    [
        # It was resized where the plan has put it.
        (provider('host', VCPU=8), {'host': {'VCPU': 2}, 'gpu': {'VGPU': 1}}, 'amount', False),
        # It is back where the plan took it from, in part.
        (provider('host', VCPU=8, VGPU=1), {'host': {'VCPU': 2, 'VGPU': 1}}, 'amount', True),
        (provider('host', VCPU=8, VGPU=2), {'host': {'VCPU': 2, 'VGPU': 2}}, 'misplaced', True),
    ],
)
def test_who_holds_something_else_was_resized_unless_it_is_where_it_was(
    host, held, kind, is_damage
):
    live = cloud([host, GPU], [consumer('s', **held)])
    [deviation] = [each for each in comparison.deviations(TREE, live) if each.kind != 'inventory']
    assert (deviation.kind, deviation.is_damage) == (kind, is_damage)
