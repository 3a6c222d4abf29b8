# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates: ``GET /allocation_candidates``, from 1.10."""

import builtins

import msgspec

from placementclient.api import query
from placementclient.basis.strict_json import Integer
from placementclient.client import endpoints
from placementclient.client.http import Client
from placementclient.model.consumers import Allocations, Candidate, ProviderSummary
from placementclient.model.inventories import Count
from placementclient.model.requests import CandidateRequest


class _AllocatedResources(msgspec.Struct):
    resources: dict[str, Count]


class _ProviderReference(msgspec.Struct):
    uuid: str


class _ListedAllocationRecord(_AllocatedResources):
    """An allocation in the lists of answers below microversion 1.12."""

    resource_provider: _ProviderReference


class _CandidateRecord(msgspec.Struct):
    allocations: dict[str, _AllocatedResources] | builtins.list[_ListedAllocationRecord]
    mappings: dict[str, builtins.list[str]] = {}


class _UsageRecord(msgspec.Struct):
    used: Integer
    #: The largest inventory with the largest ratio is more than a database has.
    capacity: int


class _ProviderSummaryRecord(msgspec.Struct):
    resources: dict[str, _UsageRecord]
    traits: tuple[str, ...] = ()
    parent_provider_uuid: str | None = None
    root_provider_uuid: str | None = None


class _CandidatesAnswer(msgspec.Struct):
    allocation_requests: builtins.list[_CandidateRecord]
    provider_summaries: dict[str, _ProviderSummaryRecord]


def list(
    client: Client, request: CandidateRequest
) -> tuple[builtins.list[Candidate], dict[str, ProviderSummary]]:
    """Return the candidates of a request, and their providers by UUID.

    :param request: see :class:`CandidateRequest` for the microversions of its parts
    """
    parameters = query.make_candidates_parameters(request)
    body: _CandidatesAnswer = client.send(
        endpoints.LIST_CANDIDATES, answer=_CandidatesAnswer, query=parameters
    ).body
    candidates = [
        Candidate(_decode_allocations(record.allocations), record.mappings)
        for record in body.allocation_requests
    ]
    summaries = {uuid: _decode_summary(record) for uuid, record in body.provider_summaries.items()}
    return candidates, summaries


def _decode_allocations(
    records: dict[str, _AllocatedResources] | builtins.list[_ListedAllocationRecord],
) -> Allocations:
    if isinstance(records, dict):
        return {uuid: record.resources for uuid, record in records.items()}
    return {record.resource_provider.uuid: record.resources for record in records}


def _decode_summary(record: _ProviderSummaryRecord) -> ProviderSummary:
    return ProviderSummary(
        {name: (item.used, item.capacity) for name, item in record.resources.items()},
        record.traits,
        record.parent_provider_uuid,
        record.root_provider_uuid,
    )
