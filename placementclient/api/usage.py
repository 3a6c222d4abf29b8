# SPDX-License-Identifier: Apache-2.0
"""Usages: ``/resource_providers/{uuid}/usages`` and ``/usages``."""

import msgspec

from placementclient.api.reads import make_read
from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints, errors
from placementclient.client.http import Client
from placementclient.client.microversion import TYPED, Microversion
from placementclient.model.consumers import ProjectUsage, Resources
from placementclient.model.freshness import Read


class _ProviderUsagesAnswer(msgspec.Struct):
    usages: dict[str, Integer]
    resource_provider_generation: Integer


class _UsagesAnswer(msgspec.Struct):
    """The usage of a project by class; from 1.38 on by type of consumer, then by class."""

    usages: dict[str, Integer | dict[str, Integer]]


def show_provider(client: Client, provider_uuid: str) -> Read[Resources]:
    """Return the usage of a provider by class."""
    answer = client.send(
        endpoints.SHOW_PROVIDER_USAGES, provider=provider_uuid, answer=_ProviderUsagesAnswer
    )
    return make_read(answer, answer.body.usages)


def show_project(
    client: Client,
    project_id: str,
    *,
    user_id: str | None = None,
    consumer_type: str | None = None,
    version: Microversion | None = None,
) -> Read[list[ProjectUsage]]:
    """Return the usage of a project, summed over all consumers; from 1.9.

    :param user_id: only those of this user
    :param consumer_type: only consumers of this type; ``all``: the sum over all types;
        ``unknown``: only consumers without a type; from 1.38
    :param version: the microversion of the request; default: the one in use
    :return: one usage below 1.38; from 1.38 on, one for each type of consumer
    """
    answer = client.send(
        endpoints.SHOW_USAGES,
        answer=_UsagesAnswer,
        query={'project_id': project_id, 'user_id': user_id, 'consumer_type': consumer_type},
        version=version,
    )
    by_class: dict[str, int] = {}
    by_type: list[ProjectUsage] = []
    for name, record in answer.body.usages.items():
        if isinstance(record, dict):
            by_type.append(ProjectUsage(record, name, record.pop('consumer_count', None)))
        else:
            by_class[name] = record
    is_typed = (version or client.microversion) >= TYPED
    if by_class if is_typed else by_type:
        raise errors.InvalidAnswer('The answer with the usages is of another microversion')
    return Read(
        by_type if is_typed else [ProjectUsage(by_class)], last_modified=answer.last_modified
    )
