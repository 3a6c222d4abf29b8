"""Aggregates of a provider: ``/resource_providers/{uuid}/aggregates``, from 1.1."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from placementclient.client import endpoints
from placementclient.client.decoding import Answer
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion
from placementclient.model.freshness import Read

#: From here on aggregates are guarded by the provider's generation.
GUARDED = Microversion(1, 19)


def list(client: Client, provider_uuid: str) -> Read[builtins.list[str]]:
    """The UUIDs of the aggregates that a provider is in; with its generation from 1.19."""
    return _aggregates(client, client.send(endpoints.LIST_AGGREGATES, {'provider': provider_uuid}))


def set(
    client: Client, provider_uuid: str, aggregates: Iterable[str], generation: int | None
) -> Read[builtins.list[str]]:
    """Put a provider into these aggregates and no others.

    :param generation: the provider's; needed from 1.19, not sent below
    :raises errors.ConcurrentUpdate: if the generation has moved
    """
    body: object = builtins.list(aggregates)
    if client.microversion >= GUARDED:
        body = {'aggregates': body, 'resource_provider_generation': generation}
    return _aggregates(
        client, client.send(endpoints.SET_AGGREGATES, {'provider': provider_uuid}, body=body)
    )


def _aggregates(client: Client, answer: Answer) -> Read[builtins.list[str]]:
    is_guarded = client.microversion >= GUARDED
    generation = answer.body['resource_provider_generation'] if is_guarded else None
    return Read(answer.body['aggregates'], generation, answer.last_modified)
