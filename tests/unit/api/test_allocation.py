# SPDX-License-Identifier: Apache-2.0
"""Allocations, in the form of every microversion."""

from typing import Any

import pytest
from msgspec.structs import replace

from placementclient.api import allocation
from placementclient.basis.errors import Differs
from placementclient.client.microversion import Microversion
from placementclient.model.consumers import Consumer
from placementclient.model.freshness import Read
from tests.unit.dialogue import (
    CONSUMER,
    MONDAY,
    NOTHING,
    RP,
    Reply,
    get,
    put,
    version_document,
)

PATH = f'/allocations/{CONSUMER}'
ALLOCATED = {RP: {'resources': {'VCPU': 2}}}
OWNED = Consumer(CONSUMER, {RP: {'VCPU': 2}}, 'p', 'u', 3, 'INSTANCE')

BODIES: dict[str, dict[str, Any]] = {
    '1.0': {'allocations': [{'resource_provider': {'uuid': RP}, 'resources': {'VCPU': 2}}]},
    '1.8': {
        'allocations': [{'resource_provider': {'uuid': RP}, 'resources': {'VCPU': 2}}],
        'project_id': 'p',
        'user_id': 'u',
    },
    '1.12': {'allocations': ALLOCATED, 'project_id': 'p', 'user_id': 'u'},
    '1.28': {'allocations': ALLOCATED, 'project_id': 'p', 'user_id': 'u', 'consumer_generation': 3},
    '1.37': {'allocations': ALLOCATED, 'project_id': 'p', 'user_id': 'u', 'consumer_generation': 3},
    '1.38': {
        'allocations': ALLOCATED,
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': 3,
        'consumer_type': 'INSTANCE',
    },
}


@pytest.mark.parametrize(('version', 'body'), BODIES.items())
def test_a_consumer_is_written_in_the_form_of_the_version(call, version, body):
    assert allocation.make_body(OWNED, Microversion.parse(version)) == body
    written = put(PATH, body, NOTHING)
    assert (
        call(
            lambda client: allocation.set(client, OWNED, replaces_owner=True),
            written,
            version=version,
        )
        is None
    )


@pytest.mark.parametrize('version', ['1.38', '1.39', '1'])
def test_a_consumer_without_a_type_is_written_at_1_37_which_keeps_it(call, version):
    untyped = replace(OWNED, type=None)
    written = put(PATH, BODIES['1.37'], NOTHING, version='1.37')
    exchange = [version_document('1.39')] if version == '1' else []
    call(
        lambda client: allocation.set(client, untyped, replaces_owner=True),
        *exchange,
        written,
        version=version,
    )


@pytest.mark.parametrize(('project', 'user'), [('other', 'u'), ('p', 'other')])
@pytest.mark.parametrize('version', ['1.12', '1.28', '1.38'])
def test_a_consumer_of_another_owner_is_refused_unless_that_is_said(call, version, project, user):
    allocations = {RP: {'resources': {'VCPU': 2}, 'generation': 7}}
    foreign, own = (
        get(PATH, {'allocations': allocations, 'project_id': project_id, 'user_id': user_id})
        for project_id, user_id in ((project, user), ('p', 'u'))
    )
    refusal = f'is of project {project} and user {user}, not of p and u: rep'
    with pytest.raises(Differs, match=refusal):
        call(lambda client: allocation.set(client, OWNED), foreign, version=version)
    written = put(PATH, BODIES[version], NOTHING)
    call(lambda client: allocation.set(client, OWNED), own, written, version=version)
    call(lambda c: allocation.set(c, OWNED, replaces_owner=True), written, version=version)


def test_a_new_consumer_has_no_generation(call):
    body = BODIES['1.38'] | {'consumer_generation': None}
    new = replace(OWNED, generation=None)
    call(lambda client: allocation.set(client, new), put(PATH, body, NOTHING), version='1.38')


def test_mappings_are_sent_where_there_are_some(call):
    mappings = {'_NET': [RP]}
    body = BODIES['1.38'] | {'mappings': mappings}
    written = put(PATH, body, NOTHING)
    call(
        lambda client: allocation.set(client, OWNED, mappings=mappings, replaces_owner=True),
        written,
    )


@pytest.mark.parametrize(
    ('fields', 'consumer'),
    [
        ({}, {}),
        ({'project_id': 'p', 'user_id': 'u'}, {'project_id': 'p', 'user_id': 'u'}),
        ({'consumer_generation': 0}, {'generation': 0}),
        ({'consumer_type': 'INSTANCE'}, {'type': 'INSTANCE'}),
        ({'consumer_type': 'unknown'}, {'type': None}),
    ],
)
def test_a_consumer_is_read_with_what_the_version_says(call, fields, consumer):
    body = {'allocations': {RP: {'resources': {'VCPU': 2}, 'generation': 7}}} | fields
    exchange = get(PATH, Reply(200, body, {'last-modified': MONDAY}))
    read = call(lambda client: allocation.show(client, CONSUMER), exchange)
    assert read == Read(Consumer(CONSUMER, {RP: {'VCPU': 2}}, **consumer), None, MONDAY, {RP: 7})
