"""Operations for a reader of a plan or a journal; and whole, to be made again."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from placementclient.changes.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)
from placementclient.codec.encoding import encoded


def record(operation: Operation) -> dict[str, Any]:
    """Return the record of an operation; its states are with those of the plan."""
    match operation:
        case EnsureClass(name):
            return {'operation': 'ensure-class', 'name': name}
        case EnsureTrait(name):
            return {'operation': 'ensure-trait', 'name': name}
        case CreateProvider(uuid, name, parent):
            return {
                'operation': 'create-provider',
                'uuid': uuid,
                'name': name,
                'parent_provider_uuid': parent,
            }
        case DeleteProvider(uuid, name):
            return {'operation': 'delete-provider', 'uuid': uuid, 'name': name}
        case SetTraits(uuid, after=after):
            return {'operation': 'set-traits', 'provider_uuid': uuid, 'traits': sorted(after)}
        case SetAggregates(uuid, after=after):
            return {
                'operation': 'set-aggregates',
                'provider_uuid': uuid,
                'aggregates': sorted(after),
            }
        case Reshape(inventories, consumers, forward):
            return {
                'operation': 'reshape',
                'state': 'after' if forward else 'before',
                'providers': [change.provider_uuid for change in inventories],
                'consumers': [change.uuid for change in consumers],
            }
        case _:
            return whole(operation)


_TYPES: Mapping[str, type[Operation]] = {each.__name__: each for each in typing.get_args(Operation)}


def whole(operation: Operation) -> dict[str, Any]:
    """Return an operation with all values, from which :func:`parsed` makes it again."""
    values: dict[str, Any] = msgspec.json.decode(encoded(operation))
    return {'operation': type(operation).__name__, 'values': values}


def parsed(record: Mapping[str, Any]) -> Operation | None:
    """Return the operation of a record of :func:`whole`; ``None`` of any other record."""
    kind = _TYPES.get(record.get('operation', ''))
    return None if kind is None else msgspec.convert(record['values'], kind)
