"""Inventories: ``/resource_providers/{uuid}/inventories`` and ``…/inventories/{class}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import FIELDS, Inventory

Inventories = Mapping[str, Inventory]


def list(client: Client, provider_uuid: str) -> Read[Inventories]:
    """All inventories of a provider, by resource class."""
    answer = client.send(endpoints.LIST_INVENTORIES, {'provider': provider_uuid})
    return _inventories(answer.body, answer.last_modified)


def create(
    client: Client,
    provider_uuid: str,
    resource_class: str,
    fields: Mapping[str, Any],
    generation: int,
) -> Read[Inventory]:
    """Add the inventory of one class that the provider does not have yet.

    :param fields: those of :class:`Inventory` without their default
    :param generation: the provider's
    :raises errors.ConcurrentUpdate: if the generation has moved
    :raises errors.Conflict: if the provider has inventory of the class
    """
    body = {
        'resource_class': resource_class,
        'resource_provider_generation': generation,
        **fields,
    }
    answer = client.send(endpoints.CREATE_INVENTORY, {'provider': provider_uuid}, body=body)
    return _inventory(answer.body, answer.last_modified)


def set_all(
    client: Client,
    provider_uuid: str,
    inventories: Mapping[str, Mapping[str, Any]],
    generation: int,
) -> Read[Inventories]:
    """Replace all inventories of a provider.

    :param inventories: the fields by class; a field left out falls back to its default
    :param generation: the provider's
    :raises errors.ConcurrentUpdate: if the generation has moved
    :raises errors.InventoryInUse: if a class is left out that consumers hold
    """
    body = {
        'resource_provider_generation': generation,
        'inventories': {name: dict(fields) for name, fields in inventories.items()},
    }
    answer = client.send(endpoints.SET_INVENTORIES, {'provider': provider_uuid}, body=body)
    return _inventories(answer.body, answer.last_modified)


def delete_all(client: Client, provider_uuid: str) -> None:
    """Delete all inventories of a provider; from 1.5.

    :raises errors.InventoryInUse: if consumers hold something of them
    """
    client.send(endpoints.DELETE_INVENTORIES, {'provider': provider_uuid})


def show(client: Client, provider_uuid: str, resource_class: str) -> Read[Inventory]:
    """The inventory of one class.

    :raises errors.NotFound: if the provider has none of it
    """
    parts = {'provider': provider_uuid, 'resource_class': resource_class}
    answer = client.send(endpoints.SHOW_INVENTORY, parts)
    return _inventory(answer.body, answer.last_modified)


def set(
    client: Client,
    provider_uuid: str,
    resource_class: str,
    fields: Mapping[str, Any],
    generation: int,
) -> Read[Inventory]:
    """Replace the inventory of one class; the parameters are those of :func:`create`."""
    parts = {'provider': provider_uuid, 'resource_class': resource_class}
    body = {'resource_provider_generation': generation, **fields}
    answer = client.send(endpoints.SET_INVENTORY, parts, body=body)
    return _inventory(answer.body, answer.last_modified)


def delete(client: Client, provider_uuid: str, resource_class: str) -> None:
    """Delete the inventory of one class.

    :raises errors.InventoryInUse: if consumers hold something of it
    """
    parts = {'provider': provider_uuid, 'resource_class': resource_class}
    client.send(endpoints.DELETE_INVENTORY, parts)


def _inventories(body: Mapping[str, Any], last_modified: str | None) -> Read[Inventories]:
    inventories = {name: _read(record) for name, record in body['inventories'].items()}
    return Read(inventories, body['resource_provider_generation'], last_modified)


def _inventory(body: Mapping[str, Any], last_modified: str | None) -> Read[Inventory]:
    return Read(_read(body), body['resource_provider_generation'], last_modified)


def _read(record: Mapping[str, Any]) -> Inventory:
    """An inventory of an answer; what is beside its fields, as its generation, is passed over."""
    # An answer without a total is none of the service.
    given = {name: record[name] for name in FIELDS if name in record}
    return Inventory(**{'total': record['total'], **given})
