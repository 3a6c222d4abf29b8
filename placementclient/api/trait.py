# SPDX-License-Identifier: Apache-2.0
"""Traits, and those of providers: ``/traits``, ``/resource_providers/{uuid}/traits``; from 1.6."""

import builtins
from collections.abc import Iterable

import msgspec

from placementclient.api.reads import make_read
from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.model.freshness import Read


class _TraitsAnswer(msgspec.Struct):
    traits: builtins.list[str]


class _ProviderTraitsAnswer(_TraitsAnswer):
    resource_provider_generation: Integer


def list(
    client: Client, *, name: str | None = None, associated: bool | None = None
) -> builtins.list[str]:
    """Return the names of all traits.

    :param name: ``startswith:PREFIX`` or ``in:NAME,NAME``
    :param associated: True: only those that some provider has; False: only those that none has
    """
    flag = None if associated is None else str(associated).lower()
    query = {'name': name, 'associated': flag}
    body: _TraitsAnswer = client.send(endpoints.LIST_TRAITS, answer=_TraitsAnswer, query=query).body
    return body.traits


def show(client: Client, name: str) -> Read[str]:
    """Return the name of a trait that exists.

    :raises errors.NotFound: if it does not exist
    """
    answer = client.send(endpoints.SHOW_TRAIT, trait=name)
    return Read(name, last_modified=answer.last_modified)


def create(client: Client, name: str) -> None:
    """Create a custom trait unless it exists."""
    client.send(endpoints.CREATE_TRAIT, trait=name)


def delete(client: Client, name: str) -> None:
    """Delete a custom trait, unless a provider has it (:class:`errors.Conflict`)."""
    client.send(endpoints.DELETE_TRAIT, trait=name)


def list_of_provider(client: Client, provider_uuid: str) -> Read[builtins.list[str]]:
    """Return the traits of a provider."""
    answer = client.send(
        endpoints.LIST_PROVIDER_TRAITS, provider=provider_uuid, answer=_ProviderTraitsAnswer
    )
    return make_read(answer, answer.body.traits)


def set_on_provider(
    client: Client, provider_uuid: str, traits: Iterable[str], generation: int
) -> Read[builtins.list[str]]:
    """Replace the traits of a provider."""
    body = {'traits': builtins.list(traits), 'resource_provider_generation': generation}
    answer = client.send(
        endpoints.SET_PROVIDER_TRAITS,
        provider=provider_uuid,
        answer=_ProviderTraitsAnswer,
        body=body,
    )
    return make_read(answer, answer.body.traits)


def delete_from_provider(client: Client, provider_uuid: str) -> None:
    """Remove all traits of a provider, whatever its generation."""
    client.send(endpoints.DELETE_PROVIDER_TRAITS, provider=provider_uuid)
