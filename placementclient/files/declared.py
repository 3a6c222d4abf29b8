# SPDX-License-Identifier: Apache-2.0
"""Reads the entries of a file about providers: of a specification, and of declared trees."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from placementclient.files.cursors import Cursor
from placementclient.model.inventories import FIELDS, LARGEST_RATIO, UNLIMITED, InventoryFields
from placementclient.model.providers import lower_uuid
from placementclient.model.specifications import (
    PLACEHOLDER,
    SOURCE,
    Addition,
    DeclaredProvider,
    Keys,
    ProviderSpec,
    WholeField,
    has_placeholder,
)

_T = TypeVar('_T')


def read_declared_provider(cursor: Cursor) -> DeclaredProvider:
    """Return a provider with its children, as "tree export" writes them."""
    return DeclaredProvider(**cursor.read_fields(DECLARED, ['name']))


def read_inventories(cursor: Cursor) -> dict[str, InventoryFields]:
    """Return the given fields of inventories, by class."""
    return sort_keys(cursor.read_by_class(read_inventory_fields))


#: The readers of the fields of a provider, in all files.
_CONTENT: dict[str, Callable[[Cursor], object]] = {
    'inventories': read_inventories,
    'traits': Cursor.read_classes_or_traits,
    'aggregates': lambda at: at.read_list(Cursor.read_uuid),
}
#: The readers of the fields of a declared provider.
DECLARED: dict[str, Callable[[Cursor], object]] = {
    'name': Cursor.read_text,
    'uuid': Cursor.read_uuid,
    **_CONTENT,
    'children': lambda at: at.read_list(read_declared_provider),
}


def read_provider_spec(item: Cursor) -> ProviderSpec:
    """Return an entry of ``providers`` in a specification."""
    if 'uuid' in item.read_mapping() and 'name' not in item.read_mapping():
        raise item.make_error(
            'a new provider needs a name; one that exists has its UUID under name'
        )
    entry = ProviderSpec(
        **item.read_fields(
            {
                'name': lambda at: read_template(at, ('root', 'source')),
                'parent': lambda at: read_template(at, ('root', 'source')),
                **_CONTENT,
                'uuid': Cursor.read_uuid,
                'whole': lambda at: at.read_list(_read_field_name),
            },
            ['name'],
        )
    )
    if SOURCE in (entry.parent or '') and SOURCE not in entry.name:
        raise item.descend('parent').make_error('{source} has no meaning if name lacks it')
    if entry.uuid is not None and has_placeholder(entry.name):
        raise item.descend('uuid').make_error('is for one provider, but the name has a placeholder')
    return entry


def _read_field_name(cursor: Cursor) -> str:
    """Return the name of a field of a provider: ``inventories``, ``traits`` or ``aggregates``."""
    if (name := cursor.read_text()) not in _CONTENT:
        raise cursor.make_error(f'has to be one of {", ".join(_CONTENT)}')
    return name


def flatten_trees(
    trees: Sequence[DeclaredProvider], keys: Sequence[Keys], parent: str | None = None
) -> Iterator[tuple[ProviderSpec, Keys]]:
    """Yield an entry of ``providers``, and the keys that lead to it in the file, parents first.

    :param keys: the keys that lead to each tree
    :param parent: the name of the parent of the trees, if they are parts of one
    """
    for tree, at in zip(trees, keys, strict=True):
        given: dict[WholeField, bool] = {
            'inventories': tree.inventories is not None,
            'traits': tree.traits is not None,
            'aggregates': tree.aggregates is not None,
        }
        entry = ProviderSpec(
            tree.name,
            parent,
            tree.inventories or {},
            tree.traits or (),
            tree.aggregates or (),
            tree.uuid or None,
            tuple(name for name, is_given in given.items() if is_given),
        )
        yield entry, at
        below = [(*at, 'children', index) for index in range(len(tree.children))]
        yield from flatten_trees(tree.children, below, tree.name)


def read_additions(cursor: Cursor) -> tuple[Addition, ...]:
    """Return the list of ``additions`` in a specification."""
    names: set[str] = set()

    def read_addition(item: Cursor) -> Addition:
        fields = item.read_fields(
            {
                'resource_provider': lambda at: lower_uuid(read_template(at, ('root',))),
                'parent': lambda at: read_template(at, ('root',)),
                **_CONTENT,
                'consumers': _read_allocations,
            },
            ['resource_provider', 'inventories'],
        )
        entry = Addition(fields.pop('resource_provider'), **fields)
        if entry.name in names:
            raise item.make_error(f'{entry.name} appears twice')
        names.add(entry.name)
        for uuid, amounts in entry.consumers.items():
            for name in amounts:
                if name not in entry.inventories:
                    raise item.descend('consumers', uuid, name).make_error(
                        f'{name} is not in inventories'
                    )
        return entry

    return cursor.read_list(read_addition)


def _read_allocations(cursor: Cursor) -> dict[str, dict[str, int]]:
    """Return the amounts that consumers hold on a provider, by consumer UUID and class."""
    amounts = {
        replace(item, value=uuid).read_uuid(): item.read_by_class(
            lambda at: at.read_integer(1, UNLIMITED)
        )
        for uuid, item in cursor.read_mapping().items()
    }
    return sort_keys({uuid: sort_keys(resources) for uuid, resources in amounts.items()})


def read_inventory_fields(cursor: Cursor) -> InventoryFields:
    """Return the given fields of one inventory.

    :raises errors.BadFile: if a field is unknown, or its value is out of range
    """
    readers: dict[str, Callable[[Cursor], int | float]] = {
        **dict.fromkeys(FIELDS, lambda at: at.read_integer(1, UNLIMITED)),
        'reserved': lambda at: at.read_integer(0, UNLIMITED),
        'allocation_ratio': lambda at: at.read_number(0.0, LARGEST_RATIO),
    }
    fields: InventoryFields = sort_keys(cursor.read_fields(readers))  # type: ignore[assignment]
    return fields


def sort_keys(values: Mapping[str, _T]) -> dict[str, _T]:
    """Return a mapping sorted by its keys, so that equal specifications give equal plan files."""
    return dict(sorted(values.items()))


def read_template(cursor: Cursor, placeholders: Collection[str]) -> str:
    """Return a name, which may have some placeholders and no others."""
    text = cursor.read_text()
    for name in PLACEHOLDER.findall(text):
        if name not in placeholders:
            allowed = ', '.join(f'{{{name}}}' for name in placeholders) or 'none'
            raise cursor.make_error(f'unknown placeholder {{{name}}}, known are {allowed}')
    return text
