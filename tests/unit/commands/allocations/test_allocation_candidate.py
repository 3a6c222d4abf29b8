# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates: what is asked, and the rows of what is found."""

from typing import Any

import pytest

from tests.unit.dialogue import AGG, AGG2, ROOT, RP, RP2, Case, get, provider

LIST = 'allocation candidate list'
NONE: dict[str, Any] = {'allocation_requests': [], 'provider_summaries': {}}


def queried(options, query):
    """What the options become; nothing is found."""
    return Case(f'{LIST} {options} -f value', [get(f'/allocation_candidates?{query}', NONE)])


def refused(options, sentence, **settings):
    return Case(f'{LIST} {options}', stderr=f'{sentence}\n', status=1, **settings)


NO_RESOURCE = 'At least one --resource must be specified. Example: --resource VCPU=4'

QUERIES = {
    'the last of one class counts': queried(
        '--resource VCPU=2 --resource VCPU=3', 'resources=VCPU:3'
    ),
    'traits are joined where they can be': queried(
        '--resource VCPU=2 --required A --required B --forbidden C --required D,E',
        'resources=VCPU:2&required=A,B,!C&required=in:D,E',
    ),
    'aggregates are repeated': queried(
        f'--resource VCPU=2 --member-of {AGG},{AGG2} --member-of {AGG} --forbidden-member-of {AGG}',
        f'resources=VCPU:2&member_of=in:{AGG},{AGG2}&member_of={AGG}&member_of=!{AGG}',
    ),
    'a limit and the root are of the request as a whole': queried(
        '--resource VCPU=2 --limit 5 --root-required A --root-required B --root-forbidden C',
        'resources=VCPU:2&root_required=A,B,!C&limit=5',
    ),
    'what follows a group belongs to it': queried(
        '--required A --resource VCPU=2 --group 1 --resource VGPU=1 --required B --forbidden C '
        f'--group _NET --resource NET_BW_EGR_KILOBIT_PER_SEC=1 --member-of {AGG} --in-tree {RP}',
        f'resources=VCPU:2&required=A&resources1=VGPU:1&required1=B,!C'
        f'&resources_NET=NET_BW_EGR_KILOBIT_PER_SEC:1&member_of_NET={AGG}&in_tree_NET={RP}'
        '&group_policy=none',
    ),
    'of two groups of the same name the last one counts': queried(
        '--group 1 --resource VGPU=1 --required A --group 2 --resource VCPU=1 '
        '--group 1 --resource FPGA=1',
        'resources1=FPGA:1&resources2=VCPU:1&group_policy=none',
    ),
    'groups without resources share a subtree': queried(
        '--group _A --resource VGPU=1 --group _B --required X --same-subtree _A,_B',
        'resources_A=VGPU:1&required_B=X&group_policy=none&same_subtree=_A,_B',
    ),
}

REFUSALS = {
    'only a limit is asked for': refused('--limit 5', NO_RESOURCE),
    'a group without resources shares no subtree': refused(
        '--resource VCPU=2 --group 1 --required A', '--resource must be given in group 1'
    ),
    'a resource of a group is not of the form': refused(
        '--resource VCPU=2 --group 1 --resource VGPU:1',
        'Arguments to --resource must be of form <resource_class>=<value>',
    ),
}

SUMMARIES = {
    RP: {
        'resources': {
            'VCPU': {'used': 2, 'capacity': 32},
            'MEMORY_MB': {'used': 0, 'capacity': 64},
        },
        'traits': ['B', 'A'],
        'parent_provider_uuid': None,
        'root_provider_uuid': RP,
    },
    RP2: {
        'resources': {'DISK_GB': {'used': 5, 'capacity': 10}},
        'traits': [],
        'parent_provider_uuid': ROOT,
        'root_provider_uuid': ROOT,
    },
}
BOTH = {RP: {'resources': {'VCPU': 1, 'MEMORY_MB': 2}}, RP2: {'resources': {'DISK_GB': 10}}}
MAPPINGS = {'': [RP, RP2], '1': [RP]}


def answered(allocations, **settings):
    request = {'allocations': allocations, 'mappings': MAPPINGS}
    body = {'allocation_requests': [request, request], 'provider_summaries': SUMMARIES}
    return get('/allocation_candidates?resources=VCPU:1', body, **settings)


ASK = f'{LIST} --resource VCPU=1'


def numbered(*rows):
    """Two candidates of the same rows."""
    return ''.join(f'{number} {row}\n' for number in (1, 2) for row in rows)


FIRST = f'VCPU=1,MEMORY_MB=2 {RP} VCPU=2/32,MEMORY_MB=0/64'
SECOND = f'DISK_GB=10 {RP2} DISK_GB=5/10'

ROWS = {
    'with --long it is shown what a provider serves and where it stands': Case(
        f'{ASK} --long -f value',
        [
            answered(BOTH),
            get(f'/resource_providers/{RP}', provider()),
            get(f'/resource_providers/{RP2}', provider(RP2, 'storage')),
        ],
        numbered(
            f'{FIRST} B,A ["", "1"] None {RP} compute1', f'{SECOND}  [""] {ROOT} {ROOT} storage'
        ),
    ),
}

CASES = QUERIES | REFUSALS | ROWS


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_candidate_commands_send_and_print(play, case):
    play(case)
