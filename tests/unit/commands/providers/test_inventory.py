# SPDX-License-Identifier: Apache-2.0
"""Inventories: what each command sends and prints."""

import json
from typing import Any

import pytest

from tests.unit.dialogue import (
    AGG,
    RP,
    Case,
    conflict,
    fault,
    get,
    post,
    put,
    searched,
)

BASE = f'/resource_providers/{RP}'
ALL = f'{BASE}/inventories'
VCPU: dict[str, Any] = {
    'allocation_ratio': 16.0,
    'min_unit': 1,
    'max_unit': 8,
    'reserved': 2,
    'step_size': 1,
    'total': 8,
}
VGPU_ROW = '1.0 1 8 0 1 4'
VGPU = VCPU | {'allocation_ratio': 1.0, 'reserved': 0, 'total': 4}
PRESENT = {'inventories': {'VCPU': VCPU, 'VGPU': VGPU}, 'resource_provider_generation': 7}
READ = get(ALL, PRESENT)
DRY = 'Dry run: nothing is written\n'
OVER = (
    '2 VGPU is in use, above the capacity of {}: Placement grants nothing more there until enough '
    'is freed\n'
)
STALE = 'Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n'


def written(inventories, generation=7, answer=None):
    body = {'inventories': inventories, 'resource_provider_generation': generation}
    done = {'inventories': {name: VGPU | fields for name, fields in inventories.items()}}
    return put(ALL, body, answer or done | {'resource_provider_generation': generation + 1})


def refused(argument, sentence):
    return Case(
        f"resource provider inventory set {RP} --resource '{argument}'",
        stderr=f'{sentence}\n',
        status=1,
    )


READING = {
    'a refusal has the name that was typed, and the class that was meant': Case(
        'resource provider inventory show compute1 VGPUS',
        [
            searched(),
            get(f'{ALL}/VGPUS', fault(404, f'No inventory of class VGPUS for {RP}')),
            get('/resource_classes', {'resource_classes': [{'name': 'VGPU'}]}),
        ],
        stderr=f'No inventory of class VGPUS for {RP} (compute1) (HTTP 404) [req-1]. Did you mean '
        '"VGPU"?\n',
        status=1,
    ),
}

CREATE = f'resource provider inventory class create {RP} VGPU --total 4'
SET = f'resource provider inventory class set {RP} VGPU --total 4'
ONE = VGPU | {'resource_provider_generation': 8}


def created(generation, answer=ONE):
    body = {'resource_class': 'VGPU', 'total': 4, 'resource_provider_generation': generation}
    return post(ALL, body, answer)


def replaced(generation, answer=ONE):
    return put(f'{ALL}/VGPU', {'total': 4, 'resource_provider_generation': generation}, answer)


COLUMN = VGPU_ROW.replace(' ', '\n') + '\n'

ONE_CLASS = {
    'a class that is there is not replaced by a creation': Case(
        CREATE,
        [READ],
        stderr=f'{RP} has an inventory of VGPU already: '
        f'"placement resource provider inventory set {RP} --amend --resource VGPU=4" changes '
        'its total\n',
        status=1,
    ),
    'a creation with --generation is not': Case(
        f'{CREATE} --generation 0', [created(0, conflict())], stderr=STALE, status=1
    ),
    'a replacement is repeated after a conflict': Case(
        f'{SET} -f value', [READ, replaced(7, conflict()), READ, replaced(7)], COLUMN
    ),
    'a replacement names the fields that go back to their defaults, and use that has no room': Case(
        f'resource provider inventory class set {RP} VGPU --total 1 -f value -c max_unit',
        [
            READ,
            put(
                f'{ALL}/VGPU',
                {'total': 1, 'resource_provider_generation': 7},
                ONE | {'total': 1, 'max_unit': 2147483647},
            ),
            get(f'{BASE}/usages', {'usages': {'VGPU': 2}, 'resource_provider_generation': 8}),
        ],
        '2147483647\n',
        stderr='VGPU: max_unit 8 → 2147483647: fields that are not given get their defaults\n'
        + OVER.format(1),
    ),
    'a replacement that is refused names the field and its bounds first': Case(
        f'resource provider inventory class set {RP} VGPU --total 0 --generation 7',
        [
            put(
                f'{ALL}/VGPU',
                {'total': 0, 'resource_provider_generation': 7},
                fault(400, 'JSON does not validate: 0 is less than the minimum of 1'),
            )
        ],
        stderr='VGPU:total=0 is not between 1 and 2147483647. 0 is less than the minimum of 1 '
        '(JSON does not validate) (HTTP 400) [req-1]\n',
        status=1,
    ),
    'every field is sent, zero too, under both its names': Case(
        f'resource provider inventory class set {RP} VGPU --total 4 --reserved 0 --min_unit 1 '
        '--max-unit 8 --step-size 1 --allocation_ratio 1.0 --generation 7 -f value',
        [put(f'{ALL}/VGPU', {**VGPU, 'resource_provider_generation': 7}, ONE)],
        COLUMN,
    ),
    'an empty class does not stand for all': Case(
        f"resource provider inventory delete {RP} --resource-class ''",
        stderr="'' cannot be part of a URL\n",
        status=1,
    ),
}

