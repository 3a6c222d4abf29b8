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
    Identified,
    Move,
    ProviderIdentity,
    ProviderSpec,
    Spec,
    fill_template,
)

#: Amounts by provider UUID and class.
Amounts = defaultdict[tuple[str, str], int]


class MoveFromSource(NamedTuple):
    """A move of the specification, for one of its sources.

    :param target: name or UUID of the provider to which the move leads from this source
    """

    move: Move
    source: ProviderChange
    target: str


class CheckedChange:
    """A planned change that is to be checked, with the parts of the specification about its trees.

    :ivar names: the classes and consumers that the specification names
    :ivar by_name: the changed providers by name, as ``by_uuid`` by UUID
    :ivar moves: the moves of the specification in these trees
    """

    def __init__(self, change: Change, spec: Spec) -> None:
        self.change, self.spec = change, spec
        self.names = spec.names
        self.by_name = {provider.name: provider for provider in change.providers}
        self.by_uuid = {provider.uuid: provider for provider in change.providers}
        self.moves: list[MoveFromSource] = []
        #: by UUID of a provider
        self._entries = defaultdict[str, list[ProviderSpec]](list)
        members = defaultdict[str, list[ProviderChange]](list)
        for provider in change.providers:
            members[provider.root_provider_uuid].append(provider)
        # Providers that share with the trees of the change are in no tree of it.
        sharing = [
            provider
            for provider in change.providers
            if provider.root_provider_uuid not in change.roots
        ]
        for uuid, name in change.roots.items():
            self._add_tree(ProviderIdentity(uuid, name), members[uuid], sharing)

    def find_entries(self, provider: ProviderChange) -> Sequence[ProviderSpec]:
        """Return the entries of the specification about a provider."""
        return self._entries.get(provider.uuid, ())

    def find_provider(self, name_or_uuid: str) -> ProviderChange | None:
        """Return the provider of the change with this UUID, or else with this name."""
        return self.by_uuid.get(normalize_uuid(name_or_uuid)) or self.by_name.get(name_or_uuid)

    def _add_tree(
        self,
        root: Identified,
        members: Sequence[ProviderChange],
        sharing: Sequence[ProviderChange],
    ) -> None:
        """Add the moves and the entries of the specification about one tree.

        :param members: the changed providers of the tree
        :param sharing: the changed providers outside of all trees of the change
        """
        spec = self.spec
        providers = (*members, *sharing)
        names = {name for provider in providers for name in (provider.name, provider.uuid)}
        scope = spec.index.find_scope(root, names | {root.uuid, root.name})
        moves = [
            MoveFromSource(move, source, fill_template(move.target, root, source))
            for move in (spec.moves[index] for index in scope.moves)
            for source in self._find_sources(move, root, members)
        ]
        self.moves += moves
        for entry in (spec.providers[index] for index in scope.providers):
            for uuid in self._find_providers_of_entry(entry.name, root, moves):
                self._entries[uuid].append(entry)
        for addition in (spec.additions[index] for index in scope.additions):
            provider = self.find_provider(fill_template(addition.name, root))
            # A sharing provider gets its additions in its own tree.
            if provider is not None and provider.root_provider_uuid == root.uuid:
                self._entries[provider.uuid].append(addition)

    def _find_sources(
        self, move: Move, root: Identified, members: Iterable[ProviderChange]
    ) -> Iterator[ProviderChange]:
        """Yield the providers of a tree that are sources of a move.

        A pattern that is the name of a provider means this provider alone.
        """
        name = fill_template(move.source, root)
        exact = self.find_provider(name)
        for provider in members:
            if exact is not None or not patterns.is_pattern(name):
                is_source = provider is exact and not provider.is_created
            else:
                is_source = fnmatch.fnmatchcase(provider.name, name) and not (
                    move.resources.keys().isdisjoint(provider.content_before.inventories)
                )
            if is_source:
                yield provider

    def _find_providers_of_entry(
        self, template: str, root: Identified, moves: Iterable[MoveFromSource]
    ) -> set[str]:
        """Return the UUIDs of the providers that an entry of the specification is about.

        With ``{source}`` in the name, these are the targets of moves that have this name.

        :param template: the name of the entry
        :param moves: those of the specification in the tree
        """
        if SOURCE not in template:
            provider = self.find_provider(fill_template(template, root))
            return set() if provider is None else {provider.uuid}
        return {
            target.uuid
            for move, source, target_name in moves
            if move.moves_anything
            and (target := self.find_provider(target_name)) is not None
            and target is self.find_provider(fill_template(template, root, source))
        }
