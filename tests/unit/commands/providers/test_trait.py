# SPDX-License-Identifier: Apache-2.0
"""Traits: what each command sends and prints."""

import pytest

from tests.unit.dialogue import (
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
PRESENT = {'traits': ['B', 'A'], 'resource_provider_generation': 8}

ONE = {'traits': ['B'], 'resource_provider_generation': 9}


def written(generation, answer=PRESENT):
    return put(PATH, {'traits': ['B', 'A'], 'resource_provider_generation': generation}, answer)


CASES = {
    'the traits that nobody has are listed': Case(
        'trait list --no-associated -f value', [get('/traits?associated=false', {'traits': []})]
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
    'what is not there to be removed is told': Case(
        f'resource provider trait remove {RP} A C CUSTOM_A',
        [get(PATH, PRESENT), put(PATH, {'traits': ['B'], 'resource_provider_generation': 8}, ONE)],
        '+------+\n| name |\n+------+\n| B    |\n+------+\n',
        'The resource provider has no trait C\nThe resource provider has no trait CUSTOM_A\n',
    ),
    'what was removed by a write without an answer is not told': Case(
        f'resource provider trait remove {RP} A -f value',
        [
            get(PATH, PRESENT),
            put(PATH, {'traits': ['B'], 'resource_provider_generation': 8}, Reply(502)),
            get(PATH, ONE),
        ],
        'B\n',
    ),
    'a custom trait that is not there yet can be made': Case(
        f'resource provider trait add {RP} CUSTOM_C',
        [
            get(PATH, PRESENT),
            put(
                PATH,
                {'traits': ['B', 'A', 'CUSTOM_C'], 'resource_provider_generation': 8},
                fault(400, 'No such trait CUSTOM_C'),
            ),
            get('/traits', {'traits': ['CUSTOM_B']}),
        ],
        stderr='No such trait CUSTOM_C (HTTP 400) [req-1]. Did you mean "CUSTOM_B"? '
        'Or make it first: placement trait create CUSTOM_C\n',
        status=1,
    ),
}


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_trait_commands_send_and_print(play, case):
    play(case)
