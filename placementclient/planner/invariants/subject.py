"""The plan of trees to check, with the parts of the specification about them."""

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placementclient.model.consumers import Allocations
from placementclient.model.patterns import is_pattern
from placementclient.model.plans import ProviderChange, TreeChange
from placementclient.model.providers import normalized
from placementclient.model.specifications import ROOT, Move, ProviderSpec, Spec, filled

_SOURCE = '{source}'

#: Amounts by provider UUID and class.
Amounts = dict[tuple[str, str], int]


class SourcedMove(NamedTuple):
    """A move of the specification from one of its sources.

    :param target: the name or the UUID of the target
    """

    move: Move
    source: ProviderChange
    target: str


class Subject:
    """The plan of trees that change together, with the parts of the specification about them.

    :param overcommitted: by how much places may be over-committed where nothing comes to them, by
        provider UUID and class
    """

    def __init__(
        self,
        tree: TreeChange,
        spec: Spec,
        backwards: bool,
        overcommitted: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self.overcommitted = overcommitted or {}
        self.tree, self.spec, self.backwards = tree, spec, backwards
        self.names = spec.names
        self.by_name = {change.name: change for change in tree.providers}
        self.by_uuid = {change.uuid: change for change in tree.providers}
        self._roots = tree.roots
        self._own: dict[str, list[ProviderChange]] = {uuid: [] for uuid in self._roots}
        others: list[ProviderChange] = []
        for change in tree.providers:
            self._own.get(change.root_provider_uuid, others).append(change)
        #: the moves of the specification in these trees
        self.moves: list[SourcedMove] = []
        self._entries: dict[str, list[ProviderSpec]] = {}
        for root_uuid, own in self._own.items():
            names = {name for each in (*own, *others) for name in (each.name, each.uuid)}
            self._learn(root_uuid, names | {root_uuid, self._roots[root_uuid]})

    def _learn(self, root_uuid: str, names: Collection[str]) -> None:
        scope = self.spec.index.scope(self._roots[root_uuid], names)
        moves = [
            SourcedMove(move, source, self.named(move.target, root_uuid, source))
            for move in (self.spec.moves[index] for index in scope.moves)
            for source in self._sources(move, root_uuid)
        ]
        self.moves += moves
        for index in scope.providers:
            entry = self.spec.providers[index]
            for uuid in {change.uuid for change in self._meant(entry.name, root_uuid, moves)}:
                self._entries.setdefault(uuid, []).append(entry)
        for index in scope.additions:
            addition = self.spec.additions[index]
            change = self.find(self.named(addition.name, root_uuid))
            # A sharing provider gets its additions in its own tree.
            if change and change.root_provider_uuid == root_uuid:
                self._entries.setdefault(change.uuid, []).append(addition)

    def entries_of(self, change: ProviderChange) -> Sequence[ProviderSpec]:
        return self._entries.get(change.uuid, ())

    def named(self, template: str, root_uuid: str, source: ProviderChange | None = None) -> str:
        """Return the name or UUID of a template."""
        if template == ROOT:
            return root_uuid
        names = {'root': self._roots.get(root_uuid, '')}
        if source is not None:
            if template == _SOURCE:
                return source.uuid
            names['source'] = source.name
        return filled(template, **names)

    def find(self, name_or_uuid: str) -> ProviderChange | None:
        """Return the provider of the plan with this UUID, or else with this name."""
        by_uuid = self.by_uuid.get(normalized(name_or_uuid))
        return by_uuid if by_uuid is not None else self.by_name.get(name_or_uuid)

    def _sources(self, move: Move, root_uuid: str) -> Sequence[ProviderChange]:
        """The providers of a tree that a move starts from."""
        name = self.named(move.source, root_uuid)
        exact = self.find(name)
        if exact is not None:
            is_own = exact.root_provider_uuid == root_uuid
            return [exact] if is_own and not exact.is_created else []
        if not is_pattern(name):
            return []
        return [
            change
            for change in self._own[root_uuid]
            if fnmatch.fnmatchcase(change.name, name)
            and not move.resources.keys().isdisjoint(change.content_before.inventories)
        ]

    def _meant(
        self, template: str, root_uuid: str, moves: Iterable[SourcedMove]
    ) -> Iterator[ProviderChange]:
        """The providers that a template means in a tree: with the name of a source, the targets of
        its moves.
        """
        if _SOURCE not in template:
            change = self.find(self.named(template, root_uuid))
            if change is not None:
                yield change
            return
        for move, source, target in moves:
            change = self.find(self.named(template, root_uuid, source))
            if move.moves_anything and change is not None and change is self.find(target):
                yield change


def amounts_of(allocations: Allocations) -> Amounts:
    """Return the allocated amounts of a consumer, by provider and class."""
    return {
        (provider_uuid, name): amount
        for provider_uuid, resources in allocations.items()
        for name, amount in resources.items()
    }


def add(sums: Amounts, where: tuple[str, str], amount: int) -> None:
    sums[where] = sums.get(where, 0) + amount
