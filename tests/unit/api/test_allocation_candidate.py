"""Allocation candidates: the query, and what comes back in the form of every microversion."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.api import allocation_candidate
from placementclient.model.consumers import Candidate, ProviderSummary
from placementclient.model.requests import CandidateRequest, Filter
from tests.unit.api.conftest import Call
from tests.unit.dialogue import AGG, ROOT, RP, RP2, get

VCPU = Filter({'VCPU': 2})
NOTHING_FOUND = {'allocation_requests': [], 'provider_summaries': {}}


@pytest.mark.parametrize(
    ('wanted', 'query'),
    [
        (CandidateRequest(VCPU), 'resources=VCPU:2'),
        (CandidateRequest(VCPU, limit=5), 'resources=VCPU:2&limit=5'),
        (
            CandidateRequest(Filter({'VCPU': 2}, ('A', 'B,C'), ('D',), (AGG,), (AGG,), RP)),
            f'resources=VCPU:2&required=A,!D&required=in:B,C&member_of={AGG}&member_of=!{AGG}'
            f'&in_tree={RP}',
        ),
        (
            CandidateRequest(
                VCPU, {'1': Filter({'VGPU': 1}, ('A',)), '_NET': Filter(in_tree=RP)}, 'none'
            ),
            f'resources=VCPU:2&resources1=VGPU:1&required1=A&in_tree_NET={RP}&group_policy=none',
        ),
        (
            CandidateRequest(groups={'1': VCPU}, same_subtree=(('1', '_A'), ('_B', '_C'))),
            'resources1=VCPU:2&same_subtree=1,_A&same_subtree=_B,_C',
        ),
        (
            CandidateRequest(VCPU, root_required=('A', 'B'), root_forbidden=('C',)),
            'resources=VCPU:2&root_required=A,B,!C',
        ),
        (CandidateRequest(VCPU, root_forbidden=('C',)), 'resources=VCPU:2&root_required=!C'),
    ],
)
def test_a_request_is_a_query(call: Call, wanted: CandidateRequest, query: str) -> None:
    asked = get(f'/allocation_candidates?{query}', NOTHING_FOUND)
    found = call(lambda client: allocation_candidate.list(client, wanted), asked)
    assert found == ([], {})


RESOURCES = {'VCPU': {'used': 1, 'capacity': 8}}
AS_LIST = [{'resource_provider': {'uuid': RP}, 'resources': {'VCPU': 2}}]
AS_MAPPING = {RP: {'resources': {'VCPU': 2}}}
TREE = {'parent_provider_uuid': None, 'root_provider_uuid': ROOT}


@pytest.mark.parametrize(
    ('version', 'wanted', 'summary', 'candidate', 'summarized'),
    [
        ('1.10', {'allocations': AS_LIST}, {}, {}, {}),
        ('1.12', {'allocations': AS_MAPPING}, {}, {}, {}),
        ('1.17', {'allocations': AS_MAPPING}, {'traits': ['B', 'A']}, {}, {'traits': ('B', 'A')}),
        ('1.29', {'allocations': AS_MAPPING}, TREE, {}, TREE),
        (
            '1.34',
            {'allocations': AS_MAPPING, 'mappings': {'': [RP], '1': [RP2]}},
            TREE,
            {'mappings': {'': [RP], '1': [RP2]}},
            TREE,
        ),
    ],
)
def test_candidates_are_read_in_the_form_of_the_version(
    call: Call, version: str, wanted: Any, summary: Any, candidate: Any, summarized: Any
) -> None:
    body = {
        'allocation_requests': [wanted],
        'provider_summaries': {RP: {'resources': RESOURCES} | summary},
    }
    asked = get('/allocation_candidates?resources=VCPU:2', body)
    found, summaries = call(
        lambda client: allocation_candidate.list(client, CandidateRequest(VCPU)),
        asked,
        version=version,
    )
    assert found == [Candidate({RP: {'VCPU': 2}}, **candidate)]
    assert summaries == {RP: ProviderSummary({'VCPU': (1, 8)}, **summarized)}
