"""Usages of providers and projects."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.api import usage
from placementclient.client.microversion import Microversion
from placementclient.model.consumers import Usage
from placementclient.model.freshness import Read
from tests.unit.api.conftest import Call
from tests.unit.dialogue import MONDAY, RP, Reply, get, unacceptable, version_document

FLAT = {'usages': {'VCPU': 3, 'DISK_GB': 10}}
BY_TYPE = {
    'usages': {'INSTANCE': {'consumer_count': 2, 'VCPU': 3}, 'unknown': {'consumer_count': 0}}
}


def test_the_usages_of_a_provider_come_with_its_generation_and_date(call: Call) -> None:
    body = FLAT | {'resource_provider_generation': 7}
    asked = get(f'/resource_providers/{RP}/usages', Reply(200, body, {'last-modified': MONDAY}))
    read = call(lambda client: usage.of_provider(client, RP), asked)
    assert read == Read({'VCPU': 3, 'DISK_GB': 10}, 7, MONDAY)


@pytest.mark.parametrize('version', ['1.9', '1.37'])
def test_below_1_38_a_project_has_one_usage(call: Call, version: str) -> None:
    asked = get('/usages?project_id=p', FLAT)
    read = call(lambda client: usage.of_project(client, 'p'), asked, version=version)
    assert read.value == [Usage({'VCPU': 3, 'DISK_GB': 10})]


@pytest.mark.parametrize(
    ('filters', 'query'),
    [
        ({}, ''),
        ({'user_id': 'u'}, '&user_id=u'),
        ({'user_id': 'u', 'consumer_type': 'all'}, '&user_id=u&consumer_type=all'),
    ],
)
def test_from_1_38_it_has_one_for_each_type(call: Call, filters: Any, query: str) -> None:
    asked = get(f'/usages?project_id=p{query}', BY_TYPE)
    read = call(lambda client: usage.of_project(client, 'p', **filters), asked)
    assert read.value == [Usage({'VCPU': 3}, 'INSTANCE', 2), Usage({}, 'unknown', 0)]


def test_the_form_is_that_of_the_version_of_the_request(call: Call) -> None:
    version = Microversion(1, 37)
    asked = get('/usages?project_id=p', FLAT, version='1.37')
    read = call(lambda client: usage.of_project(client, 'p', version=version), asked)
    assert read.value == [Usage(FLAT['usages'])]


def test_an_older_service_is_asked_at_its_highest(call: Call) -> None:
    first = unacceptable(get('/usages?project_id=p', version='1.37'))
    again = get('/usages?project_id=p', FLAT, version='1.36')
    read = call(
        lambda client: usage.of_project(client, 'p', version=Microversion(1, 37)),
        first,
        version_document('1.36'),
        again,
        version='1',
    )
    assert read.value == [Usage(FLAT['usages'])]
