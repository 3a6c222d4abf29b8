# SPDX-License-Identifier: Apache-2.0
"""The plan of trees to check, with the parts of the specification about them."""

import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from placementclient.model import patterns
from placementclient.model.plans import Change, ProviderChange
from placementclient.model.providers import normalize_uuid
from placementclient.model.specifications import (
    SOURCE,
    Move,
    Named,
    ProviderSpec,
    Spec,
    fill_template,
)

#: Amounts by provider UUID and class.
Amounts = defaultdict[tuple[str, str], int]


class SourcedMove(NamedTuple):
    """A move of the specification from a source to a target, by name or UUID."""

    move: Move
    source: ProviderChange
    target: str


class CheckedChange:
    """The change of trees to check, with the parts of the specification about these trees."""

    def __init__(self, change: Change, spec: Spec) -> None:
        self.change, self.spec = change, spec
        self.names = spec.names
        self.by_name = {provider.name: provider for provider in change.providers}
        self.by_uuid = {provider.uuid: provider for provider in change.providers}
        #: the moves of the specification in these trees
        self.moves: list[SourcedMove] = []
        self._entries: dict[str, list[ProviderSpec]] = {}
        members: dict[str, list[ProviderChange]] = {uuid: [] for uuid in change.roots}
        others: list[ProviderChange] = []
        for provider in change.providers:
            members.get(provider.root_provider_uuid, others).append(provider)
        for root in change.roots.items():
            self._add_tree(root, members[root[0]], others)

    def _add_tree(
        self, root: Named, members: Sequence[ProviderChange], others: Sequence[ProviderChange]
    ) -> None:
        """Add the moves and the entries of the specification about one tree.

        :param root: its UUID and its name
        :param members: the providers of the tree
        :param others: the changed providers outside of all trees of the change
        """
        spec = self.spec
        names = {name for change in (*members, *others) for name in (change.name, change.uuid)}
        scope = spec.index.find_scope(root, names.union(root))
        moves = [
            SourcedMove(move, source, fill_template(move.target, root, (source.uuid, source.name)))
            for move in (spec.moves[index] for index in scope.moves)
            for source in self._find_sources(move, root, members)
        ]
        self.moves += moves
        for entry in (spec.providers[index] for index in scope.providers):
            for uuid in {
                change.uuid for change in self._find_providers(entry.name, root, moves) if change
            }:
                self._entries.setdefault(uuid, []).append(entry)
        for addition in (spec.additions[index] for index in scope.additions):
            change = self.find_provider(fill_template(addition.name, root))
            # A sharing provider gets its additions in its own tree.
            if change is not None and change.root_provider_uuid == root[0]:
                self._entries.setdefault(change.uuid, []).append(addition)

    def find_entries(self, change: ProviderChange) -> Sequence[ProviderSpec]:
        """Return the entries of the specification about a provider."""
        return self._entries.get(change.uuid, ())

    def find_provider(self, name_or_uuid: str) -> ProviderChange | None:
        """Return the provider of the plan with this UUID, or else with this name."""
        return self.by_uuid.get(normalize_uuid(name_or_uuid)) or self.by_name.get(name_or_uuid)

    def _find_sources(
        self, move: Move, root: Named, members: Iterable[ProviderChange]
    ) -> Iterator[ProviderChange]:
        """Yield the providers of a tree that are sources of a move."""
        name = fill_template(move.source, root)
        exact = self.find_provider(name)
        for change in members:
            if exact is not None or not patterns.is_pattern(name):
                is_source = change is exact and not change.is_created
            else:
                is_source = fnmatch.fnmatchcase(change.name, name) and not (
                    move.resources.keys().isdisjoint(change.content_before.inventories)
                )
            if is_source:
                yield change

    def _find_providers(
        self, template: str, root: Named, moves: Iterable[SourcedMove]
    ) -> Iterator[ProviderChange | None]:
        """Yield the providers that a name with placeholders stands for.

        With the name of a source in it, only targets of that source's moves count.
        """
        if SOURCE not in template:
            yield self.find_provider(fill_template(template, root))
            return
        for move, source, target in moves:
            change = self.find_provider(fill_template(template, root, (source.uuid, source.name)))
            if move.moves_anything and change is self.find_provider(target):
                yield change
