# SPDX-License-Identifier: Apache-2.0
"""The extent of a change in numbers."""

import pytest

from placementclient.changes.summary import summarize_changes
from placementclient.model.consumers import Consumer
from placementclient.model.plans import Change
from placementclient.model.snapshots import Snapshot

A, B = '11111111-1111-1111-1111-111111111111', '22222222-2222-2222-2222-222222222222'


def consumer_of(allocations):
    return Consumer('consumer', allocations, 'project', 'user', 1, 'INSTANCE')


@pytest.mark.parametrize(
    ('before', 'after', 'verb'),
    [
        ({}, {A: {'VCPU': 1}}, 'add'),
        ({A: {'VCPU': 1}}, {A: {'VCPU': 1}, B: {'PGPU': 1}}, 'add'),
        ({A: {'VCPU': 1}}, {A: {'VCPU': 2}}, 'change'),
        ({A: {'VCPU': 2}}, {A: {'VCPU': 1}}, 'change'),
        ({A: {'VCPU': 1}}, {}, 'free'),
        ({A: {'VCPU': 1}, B: {'VCPU': 1}}, {B: {'VCPU': 1}}, 'free'),
        ({A: {'VGPU': 1}}, {B: {'VGPU': 1}}, 'move'),
        ({A: {'VCPU': 1}}, {A: {'PCPU': 1}}, 'move'),
    ],
)
def test_a_summary_counts_what_happens_to_the_allocations_of_a_consumer(before, after, verb):
    sentence = summarize_changes(
        [Change({'': ''}, *(Snapshot((), [consumer_of(side)]) for side in (before, after)))]
    )
    assert sentence == f'1 allocation to {verb}'


def test_a_summary_of_no_change_says_so():
    assert summarize_changes([]) == 'Nothing to change'
