# SPDX-License-Identifier: Apache-2.0
"""The trees that satisfy some requirements of a request."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from placementclient.insight.candidates.requirements import Kind, Requirement, assembled
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider, count_slots
from placementclient.placing.requests import Request, make_part, parse_request, split_alternatives
from placementclient.placing.shapes import find_serving_providers
from placementclient.placing.topology import Topology

#: The UUIDs of providers.
Uuids = Collection[str]


class ProviderIndex(NamedTuple):
    """The providers that an explanation asks about, in a snapshot or in the service.

    :param topology: with at least the traits and the aggregates that the request names
    :param granting: returns the UUIDs of the providers that can grant an amount of a class
    :param read_trees: returns all content of the providers that can serve each of some trees
    """

    topology: Topology
    granting: Callable[[str, int], Uuids]
    read_trees: Callable[[Sequence[str]], Mapping[str, Sequence[ProviderState]]]


def snapshot_index(snapshot: Snapshot) -> ProviderIndex:
    topology, states = Topology(snapshot), snapshot.providers
    return ProviderIndex(
        topology,
        lambda name, amount: [uuid for uuid in states if count_slots(states[uuid], name, amount)],
        lambda roots: {root: topology.serving(root) for root in roots},
    )


class Matcher:
    """Decides whether a tree satisfies some of the requirements of a request."""

    def __init__(self, index: ProviderIndex, requirements: Sequence[Requirement]) -> None:
        self.topology, self.requirements = index.topology, requirements
        self._granting, self._granted = index.granting, dict[tuple[str, int], frozenset[str]]()
        self._requests: dict[frozenset[Requirement], Request] = {}
        self._hosts: dict[str, tuple[Sequence[str], Sequence[HostProvider]]] = {}
        self._groups = tuple(dict.fromkeys(need.group for need in requirements if need.group))
        self._named = [need.value for need in requirements if need.kind is Kind.IN_TREE]
        kinds = {
            suffix: {n.kind for n in requirements if n.group == suffix} for suffix in self._groups
        }
        #: The groups that request no resource.
        self._bare = frozenset(name for name in self._groups if Kind.RESOURCE not in kinds[name])
        # The service looks for no provider for a group that only forbids.
        looking = {Kind.RESOURCE, Kind.TRAIT, Kind.AGGREGATE}
        self._unserved = frozenset(
            need for need in requirements if need.group and looking.isdisjoint(kinds[need.group])
        )

    @functools.cached_property
    def alone(self) -> dict[Requirement, frozenset[str]]:
        """Return the trees that satisfy each requirement by itself."""
        return {
            requirement: frozenset(
                root
                for root in self.topology.trees
                if self.satisfies(root, frozenset({requirement}))
            )
            for requirement in self.requirements
        }

    def amounts_met(self, requirement: Requirement) -> Counter[str]:
        """Count for each tree, by its root, the requested amounts that it can grant."""
        met = Counter[str]()
        for (name, _), granting in self._granted.items():
            if name == requirement.value:
                met.update(
                    root
                    for root in self.topology.trees
                    if not granting.isdisjoint(self._host(root)[0])
                )
        return met

    def possible(self, retained: frozenset[Requirement]) -> bool:
        """Return True if any tree allows some requirements."""
        return any(self.allows(root, retained) for root in self._plausible(retained))

    def allows(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return True if a tree allows some requirements, perhaps without some resources.

        A trait of the common group may be on a provider that only those resources use, all or less
        of them. So fewer requirements never are harder to meet here, as they may be for the
        service.
        """
        is_covered = any(need.kind is Kind.TRAIT and not need.group for need in retained)
        choices = (
            {None, need, replace(need, amount=1)}
            for need in self.requirements
            if is_covered and need.kind is Kind.RESOURCE and not need.group and need not in retained
        )
        return any(
            self.satisfies(root, retained.union(filter(None, optional)))
            for optional in product(*choices)
        )

    def satisfying(self, retained: frozenset[Requirement]) -> set[str]:
        """Return the roots of the trees that satisfy some requirements."""
        return {root for root in self._plausible(retained) if self.satisfies(root, retained)}

    def is_met(self, retained: frozenset[Requirement]) -> bool:
        """Return True if any tree satisfies some requirements."""
        return any(self.satisfies(root, retained) for root in self._plausible(retained))

    def _plausible(self, retained: frozenset[Requirement]) -> Uuids:
        alone = [self.alone[requirement] for requirement in retained if requirement in self.alone]
        return frozenset.intersection(*alone) if alone else self.topology.trees

    def satisfies(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return whether a tree satisfies some requirements, perhaps with changed amounts."""
        if not self._unserved.isdisjoint(retained):
            return False
        uuids, bins = self._host(root)

        def grants(number: int, name: str, amount: int) -> bool:
            key = name, amount
            if key not in self._granted:
                self._granted[key] = frozenset(self._granting(name, amount))
            return uuids[number] in self._granted[key]

        request = self._request(retained)
        suitable = find_serving_providers(request, bins, grants)
        if suitable is None or not all(suitable):
            return False
        search = PartSearch(request, bins, suitable, grants)
        return any(True for _ in search.places()) or search.left < 0

    def _host(self, root: str) -> tuple[Sequence[str], Sequence[HostProvider]]:
        """Return the providers that can serve a tree: their UUIDs, and their form for requests."""
        if root not in self._hosts:
            uuids = [state.uuid for state in self.topology.serving(root)]
            self._hosts[root] = uuids, self.topology.host(root, self._named)
        return self._hosts[root]

    def _request(self, retained: frozenset[Requirement]) -> Request:
        if retained not in self._requests:
            ordered = sorted(retained, key=str)
            request = assembled(CandidateRequest(), self._groups, ordered)
            self._requests[retained] = _parsed(request, self._bare)
        return self._requests[retained]


def _parsed(request: CandidateRequest, bare: Uuids) -> Request:
    """Return the parts of a request that need not ask for resources."""
    # ``bare``: the groups that never asked for any, whose tree the service does not look at.
    common, lone = request.common, list[Filter]()
    trees = {'': common.in_tree} | {name: group.in_tree for name, group in request.groups.items()}
    if not common.resources:
        # Each trait may be on another provider than the other conditions.
        lone = [Filter(required=(trait,)) for trait in common.required]
        others = common._replace(required=())
        lone += [others] if others != Filter() else []
        request = request._replace(common=Filter())
    grouped = parse_request(request)
    parts = [*grouped.parts, *(make_part({}, conditions) for conditions in lone)]
    for number, requested in enumerate(parts):
        if requested.group not in bare:
            parts[number] = requested._replace(in_tree=trees[requested.group])
    return grouped._replace(
        parts=tuple(parts),
        # The service ignores a group without resources.
        apart=frozenset(
            number
            for number in grouped.apart
            if parts[number].resources or parts[number].group in bare
        ),
        root_required=split_alternatives(request.root_required),
    )
