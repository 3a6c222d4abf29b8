# SPDX-License-Identifier: Apache-2.0
"""The sentences about missing candidates."""

import pytest

from placementclient.insight.candidates.explanation import explain_request
from placementclient.insight.candidates.matching import index_snapshot
from placementclient.model.inventories import Inventory
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.render import explanations
from tests.unit.insight.clouds import cloud, consumer, provider


@pytest.mark.parametrize(
    ('request_', 'line'),
    [
        (
            Filter({'MEMORY_MB': 512}),
            '    MEMORY_MB=512: 0 free on host, of which 512 more is used than it has',
        ),
        (
            Filter({'VCPU': 1}, forbidden=('CUSTOM_A',)),
            '  without the condition "no trait CUSTOM_A": 1 tree (calculated)',
        ),
        (
            Filter({'VCPU': 1}, required=('CUSTOM_C', 'CUSTOM_D')),
            '  without trait CUSTOM_C and without trait CUSTOM_D: 1 tree (calculated)',
        ),
    ],
)
def test_explanations_have_no_double_negation_and_no_negative_amount(request_, line):
    host = provider('host', traits=['CUSTOM_A'], VCPU=8, MEMORY_MB=Inventory(1024, reserved=512))
    snapshot = cloud([host], [consumer('s', host={'MEMORY_MB': 1024})])
    explained = explain_request(CandidateRequest(request_), index_snapshot(snapshot), most_trees=3)
    assert line in list(explanations.format_explanation(explained))


def test_a_requirement_that_fails_alone_does_not_fail_together_with_another():
    states = [provider('small', traits=['CUSTOM_A'], VCPU=2), provider('large', VCPU=8)]
    hosts = index_snapshot(cloud(states, []))

    def explain_conflicts(request):
        lines = explanations.format_explanation(explain_request(CandidateRequest(request), hosts))
        return [line for line in lines if line.startswith('Cannot be met')]

    assert explain_conflicts(Filter({'VCPU': 9})) == ['Cannot be met']
    assert explain_conflicts(Filter({'VCPU': 8}, required=('CUSTOM_A',))) == [
        'Cannot be met together'
    ]


def test_explanations_print_a_shortage_of_all_nearest_trees_once():
    hosts = [provider(f'host{n}', VCPU=n) for n in (1, 2)]
    explained = explain_request(
        CandidateRequest(Filter({'VCPU': 4}, required=('CUSTOM_A',))),
        index_snapshot(cloud(hosts, [])),
        most_trees=2,
    )
    lines = list(explanations.format_explanation(explained))
    assert lines[lines.index('Nearest trees') + 1 :] == [
        '  host2, host1',
        '    trait CUSTOM_A: no provider has it',
        '  host2',
        '    VCPU=4: 2 free on host2',
        '  host1',
        '    VCPU=4: 1 free on host1',
    ]
    alike = explain_request(
        CandidateRequest(Filter({'VGPU': 1})), index_snapshot(cloud(hosts, [])), most_trees=2
    )
    lines = list(explanations.format_explanation(alike))
    assert lines[lines.index('Nearest trees') + 1 :] == [
        '  host1, host2',
        '    VGPU=1: no inventory of it',
    ]
