"""The plan of a tree under the check, and what its specification says of that tree."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence

from placementclient.model.consumers import Allocations
from placementclient.model.patterns import is_pattern
from placementclient.model.providers import normalized
from placementclient.planner.plan.plan import TreePlan
from placementclient.planner.plan.state_changes import ProviderChange
from placementclient.planner.specification.values import ROOT, Move, ProviderSpec, Spec, filled

_SOURCE = '{source}'

#: Amounts by provider UUID and class.
Amounts = dict[tuple[str, str], int]


class Subject:
    """The plan of a tree, with an index of its providers and of the specification.

    :param backwards: whether it is the way back
    :param overcommitted: by how much places may be over-committed where nothing comes to them, by
        provider UUID and class
    """

    def __init__(
        self,
        tree: TreePlan,
        spec: Spec,
        backwards: bool,
        overcommitted: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self.overcommitted = overcommitted or {}
        self.tree, self.spec, self.backwards = tree, spec, backwards
        self.names = spec.names
        self.by_name = {change.name: change for change in tree.providers}
        self.by_uuid = {change.uuid: change for change in tree.providers}
        self.own = [
            change
            for change in tree.providers
            if change.root_provider_uuid == tree.root_provider_uuid
        ]
        known = {*self.by_name, *self.by_uuid, tree.root_provider_name, tree.root_provider_uuid}
        scope = spec.index.scope(tree.root_provider_name, known)
        #: the moves that may be about this tree, by their indexes
        self.moves: dict[int, Move] = {index: spec.moves[index] for index in scope.moves}
        self._entries: dict[str, list[ProviderSpec]] = {}
        for index in scope.providers:
            entry = spec.providers[index]
            for uuid in {change.uuid for change in self._meant(entry.name)}:
                self._entries.setdefault(uuid, []).append(entry)
        for index in scope.additions:
            addition = spec.additions[index]
            change = self.find(self.named(addition.name))
            # A sharing provider gets its additions in its own tree.
            if change and change.root_provider_uuid == tree.root_provider_uuid:
                self._entries.setdefault(change.uuid, []).append(addition)

    def entries_of(self, change: ProviderChange) -> Sequence[ProviderSpec]:
        return self._entries.get(change.uuid, ())

    def named(self, template: str, source: ProviderChange | None = None) -> str:
        """The name or UUID that a template means.

        :param source: of the move that says so
        """
        if template == ROOT:
            return self.tree.root_provider_uuid
        names = {'root': self.tree.root_provider_name}
        if source is not None:
            if template == _SOURCE:
                return source.uuid
            names['source'] = source.name
        return filled(template, **names)

    def find(self, name_or_uuid: str) -> ProviderChange | None:
        """The provider of the plan that has this name or UUID; a UUID wins."""
        by_uuid = self.by_uuid.get(normalized(name_or_uuid))
        return by_uuid if by_uuid is not None else self.by_name.get(name_or_uuid)

    def sources(self, move: Move) -> Sequence[ProviderChange]:
        """The providers of this tree that a move starts from."""
        name = self.named(move.source)
        exact = self.find(name)
        if exact is not None:
            is_own = exact.root_provider_uuid == self.tree.root_provider_uuid
            return [exact] if is_own and not exact.is_created else []
        if not is_pattern(name):
            return []
        return [
            change
            for change in self.own
            if fnmatch.fnmatchcase(change.name, name)
            and not move.resources.keys().isdisjoint(change.content_before.inventories)
        ]

    def _meant(self, template: str) -> Iterator[ProviderChange]:
        """The providers that a template means in this tree: with the name of a source, the targets
        of its moves.
        """
        if _SOURCE not in template:
            change = self.find(self.named(template))
            if change is not None:
                yield change
            return
        for move in self.moves.values():
            for source in self.sources(move) if move.moves_anything else ():
                change = self.find(self.named(template, source))
                if change is not None and change is self.find(self.named(move.target, source)):
                    yield change


def amounts_of(allocations: Allocations) -> Amounts:
    """Return the holdings of a consumer, by provider and class."""
    return {
        (provider_uuid, name): amount
        for provider_uuid, resources in allocations.items()
        for name, amount in resources.items()
    }


def add(sums: Amounts, where: tuple[str, str], amount: int) -> None:
    sums[where] = sums.get(where, 0) + amount
