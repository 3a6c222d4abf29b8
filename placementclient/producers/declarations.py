# SPDX-License-Identifier: Apache-2.0
"""Files that declare provider trees, read and written.

Two forms are read: trees, and the provider configuration files of Nova, which add to what is there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NotRequired, TypedDict

from placementclient.files.cursors import Cursor, parse_document
from placementclient.files.declared import read_declared_provider, read_inventories
from placementclient.model.inventories import Inventory, InventoryFields
from placementclient.model.providers import is_uuid
from placementclient.model.snapshots import Snapshot
from placementclient.model.specifications import DeclaredProvider

#: The versions of Nova's provider configuration files that Nova takes.
_SCHEMA = re.compile('1[.]([0-9]|[1-9][0-9]+)')
#: Nova's word for the providers of all compute nodes of a host.
_ANY_NODE = '$COMPUTE_NODE'


class DeclaredRecord(TypedDict):
    """A declared provider in a file."""

    name: str
    uuid: str
    inventories: dict[str, Mapping[str, float]]
    traits: list[str]
    aggregates: list[str]
    children: NotRequired[list[DeclaredRecord]]


def parse_declarations(text: str, path: str) -> tuple[DeclaredProvider, ...]:
    """Parse declarations: a provider, a list, or a provider configuration file of Nova.

    :raises errors.BadFile: if the text has faults
    """
    return read_declarations(parse_document(text, path))


def read_declarations(
    document: Cursor, compute_nodes: Sequence[str] = ()
) -> tuple[DeclaredProvider, ...]:
    """Return the declared providers that are not below others.

    :param compute_nodes: the names of the providers for which a provider configuration file of Nova
        has ``$COMPUTE_NODE``
    :raises errors.BadFile: if the document has faults, or declares a provider twice
    """
    if isinstance(document.value, Mapping) and 'meta' in document.value:
        roots = tuple(_read_nova_configuration(document, compute_nodes))
    elif isinstance(document.value, list):
        roots = tuple(map(read_declared_provider, document.iterate_items()))
    else:
        roots = (read_declared_provider(document),)
    seen: set[str] = set()
    for declaration in walk_declarations(roots):
        # Nova names the provider of a bare metal node by its UUID.
        for key in {declaration.name, declaration.uuid} - {''}:
            if key in seen:
                raise document.make_error(f'{key} is declared twice')
            seen.add(key)
    return roots


def _read_nova_configuration(
    document: Cursor, compute_nodes: Sequence[str]
) -> Iterator[DeclaredProvider]:
    """Yield the declared providers of a provider configuration file of Nova."""
    inside = _select_keys(document, 'meta', 'providers')
    version = _select_keys(inside['meta'], 'schema_version').get('schema_version')
    if version is None or not _SCHEMA.fullmatch(str(version.value)):
        found = 'is missing' if version is None else f'{version.value} is not known'
        raise inside['meta'].make_error(f'schema_version {found}, only 1.0 and later ones of 1')
    providers = list(inside['providers'].iterate_items()) if 'providers' in inside else []
    identities = [_read_identity(item) for item in providers]
    named = {reference.value for reference in identities}
    for item, reference in zip(providers, identities, strict=True):
        if reference.value != _ANY_NODE:
            yield _read_additions(item, reference)
            continue
        if not compute_nodes:
            raise reference.make_error(
                f'{_ANY_NODE} is known on a host only: name its providers with --compute-node'
            )
        for node in compute_nodes:
            if node not in named:
                yield _read_additions(item, replace(reference, value=node))


def _select_keys(cursor: Cursor, *names: str) -> dict[str, Cursor]:
    """Return the cursors of some keys of a mapping; as in Nova, it may have any other keys."""
    inside = cursor.read_mapping()
    return {name: inside[name] for name in names if name in inside}


def _read_identity(item: Cursor) -> Cursor:
    """Return the cursor at the name or UUID by which Nova's file identifies a provider."""
    identification = _select_keys(item, 'identification').get('identification')
    if identification is None:
        raise item.make_error('identification is missing')
    identity = identification.read_members(('uuid', 'name'))
    if len(identity) != 1:
        raise identification.make_error('has to have either a uuid or a name')
    (reference,) = identity.values()
    reference.read_text()  # refuses a list, or a number
    return reference


def _read_additions(item: Cursor, name_or_uuid: Cursor) -> DeclaredProvider:
    """Return the declaration of the inventories and traits that Nova's file adds to a provider."""
    parts = _select_keys(item, 'inventories', 'traits')
    added = {
        name: _select_keys(part, 'additional').get('additional') for name, part in parts.items()
    }
    classes: dict[str, InventoryFields] = {}
    if (inventories := added.get('inventories')) is not None:
        for entry in inventories.iterate_items():
            for name, cursor in entry.read_mapping().items():
                _require_custom_prefix(cursor, name, 'resource class')
            classes.update(read_inventories(entry))
    traits = added.get('traits')
    for trait in traits.iterate_items() if traits is not None else ():
        _require_custom_prefix(trait, trait.read_text(), 'trait')
    # A compute node that the command names stands in place of the word in a uuid.
    is_unnamed = name_or_uuid.name.endswith('.uuid') and is_uuid(str(name_or_uuid.value))
    return DeclaredProvider(
        '' if is_unnamed else name_or_uuid.read_text(),
        name_or_uuid.read_uuid() if is_unnamed else '',
        classes or None,
        None if traits is None else traits.read_classes_or_traits(),
        adds=True,
    )


def _require_custom_prefix(cursor: Cursor, name: str, kind: str) -> None:
    """Refuse a name without CUSTOM_, as Nova does: its drivers report the standard ones."""
    if not name.startswith('CUSTOM_'):
        raise cursor.make_error(f'{name} is no custom {kind}: Nova adds no others')


def make_declaration(snapshot: Snapshot) -> list[DeclaredRecord]:
    """Return a declaration of all trees of a snapshot; it would change nothing."""
    records: dict[str, DeclaredRecord] = {}
    # Equal inventories of hosts are one mapping, which is laid out once.
    list_fields = functools.cache(Inventory.as_fields)
    roots = snapshot.roots()
    # Parents come first. No recursion: a tree may be as deep as its providers are many.
    for state in (state for root in roots for state in snapshot.tree(root.uuid)):
        records[state.uuid] = {
            'name': state.name,
            'uuid': state.uuid,
            'inventories': {
                name: list_fields(inventory)
                for name, inventory in sorted(state.inventories.items())
            },
            'traits': sorted(state.traits),
            'aggregates': sorted(state.aggregates),
        }
        if state.provider.parent_provider_uuid is not None:
            parent = records[state.provider.parent_provider_uuid]
            parent.setdefault('children', []).append(records[state.uuid])
    return [records[root.uuid] for root in roots]


def walk_declarations(declarations: Iterable[DeclaredProvider]) -> Iterator[DeclaredProvider]:
    """Yield declared providers and all below them, parents first."""
    for declaration in declarations:
        yield declaration
        yield from walk_declarations(declaration.children)
