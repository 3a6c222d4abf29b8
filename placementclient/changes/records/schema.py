# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of each file."""

from typing import Any, Final

import msgspec

from placementclient.changes.records import changes, plans
from placementclient.files import snapshots
from placementclient.model.inventories import Amount
from placementclient.model.specifications import (
    DeclaredProvider,
    Move,
    Name,
    SpecRecord,
    Symbol,
)

_DRAFT: Final = 'https://json-schema.org/draft/2020-12/schema'


class AssignmentRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An amount of a consumer, and its provider."""

    consumer_uuid: Name
    resource_class: Symbol
    amount: Amount | None = None
    to_provider: str | None = None
    evidence: str | None = None
    to_resource_class: Symbol | None = None


_TYPES: dict[str, tuple[str, object]] = {
    'spec': (
        'The specification of a reshape: its long form, or a list of moves',
        SpecRecord | list[Move],
    ),
    'assignments': ('Known providers of allocations', list[AssignmentRecord]),
    'snapshot': (
        'A Placement at one moment',
        snapshots.SnapshotDocument[snapshots.ProviderRecord, snapshots.ConsumerRecord],
    ),
    'plan': ('A plan', plans.PlanDocument[SpecRecord, changes.ChangeRecord]),
}
#: The files that have one.
KINDS = tuple(_TYPES)


def make_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of file, one of :data:`KINDS`."""
    title, content = _TYPES[kind]
    described = _shorten_descriptions(msgspec.json.schema(content))
    if 'SpecRecord' in described.get('$defs', {}):
        _allow_short_forms(described['$defs'])
    if kind == 'spec':
        described['anyOf'].append(_allow_trees(described['$defs']))
    return {'$schema': _DRAFT, 'title': title, **described}


def _allow_short_forms(types: dict[str, Any]) -> None:
    """Allow the short forms that people write in a specification; a plan has the long ones."""
    record, entry, addition, move = (
        types[name]['properties'] for name in ('SpecRecord', 'ProviderSpec', 'Addition', 'Move')
    )
    # A value that is not known is left out: null is only in plans.
    _forbid_null(record, 'trees')
    _forbid_null(entry, 'parent', 'uuid')
    _forbid_null(addition, 'parent')
    _forbid_null(move, 'name')
    # Nobody writes these in an addition.
    del addition['uuid'], addition['whole']
    types['Addition']['required'].append('inventories')
    types['InventoryFields']['additionalProperties'] = False
    # {VGPU: 4}, a list of such mappings, or null
    amounts = move['moved_resources']
    several_amounts = {'type': 'array', 'items': amounts}
    move['moved_resources'] = {'anyOf': [amounts, several_amounts, {'type': 'null'}]}
    # By consumer: {VGPU: 1}, or 1 alone if the move is of one class
    by_class = move['consumers']['additionalProperties']
    one_amount = by_class['additionalProperties']['anyOf']
    move['consumers']['additionalProperties'] = {'anyOf': [by_class, *one_amount]}


def _forbid_null(fields: dict[str, Any], *names: str) -> None:
    """Forbid null for fields of a type that may be a value or null."""
    for name in names:
        value, null = fields[name]['anyOf']
        assert null == {'type': 'null'}, name
        fields[name] = value


def _allow_trees(types: dict[str, Any]) -> dict[str, Any]:
    """Let the schema of a specification allow declared trees, as "tree export" writes them.

    :param types: the schemas by type, which it changes
    :return: the schema of a single tree with the moves beside it
    """
    types |= _shorten_descriptions(msgspec.json.schema(DeclaredProvider))['$defs']
    declared, record = types['DeclaredProvider'], types['SpecRecord']
    fields = declared['properties']
    del fields['adds']
    _forbid_null(fields, 'inventories', 'traits', 'aggregates')
    types['InventoryFields']['additionalProperties'] = False
    beside = {name: form for name, form in record['properties'].items() if name != 'trees'}
    trees = {'type': 'array', 'items': {'$ref': '#/$defs/DeclaredProvider'}, 'minItems': 1}
    record['properties']['trees'] = {'anyOf': [record['properties']['trees'], trees]}
    return {**declared, 'title': 'TreeWithMoves', 'properties': {**fields, **beside}}


def _shorten_descriptions(part: Any) -> Any:
    """Return a part of a schema with the first paragraph of each description alone."""
    if isinstance(part, dict):
        shown = {key: _shorten_descriptions(value) for key, value in part.items()}
        if isinstance(shown.get('description'), str):
            shown['description'] = ' '.join(shown['description'].partition('\n\n')[0].split())
        return shown
    return (
        [_shorten_descriptions(item) for item in part] if isinstance(part, list | tuple) else part
    )
