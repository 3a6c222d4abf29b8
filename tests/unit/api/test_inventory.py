"""Inventories of a provider, all and one by one."""

from __future__ import annotations

from typing import Any

import pytest

from placementclient.api import inventory
from placementclient.client import errors
from placementclient.model.freshness import Read
from placementclient.model.inventories import Inventory
from tests.unit.api.conftest import Call
from tests.unit.dialogue import MONDAY, RP, Reply, conflict, delete, fault, get, post, put

ALL = f'/resource_providers/{RP}/inventories'
ONE = f'{ALL}/VGPU'
VGPU: dict[str, Any] = {
    'total': 8,
    'reserved': 1,
    'min_unit': 1,
    'max_unit': 4,
    'step_size': 2,
    'allocation_ratio': 1.0,
}
GENERATION = {'resource_provider_generation': 7}
READ = Inventory(8, 1, 1, 4, 2, 1.0)
DATED = {'last-modified': MONDAY}


def test_all_inventories_are_read_with_generation_and_date(call: Call) -> None:
    answer = Reply(200, {'inventories': {'VGPU': VGPU}} | GENERATION, DATED)
    read = call(lambda client: inventory.list(client, RP), get(ALL, answer))
    assert read == Read({'VGPU': READ}, 7, MONDAY)


def test_one_inventory_is_read_with_generation_and_date(call: Call) -> None:
    answer = Reply(200, VGPU | GENERATION, DATED)
    read = call(lambda client: inventory.show(client, RP, 'VGPU'), get(ONE, answer))
    assert read == Read(READ, 7, MONDAY)


def test_an_inventory_is_created_with_its_class_in_the_body(call: Call) -> None:
    body = {'resource_class': 'VGPU', 'total': 8, 'resource_provider_generation': 0}
    created = post(ALL, body, VGPU | GENERATION)
    read = call(lambda client: inventory.create(client, RP, 'VGPU', {'total': 8}, 0), created)
    assert read == Read(READ, 7)


def test_an_inventory_is_replaced_with_its_class_in_the_path(call: Call) -> None:
    written = put(ONE, {'total': 8, 'resource_provider_generation': 6}, VGPU | GENERATION)
    read = call(lambda client: inventory.set(client, RP, 'VGPU', {'total': 8}, 6), written)
    assert read == Read(READ, 7)


@pytest.mark.parametrize('inventories', [{}, {'VGPU': {'total': 8}}])
def test_all_inventories_are_replaced_and_defaults_are_the_services(
    call: Call, inventories: Any
) -> None:
    body = {'inventories': inventories, 'resource_provider_generation': 6}
    answer = {'inventories': dict.fromkeys(inventories, VGPU)} | GENERATION
    read = call(
        lambda client: inventory.set_all(client, RP, inventories, 6), put(ALL, body, answer)
    )
    assert read == Read(dict.fromkeys(inventories, READ), 7)


def test_one_or_all_are_deleted(call: Call) -> None:
    call(lambda client: inventory.delete(client, RP, 'VGPU'), delete(ONE))
    call(lambda client: inventory.delete_all(client, RP), delete(ALL), version='1.5')


def test_below_1_5_not_all_can_be_deleted_at_once(call: Call) -> None:
    with pytest.raises(errors.UnsupportedVersion, match=r'^DELETE .* at least version 1.5$'):
        call(lambda client: inventory.delete_all(client, RP), version='1.4')


@pytest.mark.parametrize(
    ('reply', 'kind'),
    [
        (conflict(), errors.ConcurrentUpdate),
        (fault(409, 'In use', 'placement.inventory.inuse'), errors.InventoryInUse),
        (fault(404, 'No such'), errors.NotFound),
    ],
)
def test_refusals_are_types_and_are_not_repeated(
    call: Call, reply: Reply, kind: type[errors.HTTPError]
) -> None:
    body = {'inventories': {}, 'resource_provider_generation': 6}
    with pytest.raises(kind):
        call(lambda client: inventory.set_all(client, RP, {}, 6), put(ALL, body, reply))


def test_an_empty_answer_is_none_of_the_service(call: Call) -> None:
    with pytest.raises(errors.InvalidAnswer, match='object missing required field'):
        call(lambda client: inventory.show(client, RP, 'VGPU'), get(ONE, {}))
