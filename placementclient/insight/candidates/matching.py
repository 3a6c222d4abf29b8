"""The trees that satisfy some requirements, by the providers that satisfy each of them."""

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

from placementclient.insight.candidates.provider_index import ProviderIndex
from placementclient.insight.candidates.requirements import Kind, Requirement, assembled
from placementclient.model.requests import CandidateRequest, Filter
from placementclient.placing.options import PartSearch
from placementclient.placing.providers import HostProvider
from placementclient.placing.requests import Request, RequestPart, alternatives, parsed, part
from placementclient.placing.shapes import serving

_TRAITS = (Kind.TRAIT, Kind.NOT_TRAIT, Kind.ROOT_TRAIT, Kind.NOT_ROOT_TRAIT)
_AGGREGATES = (Kind.AGGREGATE, Kind.NOT_AGGREGATE)


class Matcher:
    """Decides whether a tree satisfies some of the requirements of a request.

    The providers have marks in place of traits and aggregates, one for each requirement.
    """

    def __init__(self, index: ProviderIndex, requirements: Sequence[Requirement]) -> None:
        self.index, self.requirements = index, requirements
        #: The UUIDs of the providers of each tree, the root first, by its root.
        self.trees: dict[str, list[str]] = {}
        for uuid, provider in index.providers.items():
            members = self.trees.setdefault(provider.root_uuid, [])
            members.insert(0 if uuid == provider.root_uuid else len(members), uuid)
        self._pool = {
            root: [*members, *index.reach.get(root, ())] for root, members in self.trees.items()
        }
        self._able: dict[tuple[tuple[str, int], ...], frozenset[str]] = {}
        self._hosts: dict[str, list[HostProvider]] = {}
        self._requests: dict[frozenset[Requirement], Request] = {}
        self._groups = tuple(dict.fromkeys(r.group for r in requirements if r.group))

    @functools.cached_property
    def alone(self) -> dict[Requirement, frozenset[str]]:
        """Return the trees that satisfy each requirement by itself."""
        return {
            requirement: frozenset(
                root for root in self.trees if self.satisfies(root, frozenset({requirement}))
            )
            for requirement in self.requirements
        }

    def amounts_met(self, requirement: Requirement) -> Counter[str]:
        """Count for each tree, by its root, the requested amounts that it can grant."""
        met = Counter[str]()
        for resources, matches in self._able.items():
            if [name for name, _ in resources] == [requirement.value]:
                met.update(
                    root for root, pool in self._pool.items() if not matches.isdisjoint(pool)
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

    def _plausible(self, retained: frozenset[Requirement]) -> Collection[str]:
        alone = [self.alone[requirement] for requirement in retained if requirement in self.alone]
        return frozenset.intersection(*alone) if alone else self.trees

    def satisfies(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return whether a tree satisfies some requirements, perhaps with changed amounts."""
        if not self._unserved.isdisjoint(retained):
            return False
        request, bins, pool = self._request(retained), self._bins(root), self._pool[root]

        def grants(number: int, name: str, amount: int) -> bool:
            return pool[number] in self._granting((name, amount))

        def able(part: RequestPart) -> Sequence[int]:
            if not part.resources:
                return range(len(pool))
            uuids = self._granting(*part.resources)
            return [number for number, uuid in enumerate(pool) if uuid in uuids]

        suitable = serving(request, bins, able)
        if suitable is None or not all(suitable):
            return False
        search = PartSearch(request, bins, suitable, grants)
        return any(True for _ in search.places()) or search.left < 0

    @functools.cached_property
    def _bare(self) -> frozenset[str]:
        """The groups that request no resource."""
        served = {need.group for need in self.requirements if need.kind is Kind.RESOURCE}
        return frozenset(self._groups) - served

    @functools.cached_property
    def _unserved(self) -> frozenset[Requirement]:
        """The requirements of groups that only forbid: the service looks for no provider there."""
        finding = (Kind.RESOURCE, Kind.TRAIT, Kind.AGGREGATE)
        served = {need.group for need in self.requirements if need.kind in finding}
        return frozenset(
            need for need in self.requirements if need.group and need.group not in served
        )

    def _request(self, retained: frozenset[Requirement]) -> Request:
        """Return the request for some requirements, with marks in place of traits."""
        if retained not in self._requests:
            marked = [_marked(requirement) for requirement in sorted(retained, key=str)]
            request = assembled(CandidateRequest(), self._groups, marked)
            self._requests[retained] = _parsed(request, self._bare)
        return self._requests[retained]

    def _granting(self, *resources: tuple[str, int]) -> frozenset[str]:
        """Return the providers that can grant each of some amounts."""
        if resources not in self._able:
            if len(resources) == 1:
                granting = frozenset(self.index.matching(Filter(dict(resources))))
            else:
                granting = frozenset.intersection(*map(self._granting, resources))
            self._able[resources] = granting
        return self._able[resources]

    def _bins(self, root: str) -> list[HostProvider]:
        """Return the providers that can serve a tree, with marks in place of traits."""
        if root not in self._hosts:
            numbers = {uuid: number for number, uuid in enumerate(self.trees[root])}
            self._hosts[root] = [self._bin(uuid, numbers) for uuid in self._pool[root]]
        return self._hosts[root]

    def _bin(self, uuid: str, numbers: Mapping[str, int]) -> HostProvider:
        traits, aggregates, trees = (
            frozenset(
                mark for kind, mark, matches in self._matched if kind in kinds and uuid in matches
            )
            for kinds in (_TRAITS, _AGGREGATES, (Kind.IN_TREE,))
        )
        parent = numbers.get(self.index.providers[uuid].parent_provider_uuid or '')
        return HostProvider(parent, traits, aggregates, is_inside=uuid in numbers, trees=trees)

    @functools.cached_property
    def _matched(self) -> list[tuple[Kind, str, frozenset[str]]]:
        """The marks of the requirements, and the providers that have each."""
        providers: dict[Requirement, frozenset[str]] = {}
        matched = []
        for need in self.requirements:
            if (conditions := need.filter()) is not None:
                key = replace(need, group='')
                if key not in providers:
                    providers[key] = frozenset(self.index.matching(conditions))
                matched.append((need.kind, _marked(need).value, providers[key]))
        return matched


def _marked(requirement: Requirement) -> Requirement:
    """Return a requirement whose alternatives are one mark: who has any of them has the mark."""
    if requirement.kind is Kind.SAME_SUBTREE:
        return requirement
    return replace(requirement, value=requirement.value.replace(',', '|'))


def _parsed(request: CandidateRequest, bare: Collection[str]) -> Request:
    """Return the parts of a request that need not ask for resources.

    :param bare: the groups that never asked for any, whose tree the service does not look at
    """
    common, lone = request.common, list[Filter]()
    trees = {'': common.in_tree} | {name: group.in_tree for name, group in request.groups.items()}
    if not common.resources:
        # Who has a trait need not be who satisfies the other conditions.
        lone = [Filter(required=(trait,)) for trait in common.required]
        others = common._replace(required=())
        lone += [others] if others != Filter() else []
        request = request._replace(common=Filter())
    grouped = parsed(request)
    parts = [*grouped.parts, *(part({}, conditions) for conditions in lone)]
    for number, requested in enumerate(parts):
        if requested.group not in bare:
            parts[number] = requested._replace(in_tree=trees[requested.group])
    return grouped._replace(
        parts=tuple(parts),
        # A group that has lost its resources is none to the service.
        apart=frozenset(
            number
            for number in grouped.apart
            if parts[number].resources or parts[number].group in bare
        ),
        root_required=alternatives(request.root_required),
    )
