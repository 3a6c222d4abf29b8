# SPDX-License-Identifier: Apache-2.0
"""Exceptions that answers become."""

import pytest

from placementclient.client import decoding, errors
from tests.unit.dialogue import fault


def answer(status, body=None, reason=None, **headers):
    return decoding.make_refusal_error(status, reason, body, headers)


@pytest.mark.parametrize(
    ('status', 'kind', 'elsewhere'),
    [
        (400, errors.BadRequest, errors.ForeignAnswer),
        (401, errors.Unauthorized, errors.Unauthorized),
        (403, errors.Forbidden, errors.ForeignAnswer),
        (404, errors.NotFound, errors.ForeignAnswer),
        (405, errors.HTTPError, errors.ForeignAnswer),
        (406, errors.NotAcceptable, errors.ForeignAnswer),
        (408, errors.Busy, errors.Busy),
        (409, errors.Conflict, errors.ForeignAnswer),
        (418, errors.HTTPError, errors.ForeignAnswer),
        (429, errors.Busy, errors.Busy),
        (500, errors.ServerError, errors.ServerError),
        (502, errors.ServerError, errors.ServerError),
        (599, errors.ServerError, errors.ServerError),
    ],
)
def test_an_error_has_the_type_of_its_status_if_placement_sent_it(status, kind, elsewhere):
    assert type(answer(status, fault(status, 'x').body)) is kind
    assert type(answer(status)) is elsewhere
    assert type(answer(status, {'message': 'x', 'code': status})) is elsewhere


@pytest.mark.parametrize(
    'sentence',
    [
        'Another thread concurrently updated the resource provider data. Please retry your update',
        "(pymysql.err.OperationalError) (1213, 'Deadlock found when trying to get lock')",
        '(psycopg2.errors.DeadlockDetected) deadlock detected',
        '(psycopg2.errors.SerializationFailure) could not serialize access',
    ],
)
def test_a_race_that_the_service_answers_with_500_is_a_conflict(sentence):
    assert type(answer(500, fault(500, sentence).body)) is errors.ConcurrentUpdate


@pytest.mark.parametrize(
    ('code', 'kind'),
    [
        ('placement.concurrent_update', errors.ConcurrentUpdate),
        ('placement.inventory.inuse', errors.InventoryInUse),
        ('placement.duplicate_name', errors.DuplicateName),
        ('placement.resource_provider.inuse', errors.ProviderInUse),
        ('placement.resource_provider.cannot_delete_parent', errors.CannotDeleteParent),
        ('placement.undefined_code', errors.Conflict),
        ('placement.of.a.later.release', errors.Conflict),
        (None, errors.Conflict),
        (['placement.concurrent_update'], errors.Conflict),
    ],
)
def test_conflicts_are_told_apart_by_their_code(code, kind):
    assert type(answer(409, {'errors': [{'detail': 'x', 'code': code}]})) is kind


def test_an_inventory_in_use_is_no_conflict_with_another_client():
    """Otherwise its deletion is tried for a minute."""
    start, code = 'Unable to delete inventory of class VGPU: ', 'placement.concurrent_update'
    used = f"{start}Inventory for 'VGPU' on resource provider 'x' in use."
    assert type(answer(409, fault(409, used, code).body)) is errors.InventoryInUse
    raced = f'{start}Another thread concurrently updated the data. Please retry your update'
    assert type(answer(409, fault(409, raced, code).body)) is errors.ConcurrentUpdate


def test_the_message_is_the_last_paragraph_with_code_and_request_id():
    error = answer(409, fault(409, 'Taken by somebody.', 'placement.duplicate_name').body)
    assert str(error) == 'Taken by somebody. (HTTP 409) [placement.duplicate_name, req-1]'
    assert (error.status, error.sentence) == (409, 'Taken by somebody.')
    assert (error.code, error.request_id) == ('placement.duplicate_name', 'req-1')


def test_an_undefined_code_is_not_printed():
    assert str(answer(404, fault(404, 'No such.').body)) == 'No such. (HTTP 404) [req-1]'


@pytest.mark.parametrize(
    ('detail', 'sentence'),
    [
        ('Alone', 'Alone'),
        ('Standard phrase.\n\n The news.  ', 'The news.'),
        (
            'Standard phrase.\n\n JSON does not validate: -1 is less than the minimum of 0\n\n'
            "Failed validating 'minimum' in schema['x']:\n    {'minimum': 0}\n\n"
            "On instance['inventories']['VCPU'][0]:\n    -1  ",
            'inventories.VCPU.0: -1 is less than the minimum of 0 (JSON does not validate)',
        ),
        ('Standard phrase.\n \t\n The\n   news\r\ncontinued.\n\n', 'The news continued.'),
        ('', 'Title'),
        (None, 'Title'),
    ],
)
def test_the_useful_paragraph_becomes_one_line(detail, sentence):
    body = {'errors': [{'title': 'Title', 'detail': detail}]}
    assert answer(400, body).sentence == sentence


def test_a_message_of_several_lines_becomes_one_line():
    body = {'errors': [{'detail': 'a\x85b', 'code': 'c\nd', 'request_id': 'e\u2028f'}]}
    assert str(answer(400, body, 'Bad\r\nRequest')) == 'a b (HTTP 400) [c d, e f]'
    assert str(answer(400, None, 'Bad\r\nRequest')).startswith('Bad Request: ')


def test_the_request_id_of_the_header_stands_in_for_that_of_the_body():
    error = answer(502, None, 'Bad Gateway', **{'x-openstack-request-id': 'req-2'})
    assert str(error) == ('Bad Gateway: the answer is not from Placement (HTTP 502) [req-2]')


@pytest.mark.parametrize(
    'body',
    [
        *(None, [], 'text', 5, {}),
        *({'errors': errors} for errors in (None, [], {}, 'no')),
        *({'errors': [fault]} for fault in (None, 'x', {}, {'detail': ''})),
    ],
    ids=str,
)
def test_an_error_without_a_text_has_the_reason_of_the_status(body):
    assert str(answer(409, body, 'Conflict')) == (
        'Conflict: the answer is not from Placement (HTTP 409)'
    )


def test_a_long_answer_becomes_a_short_message():
    refusal = decoding.make_refusal_error(400, None, fault(400, 'no ' + 'x' * 1_000_000).body, {})
    assert str(refusal).startswith('no xxx')
    assert len(str(refusal)) < 5000
