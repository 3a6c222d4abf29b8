"""Aggregates of a provider, before and after the generation guards them."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.api import aggregate
from placementclient.model.freshness import Read
from tests.unit.api.conftest import Call
from tests.unit.dialogue import AGG, AGG2, RP, get, put, version_document

PATH = f'/resource_providers/{RP}/aggregates'
HELD = {'aggregates': [AGG2, AGG]}


@pytest.mark.parametrize(
    ('version', 'answer', 'generation'),
    [('1.1', HELD, None), ('1.19', HELD | {'resource_provider_generation': 7}, 7)],
)
def test_aggregates_come_with_a_generation_where_there_is_one(
    call: Call, version: str, answer: Any, generation: int | None
) -> None:
    read = call(lambda client: aggregate.list(client, RP), get(PATH, answer), version=version)
    assert read == Read([AGG2, AGG], generation)


@pytest.mark.parametrize(
    ('version', 'body', 'generation'),
    [
        ('1.1', [AGG], None),
        ('1.18', [AGG], None),
        ('1.19', {'aggregates': [AGG], 'resource_provider_generation': 0}, 1),
        ('1.39', {'aggregates': [AGG], 'resource_provider_generation': 0}, 1),
    ],
)
def test_aggregates_are_replaced_in_the_form_of_the_version(
    call: Call, version: str, body: Any, generation: int | None
) -> None:
    known = {'resource_provider_generation': generation} if generation else {}
    written = put(PATH, body, {'aggregates': [AGG], **known})
    read = call(lambda client: aggregate.set(client, RP, iter([AGG]), 0), written, version=version)
    assert read == Read([AGG], generation)


def test_the_form_is_chosen_only_when_the_version_is_known(call: Call) -> None:
    call(
        lambda client: aggregate.set(client, RP, [AGG], 0),
        version_document('1.18'),
        put(PATH, [AGG], HELD, version='1.18'),
        version='1',
    )
