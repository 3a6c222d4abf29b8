# SPDX-License-Identifier: Apache-2.0
"""Filters of providers and candidates as query parameters."""

from collections.abc import Sequence
from urllib.parse import urlencode

from placementclient.client import endpoints
from placementclient.model.requests import CandidateRequest, Filter


def make_filter_parameters(group: Filter, suffix: str = '') -> dict[str, str | list[str] | None]:
    """Return the query parameters of a request group; their names end with its suffix."""
    return {
        f'resources{suffix}': ','.join(f'{name}:{n}' for name, n in group.resources.items())
        or None,
        f'required{suffix}': _list_required_values(group.required, group.forbidden),
        f'member_of{suffix}': [
            *(_format_any_of(aggregates) for aggregates in group.member_of),
            *(f'!{_format_any_of(aggregates)}' for aggregates in group.forbidden_member_of),
        ],
        f'in_tree{suffix}': group.in_tree,
    }


def make_candidates_parameters(
    request: CandidateRequest,
) -> dict[str, str | int | list[str] | None]:
    """Return the query parameters of ``GET /allocation_candidates``."""
    query: dict[str, str | int | list[str] | None] = {**make_filter_parameters(request.common)}
    for suffix, group in request.groups.items():
        query |= make_filter_parameters(group, suffix)
    return query | {
        'group_policy': request.group_policy,
        'same_subtree': [','.join(suffixes) for suffixes in request.same_subtree],
        'root_required': _join_traits(request.root_required, request.root_forbidden),
        'limit': request.limit,
    }


def format_scheduler_request(request: CandidateRequest) -> str:
    """Return the path and query of the request that Nova's scheduler (34.0) sends."""
    pairs: list[tuple[str, str | int]] = []
    if request.limit is not None:
        pairs.append(('limit', request.limit))
    if request.group_policy is not None:
        pairs.append(('group_policy', request.group_policy))
    if roots := _join_traits(sorted(request.root_required), sorted(request.root_forbidden)):
        pairs.append(('root_required', roots))
    pairs += [('same_subtree', ','.join(sorted(names))) for names in request.same_subtree]
    for suffix, group in {'': request.common, **request.groups}.items():
        if group != Filter():
            amounts = sorted(f'{name}:{amount}' for name, amount in group.resources.items())
            pairs.append((f'resources{suffix}', ','.join(amounts)))
        if traits := _join_traits(sorted(group.required), sorted(group.forbidden)):
            pairs.append((f'required{suffix}', traits))
        pairs += [(f'member_of{suffix}', f'in:{names}') for names in group.member_of]
        if group.in_tree is not None:
            pairs.append((f'in_tree{suffix}', group.in_tree))
        pairs += [(f'member_of{suffix}', f'!in:{names}') for names in group.forbidden_member_of]
    # Sorted by name, then by value.
    return f'{endpoints.LIST_CANDIDATES.template}?{urlencode(sorted(pairs))}'


def _list_required_values(required: Sequence[str], forbidden: Sequence[str]) -> list[str]:
    """Return values of the parameter ``required``: one for all traits, more for alternatives."""
    every = _join_traits([trait for trait in required if ',' not in trait], forbidden)
    return [
        *([every] if every else []),
        *(_format_any_of(traits) for traits in required if ',' in traits),
    ]


def _join_traits(required: Sequence[str], forbidden: Sequence[str]) -> str | None:
    """Return traits as one value of a parameter, such as ``a,!b``; ``None`` without any."""
    return ','.join([*required, *(f'!{trait}' for trait in forbidden)]) or None


def _format_any_of(names: str) -> str:
    """Return ``in:a,b`` for the names ``a,b``, of which any one is enough; ``a`` for ``a``."""
    return f'in:{names}' if ',' in names else names
