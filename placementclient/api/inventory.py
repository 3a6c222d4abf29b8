# SPDX-License-Identifier: Apache-2.0
"""Inventories: ``/resource_providers/{uuid}/inventories`` and ``…/inventories/{class}``."""

from collections.abc import Mapping

import msgspec

from placementclient.api.reads import make_read
from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints
from placementclient.client.endpoints import Endpoint
from placementclient.client.http import Client
from placementclient.model.freshness import Read
from placementclient.model.inventories import Inventories, Inventory


class _InventoriesAnswer(msgspec.Struct):
    inventories: dict[str, Inventory]
    resource_provider_generation: Integer


class _InventoryAnswer(Inventory, frozen=True, kw_only=True):
    resource_provider_generation: Integer


def list(client: Client, provider_uuid: str) -> Read[Inventories]:
    """Return all inventories of a provider, by resource class."""
    answer = client.send(
        endpoints.LIST_INVENTORIES, provider=provider_uuid, answer=_InventoriesAnswer
    )
    return make_read(answer, answer.body.inventories)


def create(
    client: Client,
    provider_uuid: str,
    resource_class: str,
    fields: Mapping[str, object],
    generation: int,
) -> Read[Inventory]:
    """Add the inventory of one class that the provider does not have yet.

    :param fields: the values of fields of :class:`Inventory` by name; others get their default
    :raises errors.Conflict: if the provider has inventory of the class
    """
    body = {'resource_class': resource_class, 'resource_provider_generation': generation, **fields}
    return _request_inventory(
        client, endpoints.CREATE_INVENTORY, provider_uuid, resource_class, body
    )


def set_all(
    client: Client,
    provider_uuid: str,
    inventories: Mapping[str, Mapping[str, object]],
    generation: int,
) -> Read[Inventories]:
    """Replace all inventories of a provider.

    :param inventories: the fields by class; a field left out falls back to its default
    :raises errors.InventoryInUse: if a class is left out that consumers hold
    """
    body = {
        'resource_provider_generation': generation,
        'inventories': {name: dict(fields) for name, fields in inventories.items()},
    }
    answer = client.send(
        endpoints.SET_INVENTORIES, provider=provider_uuid, answer=_InventoriesAnswer, body=body
    )
    return make_read(answer, answer.body.inventories)


def delete_all(client: Client, provider_uuid: str) -> None:
    """Delete all inventories, unless one is in use (:class:`errors.InventoryInUse`); from 1.5."""
    client.send(endpoints.DELETE_INVENTORIES, provider=provider_uuid)


def show(client: Client, provider_uuid: str, resource_class: str) -> Read[Inventory]:
    """Return the inventory of one class."""
    return _request_inventory(client, endpoints.SHOW_INVENTORY, provider_uuid, resource_class)


def set(
    client: Client,
    provider_uuid: str,
    resource_class: str,
    fields: Mapping[str, object],
    generation: int,
) -> Read[Inventory]:
    """Replace the inventory of one class; the parameters are those of :func:`create`."""
    body = {'resource_provider_generation': generation, **fields}
    return _request_inventory(client, endpoints.SET_INVENTORY, provider_uuid, resource_class, body)


def delete(client: Client, provider_uuid: str, resource_class: str) -> None:
    """Delete the inventory of one class, unless it is in use (:class:`errors.InventoryInUse`)."""
    client.send(endpoints.DELETE_INVENTORY, provider=provider_uuid, resource_class=resource_class)


def _request_inventory(
    client: Client,
    endpoint: Endpoint,
    provider: str,
    resource_class: str,
    body: Mapping[str, object] | None = None,
) -> Read[Inventory]:
    """Send a request about the inventory of one class; return the inventory in its answer."""
    # An endpoint without the class in its path leaves it out.
    answer = client.send(
        endpoint,
        provider=provider,
        resource_class=resource_class,
        answer=_InventoryAnswer,
        body=body,
    )
    fields = msgspec.structs.asdict(answer.body)
    del fields['resource_provider_generation']
    return make_read(answer, Inventory(**fields))
