"""The trees that satisfy some requirements, by the providers that satisfy each of them.

Placement's own rules: a group with a suffix is served by one provider, the group without one by
any providers of the tree, which have the required traits between them; an aggregate of the root
counts for all of the tree there. Sharing providers belong to every tree that they reach.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from placementclient.insight.candidates.provider_index import ProviderIndex
from placementclient.insight.candidates.requirements import Kind, Requirement

#: How many ways to serve a request are tried on one tree before it is taken for possible.
MAX_STEPS = 20000
#: Stands for no provider, where none has to serve a slot.
_NOBODY = ''
#: What everybody has to satisfy who serves the common group.
_OF_EACH = (Kind.NOT_TRAIT, Kind.AGGREGATE, Kind.NOT_AGGREGATE, Kind.IN_TREE)


@dataclass(frozen=True, slots=True)
class _Slot:
    """Something that one provider has to serve: a group, or a resource of the common group."""

    group: str
    options: Sequence[str]
    resources: Mapping[str, int]


class Matcher:
    """Decides for each tree whether it satisfies some of the requirements of a request."""

    def __init__(self, index: ProviderIndex, requirements: Sequence[Requirement]) -> None:
        self.index, self.requirements = index, requirements
        #: The UUIDs of the providers of each tree, by its root.
        self.trees: dict[str, list[str]] = {}
        for uuid, provider in index.providers.items():
            self.trees.setdefault(provider.root_uuid, []).append(uuid)
        self._matches: dict[Requirement, frozenset[str]] = {}
        self._pool = {
            root: [*members, *index.reach.get(root, ())] for root, members in self.trees.items()
        }
        self._groups = list(dict.fromkeys(r.group for r in requirements if r.group))
        self._common = [r for r in requirements if r.kind is Kind.RESOURCE and not r.group]

    @functools.cached_property
    def alone(self) -> dict[Requirement, frozenset[str]]:
        """The trees that satisfy each requirement, were it the only one."""
        return {
            requirement: frozenset(
                root for root in self.trees if self.satisfies(root, frozenset({requirement}))
            )
            for requirement in self.requirements
        }

    def who(self, requirement: Requirement) -> frozenset[str]:
        """Return the providers of a requirement; of a forbidden one, those that have it."""
        if requirement not in self._matches:
            asked = requirement.filter()
            assert asked is not None
            self._matches[requirement] = frozenset(self.index.matching(asked))
        return self._matches[requirement]

    def amounts_met(self, requirement: Requirement) -> Counter[str]:
        """Count for each tree the amounts of a resource that were asked for and that it has.

        :return: by the roots of trees
        """
        met = Counter[str]()
        for asked, matches in self._matches.items():
            if replace(asked, amount=requirement.amount) == requirement:
                met.update(
                    root for root, pool in self._pool.items() if not matches.isdisjoint(pool)
                )
        return met

    def possible(self, kept: frozenset[Requirement]) -> bool:
        """Return True if any tree allows these."""
        return any(self.allows(root, kept) for root in self._plausible(kept))

    def allows(self, root: str, kept: frozenset[Requirement]) -> bool:
        """Return True if a tree satisfies these, alone or beside some of the resources left out.

        A trait of the common group may be on a provider that only those resources use, all or less
        of them. So fewer requirements never are harder to meet here, as they may be for the
        service.
        """
        left_out = [r for r in self._common if r not in kept] if self.covering(kept) else ()
        return self.satisfies(root, kept, left_out)

    def is_met(self, kept: frozenset[Requirement]) -> bool:
        """Return True if any tree satisfies these."""
        return any(self.satisfies(root, kept) for root in self._plausible(kept))

    def satisfying(self, kept: frozenset[Requirement]) -> set[str]:
        """The roots of the trees that satisfy these."""
        return {root for root in self._plausible(kept) if self.satisfies(root, kept)}

    def lineage(self, uuid: str) -> Iterator[str]:
        """A provider and those above it."""
        above: str | None = uuid
        while above is not None and above in self.index.providers:
            yield above
            above = self.index.providers[above].parent_provider_uuid

    def _plausible(self, kept: frozenset[Requirement]) -> Collection[str]:
        known = [self.alone[requirement] for requirement in kept if requirement in self.alone]
        return frozenset.intersection(*known) if known else self.trees

    def satisfies(
        self, root: str, kept: frozenset[Requirement], optional: Collection[Requirement] = ()
    ) -> bool:
        """Return whether a tree satisfies these; with other amounts, where they have others.

        :param optional: resources of the common group that providers may serve, all or less of them
        """
        if not all(self._suits(root, requirement) for requirement in kept):
            return False
        slots = [*self._group_slots(root, kept), *self._common_slots(root, kept, optional)]
        return all(slot.options for slot in slots) and _Matching(self, kept, slots).succeeds()

    def covering(self, kept: frozenset[Requirement]) -> list[Requirement]:
        """The traits that those who serve the common group must have between them."""
        return [r for r in kept if r.kind is Kind.TRAIT and not r.group]

    def _suits(self, root: str, requirement: Requirement) -> bool:
        """Return whether a tree as a whole does not rule a requirement out."""
        if requirement.kind is Kind.ROOT_TRAIT:
            return root in self.who(requirement)
        if requirement.kind is Kind.NOT_ROOT_TRAIT:
            return root not in self.who(requirement)
        if requirement.kind is Kind.IN_TREE and not requirement.group:
            return root in self.who(requirement)
        if requirement.kind is Kind.TRAIT and not requirement.group:
            return not self.who(requirement).isdisjoint(self._pool[root])
        return True

    def _group_slots(self, root: str, kept: frozenset[Requirement]) -> Iterator[_Slot]:
        together = [r.value.split(',') for r in kept if r.kind is Kind.SAME_SUBTREE]
        for suffix in self._groups:
            own = [r for r in kept if r.group == suffix]
            if not own and not any(suffix in suffixes for suffixes in together):
                continue
            options = [
                uuid for uuid in self._pool[root] if all(self._is_served(uuid, r) for r in own)
            ]
            yield _Slot(
                suffix, options, {r.value: r.amount for r in own if r.kind is Kind.RESOURCE}
            )

    def _common_slots(
        self, root: str, kept: frozenset[Requirement], optional: Collection[Requirement]
    ) -> Iterator[_Slot]:
        conditions = [r for r in kept if not r.group and r.kind in _OF_EACH]
        fit = [
            uuid
            for uuid in self._pool[root]
            if all(self._is_served(uuid, r, root) for r in conditions)
        ]
        asked = [r for r in kept if r.kind is Kind.RESOURCE and not r.group]
        for requirement in asked:
            able = self.who(requirement)
            yield _Slot(
                '',
                [uuid for uuid in fit if uuid in able],
                {requirement.value: requirement.amount},
            )
        for requirement in optional if asked else ():
            able = self.who(requirement) | self.who(replace(requirement, amount=1))
            yield _Slot('', [*(uuid for uuid in fit if uuid in able), _NOBODY], {})
        if conditions and not asked:
            yield _Slot('', fit, {})

    def _is_served(self, uuid: str, requirement: Requirement, root: str | None = None) -> bool:
        """Return whether a provider satisfies a requirement.

        :param root: that of the tree, for the common group, whose aggregates count too
        """
        matches = self.who(requirement)
        if requirement.kind is Kind.NOT_TRAIT:
            return uuid not in matches
        if requirement.kind is Kind.NOT_AGGREGATE:
            return uuid not in matches and root not in matches
        if requirement.kind is Kind.AGGREGATE and uuid not in matches:
            # What is shared from another tree has to be a member itself.
            return root in matches and self.index.providers[uuid].root_provider_uuid == root
        return uuid in matches


class _Matching:
    """Looks for one way to serve all slots on a tree."""

    def __init__(
        self, matcher: Matcher, kept: frozenset[Requirement], slots: Sequence[_Slot]
    ) -> None:
        self._matcher = matcher
        # The one with the least choice first.
        self._slots = sorted(slots, key=lambda slot: len(slot.options))
        self._isolated = any(r.kind is Kind.ISOLATE for r in kept)
        self._subtrees = [set(r.value.split(',')) for r in kept if r.kind is Kind.SAME_SUBTREE]
        is_asked = any(slot.resources and not slot.group for slot in slots)
        self._traits = matcher.covering(kept) if is_asked else []
        self._left = MAX_STEPS
        self._chosen: list[str] = []

    def succeeds(self) -> bool:
        """Return whether there is one."""
        depth = len(self._chosen)
        if depth == len(self._slots):
            return self._is_shaped()
        for uuid in self._slots[depth].options:
            self._left -= 1
            if self._left <= 0:
                return True
            self._chosen.append(uuid)
            if self._has_room() and self.succeeds():
                return True
            self._chosen.pop()
        return False

    def _has_room(self) -> bool:
        """Return whether the provider chosen last can serve all that it was chosen for."""
        last = self._chosen[-1]
        serving = [
            slot for slot, uuid in zip(self._slots, self._chosen, strict=False) if uuid == last
        ]
        own = self._slots[len(self._chosen) - 1]
        if self._isolated and own.group and sum(bool(s.group and s.resources) for s in serving) > 1:
            return False
        for name in own.resources:
            amounts = [slot.resources[name] for slot in serving if name in slot.resources]
            if len(amounts) > 1:
                together = Requirement(Kind.RESOURCE, name, amount=sum(amounts))
                if last not in self._matcher.who(together):
                    return False
        return True

    def _is_shaped(self) -> bool:
        """Return whether traits and subtrees are right, once everything is chosen."""
        pairs = list(zip(self._slots, self._chosen, strict=True))
        used = {uuid for slot, uuid in pairs if not slot.group}
        for requirement in self._traits:
            if self._matcher.who(requirement).isdisjoint(used):
                return False
        for suffixes in self._subtrees:
            together = {uuid for slot, uuid in pairs if slot.group in suffixes}
            above = [set(self._matcher.lineage(uuid)) for uuid in together]
            if above and set.intersection(*above).isdisjoint(together):
                return False
        return True
