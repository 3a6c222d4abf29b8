# SPDX-License-Identifier: Apache-2.0
"""Requests for providers, in groups."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from placementclient.model.providers import SHARING_TRAIT


class Filter(NamedTuple):
    """Conditions on providers: one group of a request, or a filter of a list.

    :param required: each element is a trait, or traits joined by commas of which one is enough
        (from 1.39)
    :param member_of: each element is an aggregate, or some joined by commas of which one is enough
    :param forbidden_member_of: aggregates to stay out of, in the same form
    :param in_tree: UUID of any provider of the tree
    """

    resources: Mapping[str, int] = MappingProxyType({})
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    member_of: tuple[str, ...] = ()
    forbidden_member_of: tuple[str, ...] = ()
    in_tree: str | None = None


#: The providers that share inventory.
SHARING = Filter(required=(SHARING_TRAIT,))


class CandidateRequest(NamedTuple):
    """A request for allocation candidates.

    :param common: what the tree as a whole must satisfy: the group without a suffix
    :param groups: what one provider must satisfy alone, by suffix; from 1.25
    :param group_policy: ``'isolate'`` or ``'none'``
    :param same_subtree: sets of suffixes whose providers have an ancestor among them; from 1.36
    :param root_required: traits of the root, from 1.35
    :param limit: at most so many candidates; from 1.16
    """

    common: Filter = Filter()
    groups: Mapping[str, Filter] = MappingProxyType({})
    group_policy: str | None = None
    same_subtree: tuple[tuple[str, ...], ...] = ()
    root_required: tuple[str, ...] = ()
    root_forbidden: tuple[str, ...] = ()
    limit: int | None = None

    def restrict(self, other: CandidateRequest) -> CandidateRequest:
        """Return the request with the conditions of another one on all of its candidates added.

        These are the filters of its common group and of the root. Its tree (if it names one) and
        its limit (even none) replace those of this request. Its amounts, and its groups with their
        rules, are not added.
        """
        common, added = self.common, other.common
        return self._replace(
            common=Filter(
                common.resources,
                common.required + added.required,
                common.forbidden + added.forbidden,
                common.member_of + added.member_of,
                common.forbidden_member_of + added.forbidden_member_of,
                added.in_tree or common.in_tree,
            ),
            root_required=self.root_required + other.root_required,
            root_forbidden=self.root_forbidden + other.root_forbidden,
            limit=other.limit,
        )
