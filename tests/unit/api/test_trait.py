"""Traits, and those of providers."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.api import trait
from placementclient.model.freshness import Read
from tests.unit.api.conftest import Call
from tests.unit.dialogue import MONDAY, NOTHING, RP, Reply, delete, get, put

TRAITS = f'/resource_providers/{RP}/traits'
HELD = {'traits': ['B', 'A'], 'resource_provider_generation': 7}


@pytest.mark.parametrize(
    ('filters', 'query'),
    [
        ({}, ''),
        ({'name': 'startswith:CUSTOM_'}, '?name=startswith:CUSTOM_'),
        ({'associated': True}, '?associated=true'),
        ({'associated': False}, '?associated=false'),
        ({'name': 'in:A,B', 'associated': True}, '?name=in:A,B&associated=true'),
    ],
)
def test_traits_are_filtered_by_the_service(call: Call, filters: Any, query: str) -> None:
    listed = get(f'/traits{query}', {'traits': ['B', 'A']})
    assert call(lambda client: trait.list(client, **filters), listed) == ['B', 'A']


def test_a_trait_is_read_with_its_date_though_the_answer_is_empty(call: Call) -> None:
    shown = get('/traits/A', Reply(204, headers={'last-modified': MONDAY}))
    assert call(lambda client: trait.show(client, 'A'), shown) == Read('A', None, MONDAY)


def test_a_trait_is_created_without_a_body_and_deleted(call: Call) -> None:
    assert call(lambda client: trait.create(client, 'A'), put('/traits/A', answer=NOTHING)) is None
    assert call(lambda client: trait.delete(client, 'A'), delete('/traits/A')) is None


def test_the_traits_of_a_provider_come_with_its_generation(call: Call) -> None:
    read = call(lambda client: trait.list_of_provider(client, RP), get(TRAITS, HELD))
    assert read == Read(['B', 'A'], 7)


def test_the_traits_of_a_provider_are_replaced_at_a_generation(call: Call) -> None:
    written = put(TRAITS, {'traits': ['B', 'A'], 'resource_provider_generation': 6}, HELD)
    read = call(lambda client: trait.set_on_provider(client, RP, iter(['B', 'A']), 6), written)
    assert read == Read(['B', 'A'], 7)


def test_the_traits_of_a_provider_are_deleted(call: Call) -> None:
    assert call(lambda client: trait.delete_from_provider(client, RP), delete(TRAITS)) is None
