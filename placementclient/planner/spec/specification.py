"""The specification of a reshape: what moves where. Both of its forms become one value."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from placementclient.model.inventories import FIELDS, UNLIMITED
from placementclient.planner.spec.documents import Cursor, read

#: What may stand for "as much as the source has" in ``moved_resources``.
ALL = 'all'
#: The default parent of a provider of the long form.
ROOT = '{root}'

_PLACEHOLDER = re.compile(r'\{(\w*)\}')
_LARGEST_RATIO = 3.40282e38


@dataclass(frozen=True, slots=True)
class Selection:
    """Which trees to work on: those that meet every condition that is given.

    :param names: patterns; the root's name matches one of them
    :param uuids: the root has one of them
    :param traits: the root has all of them
    :param classes: the root has inventory of all of them
    """

    names: tuple[str, ...] = ()
    uuids: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A provider to make, or what to change on one that is there.

    :param name: may have ``{root}`` and ``{source}`` in it
    :param parent: the same; ``None`` where the file does not say
    :param inventories: the fields that are given, of each class
    """

    name: str
    parent: str | None = None
    inventories: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """Inventory that moves from one provider to another.

    :param source: name, pattern or UUID; may have ``{root}`` in it
    :param target: name or UUID; may have ``{root}`` and ``{source}`` in it
    :param resources: units of each class; ``None``: as much as the source has
    :param renamed: new names of classes
    :param traits: taken off the source and put on the target
    :param consumers: what is known to belong to the target: ``{consumer: {class: amount}}``, where
        ``None`` is all that it holds
    """

    source: str
    target: str
    resources: Mapping[str, int | None]
    renamed: Mapping[str, str] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    consumers: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)

    def name_at_target(self, resource_class: str) -> str:
        """What a class of the source is called on the target."""
        return self.renamed.get(resource_class, resource_class)


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification.

    :param path: the file that it came from
    :param selection: ``None``: the trees that the sources are in
    :param together: groups of classes that go to one target, of each consumer
    :param split: whether a consumer's amount of a class may be divided
    :param assignments: the names of files with assignment rows; reading them is the caller's part
    """

    path: str = field(compare=False)
    moves: tuple[Move, ...]
    providers: tuple[ProviderSpec, ...] = ()
    selection: Selection | None = None
    together: tuple[tuple[str, ...], ...] = ()
    split: bool = False
    assignments: tuple[str, ...] = ()


def parse(text: str, path: str) -> Spec:
    """Read a specification, YAML or JSON, in either form.

    :param path: the file that the text came from
    :raises errors.BadFile: if it is none, with the line
    """
    return _spec(read(text, path))


def from_document(document: Any, path: str) -> Spec:
    """The same from what was decoded already, as in a plan.

    :raises errors.BadFile: if it is none
    """
    return _spec(Cursor(document, path, ''))


def filled(template: str, **names: str) -> str:
    """A template with its placeholders replaced.

    :param names: a name for each placeholder; others stay as they are
    """
    return _PLACEHOLDER.sub(lambda match: names.get(match[1], match[0]), template)


def has_placeholder(template: str) -> bool:
    """Whether a text has a placeholder to fill."""
    return _PLACEHOLDER.search(template) is not None


def _spec(document: Cursor) -> Spec:
    if isinstance(document.value, list):
        moves = tuple(_move(item, ()) for item in document.items())
        if not moves:
            raise document.error('has no moves')
        return Spec(document.path, moves)
    keys = ('trees', 'providers', 'moves', 'together', 'split', 'assignments')
    inside = document.keys(keys, ['moves'])
    moves = tuple(_move(item, ('root',)) for item in inside['moves'].items())
    if not moves:
        raise inside['moves'].error('is empty')
    selection = _selection(inside['trees']) if 'trees' in inside else None
    if selection is None and any(has_placeholder(move.source) for move in moves):
        raise document.error('trees is missing, and a source with a placeholder selects none')
    return Spec(
        document.path,
        moves,
        _providers(inside['providers']) if 'providers' in inside else (),
        selection,
        _together(inside['together']) if 'together' in inside else (),
        inside['split'].boolean() if 'split' in inside else False,
        inside['assignments'].texts() if 'assignments' in inside else (),
    )


def _selection(cursor: Cursor) -> Selection:
    inside = cursor.keys(('name', 'uuid', 'trait', 'class'))
    return Selection(
        inside['name'].texts() if 'name' in inside else (),
        tuple(item.uuid() for item in inside['uuid'].items()) if 'uuid' in inside else (),
        inside['trait'].symbols() if 'trait' in inside else (),
        inside['class'].symbols() if 'class' in inside else (),
    )


def _providers(cursor: Cursor) -> tuple[ProviderSpec, ...]:
    providers: dict[str, ProviderSpec] = {}
    for item in cursor.items():
        inside = item.keys(('name', 'parent', 'inventories', 'traits', 'aggregates'), ['name'])
        name = _template(inside['name'], ('root', 'source'))
        if name in providers:
            raise item.error(f'{name} is there twice')
        inventories = inside['inventories'].mapping() if 'inventories' in inside else {}
        providers[name] = ProviderSpec(
            name,
            _template(inside['parent'], ('root', 'source')) if 'parent' in inside else None,
            {_symbol(name, at): _fields(at) for name, at in inventories.items()},
            inside['traits'].symbols() if 'traits' in inside else (),
            tuple(at.uuid() for at in inside['aggregates'].items())
            if 'aggregates' in inside
            else (),
        )
    return tuple(providers.values())


def _fields(cursor: Cursor) -> dict[str, int | float]:
    result: dict[str, int | float] = {}
    for name, item in cursor.keys(FIELDS).items():
        if name == 'allocation_ratio':
            result[name] = item.number(0.0, _LARGEST_RATIO)
        else:
            result[name] = item.integer(0 if name == 'reserved' else 1, UNLIMITED)
    return result


def _move(cursor: Cursor, placeholders: Collection[str]) -> Move:
    source, target, resources = (
        'from_resource_provider',
        'to_resource_provider',
        'moved_resources',
    )
    inside = cursor.keys(
        (source, target, resources, 'as', 'moved_traits', 'consumers'), (source, target, resources)
    )
    moved = {_symbol(name, at): _moved(at) for name, at in inside[resources].mapping().items()}
    traits = inside['moved_traits'].symbols() if 'moved_traits' in inside else ()
    if not moved and not traits:
        raise inside[resources].error('is empty')
    renamed = {}
    for name, at in (inside['as'].mapping() if 'as' in inside else {}).items():
        if name not in moved:
            raise at.error(f'{name} is not in moved_resources')
        renamed[name] = at.symbol()
    return Move(
        _template(inside[source], placeholders),
        _template(inside[target], (*placeholders, 'source')),
        moved,
        renamed,
        traits,
        _consumers(inside['consumers'], moved) if 'consumers' in inside else {},
    )


def _moved(cursor: Cursor) -> int | None:
    return None if cursor.value == ALL else cursor.integer(1, UNLIMITED)


def _consumers(cursor: Cursor, moved: Mapping[str, int | None]) -> dict[str, dict[str, int | None]]:
    """An amount alone is one of the only class; where several move, each has to be named."""
    result: dict[str, dict[str, int | None]] = {}
    for uuid, item in cursor.mapping().items():
        known = Cursor(uuid, item.path, item.name, item.line).uuid()
        if isinstance(item.value, Mapping):
            result[known] = {name: _amount(at) for name, at in item.keys(tuple(moved)).items()}
        elif item.value is None or len(moved) == 1:
            result[known] = dict.fromkeys(moved, _amount(item))
        else:
            raise item.error(f'has to say how much of which class: {", ".join(moved)}')
    return result


def _amount(cursor: Cursor) -> int | None:
    return None if cursor.value is None else cursor.integer(1, UNLIMITED)


def _together(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    groups = []
    seen: set[str] = set()
    for item in cursor.items():
        group = item.symbols()
        if len(set(group)) < 2:
            raise item.error('has to name two classes or more')
        if len(set(group)) < len(group) or seen & set(group):
            raise item.error('names a class that is in a group already')
        seen.update(group)
        groups.append(group)
    return tuple(groups)


def _symbol(text: str, at: Cursor) -> str:
    return Cursor(text, at.path, at.name, at.line).symbol()


def _template(cursor: Cursor, placeholders: Collection[str]) -> str:
    text = cursor.text()
    for name in _PLACEHOLDER.findall(text):
        if name not in placeholders:
            known = ', '.join(f'{{{name}}}' for name in placeholders) or 'none'
            raise cursor.error(f'unknown placeholder {{{name}}}, known are {known}')
    return text
