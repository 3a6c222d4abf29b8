# SPDX-License-Identifier: Apache-2.0
"""What becomes of a response."""

import pytest

from placementclient.api import (
    allocation_candidate,
    trait,
)
from placementclient.client import endpoints, errors
from placementclient.model.inventories import LARGEST_RATIO, Inventory
from placementclient.model.requests import CandidateRequest
from tests.unit.dialogue import CONSUMER, MONDAY, RP, Reply, provider

PREFIX = 'was answered with HTTP 200: '


def test_an_answer_has_the_body_and_the_headers(client, service):
    service.answer(Reply(201, {'name': 'x'}, {'Last-Modified': MONDAY}))
    answer = client.send(endpoints.SHOW_CLASS, resource_class='x', answer=dict)
    assert (answer.body, answer.last_modified) == ({'name': 'x'}, MONDAY)


@pytest.mark.parametrize(
    ('body', 'fault'),
    [
        ('<html>', 'no JSON'),
        ('[]', 'expected object, got array'),
        (b'\xff\xfe\xfa', 'no JSON'),
        ('[' * 100_000, 'expected object, got array'),
        ('{"a":' * 100_000, 'nested too deeply'),
        ('{"traits": [], "traits": []}', "the key 'traits' appears twice"),
        ('{"traits": [], "x": [{"a": 1, "b": 2, "a": 1}]}', "the key 'a' appears twice"),
        (f'{{"traits": [], "x": {"1" * 5000}}}', 'an integer has too many digits'),
    ],
    ids=range(8),
)
def test_a_success_without_valid_json_has_an_unknown_outcome(client, service, body, fault):
    service.answer(Reply(200, body))
    with pytest.raises(errors.InvalidAnswer) as refusal:
        trait.list(client)
    assert str(refusal.value) == (
        f'GET /traits was answered with HTTP 200: {fault}: '
        'the service that answers is not Placement'
    )


@pytest.mark.parametrize('status', [300, 302, 304])
def test_a_redirect_without_a_location_has_an_unknown_outcome(client, service, status):
    service.answer(Reply(status))
    with pytest.raises(errors.InvalidAnswer, match=f'^DELETE /traits/CUSTOM_X .* HTTP {status}:'):
        client.send(endpoints.DELETE_TRAIT, trait='CUSTOM_X')
    assert [request.line for request in service.requests] == ['DELETE /traits/CUSTOM_X']


@pytest.mark.parametrize('status', [201, 204])
def test_an_empty_success_that_is_not_placements_has_an_unknown_outcome(client, service, status):
    service.answer(Reply(status, is_signed=False))
    with pytest.raises(errors.Unreachable, match='and nothing else') as refusal:
        client.send(endpoints.CREATE_TRAIT, trait='CUSTOM_X')
    assert refusal.value.may_be_done


@pytest.mark.parametrize(
    ('command', 'body', 'place'),
    [
        ('resource provider list', {'resource_providers': [7]}, 'resource_providers[0]'),
        (
            f'resource provider allocation show {CONSUMER}',
            {'allocations': {RP: {'resources': []}}},
            'allocations[...].resources',
        ),
        (
            f'resource provider inventory show {RP} VCPU',
            {'allocation_ratio': {}, 'resource_provider_generation': 1},
            'allocation_ratio',
        ),
        (f'resource provider show {RP}', provider() | {'generation': 2**63}, 'generation'),
        (f'resource provider inventory show {RP} VCPU', {'total': 10**400}, 'total'),
        (
            f'resource provider inventory show {RP} VCPU',
            {'allocation_ratio': 1e39},
            'allocation_ratio',
        ),
        (f'resource provider usage show {RP}', {'usages': {'VCPU': 2**63}}, 'usages[...]'),
    ],
)
def test_a_wrong_type_or_number_in_an_answer_is_an_error_with_its_path(
    placement, service, command, body, place
):
    service.answer(Reply(200, body))
    result = placement(command)
    assert (result.status, result.stdout, result.stderr.count('\n')) == (1, '', 1)
    assert f'{PREFIX}{place}: expected ' in result.stderr


def test_the_capacity_of_the_largest_inventory_is_an_integer(client, service):
    largest = Inventory(2**31 - 1, allocation_ratio=LARGEST_RATIO).capacity
    summary = {'resources': {'VCPU': {'used': 2**40, 'capacity': largest}}}
    service.answer(Reply(200, {'allocation_requests': [], 'provider_summaries': {RP: summary}}))
    _, summaries = allocation_candidate.list(client, CandidateRequest())
    assert summaries[RP].resources == {'VCPU': (2**40, largest)}


def test_aggregates_without_a_generation_are_refused(placement, service):
    service.answer(Reply(200, {'aggregates': []}))
    result = placement(f'resource provider aggregate add {RP} {CONSUMER}')
    assert (result.status, 'has no generation' in result.stderr) == (1, True)
    assert [request.line for request in service.requests] == [
        f'GET /resource_providers/{RP}/aggregates'
    ]


@pytest.mark.parametrize(
    ('version', 'usages'),
    [('1.37', {'INSTANCE': {'VCPU': 1}}), ('1.38', {'VCPU': 1}), ('1.38', {'A': {}, 'VCPU': 1})],
)
def test_usages_of_another_microversion_are_refused(placement, service, version, usages):
    service.answer(Reply(200, {'usages': usages}))
    result = placement('resource usage show x', version=version)
    assert (result.status, 'of another microversion' in result.stderr) == (1, True)
