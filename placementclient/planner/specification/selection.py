"""Conditions of ``trees`` and patterns of sources that select nothing."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

from placementclient.client import errors
from placementclient.model.patterns import is_pattern, similar
from placementclient.model.providers import SHARING_TRAIT, Provider
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.model.specifications import Spec, TreeSelection, has_placeholder
from placementclient.planner.specification.check import Hints, is_known


def faults(
    spec: Spec,
    snapshot: Snapshot,
    listed: Collection[Provider] | None = None,
    trees: Collection[str] = (),
) -> Iterator[errors.BadFile]:
    """Each entry of ``trees`` that no root meets, and each pattern of a source that no provider
    matches, even if others do.

    :param listed: all providers of the service, if the snapshot has only some of its trees
    :param trees: names or UUIDs of the only roots to plan; none: all that the specification selects
    """
    if listed is None and trees and _is_part(snapshot, trees):
        return
    checker = _Checker(spec)
    everything = [state.provider for state in snapshot.providers.values()]
    providers = everything if listed is None else listed
    yield from checker.names(providers)
    if listed is None:
        yield from checker.contents(snapshot, partial=bool(trees))
    yield from checker.sources(providers)


def _is_part(snapshot: Snapshot, trees: Collection[str]) -> bool:
    """Return whether a snapshot has nothing but some trees, and what shares with them."""
    states = map(snapshot.find, trees)
    asked = {state.provider.root_uuid for state in states if state is not None}
    return all(root.uuid in asked or SHARING_TRAIT in root.traits for root in snapshot.roots())


class _Checker:
    def __init__(self, spec: Spec) -> None:
        self._spec, self._selection = spec, spec.trees or TreeSelection()
        self._hints = Hints()

    def names(self, providers: Collection[Provider]) -> Iterator[errors.BadFile]:
        """Names, patterns and UUIDs of no root."""
        by_name = {provider.name: provider for provider in providers}
        by_uuid = {provider.uuid: provider for provider in providers}
        roots = {name for name, each in by_name.items() if each.parent_provider_uuid is None}
        for index, name in enumerate(self._selection.names):
            if name in roots or fnmatch.filter(roots, name):
                continue
            below = [by_name[each] for each in fnmatch.filter(by_name, name)[:1]]
            reason = f'"{name}" matches no provider'
            if below:
                root = by_uuid.get(below[0].root_uuid)
                reason = f'"{name}" matches no root, but {below[0].name} below {_name(root)}'
            hint = self._hints.of(name, similar(name, roots))
            yield self._spec.error(reason + hint, 'trees', 'name', index)
        for index, uuid in enumerate(self._selection.uuids):
            provider = by_uuid.get(uuid)
            if provider is not None and provider.parent_provider_uuid is None:
                continue
            reason = f'no root has the UUID {uuid}'
            if provider is not None:
                hint = f'. Did you mean "{provider.root_uuid}"?'
                reason = f'{uuid} is {provider.name}, which is no root{hint}'
            else:
                near = (by_name[name].uuid for name in roots)
                reason += self._hints.of(uuid, {each for each in near if _is_like(each, uuid)})
            yield self._spec.error(reason, 'trees', 'uuid', index)

    def contents(self, snapshot: Snapshot, *, partial: bool) -> Iterator[errors.BadFile]:
        """Traits and classes of no root, but those that are faults wherever they are named."""
        chosen = self._selection
        names: Callable[[ProviderState], Iterable[str]]
        for key, named, names, reason in (
            ('trait', chosen.traits, lambda state: state.traits, 'no root has the trait'),
            ('class', chosen.classes, lambda state: state.inventories, 'no root has inventory of'),
        ):
            there = set(chain.from_iterable(map(names, snapshot.providers.values())))
            own = set(chain.from_iterable(map(names, snapshot.roots())))
            for index, name in enumerate(named):
                may_be_elsewhere = partial and name.startswith('CUSTOM_')
                if name not in own and (name in there or is_known(name) or may_be_elsewhere):
                    hint = self._hints.of(name, own)
                    yield self._spec.error(f'{reason} {name}{hint}', 'trees', key, index)

    def sources(self, providers: Collection[Provider]) -> Iterator[errors.BadFile]:
        """Patterns of sources that match no provider."""
        names = {provider.name for provider in providers}
        for index, move in enumerate(self._spec.moves):
            name = move.source
            if has_placeholder(name) or not is_pattern(name) or name in names:
                continue
            if not fnmatch.filter(names, name):
                reason = f'"{name}" matches no provider{self._hints.of(name, similar(name, names))}'
                yield self._spec.error(reason, 'moves', index, 'from_resource_provider')


def _name(root: Provider | None) -> str:
    return root.name if root else 'another root'


def _is_like(uuid: str, other: str) -> bool:
    """Return whether UUIDs agree at their beginning or at their end, which people get right."""
    return uuid[:8] == other[:8] or uuid[-12:] == other[-12:]
