# SPDX-License-Identifier: Apache-2.0
"""A specification compared with a snapshot: wrong names, and entries that select nothing."""

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import os_traits
from os_resource_classes import STANDARDS

from placementclient.basis import errors
from placementclient.basis.wording import suggest_similar
from placementclient.model.patterns import (
    MAX_HINTS,
    describe_unmatched_pattern,
    find_similar_names,
    find_similar_uuids,
    is_pattern,
)
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import (
    ROOT,
    Keys,
    Spec,
    TreeSelection,
    has_placeholder,
)

#: The kinds of names.
_CLASS, _TRAIT = 'resource class', 'trait'


class _SpecName(NamedTuple):
    """A class or a trait that a specification names.

    :param keys: the way to it in the specification
    :param is_needed: whether a provider must have it already
    """

    kind: str
    name: str
    keys: Keys
    is_needed: bool


class SpecCheck:
    """Finds the faults of a specification that are wrong for every tree.

    :param snapshot: all trees of the cloud, or only those that are planned with their sharing
        providers
    :param listed: all providers of the cloud; ``None``: those of the snapshot
    :param trees: the names or UUIDs of the only roots to plan; none: all that the specification
        selects. Then the specification may name things that only other trees have
    """

    def __init__(
        self,
        spec: Spec,
        snapshot: Snapshot,
        listed: Collection[Provider] | None = None,
        trees: Collection[str] = (),
    ) -> None:
        self._spec, self._snapshot, self._trees = spec, snapshot, trees
        self._selection = spec.trees or TreeSelection()
        states = snapshot.providers.values()
        self._is_listed = listed is not None
        self._providers = [state.provider for state in states] if listed is None else listed
        #: of each kind the standard names, and those that a provider has
        self._known_names = {
            _CLASS: {*STANDARDS, *chain.from_iterable(state.inventories for state in states)},
            _TRAIT: {*os_traits.get_traits(), *chain.from_iterable(s.traits for s in states)},
        }
        #: how many errors may still have a suggestion
        self._hints_left = MAX_HINTS

    def check_names(self) -> Iterator[errors.BadFile]:
        """Yield an error for each name of a class, trait, source or parent that nothing has."""
        for spec_name in _list_classes_and_traits(self._spec):
            yield from self._check_name(spec_name)
        if self._spec.trees is None or not self._trees:
            yield from self._check_sources()
        yield from self._check_additions()

    def check_selections(self) -> Iterator[errors.BadFile]:
        """Yield an error for each entry of ``trees`` and each source that selects no tree."""
        if not self._is_listed and self._trees and self._lacks_unplanned_trees():
            return
        yield from self._check_root_names()
        yield from self._check_root_uuids()
        if not self._is_listed:
            yield from self._check_root_contents()
        names = {provider.name for provider in self._providers}
        for index, move in enumerate(self._spec.moves):
            name = move.source
            is_open = is_pattern(name) and not has_placeholder(name) and name not in names
            if is_open and not fnmatch.filter(names, name):
                keys = 'moves', index, 'from_resource_provider'
                yield self._spec.make_error(describe_unmatched_pattern(name, names), *keys)

    def _make_name_error(
        self, reason: str, keys: Keys, name: str, candidates: Iterable[str]
    ) -> errors.BadFile:
        """Return an error about a name; the first :data:`MAX_HINTS` suggest a similar candidate.

        :param keys: the way to the name in the specification
        :param name: the wrong name
        :param candidates: the names that it might mean
        """
        self._hints_left -= 1
        hint = suggest_similar(name, candidates) if self._hints_left >= 0 else ''
        return self._spec.make_error(reason + hint, *keys)

    def _list_provider_names(self) -> list[str]:
        return [state.name for state in self._snapshot.providers.values()]

    def _check_name(self, spec_name: _SpecName) -> Iterator[errors.BadFile]:
        """Yield an error if no provider has a class or trait, and the service does not know it.

        Newer services may have more standard names: those that a provider has are known.
        """
        kind, name, keys, is_needed = spec_name
        if name in self._known_names[kind]:
            return
        if not name.startswith('CUSTOM_'):
            reason = (
                f'{name} is no standard {kind}, no provider has it, and it does not begin with '
                'CUSTOM_'
            )
        elif is_needed and not self._trees:
            reason = f'no provider has the {kind} {name}'
        else:
            return
        yield self._make_name_error(reason, keys, name, self._known_names[kind])

    def _check_sources(self) -> Iterator[errors.BadFile]:
        """Yield an error for each source of a move that is no provider."""
        known = {name for p in self._providers for name in (p.name, p.uuid)}
        for index, move in enumerate(self._spec.moves):
            name = move.source
            is_known = name in known or self._snapshot.find(name)
            if not (is_known or is_pattern(name) or has_placeholder(name)):
                reason = f'there is no provider {name} to move anything from'
                keys = 'moves', index, 'from_resource_provider'
                yield self._make_name_error(reason, keys, name, self._list_provider_names())

    def _check_additions(self) -> Iterator[errors.BadFile]:
        """Yield an error for each addition without a parent, or to a provider of another entry."""
        entries = {entry.name for entry in self._spec.providers}
        preceding = {*entries}
        for index, addition in enumerate(self._spec.additions):
            name, parent = addition.name, addition.parent or ROOT
            if name in entries:
                reason = f'{name} is under providers too'
                yield self._spec.make_error(reason, 'additions', index, 'resource_provider')
            elif not self._is_parent_known(name, parent, preceding):
                reason = f'there is no provider {parent} to make {name} below'
                keys = 'additions', index, 'parent'
                yield self._make_name_error(reason, keys, parent, self._list_provider_names())
            preceding.add(name)

    def _is_parent_known(self, name: str, parent: str, preceding_names: Collection[str]) -> bool:
        """Return whether an addition needs no parent, or its parent exists or is to be created.

        :param name: of the provider that the addition is to
        :param parent: the name of the parent
        :param preceding_names: of the providers that other entries create
        """
        if self._snapshot.find(name) or has_placeholder(parent):
            return True
        return parent in preceding_names or self._snapshot.find(parent) is not None

    def _lacks_unplanned_trees(self) -> bool:
        """Return whether the snapshot has only the trees to plan, and sharing providers."""
        states = map(self._snapshot.find, self._trees)
        roots = {state.provider.root_uuid for state in states if state is not None}
        return all(
            root.uuid in roots or SHARING_TRAIT in root.traits for root in self._snapshot.roots()
        )

    def _check_root_names(self) -> Iterator[errors.BadFile]:
        """Yield an error for each name and pattern of ``trees`` that is that of no root."""
        by_name = {provider.name: provider for provider in self._providers}
        names_by_uuid = {provider.uuid: provider.name for provider in self._providers}
        roots = {name for name, provider in by_name.items() if not provider.parent_provider_uuid}
        for index, name in enumerate(self._selection.names):
            if name in roots or fnmatch.filter(roots, name):
                continue
            reason = f'"{name}" matches no provider'
            if below := fnmatch.filter(by_name, name):
                where = names_by_uuid.get(by_name[below[0]].root_uuid, 'another root')
                reason = f'"{name}" matches no root, but {below[0]} below {where}'
            keys = 'trees', 'name', index
            yield self._make_name_error(reason, keys, name, find_similar_names(name, roots))

    def _check_root_uuids(self) -> Iterator[errors.BadFile]:
        """Yield an error for each UUID of ``trees`` that is that of no root."""
        by_uuid = {provider.uuid: provider for provider in self._providers}
        for index, uuid in enumerate(self._selection.uuids):
            provider, keys = by_uuid.get(uuid), ('trees', 'uuid', index)
            if provider is None:
                roots = [p.uuid for p in self._providers if p.parent_provider_uuid is None]
                near = find_similar_uuids(uuid, roots)
                yield self._make_name_error(f'no root has the UUID {uuid}', keys, uuid, near)
            elif provider.parent_provider_uuid is not None:
                hint = f'. Did you mean "{provider.root_uuid}"?'
                reason = f'{uuid} is {provider.name}, which is no root{hint}'
                yield self._spec.make_error(reason, *keys)

    def _check_root_contents(self) -> Iterator[errors.BadFile]:
        """Yield an error for each trait and class of ``trees`` that no root has.

        Names that are wrong in every cloud have an error of :meth:`check_names` already.
        """
        roots = self._snapshot.roots()
        traits = set(chain.from_iterable(root.traits for root in roots))
        classes = set(chain.from_iterable(root.inventories for root in roots))
        for key, kind, named, present, reason in (
            ('trait', _TRAIT, self._selection.traits, traits, 'no root has the trait'),
            ('class', _CLASS, self._selection.classes, classes, 'no root has inventory of'),
        ):
            for index, name in enumerate(named):
                may_be_elsewhere = bool(self._trees) and name.startswith('CUSTOM_')
                if name not in present and (name in self._known_names[kind] or may_be_elsewhere):
                    yield self._make_name_error(
                        f'{reason} {name}', ('trees', key, index), name, present
                    )


