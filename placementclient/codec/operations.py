"""Operations for a reader of a plan or a journal; nothing is made of them again."""

from __future__ import annotations

from typing import Any

from placementclient.planner.plan.operations import (
    CreateProvider,
    DeleteProvider,
    EnsureClass,
    EnsureTrait,
    Operation,
    Reshape,
    SetAggregates,
    SetTraits,
)


def record(operation: Operation) -> dict[str, Any]:
    """What an operation does; the states are with the providers and consumers of the plan."""
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
