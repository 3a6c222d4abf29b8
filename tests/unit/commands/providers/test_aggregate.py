# SPDX-License-Identifier: Apache-2.0
"""Aggregates: what each command sends and prints."""

import pytest

from tests.unit.dialogue import (
    AGG,
    AGG2,
    RP,
    Case,
    conflict,
    fault,
    get,
    put,
    version_document,
)

PATH = f'/resource_providers/{RP}/aggregates'
SET = f'resource provider aggregate set {RP} --aggregate {AGG2} --aggregate {AGG}'
BARE = f'{SET} -f value'
PRESENT = {'aggregates': [AGG2, AGG], 'resource_provider_generation': 8}
NEEDED = (
    'A generation must be specified.\nNext:\n  1. Add without a generation: '
    f'placement resource provider aggregate add {RP} {AGG2} {AGG}\n'
    f'  2. Or replace all: placement resource provider aggregate set {RP} --aggregate {AGG2} '
    f'--aggregate {AGG} --generation "$(placement resource provider show {RP} -f value -c '
    'generation)"\n'
)
ROWS = f'{AGG2}\n{AGG}\n'
STALE = 'Conflict: generation (HTTP 409) [placement.concurrent_update, req-1]\n'


def written(generation, answer=PRESENT):
    body = {'aggregates': [AGG2, AGG], 'resource_provider_generation': generation}
    return put(PATH, body, answer)


CASES = {
    'also where the version is open, which the service settles': Case(
        SET, [version_document('1.39')], stderr=NEEDED, status=1
    ),
    'from the first version that needs one': Case(SET, stderr=NEEDED, status=1, version='1.19'),
    'an older service takes none': Case(
        BARE, [version_document('1.18'), put(PATH, [AGG2, AGG], PRESENT, version='1.18')], ROWS
    ),
    'with --generation nothing is read': Case(
        f'{SET} --generation 0 -f value', [written(0)], ROWS, version='1.19'
    ),
    'with --generation a conflict is the answer': Case(
        f'{SET} --generation 5', [written(5, conflict())], stderr=STALE, status=1, version='1.39'
    ),
    'what it is not in is told where it is taken out': Case(
        f'resource provider aggregate remove {RP} {AGG}',
        [get(PATH, {**PRESENT, 'aggregates': []})],
        stderr=f'The resource provider has no aggregate {AGG}\n'
        'The resource provider has no aggregates\n',
    ),
}


@pytest.mark.parametrize('command', ['add', 'remove'])
def test_the_name_of_an_aggregate_needs_nova(placement, service, command):
    result = placement(f'resource provider aggregate {command} {RP} {AGG} rack7')
    assert (result.status, service.requests) == (1, [])
    assert result.stderr == (
        "'rack7' is not the UUID of an aggregate; its name cannot be looked up: Nova cannot be "
        'asked: there is no service catalog (auth type none or placement_direct). The UUID of the '
        'aggregate: openstack --os-compute-api-version 2.41 aggregate show rack7 -c uuid\n'
    )


@pytest.fixture
def nova(monkeypatch):
    """Nova has two host aggregates."""
    listed = [
        {'uuid': AGG, 'name': 'ssd', 'hosts': []},
        {'uuid': AGG2.upper(), 'name': 'rack7', 'hosts': []},
    ]
    monkeypatch.setattr('placementclient.nova.service.aggregates', lambda client: listed)


@pytest.mark.usefixtures('nova')
def test_names_of_host_aggregates_stand_for_their_uuids(play):
    one = {'aggregates': [AGG2], 'resource_provider_generation': 7}
    both = {'aggregates': [AGG2, AGG], 'resource_provider_generation': 7}
    play(
        Case(
            f'resource provider aggregate add {RP} ssd -f value',
            [get(PATH, one), put(PATH, both, both)],
            f'{AGG}\n{AGG2}\n',
        )
    )


@pytest.mark.usefixtures('nova')
def test_set_takes_names_of_host_aggregates(play):
    both = {'aggregates': [AGG2, AGG], 'resource_provider_generation': 5}
    command = f'resource provider aggregate set {RP} --aggregate rack7 --aggregate {AGG}'
    put_both = put(PATH, both, both)
    play(Case(f'{command} --generation 5 -f value', [put_both], ROWS, version='1.39'))


@pytest.mark.usefixtures('nova')
def test_filters_take_names_of_host_aggregates(play):
    play(
        Case(
            'resource provider list --member-of ssd,rack7 --forbidden-member-of ssd -f value',
            [
                get(
                    f'/resource_providers?member_of=in:{AGG},{AGG2}&member_of=!{AGG}',
                    {'resource_providers': []},
                )
            ],
            '',
            'No resource provider matches\n',
        )
    )


@pytest.mark.usefixtures('nova')
def test_an_unknown_name_of_an_aggregate_has_a_suggestion(placement, service):
    result = placement(f'resource provider aggregate add {RP} rack8')
    assert (result.status, service.requests) == (1, [])
    assert result.stderr == 'Nova has no host aggregate \'rack8\'. Did you mean "rack7"?\n'


@pytest.mark.usefixtures('nova')
def test_the_names_of_aggregates_are_printed_where_they_are_asked_for(play):
    command = f'resource provider aggregate list {RP} -f value --long'
    play(Case(command, [get(PATH, {**PRESENT, 'aggregates': [AGG]})], f'{AGG} ssd\n'))


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_aggregate_commands_send_and_print(play, case):
    play(case)


@pytest.mark.usefixtures('nova')
def test_a_refusal_names_an_aggregate_as_it_was_typed(placement, service):
    service.answer(fault(400, f'No provider is in {AGG2}'))
    result = placement('resource provider list --member-of rack7')
    assert (result.status, f'No provider is in {AGG2} (rack7)' in result.stderr) == (1, True)
