# SPDX-License-Identifier: Apache-2.0
"""The states from which an atomic change does not begin."""

import pytest

from placementclient.changes.tree_merge import merge_change
from tests.unit.changes.test_deviations import CHANGE
from tests.unit.insight.clouds import cloud, provider

[HOST] = CHANGE.before.providers.values()
CONSUMERS = CHANGE.before.consumers.values()


@pytest.mark.parametrize(
    ('states', 'message'),
    [
        (
            [HOST, provider('cell', 'host'), provider('gpu', 'cell', 'host')],
            'gpu exists already, below another parent',
        ),
        ([HOST, provider('gpu', 'host', VGPU=1)], 'gpu exists already, and is not empty'),
        (
            [HOST, provider('other'), provider('gpu', 'other')],
            'gpu exists already, below another parent',
        ),
        (
            [provider('host', 'rack', 'rack', VCPU=8, VGPU=4), provider('rack')],
            'host is now in the tree of rack',
        ),
    ],
)
def test_a_tree_with_a_provider_that_others_made_or_moved_is_left_alone(states, message):
    merged = merge_change(CHANGE, cloud(states, CONSUMERS))
    assert [obstacle.reason for obstacle in merged.obstacles] == [message]
    assert merged.operations == ()


def test_an_empty_child_may_be_there_already():
    live = cloud([HOST, provider('gpu', 'host')], CONSUMERS)
    kinds = [type(operation).__name__ for operation in merge_change(CHANGE, live).operations]
    assert (merge_change(CHANGE, live).obstacles, kinds) == ((), ['Reshape'])
