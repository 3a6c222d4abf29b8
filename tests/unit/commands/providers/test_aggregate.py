"""Aggregates: what each command sends and prints."""

from __future__ import annotations

import pytest

from tests.unit.conftest import Placement, Play, Service
from tests.unit.dialogue import (
    AGG,
    AGG2,
    RP,
    Case,
    Exchange,
    Reply,
    conflict,
    found,
    get,
    put,
    version_document,
)

PATH = f'/resource_providers/{RP}/aggregates'
SET = f'resource provider aggregate set {RP} --aggregate {AGG2} --aggregate {AGG}'
BARE = f'{SET} -f value'
HELD = {'aggregates': [AGG2, AGG], 'resource_provider_generation': 8}
NEEDED = 'A generation must be specified.\n'
ROWS = f'{AGG2}\n{AGG}\n'
STALE = 'Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n'


def written(generation: int, answer: dict[str, object] | Reply = HELD) -> Exchange:
    body = {'aggregates': [AGG2, AGG], 'resource_provider_generation': generation}
    return put(PATH, body, answer)


CASES = {
    'the list is that of the provider of a name': Case(
        'resource provider aggregate list compute1',
        [found(), get(PATH, {'aggregates': [AGG]})],
        '+--------------------------------------+\n'
        '| uuid                                 |\n'
        '+--------------------------------------+\n'
        f'| {AGG} |\n'
        '+--------------------------------------+\n',
        version='1.1',
    ),
    'below 1.19 the list alone is sent': Case(
        BARE, [put(PATH, [AGG2, AGG], HELD)], ROWS, version='1.18'
    ),
    'from 1.19 on a generation must be given': Case(
        SET, [], stderr=NEEDED, status=1, version='1.19'
    ),
    'also where the version is open, which the service settles': Case(
        SET, [version_document('1.39')], stderr=NEEDED, status=1
    ),
    'an older service takes none': Case(
        BARE, [version_document('1.18'), put(PATH, [AGG2, AGG], HELD, version='1.18')], ROWS
    ),
    'with --generation nothing is read': Case(
        f'{SET} --generation 0 -f value', [written(0)], ROWS, version='1.19'
    ),
    'with --generation a conflict is the answer': Case(
        f'{SET} --generation 5', [written(5, conflict())], stderr=STALE, status=1, version='1.39'
    ),
    'without an aggregate it leaves all': Case(
        f'resource provider aggregate set {RP} -f json --generation 5',
        [put(PATH, {'aggregates': [], 'resource_provider_generation': 5})],
        '[]\n',
        version='1.39',
    ),
    'what it is not in is told where it is taken out': Case(
        f'resource provider aggregate remove {RP} {AGG}',
        [get(PATH, {**HELD, 'aggregates': []})],
        stderr=f'The resource provider is not in the aggregate {AGG}\n'
        'The resource provider is in no aggregate\n',
    ),
}


@pytest.mark.parametrize('command', ['add', 'remove'])
def test_a_name_is_no_aggregate(placement: Placement, service: Service, command: str) -> None:
    result = placement(f'resource provider aggregate {command} {RP} {AGG} rack7')
    assert (result.status, service.requests) == (2, [])
    assert "'rack7' is not the UUID of an aggregate\n" in result.stderr


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_aggregate(play: Play, case: Case) -> None:
    play(case)
