"""Files that declare provider trees, read and written.

Two forms are read: trees, and the provider configuration files of Nova, which add to what is there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placementclient.client import errors
from placementclient.files.cursors import Cursor, read
from placementclient.model.inventories import Inventory
from placementclient.model.snapshots import ProviderState, Snapshot
from placementclient.planner.specification.specification import inventory_fields

#: The version of Nova's provider configuration files that is known.
_SCHEMA = '1.0'
#: Nova's word for the providers of all compute nodes of a host.
_ANY_NODE = '$COMPUTE_NODE'

#: The given fields of inventories, by class.
DeclaredInventories = Mapping[str, Mapping[str, int | float]]


@dataclass(frozen=True, slots=True)
class Declared:
    """A provider with its desired state; ``None`` leaves a field as it is.

    Name or UUID may be empty, but not both.

    :param children: those that are named; others stay
    :param adds: whether inventories and traits come beside those that are there, and the provider
        has to exist
    """

    name: str
    uuid: str = ''
    inventories: DeclaredInventories | None = None
    traits: frozenset[str] | None = None
    aggregates: frozenset[str] | None = None
    children: tuple[Declared, ...] = ()
    adds: bool = False


def parse(text: str, path: str) -> tuple[Declared, ...]:
    """Parse a declaration: a provider, a list, or a provider configuration file of Nova."""
    document = read(text, path)
    if isinstance(document.value, Mapping) and 'meta' in document.value:
        roots = tuple(_of_nova(document))
    elif isinstance(document.value, list):
        roots = tuple(_provider(item) for item in document.items())
    else:
        roots = (_provider(document),)
    seen: set[str] = set()
    for declaration in all_of(roots):
        # Nova names the provider of a bare metal node by its UUID.
        for key in {declaration.name, declaration.uuid} - {''}:
            if key in seen:
                raise errors.BadFile(path, f'{key} is declared twice')
            seen.add(key)
    return roots


def _provider(cursor: Cursor) -> Declared:
    return Declared(
        **cursor.fields(
            {
                'name': Cursor.text,
                'uuid': Cursor.uuid,
                'inventories': _inventories,
                'traits': lambda at: frozenset(at.symbols()),
                'aggregates': lambda at: frozenset(at.sequence(Cursor.uuid)),
                'children': lambda at: at.sequence(_provider),
            },
            ['name'],
        )
    )


def _inventories(cursor: Cursor) -> DeclaredInventories:
    return cursor.entries(inventory_fields)


def _of_nova(document: Cursor) -> Iterator[Declared]:
    inside = document.keys(('meta', 'providers'), ['meta'])
    version = inside['meta'].keys(('schema_version',), ['schema_version'])['schema_version']
    if str(version.value) != _SCHEMA:
        raise version.error(f'version {version.value} is not known, only {_SCHEMA}')
    for item in inside['providers'].items() if 'providers' in inside else ():
        keys = item.keys(('identification', 'inventories', 'traits'), ['identification'])
        identity = keys['identification'].keys(('uuid', 'name'))
        if len(identity) != 1:
            raise keys['identification'].error('has to have either a uuid or a name')
        (reference,) = identity.values()
        if reference.value == _ANY_NODE:
            raise reference.error(f'{_ANY_NODE} is known on a host only; name the provider')
        added = keys['inventories'].keys(('additional',)) if 'inventories' in keys else {}
        classes: dict[str, Mapping[str, int | float]] = {}
        for entry in added['additional'].items() if 'additional' in added else ():
            classes.update(_inventories(entry))
        traits = keys['traits'].keys(('additional',)) if 'traits' in keys else {}
        yield Declared(
            reference.text() if 'name' in identity else '',
            reference.uuid() if 'uuid' in identity else '',
            classes or None,
            frozenset(traits['additional'].symbols()) if 'additional' in traits else None,
            adds=True,
        )


def document(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return a declaration of all trees of a snapshot, which would change nothing."""
    records: dict[str, dict[str, Any]] = {}
    # Equal inventories of hosts are one mapping, which is laid out once.
    fields = functools.cache(Inventory.as_fields)
    roots = snapshot.roots()
    # Parents come first. No recursion: a tree may be as deep as its providers are many.
    for state in (state for root in roots for state in snapshot.tree(root.uuid)):
        records[state.uuid] = _record(state, fields)
        if state.provider.parent_provider_uuid is not None:
            parent = records[state.provider.parent_provider_uuid]
            parent.setdefault('children', []).append(records[state.uuid])
    return [records[root.uuid] for root in roots]


def _record(
    state: ProviderState, fields: Callable[[Inventory], Mapping[str, float]]
) -> dict[str, Any]:
    return {
        'name': state.name,
        'uuid': state.uuid,
        'inventories': {
            name: fields(inventory) for name, inventory in sorted(state.inventories.items())
        },
        'traits': sorted(state.traits),
        'aggregates': sorted(state.aggregates),
    }


def all_of(declarations: Iterable[Declared]) -> Iterator[Declared]:
    """Return declared providers and all below them, parents first."""
    for declaration in declarations:
        yield declaration
        yield from all_of(declaration.children)
