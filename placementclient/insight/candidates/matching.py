"""The trees that satisfy some requirements, by the providers that satisfy each of them."""

from __future__ import annotations

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
from placementclient.placing.requests import Request, RequestPart, parsed, part
from placementclient.placing.shapes import admits, admits_root

_TRAITS = (Kind.TRAIT, Kind.NOT_TRAIT, Kind.ROOT_TRAIT, Kind.NOT_ROOT_TRAIT)
_AGGREGATES = (Kind.AGGREGATE, Kind.NOT_AGGREGATE)


class Matcher:
    """Decides whether a tree satisfies some of the requirements of a request."""

    def __init__(self, index: ProviderIndex, requirements: Sequence[Requirement]) -> None:
        self.index, self.requirements = index, requirements
        #: The UUIDs of the providers of each tree, the root first, by its root.
        self.trees: dict[str, list[str]] = {}
        for uuid, provider in index.providers.items():
            members = self.trees.setdefault(provider.root_uuid, [])
            members.insert(0 if uuid == provider.root_uuid else len(members), uuid)
        self._matches: dict[Requirement, frozenset[str]] = {}
        self._pool = {
            root: [*members, *index.reach.get(root, ())] for root, members in self.trees.items()
        }
        self._hosts: dict[str, list[HostProvider]] = {}
        self._requests: dict[
            frozenset[Requirement], tuple[Request, list[frozenset[str] | None]]
        ] = {}
        self._groups = tuple(dict.fromkeys(r.group for r in requirements if r.group))
        self._common = [r for r in requirements if r.kind is Kind.RESOURCE and not r.group]

    @functools.cached_property
    def alone(self) -> dict[Requirement, frozenset[str]]:
        """Return the trees that satisfy each requirement by itself."""
        return {
            requirement: frozenset(
                root for root in self.trees if self.satisfies(root, frozenset({requirement}))
            )
            for requirement in self.requirements
        }

    def able(self, name: str, amount: int) -> frozenset[str]:
        """Return the providers that can grant an amount of a class."""
        return self._who(Requirement(Kind.RESOURCE, name, amount=amount))

    def _who(self, requirement: Requirement) -> frozenset[str]:
        """Return the providers of a requirement; of a forbidden one, those that have it."""
        key = replace(requirement, group='')
        if key not in self._matches:
            conditions = key.filter()
            assert conditions is not None
            self._matches[key] = frozenset(self.index.matching(conditions))
        return self._matches[key]

    def amounts_met(self, requirement: Requirement) -> Counter[str]:
        """Count for each tree the requested resources that it can grant.

        :return: by the roots of trees
        """
        met = Counter[str]()
        for matched, matches in self._matches.items():
            if (matched.kind, matched.value) == (requirement.kind, requirement.value):
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
        is_covered = any(r.kind is Kind.TRAIT and not r.group for r in retained)
        left_out = [r for r in self._common if r not in retained] if is_covered else []
        choices = ({None, r, replace(r, amount=1)} for r in left_out)
        return any(
            self.satisfies(root, retained.union(filter(None, optional)))
            for optional in product(*choices)
        )

    def is_met(self, retained: frozenset[Requirement]) -> bool:
        """Return True if any tree satisfies some requirements."""
        return any(self.satisfies(root, retained) for root in self._plausible(retained))

    def satisfying(self, retained: frozenset[Requirement]) -> set[str]:
        """Return the roots of the trees that satisfy some requirements."""
        return {root for root in self._plausible(retained) if self.satisfies(root, retained)}

    def _plausible(self, retained: frozenset[Requirement]) -> Collection[str]:
        alone = [self.alone[requirement] for requirement in retained if requirement in self.alone]
        return frozenset.intersection(*alone) if alone else self.trees

    def satisfies(self, root: str, retained: frozenset[Requirement]) -> bool:
        """Return whether a tree satisfies some requirements, perhaps with changed amounts."""
        if not self._unserved.isdisjoint(retained):
            return False
        request, able = self._request(retained)
        bins, pool = self._bins(root), self._pool[root]
        if not admits_root(bins[0], request):
            return False
        suitable = []
        for requested, providers in zip(request.parts, able, strict=True):
            serving = [
                number
                for number, uuid in enumerate(pool)
                if (providers is None or uuid in providers)
                and admits(bins[number], requested, bins[0])
            ]
            if not serving:
                return False
            suitable.append(serving)
        search = _MarkedSearch(self, request, bins, suitable, pool)
        return any(True for _ in search.places()) or search.left < 0

    @functools.cached_property
    def bare(self) -> frozenset[str]:
        """The groups that request no resource."""
        served = {r.group for r in self.requirements if r.kind is Kind.RESOURCE}
        return frozenset(self._groups) - served

    @functools.cached_property
    def _unserved(self) -> frozenset[Requirement]:
        """The requirements of groups that only forbid: the service looks for no provider there."""
        by_group: dict[str, list[Requirement]] = {group: [] for group in self._groups}
        for requirement in self.requirements:
            if requirement.group:
                by_group[requirement.group].append(requirement)
        finding = (Kind.RESOURCE, Kind.TRAIT, Kind.AGGREGATE)
        return frozenset(
            requirement
            for group in by_group.values()
            if not any(requirement.kind in finding for requirement in group)
            for requirement in group
        )

    def _request(
        self, retained: frozenset[Requirement]
    ) -> tuple[Request, list[frozenset[str] | None]]:
        """Return the request for some requirements, with marks in place of traits.

        :return: with the providers that have room for each part; ``None``: any
        """
        if retained not in self._requests:
            marked = [_marked(requirement) for requirement in sorted(retained, key=str)]
            request = _parsed(assembled(CandidateRequest(), self._groups, marked), self.bare)
            able = [
                [self.able(*resource) for resource in requested.resources]
                for requested in request.parts
            ]
            self._requests[retained] = (
                request,
                [frozenset.intersection(*sets) if sets else None for sets in able],
            )
        return self._requests[retained]

    def _bins(self, root: str) -> list[HostProvider]:
        """Return the providers that can serve a tree, with marks in place of traits."""
        if root not in self._hosts:
            numbers = {uuid: number for number, uuid in enumerate(self.trees[root])}
            self._hosts[root] = [self._bin(uuid, numbers) for uuid in self._pool[root]]
        return self._hosts[root]

    def _bin(self, uuid: str, numbers: Mapping[str, int]) -> HostProvider:
        return HostProvider(
            numbers.get(self.index.providers[uuid].parent_provider_uuid or ''),
            self._marks(uuid, _TRAITS),
            self._marks(uuid, _AGGREGATES),
            (),
            is_inside=uuid in numbers,
            trees=self._marks(uuid, (Kind.IN_TREE,)),
        )

    def _marks(self, uuid: str, kinds: Collection[Kind]) -> frozenset[str]:
        return frozenset(
            mark for kind, mark, matches in self._matched if kind in kinds and uuid in matches
        )

    @functools.cached_property
    def _matched(self) -> list[tuple[Kind, str, frozenset[str]]]:
        """The marks of the requirements, and the providers that have each."""
        kinds = (*_TRAITS, *_AGGREGATES, Kind.IN_TREE)
        return [
            (requirement.kind, _marked(requirement).value, self._who(requirement))
            for requirement in self.requirements
            if requirement.kind in kinds
        ]


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
    parts = (*grouped.parts, *(part({}, conditions) for conditions in lone))
    return grouped._replace(
        parts=tuple(
            requested
            if requested.group in bare
            else requested._replace(in_tree=trees[requested.group])
            for requested in parts
        )
    )


class _MarkedSearch(PartSearch):
    def __init__(
        self,
        matcher: Matcher,
        request: Request,
        bins: Sequence[HostProvider],
        suitable: Sequence[Sequence[int]],
        pool: Sequence[str],
    ) -> None:
        super().__init__(request, bins, suitable)
        self._matcher, self._pool = matcher, pool

    def _grants(self, place: int, name: str, amount: int) -> bool:
        return self._pool[place] in self._matcher.able(name, amount)

    def _has_room(self, place: int, part: RequestPart) -> bool:
        # Each suitable provider grants the amounts of a part alone.
        return all(
            self._grants(place, name, amount + taken)
            for name, amount in part.resources
            if (taken := self.taken.get((place, name)))
        )

    def _needs_own(self, part: RequestPart) -> bool:
        # A group that has lost its resources is none to the service.
        return bool(part.group and (part.resources or part.group in self._matcher.bare))
