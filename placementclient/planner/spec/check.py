"""A specification against a snapshot: names of classes, traits and sources that cannot be right."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import os_traits
from os_resource_classes import STANDARDS

from placementclient.client import errors
from placementclient.client.wording import meant
from placementclient.model.patterns import is_pattern
from placementclient.model.snapshots import Snapshot
from placementclient.planner.spec.values import ROOT, Spec, has_placeholder

#: For how many unknown names it is said what was probably meant.
MAX_HINTS = 20
#: What leads to a value of a specification, as :meth:`Spec.error` takes it.
Keys = tuple[str | int, ...]


def faults(spec: Spec, snapshot: Snapshot, *, partial: bool = False) -> Iterator[errors.BadFile]:
    """Everything in a specification that no tree can suit.

    :param partial: whether the snapshot, or what is planned of it, may be a part only, so that a
        custom name that no provider has there may be elsewhere
    """
    states = snapshot.providers.values()
    classes = {name for state in states for name in state.inventories}
    traits = {name for state in states for name in state.traits}
    yield from _unknown(spec, _classes_there(spec), classes, not partial, 'resource class')
    yield from _unknown(spec, _classes_given(spec), classes, False, 'resource class')
    yield from _unknown(spec, _traits_there(spec), traits, not partial, 'trait')
    yield from _unknown(spec, _traits_given(spec), traits, False, 'trait')
    if spec.selection is None:
        yield from _sources(spec, snapshot)
    yield from _additions(spec, snapshot)


def is_known(name: str) -> bool:
    """Return whether a name is one of the standard resource classes or traits."""
    return name in STANDARDS or name in os_traits.get_traits()


def _unknown(
    spec: Spec, names: Iterator[tuple[str, Keys]], there: Collection[str], needed: bool, what: str
) -> Iterator[errors.BadFile]:
    """The names that no service can have; a newer one may know more than this program.

    :param needed: True if a provider must have it already
    """
    standards = STANDARDS if what == 'resource class' else os_traits.get_traits()
    for name, keys in names:
        if name in there or name in standards:
            continue
        hint = meant(name, {*there, *standards})
        if not name.startswith('CUSTOM_'):
            yield spec.error(
                f'{name} is no standard {what}, no provider has it, and it does not begin with '
                f'CUSTOM_{hint}',
                *keys,
            )
        elif needed:
            yield spec.error(f'no provider has the {what} {name}{hint}', *keys)


def _classes_there(spec: Spec) -> Iterator[tuple[str, Keys]]:
    """Return the classes that a provider must have already."""
    for index, name in enumerate(spec.selection.classes if spec.selection else ()):
        yield name, ('trees', 'class', index)
    for index, move in enumerate(spec.moves):
        for name in move.resources:
            yield name, ('moves', index, 'moved_resources', name)


def _classes_given(spec: Spec) -> Iterator[tuple[str, Keys]]:
    """Return the classes that a provider gets."""
    for index, entry in enumerate(spec.providers):
        for name in entry.inventories:
            yield name, ('providers', index, 'inventories', name)
    for index, addition in enumerate(spec.additions):
        for name in addition.inventories:
            yield name, ('additions', index, 'inventories', name)
    for index, move in enumerate(spec.moves):
        for name, renamed in move.renamed.items():
            yield renamed, ('moves', index, 'as', name)
    for index, group in enumerate(spec.together):
        for place, name in enumerate(group):
            yield name, ('together', index, place)


def _traits_there(spec: Spec) -> Iterator[tuple[str, Keys]]:
    """Return the traits that a provider must have already."""
    for index, name in enumerate(spec.selection.traits if spec.selection else ()):
        yield name, ('trees', 'trait', index)
    for index, move in enumerate(spec.moves):
        for place, name in enumerate(move.traits):
            yield name, ('moves', index, 'moved_traits', place)


def _traits_given(spec: Spec) -> Iterator[tuple[str, Keys]]:
    """Return the traits that a provider gets."""
    for index, entry in enumerate(spec.providers):
        for place, name in enumerate(entry.traits):
            yield name, ('providers', index, 'traits', place)
    for index, addition in enumerate(spec.additions):
        for place, name in enumerate(addition.traits):
            yield name, ('additions', index, 'traits', place)


def _sources(spec: Spec, snapshot: Snapshot) -> Iterator[errors.BadFile]:
    """The sources that no provider is, where it is they that select the trees."""
    hints = _Hints(snapshot)
    for index, move in enumerate(spec.moves):
        name = move.source
        if snapshot.find(name) is None and not is_pattern(name) and not has_placeholder(name):
            yield spec.error(
                f'there is no provider {name} to move anything from{hints.of(name)}',
                *('moves', index, 'from_resource_provider'),
            )


def _additions(spec: Spec, snapshot: Snapshot) -> Iterator[errors.BadFile]:
    """The additions that lead nowhere, or to what another entry is about."""
    entries = {entry.name for entry in spec.providers}
    known, hints = set(entries), _Hints(snapshot)
    for index, addition in enumerate(spec.additions):
        parent = addition.parent or ROOT
        if addition.name in entries:
            reason = f'{addition.name} is under providers too'
            yield spec.error(reason, 'additions', index, 'resource_provider')
        elif not (
            has_placeholder(parent)
            or parent in known
            or snapshot.find(addition.name)
            or snapshot.find(parent)
        ):
            yield spec.error(
                f'there is no provider {parent} to make {addition.name} below{hints.of(parent)}',
                *('additions', index, 'parent'),
            )
        known.add(addition.name)


class _Hints:
    """Suggestions for the first unknown names: in a large cloud each costs a tenth of a second."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._names = [state.name for state in snapshot.providers.values()]
        self._left = MAX_HINTS

    def of(self, name: str) -> str:
        """A question, or nothing."""
        self._left -= 1
        return meant(name, self._names) if self._left >= 0 else ''
