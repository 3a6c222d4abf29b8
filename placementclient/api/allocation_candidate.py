"""Allocation candidates: ``GET /allocation_candidates``, from 1.10."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from placementclient.api import query
from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.model.consumers import Allocations, Candidate, ProviderSummary
from placementclient.model.requests import CandidateRequest


def list(
    client: Client, request: CandidateRequest
) -> tuple[builtins.list[Candidate], dict[str, ProviderSummary]]:
    """The ways to satisfy a request, and the providers concerned by UUID.

    :param request: what its parts need is said at :class:`CandidateRequest`
    """
    body = client.send(endpoints.LIST_CANDIDATES, query=query.of_candidates(request)).body
    candidates = [
        Candidate(_allocations(record['allocations']), record.get('mappings', {}))
        for record in body['allocation_requests']
    ]
    summaries = {uuid: _summary(record) for uuid, record in body['provider_summaries'].items()}
    return candidates, summaries


def _allocations(records: Any) -> Allocations:
    if isinstance(records, Mapping):
        return {uuid: record['resources'] for uuid, record in records.items()}
    # Below 1.12.
    return {record['resource_provider']['uuid']: record['resources'] for record in records}


def _summary(record: Mapping[str, Any]) -> ProviderSummary:
    return ProviderSummary(
        {name: (item['used'], item['capacity']) for name, item in record['resources'].items()},
        tuple(record.get('traits', ())),
        record.get('parent_provider_uuid'),
        record.get('root_provider_uuid'),
    )
