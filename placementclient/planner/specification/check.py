# SPDX-License-Identifier: Apache-2.0
"""A specification compared with a snapshot: wrong names, and entries that select nothing."""

import fnmatch
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

import os_traits
from os_resource_classes import STANDARDS

from placementclient.basis import errors
from placementclient.basis.wording import suggestion
from placementclient.model.patterns import (
    MAX_HINTS,
    describe_unmatched,
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


class SpecCheck:
    """Finds the faults of a specification that are wrong for every tree.

    :param listed: all providers of the cloud, where the snapshot has only some trees
    :param trees: the names of the trees that are planned; without any, those of the specification
    """

    def __init__(
        self,
        spec: Spec,
        snapshot: Snapshot,
        listed: Collection[Provider] | None = None,
        trees: Collection[str] = (),
    ) -> None:
        self._spec, self._snapshot, self._listed = spec, snapshot, listed
        self._only, self._hints = trees, MAX_HINTS
        states = snapshot.providers.values()
        self._providers = [state.provider for state in states] if listed is None else listed
        #: of each kind the standard names, and those that a provider has
        self._names = {
            _CLASS: {*STANDARDS, *chain.from_iterable(state.inventories for state in states)},
            _TRAIT: {*os_traits.get_traits(), *chain.from_iterable(s.traits for s in states)},
        }

    def check_names(self) -> Iterator[errors.BadFile]:
        """Yield names of classes, traits, sources and parents that nothing has."""
        for kind, is_needed, name, keys in _list_names(self._spec):
            yield from self._check_name(kind, is_needed and not self._only, name, keys)
        if self._spec.trees is None or not self._only:
            known = {name for p in self._providers for name in (p.name, p.uuid)}
            for index, move in enumerate(self._spec.moves):
                name = move.source
                is_known = name in known or self._snapshot.find(name)
                if not (is_known or is_pattern(name) or has_placeholder(name)):
                    reason = f'there is no provider {name} to move anything from'
                    keys = 'moves', index, 'from_resource_provider'
                    yield self._make_error(reason, name, self._list_provider_names(), *keys)
        yield from self._check_additions()

    def check_selections(self) -> Iterator[errors.BadFile]:
        """Yield an error for each entry of ``trees`` and each source that selects no tree."""
        if self._listed is None and self._only and self._is_partial():
            return
        yield from self._check_roots()
        if self._listed is None:
            yield from self._check_contents()
        names = {provider.name for provider in self._providers}
        for index, move in enumerate(self._spec.moves):
            name = move.source
            is_open = is_pattern(name) and not has_placeholder(name) and name not in names
            if is_open and not fnmatch.filter(names, name):
                keys = 'moves', index, 'from_resource_provider'
                yield self._spec.error(describe_unmatched(name, names), *keys)

    def _list_provider_names(self) -> list[str]:
        return [state.name for state in self._snapshot.providers.values()]

    def _make_error(
        self, reason: str, name: str, names: Iterable[str], *keys: str | int
    ) -> errors.BadFile:
        """Return a fault, with the name that was probably meant for the first :data:`MAX_HINTS`."""
        self._hints -= 1
        hint = suggestion(name, names) if self._hints >= 0 else ''
        return self._spec.error(reason + hint, *keys)

    def _check_name(
        self, kind: str, is_needed: bool, name: str, keys: Keys
    ) -> Iterator[errors.BadFile]:
        """Yield the fault of a name that no provider has; newer services may have more names."""
        if name in self._names[kind]:
            return
        reason = f'no provider has the {kind} {name}'
        if not name.startswith('CUSTOM_'):
            reason = (
                f'{name} is no standard {kind}, no provider has it, and it does not begin with '
                'CUSTOM_'
            )
        elif not is_needed:
            return
        yield self._spec.error(reason + suggestion(name, self._names[kind]), *keys)

    def _check_additions(self) -> Iterator[errors.BadFile]:
        """Yield the faults of additions without a parent, or to a provider of another entry."""
        entries = {entry.name for entry in self._spec.providers}
        preceding, find = set(entries), self._snapshot.find
        for index, addition in enumerate(self._spec.additions):
            name, parent = addition.name, addition.parent or ROOT
            if name in entries:
                reason = f'{name} is under providers too'
                yield self._spec.error(reason, 'additions', index, 'resource_provider')
            elif not (has_placeholder(parent) or parent in preceding or find(name) or find(parent)):
                reason = f'there is no provider {parent} to make {name} below'
                keys = 'additions', index, 'parent'
                yield self._make_error(reason, parent, self._list_provider_names(), *keys)
            preceding.add(name)

    def _is_partial(self) -> bool:
        """Return whether the snapshot has only the trees to plan and sharing providers."""
        states = map(self._snapshot.find, self._only)
        roots = {state.provider.root_uuid for state in states if state is not None}
        return all(
            root.uuid in roots or SHARING_TRAIT in root.traits for root in self._snapshot.roots()
        )

    def _check_roots(self) -> Iterator[errors.BadFile]:
        """Yield the names, patterns and UUIDs of no root."""
        selection = self._spec.trees or TreeSelection()
        by_name = {provider.name: provider for provider in self._providers}
        by_uuid = {provider.uuid: provider for provider in self._providers}
        roots = {
            provider.name: provider.uuid
            for provider in self._providers
            if provider.parent_provider_uuid is None
        }
        for index, name in enumerate(selection.names):
            if name in roots or fnmatch.filter(roots, name):
                continue
            reason = f'"{name}" matches no provider'
            if below := fnmatch.filter(by_name, name):
                root = by_uuid.get(by_name[below[0]].root_uuid)
                where = root.name if root else 'another root'
                reason = f'"{name}" matches no root, but {below[0]} below {where}'
            yield self._make_error(
                reason, name, find_similar_names(name, {*roots}), 'trees', 'name', index
            )
        for index, uuid in enumerate(selection.uuids):
            provider = by_uuid.get(uuid)
            if provider is None:
                near = find_similar_uuids(uuid, roots.values())
                reason = f'no root has the UUID {uuid}'
                yield self._make_error(reason, uuid, near, 'trees', 'uuid', index)
            elif provider.parent_provider_uuid is not None:
                hint = f'. Did you mean "{provider.root_uuid}"?'
                reason = f'{uuid} is {provider.name}, which is no root{hint}'
                yield self._spec.error(reason, 'trees', 'uuid', index)

    def _check_contents(self) -> Iterator[errors.BadFile]:
        """Yield the traits and classes of no root, except names that are always faults."""
        selection, roots = self._spec.trees or TreeSelection(), self._snapshot.roots()
        traits = set(chain.from_iterable(root.traits for root in roots))
        classes = set(chain.from_iterable(root.inventories for root in roots))
        for key, kind, named, present, reason in (
            ('trait', _TRAIT, selection.traits, traits, 'no root has the trait'),
            ('class', _CLASS, selection.classes, classes, 'no root has inventory of'),
        ):
            for index, name in enumerate(named):
                may_be_elsewhere = bool(self._only) and name.startswith('CUSTOM_')
                if name not in present and (name in self._names[kind] or may_be_elsewhere):
                    yield self._make_error(f'{reason} {name}', name, present, 'trees', key, index)


def _list_names(spec: Spec) -> Iterator[tuple[str, bool, str, Keys]]:
    """Yield each class and trait that a specification names, its kind, whether a provider must
    have it already, and the way to it.
    """
    selection = spec.trees or TreeSelection()
    sections: list[tuple[str, bool, Iterable[tuple[str | int, str]], Keys]] = [
        (_CLASS, True, enumerate(selection.classes), ('trees', 'class')),
        (_TRAIT, True, enumerate(selection.traits), ('trees', 'trait')),
    ]
    for at, move in enumerate(spec.moves):
        moved = ((name, name) for name in move.resources)
        sections.append((_CLASS, True, moved, ('moves', at, 'moved_resources')))
        sections.append((_CLASS, False, move.renamed.items(), ('moves', at, 'as')))
        sections.append((_TRAIT, True, enumerate(move.traits), ('moves', at, 'moved_traits')))
    for section, entries in spec.sections.items():
        for at, entry in enumerate(entries):
            stated = ((name, name) for name in entry.inventories)
            sections.append((_CLASS, False, stated, (section, at, 'inventories')))
            sections.append((_TRAIT, False, enumerate(entry.traits), (section, at, 'traits')))
    for at, group in enumerate(spec.together):
        sections.append((_CLASS, False, enumerate(group), ('together', at)))
    for kind, is_needed, named, keys in sections:
        for key, name in named:
            yield kind, is_needed, name, (*keys, key)
