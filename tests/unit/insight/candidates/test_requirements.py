# SPDX-License-Identifier: Apache-2.0
"""Requests, taken apart and put together again."""

import pytest

from placementclient.insight.candidates.requirements import (
    Requirement,
    RequirementKind,
    list_requirements,
    restrict_request,
    select_askable_requirements,
)
from placementclient.model.requests import CandidateRequest, Filter

FULL = CandidateRequest(
    Filter({'VCPU': 2, 'DISK_GB': 10}, ('A', 'B,C'), ('D',), ('agg1,agg2',), ('agg3',), 'tree'),
    {'_G': Filter({'VGPU': 4}, ('E',)), '_E': Filter({}, ('F',))},
    'isolate',
    (('_G', '_E'),),
    ('R',),
    ('S',),
)
TEXTS = [
    'VCPU=2',
    'DISK_GB=10',
    'trait A',
    'trait B or C',
    'no trait D',
    'member of agg1 or agg2',
    'not member of agg3',
    'in the tree of tree',
    'VGPU=4 (group _G)',
    'trait E (group _G)',
    'trait F (group _E)',
    'trait R on the root',
    'no trait S on the root',
    'each group on a provider of its own',
    'groups _G,_E in one subtree',
]


def test_every_part_of_a_request_is_a_requirement():
    assert [str(need) for need in list_requirements(FULL)] == TEXTS


def test_a_request_of_all_requirements_equals_the_original():
    assert restrict_request(FULL, list_requirements(FULL)) == FULL


@pytest.mark.parametrize('text', TEXTS)
def test_a_request_without_one_requirement_keeps_the_others(text):
    retained = [need for need in list_requirements(FULL) if str(need) != text]
    relaxed = restrict_request(FULL, retained)
    if text in ('trait F (group _E)', 'groups _G,_E in one subtree'):
        # A group has to ask for something, and for a resource if it is in no subtree.
        assert relaxed is None
        return
    assert relaxed is not None
    assert list(list_requirements(relaxed)) == retained


def test_a_request_can_have_another_amount_of_a_requirement():
    retained = [need for need in list_requirements(FULL) if need.value != 'VGPU']
    relaxed = restrict_request(
        FULL, [*retained, Requirement(RequirementKind.RESOURCE, 'VGPU', '_G', 2)]
    )
    assert relaxed is not None
    assert relaxed.groups['_G'].resources == {'VGPU': 2}


def test_a_request_without_resources_cannot_be_asked():
    request = CandidateRequest(Filter({'VCPU': 1}, ('A',)), {'1': Filter({'VGPU': 1}, ('E',))})
    vcpu, a, vgpu, e = list_requirements(request)
    assert restrict_request(request, [a, vgpu, e]) is None
    assert restrict_request(request, [vcpu, a, e]) is None
    assert restrict_request(request, []) is None
    assert select_askable_requirements([vcpu, a, e]) == {vcpu, a}
    assert restrict_request(request, [vcpu, a]) == CandidateRequest(Filter({'VCPU': 1}, ('A',)))
