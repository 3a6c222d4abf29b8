"""Traits: what each command sends and prints."""

import pytest

from tests.unit.dialogue import (
    MONDAY,
    NOTHING,
    RP,
    Case,
    Reply,
    conflict,
    fault,
    get,
    provider,
    put,
)

PATH = f'/resource_providers/{RP}/traits'
SET = f'resource provider trait set {RP} --trait B --trait A'
READ = get(f'/resource_providers/{RP}', provider(generation=7))
HELD = {'traits': ['B', 'A'], 'resource_provider_generation': 8}

ONE = {'traits': ['B'], 'resource_provider_generation': 9}


def written(generation, answer=HELD):
    return put(PATH, {'traits': ['B', 'A'], 'resource_provider_generation': generation}, answer)


CASES = {
    'the list keeps the order of the service': Case(
        'trait list -f value', [get('/traits', {'traits': ['B', 'A']})], 'B\nA\n'
    ),
    'the traits that nobody has are listed': Case(
        'trait list --no-associated -f value', [get('/traits?associated=false', {'traits': []})]
    ),
    'a trait is shown though the answer is empty': Case(
        'trait show A -f json', [get('/traits/A', NOTHING)], '{\n  "name": "A"\n}\n'
    ),
    'with --long the date is shown': Case(
        'trait show A --long -f value',
        [get('/traits/A', Reply(204, headers={'Last-Modified': MONDAY}))],
        f'A\n{MONDAY}\n',
    ),
    'without a trait all go': Case(
        f'resource provider trait set {RP} -f json',
        [
            READ,
            put(
                PATH,
                {'traits': [], 'resource_provider_generation': 7},
                {'traits': [], 'resource_provider_generation': 8},
            ),
        ],
        '[]\n',
    ),
    'after a conflict the generation is read again': Case(
        f'{SET} -f value',
        [
            READ,
            written(7, conflict()),
            get(f'/resource_providers/{RP}', provider(generation=9)),
            written(9),
        ],
        'B\nA\n',
    ),
    'another conflict is not repeated': Case(
        SET, [READ, written(7, fault(409, 'Other'))], stderr='Other (HTTP 409) [req-1]\n', status=1
    ),
    'with --generation nothing is read': Case(
        f'{SET} --generation 0 -f value', [written(0)], 'B\nA\n'
    ),
    'with --generation a conflict is the answer': Case(
        f'{SET} --generation 0',
        [written(0, conflict())],
        stderr='Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n',
        status=1,
    ),
    'what is not there to be removed is told': Case(
        f'resource provider trait remove {RP} A C CUSTOM_A',
        [get(PATH, HELD), put(PATH, {'traits': ['B'], 'resource_provider_generation': 8}, ONE)],
        '+------+\n| name |\n+------+\n| B    |\n+------+\n',
        'The resource provider has no trait C\nThe resource provider has no trait CUSTOM_A\n',
    ),
    'what was removed by a write without an answer is not told': Case(
        f'resource provider trait remove {RP} A -f value',
        [
            get(PATH, HELD),
            put(PATH, {'traits': ['B'], 'resource_provider_generation': 8}, Reply(502)),
            get(PATH, ONE),
        ],
        'B\n',
    ),
    'where nothing is left, that is told': Case(
        f'resource provider trait remove {RP} C',
        [get(PATH, {**HELD, 'traits': []})],
        stderr='The resource provider has no trait C\nThe resource provider has no traits\n',
    ),
    'a custom trait that is not there yet can be made': Case(
        f'resource provider trait add {RP} CUSTOM_C',
        [
            get(PATH, HELD),
            put(
                PATH,
                {'traits': ['B', 'A', 'CUSTOM_C'], 'resource_provider_generation': 8},
                fault(400, 'No such trait CUSTOM_C'),
            ),
            get('/traits', {'traits': ['CUSTOM_B']}),
        ],
        stderr='No such trait CUSTOM_C (HTTP 400) [req-1]. Did you mean "CUSTOM_B"? '
        'Or make it first: trait create CUSTOM_C\n',
        status=1,
    ),
    'what cannot be made is not proposed': Case(
        f'resource provider trait add {RP} CUSTOM_c4',
        [
            get(PATH, HELD),
            put(
                PATH,
                {'traits': ['B', 'A', 'CUSTOM_c4'], 'resource_provider_generation': 8},
                fault(400, 'No such trait CUSTOM_c4'),
            ),
            get('/traits', {'traits': ['A', 'B']}),
        ],
        stderr='No such trait CUSTOM_c4 (HTTP 400) [req-1]. Names are made of A to Z, 0 to 9 '
        'and _\n',
        status=1,
    ),
    'a filter makes no traits': Case(
        'resource provider list --required CUSTOM_C',
        [
            get('/resource_providers?required=CUSTOM_C', fault(400, 'No such trait(s): CUSTOM_C.')),
            get('/traits', {'traits': ['CUSTOM_C_1']}),
        ],
        stderr='No such trait(s): CUSTOM_C. (HTTP 400) [req-1]. Did you mean "CUSTOM_C_1"?\n',
        status=1,
    ),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_trait(play, case):
    play(case)