WHOLE = f'resource provider inventory set {RP}'

ALL_CLASSES = {
    'with --amend the rest stays': Case(
        f'{WHOLE} --amend --resource VCPU:reserved=0 --resource CUSTOM_X=1 '
        '-f value -c resource_class',
        [READ, written({'VCPU': VCPU | {'reserved': 0}, 'VGPU': VGPU, 'CUSTOM_X': {'total': 1}})],
        'VCPU\nVGPU\nCUSTOM_X\n',
    ),
    'a limit that was all of the total, and stays, is told': Case(
        f'{WHOLE} --amend --resource VCPU:total=9 --dry-run -f value -c total',
        [READ],
        '9\n4\n',
        stderr=f'{DRY}~ {RP} VCPU:total 8 → 9\nVCPU: max_unit stays 8 with the total of 9; to '
        'change it too, add --resource VCPU:max_unit=9\n',
    ),
    'a dry run leaves empty what it does not know': Case(
        f'{WHOLE} --dry-run --resource VGPU=4 -f json',
        [READ],
        json.dumps([{'resource_class': 'VGPU', **dict.fromkeys(VCPU, ''), 'total': 4}], indent=2)
        + '\n',
        stderr=f'{DRY}This removes VCPU; --amend keeps the other classes\n'
        f'- {RP} VCPU total 8, reserved 2, allocation_ratio 16.0\n'
        f'~ {RP} VGPU:max_unit 8 → 2147483647\n'
        'VGPU: max_unit 8 → 2147483647: fields that are not given get their defaults\n',
    ),
    'after a conflict the same intent is applied to what is there then': Case(
        f'{WHOLE} --amend --resource VGPU:reserved=1 -f value -c reserved',
        [
            READ,
            written({'VCPU': VCPU, 'VGPU': VGPU | {'reserved': 1}}, 7, conflict()),
            get(
                ALL,
                {'inventories': {'VGPU': VGPU | {'total': 2}}, 'resource_provider_generation': 9},
            ),
            written({'VGPU': VGPU | {'total': 2, 'reserved': 1}}, 9),
            get(f'{BASE}/usages', {'usages': {'VGPU': 2}, 'resource_provider_generation': 10}),
        ],
        '1\n',
        stderr=OVER.format(1),
    ),
    'with --generation it is a compare-and-swap': Case(
        f'{WHOLE} --generation 0', [READ, written({}, 0, conflict())], stderr=STALE, status=1
    ),
    'a refusal is followed by the class, and by what to give': Case(
        f'{WHOLE} --resource VCPU:reserved=99999999999 --generation 7',
        [
            READ,
            written(
                {'VCPU': {'reserved': 99999999999}},
                answer=fault(400, 'JSON does not validate: it is too great'),
            ),
        ],
        stderr='VCPU:reserved=99999999999 is not between 0 and 2147483647. VCPU needs a total: '
        'VCPU:total=AMOUNT, or --amend to keep the one that each resource provider has. '
        'it is too great (JSON does not validate) (HTTP 400) [req-1]\n',
        status=1,
    ),
    'a ratio that is hardly meant is told before it is written': Case(
        f'{WHOLE} --resource VGPU=4 --resource VGPU:allocation_ratio=99999999999999999999 '
        '-f value -c total',
        [READ, written({'VGPU': {'total': 4, 'allocation_ratio': 1e20}})],
        '4\n',
        stderr='VGPU:allocation_ratio=1e+20 is above 1000\n',
    ),
    'a field that was mistyped': refused(
        'VGPU:reservd=4', 'Unknown inventory field reservd. Did you mean "reserved"?'
    ),
}

AGGREGATE = f'resource provider inventory set {AGG} --aggregate --resource VGPU=4'

OF_AGGREGATE = {
    'a dry run prints the table alone, and says so': Case(
        f'{AGGREGATE} --dry-run -f value -c resource_class -c total',
        [
            get(
                f'/resource_providers?member_of={AGG}',
                {'resource_providers': [{'uuid': RP, 'name': 'a', 'generation': 7}]},
            ),
            READ,
        ],
        'VGPU 4\n',
        stderr=DRY,
    ),
    'one generation is not that of several providers': Case(
        f'{AGGREGATE} --generation 7',
        stderr='--generation is for one provider, and --aggregate selects several\n',
        status=2,
    ),
}

CASES = READING | ONE_CLASS | ALL_CLASSES | OF_AGGREGATE


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_inventory_commands_send_and_print(play, case):
    play(case)
