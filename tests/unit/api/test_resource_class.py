"""Resource classes."""

from __future__ import annotations

import pytest

from placementclient.api import resource_class
from placementclient.client import errors
from placementclient.model.freshness import Read
from tests.unit.api.conftest import Call
from tests.unit.dialogue import MONDAY, NOTHING, Reply, delete, fault, get, post, put

NAME = 'CUSTOM_FPGA'


def test_classes_are_listed_in_the_order_of_the_service(call: Call) -> None:
    listed = {'resource_classes': [{'name': 'VCPU', 'links': []}, {'name': NAME, 'links': []}]}
    assert call(resource_class.list, get('/resource_classes', listed)) == ['VCPU', NAME]


def test_a_class_is_created_by_post(call: Call) -> None:
    created = post('/resource_classes', {'name': NAME}, NOTHING)
    assert call(lambda client: resource_class.create(client, NAME), created) is None


def test_a_class_is_read_with_its_date(call: Call) -> None:
    shown = Reply(200, {'name': NAME, 'links': []}, {'last-modified': MONDAY})
    read = call(
        lambda client: resource_class.show(client, NAME), get(f'/resource_classes/{NAME}', shown)
    )
    assert read == Read(NAME, None, MONDAY)


def test_ensuring_sends_no_body(call: Call) -> None:
    ensured = put(f'/resource_classes/{NAME}', answer=NOTHING)
    assert call(lambda client: resource_class.ensure(client, NAME), ensured) is None


def test_renaming_sends_the_new_name(call: Call) -> None:
    renamed = put(f'/resource_classes/{NAME}', {'name': 'CUSTOM_NEW'}, version='1.6')
    call(lambda client: resource_class.rename(client, NAME, 'CUSTOM_NEW'), renamed, version='1.6')


def test_a_class_is_deleted(call: Call) -> None:
    call(lambda client: resource_class.delete(client, NAME), delete(f'/resource_classes/{NAME}'))


def test_a_class_in_use_is_a_conflict(call: Call) -> None:
    refused = delete(f'/resource_classes/{NAME}', fault(409, 'In use'))
    with pytest.raises(errors.Conflict, match='In use'):
        call(lambda client: resource_class.delete(client, NAME), refused)
