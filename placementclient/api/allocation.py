# SPDX-License-Identifier: Apache-2.0
"""Allocations, of a consumer and of a provider.

``/allocations``, ``/allocations/{uuid}`` and ``/resource_providers/{uuid}/allocations``.
"""

import builtins
from collections.abc import Mapping

import msgspec

from placementclient.api.reads import make_read
from placementclient.basis.errors import Differs
from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.client.microversion import (
    GUARDS_CONSUMERS,
    KEEPS_CONSUMER_TYPE,
    TYPED,
    Microversion,
)
from placementclient.model.consumers import UNKNOWN_TYPE, Allocations, Consumer, Holding
from placementclient.model.freshness import Read
from placementclient.model.inventories import Count

_OWNED = Microversion(1, 8)
_AS_MAPPING = Microversion(1, 12)


class _HoldingRecord(msgspec.Struct):
    resources: dict[str, Count]
    consumer_generation: Integer | None = None


class _ProviderAllocationsAnswer(msgspec.Struct):
    allocations: dict[str, _HoldingRecord]
    resource_provider_generation: Integer


class _AllocationRecord(msgspec.Struct):
    resources: dict[str, Count]
    generation: Integer


class _ConsumerAnswer(msgspec.Struct):
    allocations: dict[str, _AllocationRecord]
    project_id: str | None = None
    user_id: str | None = None
    consumer_generation: Integer | None = None
    consumer_type: str | None = None


def list_of_provider(client: Client, provider_uuid: str) -> Read[builtins.list[Holding]]:
    """Return the allocations of a provider; from 1.28 with the generations of the consumers."""
    answer = client.send(
        endpoints.LIST_PROVIDER_ALLOCATIONS,
        provider=provider_uuid,
        answer=_ProviderAllocationsAnswer,
    )
    holdings = [
        Holding(uuid, record.resources, record.consumer_generation)
        for uuid, record in answer.body.allocations.items()
    ]
    return make_read(answer, holdings)


def show(
    client: Client, consumer_uuid: str, *, version: Microversion | None = None
) -> Read[Consumer]:
    """Return all allocations of a consumer; a consumer that does not exist has none.

    :param version: the microversion of the request; default: the one in use
    """
    answer = client.send(
        endpoints.SHOW_ALLOCATIONS, consumer=consumer_uuid, answer=_ConsumerAnswer, version=version
    )
    body: _ConsumerAnswer = answer.body
    consumer = Consumer(
        consumer_uuid,
        {uuid: record.resources for uuid, record in body.allocations.items()},
        body.project_id,
        body.user_id,
        body.consumer_generation,
        None if body.consumer_type == UNKNOWN_TYPE else body.consumer_type,
    )
    generations = {uuid: record.generation for uuid, record in body.allocations.items()}
    return Read(consumer, last_modified=answer.last_modified, generations=generations)


def set(
    client: Client,
    consumer: Consumer,
    *,
    mappings: Mapping[str, builtins.list[str]] | None = None,
    replaces_owner: bool = False,
) -> None:
    """Replace all allocations of a consumer.

    The request has only fields of the microversion in use: project and user from 1.8, the
    consumer's generation from 1.28, its type from 1.38. A consumer without a type cannot be written
    at 1.38 or later; it is written at 1.37, which leaves its type as it is.

    :param mappings: which providers serve which request group; from 1.34
    :param replaces_owner: whether the consumer may get another project or user; if not, an existing
        consumer is read first
    :raises Differs: if the consumer has another project or user
    :raises errors.ConcurrentUpdate: if the consumer has another generation, or a provider changed
        during the request
    :raises errors.Conflict: if a provider does not have the capacity
    """
    version = client.microversion
    if not replaces_owner:
        _refuse_other_owner(client, consumer, version)
    if consumer.type is None:
        version = min(version, KEEPS_CONSUMER_TYPE)
    client.send(
        endpoints.SET_ALLOCATIONS,
        consumer=consumer.uuid,
        body=make_body(consumer, version) | ({'mappings': mappings} if mappings else {}),
        version=version,
    )


def _refuse_other_owner(client: Client, consumer: Consumer, version: Microversion) -> None:
    # From 1.28 on, the service refuses a consumer without a generation if it exists.
    is_new = version >= GUARDS_CONSUMERS and consumer.generation is None
    if is_new or version < _AS_MAPPING:
        return
    live = show(client, consumer.uuid).value
    owner = live.project_id, live.user_id
    if live.allocations and owner != (consumer.project_id, consumer.user_id):
        raise Differs(
            f'Consumer {consumer.uuid} is of project {live.project_id} and user {live.user_id}, '
            f'not of {consumer.project_id} and {consumer.user_id}: replaces_owner=True writes it'
        )


def delete(client: Client, consumer_uuid: str) -> None:
    """Delete all allocations of a consumer that has some (else :class:`errors.NotFound`)."""
    client.send(endpoints.DELETE_ALLOCATIONS, consumer=consumer_uuid)


def replace(
    client: Client, body: Mapping[str, object], *, version: Microversion | None = None
) -> None:
    """Replace the allocations of several consumers, in one transaction; from 1.13.

    :param body: as the API takes it at the version: ``{consumer UUID: {…}}``
    :param version: the microversion of the request; default: the one in use
    """
    client.send(endpoints.REPLACE_ALLOCATIONS, body=body, version=version)


def make_body(consumer: Consumer, version: Microversion) -> dict[str, object]:
    """Return the body of a request that writes a consumer at a microversion."""
    body: dict[str, object] = {'allocations': _encode_allocations(consumer.allocations, version)}
    if version >= _OWNED:
        body |= {'project_id': consumer.project_id, 'user_id': consumer.user_id}
    if version >= GUARDS_CONSUMERS:
        body['consumer_generation'] = consumer.generation
    if version >= TYPED:
        body['consumer_type'] = consumer.type
    return body


def _encode_allocations(allocations: Allocations, version: Microversion) -> object:
    """Return allocations for the body of a request: a mapping, or a list below 1.12."""
    if version >= _AS_MAPPING:
        return {uuid: {'resources': dict(resources)} for uuid, resources in allocations.items()}
    return [
        {'resource_provider': {'uuid': uuid}, 'resources': dict(resources)}
        for uuid, resources in allocations.items()
    ]
