# SPDX-License-Identifier: Apache-2.0
"""Aggregates of a provider: ``/resource_providers/{uuid}/aggregates``, from 1.1."""

import builtins
from collections.abc import Iterable

import msgspec

from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints, errors
from placementclient.client.decoding import Answer
from placementclient.client.http import Client
from placementclient.client.microversion import Microversion
from placementclient.model.freshness import Read

#: From here on aggregates are guarded by the provider's generation.
GUARDED = Microversion(1, 19)


class _AggregatesAnswer(msgspec.Struct):
    aggregates: builtins.list[str]
    resource_provider_generation: Integer | None = None


def list(client: Client, provider_uuid: str) -> Read[builtins.list[str]]:
    """Return the UUIDs of the aggregates of a provider, and from 1.19 its generation."""
    answer = client.send(
        endpoints.LIST_AGGREGATES, provider=provider_uuid, answer=_AggregatesAnswer
    )
    return _decode_aggregates_answer(client, answer)


def set(
    client: Client, provider_uuid: str, aggregates: Iterable[str], generation: int | None
) -> Read[builtins.list[str]]:
    """Replace the aggregates of a provider.

    :param generation: needed from 1.19, not sent below
    """
    body: object = builtins.list(aggregates)
    if client.microversion >= GUARDED:
        body = {'aggregates': body, 'resource_provider_generation': generation}
    answer = client.send(
        endpoints.SET_AGGREGATES, provider=provider_uuid, answer=_AggregatesAnswer, body=body
    )
    return _decode_aggregates_answer(client, answer)


def _decode_aggregates_answer(client: Client, answer: Answer) -> Read[builtins.list[str]]:
    """Return the aggregates in an answer, and the provider's generation if the answer has it."""
    body: _AggregatesAnswer = answer.body
    if body.resource_provider_generation is None and client.microversion >= GUARDED:
        raise errors.InvalidAnswer('The answer with the aggregates has no generation')
    return Read(body.aggregates, body.resource_provider_generation, answer.last_modified)
