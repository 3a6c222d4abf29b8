# SPDX-License-Identifier: Apache-2.0
"""The trees that satisfy some requirements of a request."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from placementclient.insight.candidates.requirements import (
    Requirement,
    RequirementKind,
    assemble_request,
)
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.options import ProviderSearch
from placementclient.placing.providers import HostProvider, count_grants
from placementclient.placing.requests import Request, make_part, parse_request, split_alternatives
from placementclient.placing.shapes import find_serving_providers
from placementclient.placing.topology import Topology

#: The UUIDs of providers.
Uuids = Collection[str]


class ProviderIndex(NamedTuple):
    """The providers of a snapshot or of the service, as an explanation looks them up.

    :param topology: with at least the traits and the aggregates that the request names
    :param granting: returns the UUIDs of the providers that can grant an amount of a class
    :param read_trees: returns all content of the providers that can serve each of some trees
    """

    topology: Topology
    granting: Callable[[str, int], Uuids]
    read_trees: Callable[[Sequence[str]], Mapping[str, Sequence[ProviderState]]]


def index_snapshot(snapshot: Snapshot) -> ProviderIndex:
    """Return the providers of a snapshot for an explanation."""
    topology, states = Topology(snapshot), snapshot.providers
    return ProviderIndex(
        topology,
        lambda name, amount: [uuid for uuid in states if count_grants(states[uuid], name, amount)],
        lambda roots: {root: topology.list_serving_providers(root) for root in roots},
    )


class TreeMatcher:
    """Decides which trees satisfy a subset of the requirements of a request.

    The subsets are frozen: the matcher remembers the results for each. A tree satisfies a subset
    also if the search for providers is cut short: it is not known that it does not.

    :ivar requirements: all requirements of the request
    """

    def __init__(self, index: ProviderIndex, requirements: Sequence[Requirement]) -> None:
        self.topology, self.requirements = index.topology, requirements
        self._granting = index.granting
        self._groups = tuple(dict.fromkeys(need.group for need in requirements if need.group))
        self._named = [need.value for need in requirements if need.kind is RequirementKind.IN_TREE]
        kinds = {
            group: {need.kind for need in requirements if need.group == group}
            for group in self._groups
        }
        #: The groups that request no resource.
        self._bare = frozenset(
            group for group in self._groups if RequirementKind.RESOURCE not in kinds[group]
        )
        # Placement looks for no provider for a group that only forbids.
        looking = {RequirementKind.RESOURCE, RequirementKind.TRAIT, RequirementKind.AGGREGATE}
        idle = {group for group in self._groups if looking.isdisjoint(kinds[group])}
        self._unserved = frozenset(need for need in requirements if need.group in idle)
        #: The UUIDs of the providers that grant an amount of a class.
        self._granted: dict[tuple[str, int], frozenset[str]] = {}
        self._requests: dict[frozenset[Requirement], Request] = {}
        self._hosts: dict[str, tuple[Sequence[str], Sequence[HostProvider]]] = {}

    def sort_requirements(self, subset: Collection[Requirement]) -> list[Requirement]:
        """Return a subset of the requirements in the order of the request."""
        return [need for need in self.requirements if need in subset]

    @functools.cached_property
    def trees_by_requirement(self) -> dict[Requirement, frozenset[str]]:
        """The UUIDs of the roots of the trees that satisfy each requirement by itself."""
        return {
            need: frozenset(
                root for root in self.topology.trees if self.can_satisfy(root, frozenset({need}))
            )
            for need in self.requirements
        }

    def find_satisfying_trees(self, retained: frozenset[Requirement]) -> set[str]:
        """Return the UUIDs of the roots of the trees that satisfy some requirements together.

        :param retained: the requirements to satisfy
        """
        plausible = self._find_plausible_trees(retained)
        return {root for root in plausible if self.can_satisfy(root, retained)}

    def is_met(self, retained: frozenset[Requirement]) -> bool:
        """Return True if any tree satisfies some requirements together.

        :param retained: the requirements to satisfy
        """
        plausible = self._find_plausible_trees(retained)
        return any(self.can_satisfy(root, retained) for root in plausible)

    def is_possible(self, retained: frozenset[Requirement]) -> bool:
        """Return True if any tree satisfies some requirements, perhaps with further resources.

        :meth:`is_possible_in` says with which.
        """
        plausible = self._find_plausible_trees(retained)
        return any(self.is_possible_in(root, retained) for root in plausible)

    def is_possible_in(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return True if a tree satisfies some requirements, perhaps with further resources.

        Placement looks for a trait of the common group only on the providers of the common
        resources. A provider with the trait may serve a resource that is not retained: so these
        may be added, whole or one unit of them. Then fewer requirements are never harder to meet.

        :param root: the UUID of the root of the tree
        :param retained: the requirements to satisfy
        """
        has_common_trait = any(
            need.kind is RequirementKind.TRAIT and not need.group for need in retained
        )
        if not has_common_trait:
            return self.can_satisfy(root, retained)
        choices = (
            {None, need, replace(need, amount=1)}
            for need in self.requirements
            if need.is_resource and not need.group and need not in retained
        )
        return any(
            self.can_satisfy(root, retained.union(filter(None, added)))
            for added in product(*choices)
        )

    def can_satisfy(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return True if a tree satisfies some requirements together, or the search is cut short.

        :param root: the UUID of the root of the tree
        :param retained: the requirements to satisfy; their amounts may differ from the request
        """
        if not self._unserved.isdisjoint(retained):
            return False
        uuids, providers = self._list_providers(root)

        def is_granted_by(provider_number: int, name: str, amount: int) -> bool:
            return uuids[provider_number] in self._find_granting_providers(name, amount)

        request = self._build_request(retained)
        suitable = find_serving_providers(request, providers, is_granted_by)
        if suitable is None or not all(suitable):
            return False
        search = ProviderSearch(request, providers, suitable, is_granted_by)
        is_found = any(True for _ in search.find_ways())
        # A search that ended too early proves nothing.
        return is_found or search.is_cut

    def count_granted_amounts(self, requirement: Requirement) -> Counter[str]:
        """Return how many of the tried amounts of a class each tree grants, by the root's UUID.

        The tried amounts are those of this request and of its changes so far.

        :param requirement: has the class
        """
        counts = Counter[str]()
        for (name, _), granting in self._granted.items():
            if name == requirement.value:
                counts.update(
                    root
                    for root in self.topology.trees
                    if not granting.isdisjoint(self._list_providers(root)[0])
                )
        return counts

    def _find_plausible_trees(self, retained: frozenset[Requirement]) -> Uuids:
        """Return the UUIDs of roots of trees that satisfy each of some requirements alone."""
        by_requirement = self.trees_by_requirement
        sets = [by_requirement[need] for need in retained if need in by_requirement]
        return frozenset.intersection(*sets) if sets else self.topology.trees

    def _find_granting_providers(self, name: str, amount: int) -> frozenset[str]:
        """Return the UUIDs of the providers that can grant an amount of a class."""
        key = name, amount
        if key not in self._granted:
            self._granted[key] = frozenset(self._granting(name, amount))
        return self._granted[key]

    def _list_providers(self, root: str) -> tuple[Sequence[str], Sequence[HostProvider]]:
        """Return the UUIDs of the providers that can serve a tree, and their properties.

        :param root: the UUID of the root of the tree
        :return: both in the same order
        """
        if root not in self._hosts:
            uuids = [state.uuid for state in self.topology.list_serving_providers(root)]
            self._hosts[root] = uuids, self.topology.list_host_providers(root, self._named)
        return self._hosts[root]

    def _build_request(self, retained: frozenset[Requirement]) -> Request:
        """Return the request with some requirements, parsed once for each set of them."""
        if retained not in self._requests:
            ordered = sorted(retained, key=str)
            request = assemble_request(CandidateRequest(), self._groups, ordered)
            self._requests[retained] = _parse_partial_request(request, self._bare)
        return self._requests[retained]


def _parse_partial_request(request: CandidateRequest, bare: Uuids) -> Request:
    """Return a request whose parts may lack resources, as their requirements are not retained.

    :param bare: the suffixes of groups that never had resources: Placement ignores their tree
    """
    trees = {'': request.common.in_tree}
    trees |= {suffix: group.in_tree for suffix, group in request.groups.items()}
    single: list[Filter] = []
    if not request.common.resources:
        # Each trait may be on another provider; one provider meets the other conditions.
        single = [Filter(required=(trait,)) for trait in request.common.required]
        others = request.common._replace(required=())
        single += [] if others == Filter() else [others]
        request = request._replace(common=Filter())
    grouped = parse_request(request)
    parts = [
        requested if requested.group in bare else requested._replace(in_tree=trees[requested.group])
        for requested in (*grouped.parts, *(make_part({}, conditions) for conditions in single))
    ]
    # Placement ignores the policy for a group without resources.
    apart = (n for n in grouped.apart if parts[n].resources or parts[n].group in bare)
    return grouped._replace(
        parts=tuple(parts),
        apart=frozenset(apart),
        root_required=split_alternatives(request.root_required),
    )
