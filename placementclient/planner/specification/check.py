"""A specification compared with a snapshot: wrong names of classes, traits and sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import os_traits
from os_resource_classes import STANDARDS

from placementclient.client import errors
from placementclient.client.wording import suggestion
from placementclient.model.patterns import is_pattern
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import (
    ROOT,
    Spec,
    TreeSelection,
    has_placeholder,
)

#: For how many unknown names it is said what was probably meant.
MAX_HINTS = 20
#: The kinds of names.
_CLASS, _TRAIT = 'resource class', 'trait'
#: What leads to a value of a specification, as :meth:`Spec.error` takes it.
Keys = tuple[str | int, ...]


def faults(spec: Spec, snapshot: Snapshot, *, partial: bool = False) -> Iterator[errors.BadFile]:
    """Return the faults of a specification that are wrong for every tree.

    :param partial: whether the snapshot, or what is planned of it, may be a part only, so that a
        custom name that no provider has there may be elsewhere
    """
    states = snapshot.providers.values()
    there = {
        _CLASS: {name for state in states for name in state.inventories},
        _TRAIT: {name for state in states for name in state.traits},
    }
    for what, is_needed, name, keys in _names(spec):
        yield from _unknown(spec, what, is_needed and not partial, name, keys, there[what])
    if spec.trees is None:
        yield from _sources(spec, snapshot)
    yield from _additions(spec, snapshot)


def is_known(name: str) -> bool:
    """Return whether a name is a standard resource class or trait."""
    return name in STANDARDS or name in os_traits.get_traits()


def _unknown(
    spec: Spec, what: str, is_needed: bool, name: str, keys: Keys, there: Collection[str]
) -> Iterator[errors.BadFile]:
    """A name that no service can have; a newer one may know more than this program."""
    standards = STANDARDS if what == _CLASS else os_traits.get_traits()
    if name in there or name in standards:
        return
    if not name.startswith('CUSTOM_'):
        yield spec.error(
            f'{name} is no standard {what}, no provider has it, and it does not begin with '
            f'CUSTOM_{suggestion(name, {*there, *standards})}',
            *keys,
        )
    elif is_needed:
        hint = suggestion(name, {*there, *standards})
        yield spec.error(f'no provider has the {what} {name}{hint}', *keys)


def _names(spec: Spec) -> Iterator[tuple[str, bool, str, Keys]]:
    """Return each class and each trait that a specification names, and the way to it."""
    selection = spec.trees or TreeSelection()
    yield from _each(_CLASS, True, enumerate(selection.classes), 'trees', 'class')
    yield from _each(_TRAIT, True, enumerate(selection.traits), 'trees', 'trait')
    for at, move in enumerate(spec.moves):
        moved = zip(move.resources, move.resources, strict=True)
        yield from _each(_CLASS, True, moved, 'moves', at, 'moved_resources')
        yield from _each(_CLASS, False, move.renamed.items(), 'moves', at, 'as')
        yield from _each(_TRAIT, True, enumerate(move.traits), 'moves', at, 'moved_traits')
    for section, entries in spec.sections.items():
        for at, entry in enumerate(entries):
            given = zip(entry.inventories, entry.inventories, strict=True)
            yield from _each(_CLASS, False, given, section, at, 'inventories')
            yield from _each(_TRAIT, False, enumerate(entry.traits), section, at, 'traits')
    for at, group in enumerate(spec.together):
        yield from _each(_CLASS, False, enumerate(group), 'together', at)


def _each(
    what: str, is_needed: bool, names: Iterable[tuple[str | int, str]], *keys: str | int
) -> Iterator[tuple[str, bool, str, Keys]]:
    return ((what, is_needed, name, (*keys, key)) for key, name in names)


def _sources(spec: Spec, snapshot: Snapshot) -> Iterator[errors.BadFile]:
    """The sources that no provider is, where it is they that select the trees."""
    hints, names = Hints(), [state.name for state in snapshot.providers.values()]
    for index, move in enumerate(spec.moves):
        name = move.source
        if snapshot.find(name) is None and not is_pattern(name) and not has_placeholder(name):
            yield spec.error(
                f'there is no provider {name} to move anything from{hints.of(name, names)}',
                *('moves', index, 'from_resource_provider'),
            )


def _additions(spec: Spec, snapshot: Snapshot) -> Iterator[errors.BadFile]:
    """The additions that lead nowhere, or to what another entry is about."""
    entries = {entry.name for entry in spec.providers}
    known, hints = set(entries), Hints()
    names = [state.name for state in snapshot.providers.values()]
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
            hint = hints.of(parent, names)
            yield spec.error(
                f'there is no provider {parent} to make {addition.name} below{hint}',
                *('additions', index, 'parent'),
            )
        known.add(addition.name)


class Hints:
    """Suggestions for the first unknown names: in a large cloud each costs a tenth of a second."""

    def __init__(self) -> None:
        self._left = MAX_HINTS

    def of(self, name: str, names: Iterable[str]) -> str:
        """Return a question, or nothing."""
        self._left -= 1
        return suggestion(name, names) if self._left >= 0 else ''
