"""Answers of which something is of another type: nothing of them goes any further."""

from __future__ import annotations

import json
from typing import Any

import pytest

from placementclient.client import answers, endpoints
from placementclient.model.inventories import LARGEST_RATIO, Inventory
from tests.unit.conftest import Placement, Service
from tests.unit.dialogue import CONSUMER, RP, Reply, provider

LISTED = {'resource_providers': [provider()]}
PREFIX = 'was answered with something else: '


@pytest.mark.parametrize(
    ('command', 'body', 'place'),
    [
        ('resource provider list', {'resource_providers': None}, 'resource_providers'),
        ('resource provider list', {'resource_providers': [7]}, 'resource_providers[0]'),
        (f'resource provider show {RP}', provider() | {'name': ['x']}, 'name'),
        (f'resource provider show {RP}', provider() | {'generation': '7'}, 'generation'),
        (f'resource provider usage show {RP}', {'usages': {'VCPU': None}}, 'usages[...]'),
        (f'resource provider trait list {RP}', {'traits': 'ab'}, 'traits'),
        (
            f'resource provider trait list {RP}',
            {'traits': [], 'resource_provider_generation': None},
            'resource_provider_generation',
        ),
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
        ('resource class list', {'resource_classes': {'name': 'x'}}, 'resource_classes'),
    ],
)
def test_another_type_is_told_with_its_place(
    placement: Placement, service: Service, command: str, body: Any, place: str
) -> None:
    service.answer(Reply(200, body))
    said = placement(command)
    assert (said.status, said.stdout, said.stderr.count('\n')) == (1, '', 1)
    assert PREFIX in said.stderr
    assert f'at `$.{place}`' in said.stderr


@pytest.mark.parametrize(
    'body',
    [
        '{"allocation_ratio": NaN, "total": 1, "resource_provider_generation": 1}',
        '{"allocation_ratio": 1e39, "total": 1, "resource_provider_generation": 1}',
        '{"allocation_ratio": 1e999, "total": 1, "resource_provider_generation": 1}',
        json.dumps({'total': 1, 'resource_provider_generation': 1, 'x': '\udcff'}),
    ],
)
def test_what_json_should_not_say_is_refused(
    placement: Placement, service: Service, body: str
) -> None:
    service.answer(Reply(200, body))
    said = placement(f'resource provider inventory show {RP} VCPU')
    assert (said.status, said.stdout, said.stderr.count('\n')) == (1, '', 1)


@pytest.mark.parametrize('number', [2**63, -(2**63) - 1, 10**400], ids=['over', 'under', 'long'])
@pytest.mark.parametrize(
    ('command', 'body', 'place'),
    [
        (f'resource provider show {RP}', 'generation', 'generation'),
        (f'resource provider inventory show {RP} VCPU', 'total', 'total'),
        (f'resource provider inventory show {RP} VCPU', 'max_unit', 'max_unit'),
        (f'resource provider usage show {RP}', 'usages', 'usages[...]'),
    ],
)
def test_integers_are_bounded(
    placement: Placement, service: Service, command: str, body: str, place: str, number: int
) -> None:
    wrong = {'usages': {'VCPU': number}} if body == 'usages' else provider() | {body: number}
    service.always(wrong)
    said = placement(command)
    assert (said.status, said.stdout, said.stderr.count('\n')) == (1, '', 1)
    assert f'{PREFIX}an integer from ' in said.stderr
    assert f'is missing at `$.{place}`' in said.stderr


def test_the_capacity_of_the_largest_inventory_is_an_integer() -> None:
    largest = Inventory(2**31 - 1, allocation_ratio=LARGEST_RATIO).capacity
    summary = {'resources': {'VCPU': {'used': 2**40, 'capacity': largest}}}
    answers.check(
        endpoints.LIST_CANDIDATES, {'allocation_requests': [], 'provider_summaries': {RP: summary}}
    )


def test_the_largest_ratio_that_is_stored_is_one(placement: Placement, service: Service) -> None:
    item = Inventory(1, allocation_ratio=3.40282e38).as_fields()
    usages = {'usages': {'VCPU': 0}, 'resource_provider_generation': 1}
    service.always(item | usages)
    said = placement(f'resource provider inventory show {RP} VCPU -f json')
    assert json.loads(said.stdout)['allocation_ratio'] == 3.40282e38


def test_aggregates_without_a_generation_are_refused(
    placement: Placement, service: Service
) -> None:
    service.answer(Reply(200, {'aggregates': []}))
    said = placement(f'resource provider aggregate add {RP} {CONSUMER}')
    assert said.status == 1
    assert "The answer has no 'resource_provider_generation'" in said.stderr
    assert [request.line for request in service.requests] == [
        f'GET /resource_providers/{RP}/aggregates'
    ]


def test_whatever_has_a_body_has_a_type() -> None:
    # A class is made, and a trait made or shown, without one; the rest is answered with 204.
    without = {endpoints.CREATE_CLASS, endpoints.CREATE_TRAIT, endpoints.SHOW_TRAIT}
    assert answers.SHAPES.keys() | without == {each for each in endpoints.ALL if not each.silent}


def test_the_largest_ratio_is_the_same_everywhere() -> None:
    # Each start would take longer if one came from the other: that one needs msgspec.
    assert answers._LARGEST == LARGEST_RATIO