def _list_classes_and_traits(spec: Spec) -> Iterator[_SpecName]:
    """Yield each class and trait that a specification names, in the order of its sections."""
    selection = spec.trees or TreeSelection()
    yield from _list_names_at(_CLASS, ('trees', 'class'), selection.classes, is_needed=True)
    yield from _list_names_at(_TRAIT, ('trees', 'trait'), selection.traits, is_needed=True)
    for index, move in enumerate(spec.moves):
        at: Keys = ('moves', index)
        yield from _list_names_at(_CLASS, (*at, 'moved_resources'), move.resources, is_needed=True)
        for name, new_name in move.renamed.items():
            yield _SpecName(_CLASS, new_name, (*at, 'as', name), is_needed=False)
        yield from _list_names_at(_TRAIT, (*at, 'moved_traits'), move.traits, is_needed=True)
    for section, entries in spec.sections.items():
        for index, entry in enumerate(entries):
            at = (section, index)
            yield from _list_names_at(_CLASS, (*at, 'inventories'), entry.inventories)
            yield from _list_names_at(_TRAIT, (*at, 'traits'), entry.traits)
    for index, group in enumerate(spec.together):
        yield from _list_names_at(_CLASS, ('together', index), group)


def _list_names_at(
    kind: str, keys: Keys, names: Sequence[str] | Mapping[str, object], *, is_needed: bool = False
) -> Iterator[_SpecName]:
    """Yield the names of a list, or the keys of a mapping, at a place in a specification.

    :param kind: of the names: class or trait
    :param keys: the way to that place
    :param is_needed: whether a provider must have the names already
    """
    numbered = zip(names, names, strict=True) if isinstance(names, Mapping) else enumerate(names)
    for key, name in numbered:
        yield _SpecName(kind, name, (*keys, key), is_needed)
