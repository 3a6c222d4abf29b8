# SPDX-License-Identifier: Apache-2.0
"""Resource providers: ``/resource_providers`` and ``/resource_providers/{uuid}``."""

import builtins
import contextlib
from collections.abc import Iterable

import msgspec

from placementclient.api import query
from placementclient.basis.errors import NoSuchProvider
from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.model.freshness import Read
from placementclient.model.providers import (
    Provider,
    is_hyphenated_uuid,
    is_uuid,
    normalize_uuid,
)
from placementclient.model.requests import Filter

#: The most providers that are read one by one; for more, all are listed.
FEW = 16


class _ProvidersAnswer(msgspec.Struct):
    resource_providers: builtins.list[Provider]


def list(
    client: Client,
    *,
    name: str | None = None,
    uuid: str | None = None,
    matching: Filter = Filter(),  # noqa: B008 (frozen)
) -> builtins.list[Provider]:
    """Return the providers that meet all conditions.

    :param name: an exact name
    :param matching: ``resources`` from 1.4, ``member_of`` from 1.3, ``in_tree`` from 1.14,
        ``required`` from 1.18, ``forbidden`` from 1.22, ``forbidden_member_of`` from 1.32
    :param uuid: of the only provider to return
    """
    parameters = {'name': name, 'uuid': uuid, **query.make_filter_parameters(matching)}
    body: _ProvidersAnswer = client.send(
        endpoints.LIST_PROVIDERS, answer=_ProvidersAnswer, query=parameters
    ).body
    return body.resource_providers


def find_by_name(client: Client, name: str) -> Provider | None:
    """Return the provider with a name, or ``None``."""
    # The service takes an empty name for none, and lists all providers.
    for provider in list(client, name=name):
        if provider.name == name:
            client.names[provider.uuid] = name
            return provider
    return None


def show_by_name(client: Client, name: str) -> Provider:
    """Return the provider with a name, or raise :class:`NoSuchProvider`."""
    if (provider := find_by_name(client, name)) is None:
        raise NoSuchProvider(f'No resource provider has the name {name!r}', name)
    return provider


def find(client: Client, name_or_uuid: str) -> str:
    """Return the UUID of a provider, given by its name or UUID; a UUID need not exist.

    A UUID without hyphens costs a request: if a provider has it as its name, that one is meant.

    :raises NoSuchProvider: if no provider has the name
    """
    if is_hyphenated_uuid(name_or_uuid):
        return normalize_uuid(name_or_uuid)
    if is_uuid(name_or_uuid):
        named = find_by_name(client, name_or_uuid)
        return named.uuid if named else normalize_uuid(name_or_uuid)
    return show_by_name(client, name_or_uuid).uuid


def read_some(client: Client, provider_uuids: Iterable[str]) -> dict[str, Provider]:
    """Return providers by UUID; those that do not exist are missing.

    A few providers take one request each; more of them take the list of all providers.
    """
    uuids = builtins.set(provider_uuids)
    if len(uuids) > FEW:
        return {provider.uuid: provider for provider in list(client) if provider.uuid in uuids}
    providers = {}
    for uuid in sorted(uuids):
        with contextlib.suppress(errors.NotFound):
            providers[uuid] = show(client, uuid).value
    return providers


def read_names(client: Client, provider_uuids: Iterable[str]) -> dict[str, str]:
    """Return the names of providers by UUID; those that do not exist are missing."""
    return {uuid: provider.name for uuid, provider in read_some(client, provider_uuids).items()}


def create(
    client: Client, name: str, *, uuid: str | None = None, parent_provider_uuid: str | None = None
) -> Provider:
    """Create a provider.

    :param uuid: chosen by the service if it is not given
    :param parent_provider_uuid: from 1.14
    :raises errors.DuplicateName: if a provider has the name
    """
    body = _omit_none(name=name, uuid=uuid, parent_provider_uuid=parent_provider_uuid)
    answer = client.send(endpoints.CREATE_PROVIDER, answer=Provider | None, body=body)
    made: Provider | None = answer.body
    if made:
        return made
    # Below 1.20 the answer has only the location of the provider.
    if 'location' not in answer.headers:
        raise errors.InvalidAnswer('The answer does not say where the provider is')
    return show(client, answer.headers['location'].rpartition('/')[2]).value


def show(client: Client, provider_uuid: str) -> Read[Provider]:
    """Return the provider with a UUID."""
    answer = client.send(endpoints.SHOW_PROVIDER, provider=provider_uuid, answer=Provider)
    return Read(answer.body, answer.body.generation, answer.last_modified)


def read_generation(client: Client, provider_uuid: str) -> int:
    return show(client, provider_uuid).value.generation


def set(
    client: Client,
    provider_uuid: str,
    name: str,
    *,
    parent_provider_uuid: str | None = None,
    orphan: bool = False,
) -> Provider:
    """Rename a provider, or move it below another parent.

    :param name: the new name; the present one, to keep it
    :param parent_provider_uuid: from 1.14 for a root, from 1.37 for any; ``None`` leaves it
    :param orphan: make it a root; from 1.37
    """
    body: dict[str, str | None] = {
        **_omit_none(name=name, parent_provider_uuid=parent_provider_uuid)
    }
    if orphan:
        body['parent_provider_uuid'] = None
    provider: Provider = client.send(
        endpoints.SET_PROVIDER, provider=provider_uuid, answer=Provider, body=body
    ).body
    return provider


def delete(client: Client, provider_uuid: str) -> None:
    """Delete a provider with its inventory.

    :raises errors.ProviderInUse: if it has allocations
    :raises errors.CannotDeleteParent: if it has children
    """
    client.send(endpoints.DELETE_PROVIDER, provider=provider_uuid)


def _omit_none(**fields: str | None) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}
