# SPDX-License-Identifier: Apache-2.0
"""Parses the specification of a reshape, in its short or long form."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from msgspec import structs

from placementclient.files.cursors import Cursor, Faults, read
from placementclient.model.inventories import FIELDS, LARGEST_RATIO, UNLIMITED
from placementclient.model.providers import normalized
from placementclient.model.specifications import (
    ALL,
    PLACEHOLDER,
    SOURCE,
    Addition,
    Move,
    ProviderSpec,
    Spec,
    TreeSelection,
    has_placeholder,
)

_T = TypeVar('_T')


def parse(text: str, path: str) -> Spec:
    """Parse a specification, YAML or JSON, in either form.

    :raises errors.BadFile: if it is none, with the line
    """
    return _spec(read(text, path))


def from_document(document: Any, path: str) -> Spec:
    """Return a specification from a decoded document, as in a plan.

    :raises errors.BadFile: if it is none
    """
    return _spec(Cursor(document, path, ''))


def _spec(document: Cursor) -> Spec:
    if isinstance(document.value, list):
        fields: dict[str, Any] = {'moves': document.sequence(lambda item: _move(item, ()))}
    else:
        fields = document.fields(
            {
                'trees': _selection,
                'providers': _providers,
                'moves': _moves,
                'together': _together,
                'split': Cursor.boolean,
                'assignments': Cursor.texts,
                'additions': _additions,
            }
        )
    named = {entry.uuid: entry.name for entry in fields.get('providers', ()) if entry.uuid}
    moves = tuple(
        structs.replace(move, target=named.get(normalized(move.target), move.target))
        for move in fields.pop('moves', ())
    )
    if 'trees' not in fields and any(has_placeholder(move.source) for move in moves):
        raise document.error('trees is missing, and a source with a placeholder selects none')
    return Spec(moves=moves, **fields, document=document)


def _moves(cursor: Cursor) -> tuple[Move, ...]:
    return () if cursor.value is None else cursor.sequence(lambda item: _move(item, ('root',)))


def _selection(cursor: Cursor) -> TreeSelection:
    readers: dict[str, Callable[[Cursor], tuple[str, ...]]] = {
        'name': Cursor.texts,
        'uuid': lambda at: at.sequence(Cursor.uuid),
        'trait': Cursor.symbols,
        'class': Cursor.symbols,
    }
    fields = cursor.fields(readers)
    return TreeSelection(*(fields.get(key, ()) for key in readers))


def _providers(cursor: Cursor) -> tuple[ProviderSpec, ...]:
    names: set[str] = set()
    uuids: set[str | None] = set()

    def provider(item: Cursor) -> ProviderSpec:
        if 'uuid' in item.mapping() and 'name' not in item.mapping():
            raise item.error('a new provider needs a name; one that exists has its UUID under name')
        entry = ProviderSpec(
            **item.fields(
                {
                    'name': lambda at: _template(at, ('root', 'source')),
                    'parent': lambda at: _template(at, ('root', 'source')),
                    'inventories': lambda at: in_order(at.entries(inventory_fields)),
                    'traits': Cursor.symbols,
                    'aggregates': lambda at: at.sequence(Cursor.uuid),
                    'uuid': Cursor.uuid,
                },
                ['name'],
            )
        )
        if entry.name in names:
            raise item.error(f'{entry.name} is there twice')
        names.add(entry.name)
        if SOURCE in (entry.parent or '') and SOURCE not in entry.name:
            raise item.inside('parent').error('{source} has no meaning if name lacks it')
        if entry.uuid is not None and has_placeholder(entry.name):
            raise item.inside('uuid').error('is for one provider, but the name has a placeholder')
        if entry.uuid in uuids - {None}:
            raise item.inside('uuid').error(f'{entry.uuid} is there twice')
        uuids.add(entry.uuid)
        return entry

    return cursor.sequence(provider)


def _additions(cursor: Cursor) -> tuple[Addition, ...]:
    names: set[str] = set()

    def addition(item: Cursor) -> Addition:
        fields = item.fields(
            {
                'resource_provider': lambda at: normalized(_template(at, ('root',))),
                'parent': lambda at: _template(at, ('root',)),
                'inventories': lambda at: in_order(at.entries(inventory_fields)),
                'traits': Cursor.symbols,
                'aggregates': lambda at: at.sequence(Cursor.uuid),
                'consumers': _added,
            },
            ['resource_provider', 'inventories'],
        )
        entry = Addition(fields.pop('resource_provider'), **fields)
        if entry.name in names:
            raise item.error(f'{entry.name} is there twice')
        names.add(entry.name)
        for uuid, amounts in entry.consumers.items():
            for name in amounts:
                if name not in entry.inventories:
                    raise item.inside('consumers', uuid, name).error(
                        f'{name} is not in inventories'
                    )
        return entry

    return cursor.sequence(addition)


def _added(cursor: Cursor) -> dict[str, dict[str, int]]:
    amounts = {
        replace(item, value=uuid).uuid(): item.entries(lambda at: at.integer(1, UNLIMITED))
        for uuid, item in cursor.mapping().items()
    }
    return in_order({uuid: in_order(resources) for uuid, resources in amounts.items()})


def inventory_fields(cursor: Cursor) -> dict[str, int | float]:
    """Return the given fields of one inventory.

    :raises errors.BadFile: if one is unknown, or its value cannot be
    """
    readers: dict[str, Callable[[Cursor], int | float]] = {
        **dict.fromkeys(FIELDS, lambda at: at.integer(1, UNLIMITED)),
        'reserved': lambda at: at.integer(0, UNLIMITED),
        'allocation_ratio': lambda at: at.number(0.0, LARGEST_RATIO),
    }
    return in_order(cursor.fields(readers))


def in_order(values: Mapping[str, _T]) -> dict[str, _T]:
    """Return a mapping in the order of its keys: equal specifications are equal bytes in a plan."""
    return dict(sorted(values.items()))


def _move(cursor: Cursor, placeholders: Collection[str]) -> Move:
    needed = ('from_resource_provider', 'to_resource_provider', 'moved_resources')
    fields = cursor.fields(
        {
            'from_resource_provider': lambda at: _template(at, placeholders),
            'to_resource_provider': lambda at: _template(at, (*placeholders, 'source')),
            'moved_resources': lambda at: at.entries(_moved, at.mappings()),
            'as': lambda at: {name: item.symbol() for name, item in at.mapping().items()},
            'moved_traits': Cursor.symbols,
            'consumers': Cursor.mapping,
        },
        needed,
    )
    source, target, moved = (fields[key] for key in needed)
    renamed, consumers, faults = in_order(fields.get('as', {})), {}, Faults()
    faults.errors = [
        cursor.inside('as', name).error(f'{name} is not in moved_resources')
        for name in renamed
        if name not in moved
    ]
    with faults.collected():
        consumers = _consumers(fields.get('consumers', {}), moved)
    faults.raise_any()
    return Move(source, target, moved, renamed, fields.get('moved_traits', ()), in_order(consumers))


def _moved(cursor: Cursor) -> int | Literal['all']:
    return ALL if cursor.value == ALL else cursor.integer(1, UNLIMITED)


def _consumers(
    items: Mapping[str, Cursor], moved: Collection[str]
) -> dict[str, dict[str, int | None]]:
    """An amount alone is one of the only class; where several move, each has to be named."""
    faults = Faults()
    result: dict[str, dict[str, int | None]] = {}
    for uuid, item in items.items():
        with faults.collected():
            consumer_uuid = replace(item, value=uuid).uuid()
            if isinstance(item.value, Mapping):
                result[consumer_uuid] = in_order(item.fields(dict.fromkeys(moved, _amount)))
            elif item.value is None or len(moved) == 1:
                result[consumer_uuid] = dict.fromkeys(sorted(moved), _amount(item))
            else:
                raise item.error(f'has to say how much of which class: {", ".join(moved)}')
    faults.raise_any()
    return result


def _amount(cursor: Cursor) -> int | None:
    return None if cursor.value is None else cursor.integer(1, UNLIMITED)


def _together(cursor: Cursor) -> tuple[tuple[str, ...], ...]:
    seen: set[str] = set()

    def group(item: Cursor) -> tuple[str, ...]:
        names = item.symbols()
        if len(set(names)) < 2:
            raise item.error('has to name two classes or more')
        if len(set(names)) < len(names) or seen.intersection(names):
            raise item.error('names a class that is in a group already')
        seen.update(names)
        return names

    return cursor.sequence(group)


def _template(cursor: Cursor, placeholders: Collection[str]) -> str:
    text = cursor.text()
    for name in PLACEHOLDER.findall(text):
        if name not in placeholders:
            allowed = ', '.join(f'{{{name}}}' for name in placeholders) or 'none'
            raise cursor.error(f'unknown placeholder {{{name}}}, known are {allowed}')
    return text
